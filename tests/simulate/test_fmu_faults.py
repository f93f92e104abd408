"""FMUs with troubles: a fit survives them or ends with a clear outcome, never with a traceback."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.fmus import packed
from tests.fmus.build import HERE, Fault, build, builder, built

import estimica as es
from estimica.base.errors import EstimicaError, ModelError

pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not builder.compiler(), reason="no C compiler")

TIMES = np.linspace(0.0, 10.0, 101)
TRUTH = {"mu": 2.0, "w": 1.2}


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    twin = es.load_model(HERE / "vanDerPol.mo", "vanDerPol")
    run = twin.simulate(TIMES, parameters=TRUTH, options=es.Options(rtol=1e-10, atol=1e-12))
    noise = 0.01 * np.random.default_rng(3).standard_normal(TIMES.size)
    return pd.DataFrame({"t": TIMES, "x": run.value("x_out") + noise})


def study(path: Path, data: pd.DataFrame, mu: float = 1.5, most: float = 10.0) -> es.Study:
    return es.Study(
        es.load_model(path),
        tuners=[
            es.Tuner("mu", start=mu, min=0.1, max=most),
            es.Tuner("w", start=1.1, min=0.5, max=3),
        ],
        cases=[es.Case("run", data, outputs={"x_out": "x"})],
        criterion="oe",
    )


def faulty(kind: str, call: str = "derivatives", **more: object) -> Path:
    return built("vanDerPol", fault=Fault(kind, call, **more))  # type: ignore[arg-type]


def told(path: Path, data: pd.DataFrame) -> str:
    """What a user reads of an FMU that cannot work: an error of ours, or the outcome of a fit."""
    try:
        found = es.fit(study(path, data))
    except EstimicaError as error:
        return str(error)
    assert not found.outcome.ok
    return found.outcome.message


# --- files ---------------------------------------------------------------------------------------


def test_half_a_file_is_no_fmu(tmp_path: Path) -> None:
    path = packed.corrupt(built("vanDerPol"), tmp_path / "half.fmu")
    with pytest.raises(ModelError, match=r"M201: .*half\.fmu' is not an FMU: an FMU is a zip file"):
        es.load_model(path)


def test_a_file_with_damaged_content_is_told(tmp_path: Path) -> None:
    content = bytearray(built("vanDerPol").read_bytes())
    for k in range(300, len(content) // 2, 50):
        content[k] ^= 0xFF
    (tmp_path / "damaged.fmu").write_bytes(bytes(content))
    with pytest.raises(ModelError, match=r"M201: .*damaged"):
        es.load_model(tmp_path / "damaged.fmu")


def test_fmi_1_is_told_by_its_version(tmp_path: Path) -> None:
    text = '<fmiModelDescription fmiVersion="1.0" modelName="x" modelIdentifier="x" guid="a"/>'
    path = packed.with_description(built("vanDerPol"), tmp_path / "old.fmu", text)
    with pytest.raises(ModelError, match=r"M204: .*is FMI 1\.0; export it as FMI 2\.0 or 3\.0"):
        es.load_model(path)


def test_a_zip_without_description_is_no_fmu(tmp_path: Path) -> None:
    path = packed.without_description(built("vanDerPol"), tmp_path / "bare.fmu")
    with pytest.raises(ModelError, match=r"M201: .*it holds no modelDescription\.xml"):
        es.load_model(path)


def test_a_description_that_is_no_xml_is_told(tmp_path: Path) -> None:
    path = packed.with_description(built("vanDerPol"), tmp_path / "text.fmu", "nothing of use")
    with pytest.raises(ModelError, match=r"M203: .*modelDescription\.xml cannot be read"):
        es.load_model(path)


@pytest.mark.parametrize("name", ["../../escaped.txt", "/tmp/escaped.txt", "a/../../escaped.txt"])
def test_a_file_that_would_escape_is_refused(name: str, tmp_path: Path) -> None:
    path = packed.with_escaping_file(built("vanDerPol"), tmp_path / "out.fmu", name)
    with pytest.raises(ModelError, match=r"M202: .*would write outside its folder"):
        es.load_model(path)
    assert not list(tmp_path.parent.rglob("escaped.txt"))


def test_a_missing_file_is_told_with_a_likely_one(tmp_path: Path) -> None:
    (tmp_path / "room.fmu").touch()
    with pytest.raises(ModelError, match=r"M200: there is no file .*roon\.fmu.*room\.fmu"):
        es.load_model(tmp_path / "roon.fmu")


def test_a_missing_binary_is_told_with_the_systems_that_have_one(
    data: pd.DataFrame, tmp_path: Path
) -> None:
    path = packed.for_another_platform(built("vanDerPol"), tmp_path / "there.fmu", "plan9")
    text = told(path, data)
    assert "plan9" in text
    assert builder.binary_folder(2) in text


def test_an_fmu_without_any_binary_is_told(data: pd.DataFrame, tmp_path: Path) -> None:
    path = packed.without_binary(built("vanDerPol"), tmp_path / "none.fmu")
    assert builder.binary_folder(2) in told(path, data)


def test_a_binary_that_cannot_be_loaded_is_told(data: pd.DataFrame, tmp_path: Path) -> None:
    path = packed.with_broken_binary(built("vanDerPol"), tmp_path / "broken.fmu")
    assert "cannot be loaded" in told(path, data)


@pytest.mark.parametrize("fmi", [2, 3])
def test_another_guid_in_the_binary_is_told_in_the_words_of_the_fmu(
    fmi: int, data: pd.DataFrame, tmp_path: Path
) -> None:
    path = build("vanDerPol", tmp_path, fmi=fmi, token="{another}")
    assert "is not that of this FMU" in told(path, data)


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_missing_licence_is_told_in_the_words_of_the_fmu(fmi: int, data: pd.DataFrame) -> None:
    text = "no licence of PowerTool was found, error 18"
    path = built("vanDerPol", fmi=fmi, fault=Fault("error", "instantiate", text=text))
    assert text in told(path, data)


# --- statuses ------------------------------------------------------------------------------------


def some(*quick: object, among: Iterable[object]) -> list[Any]:
    """All of them, those that are not quick marked as slow: each FMU starts a process."""
    marked = [c if c in quick else pytest.param(*_parts(c), marks=pytest.mark.slow) for c in among]
    return marked


def _parts(case: object) -> tuple[object, ...]:
    return case if isinstance(case, tuple) else (case,)


WORDS = {
    "discard": "discarded the call",
    "error": "returned an error",
    "fatal": "returned a fatal error",
}
STATUSES = ("discard", "error", "fatal")
CALLS = ("initialise", "derivatives", "get", "event")


@pytest.mark.parametrize(
    ("status", "call", "fmi"),
    some(
        ("error", "derivatives", 2),
        ("fatal", "initialise", 3),
        among=product(STATUSES, CALLS, (2, 3)),
    ),
)
def test_a_status_fails_that_point_alone(status: str, call: str, fmi: int) -> None:
    fault = Fault(status, call, "mu", above=3.0, text="mu is too large for me")
    model = es.load_model(built("vanDerPol", fmi=fmi, fault=fault))
    response = model.response(TIMES, outputs=["x_out"], wrt=["mu", "w"])
    good = response.at(np.array([2.0, 1.2]))
    assert good.ok, good.text
    bad = response.at(np.array([4.0, 1.2]))
    assert not bad.ok
    assert f"the FMU {WORDS[status]}" in bad.text
    assert "it says: mu is too large for me" in bad.text
    again = response.at(np.array([2.0, 1.2]))
    assert again.ok, again.text
    assert np.array_equal(again.Y, good.Y)


@pytest.mark.parametrize(("status", "fmi"), some(("discard", 2), among=product(STATUSES, (2, 3))))
def test_a_status_of_a_co_simulation_step_fails_that_point_alone(status: str, fmi: int) -> None:
    fault = Fault(status, "step", "mu", above=3.0)
    model = es.load_model(built("vanDerPol", fmi=fmi, kinds=("cs",), fault=fault))
    response = model.response(TIMES, outputs=["x_out"], wrt=["mu", "w"])
    assert response.at(np.array([2.0, 1.2])).ok
    assert not response.at(np.array([4.0, 1.2])).ok
    assert response.at(np.array([2.0, 1.2])).ok


@pytest.mark.parametrize("status", some("error", among=(*STATUSES, "nan")))
def test_a_fit_goes_round_the_points_that_fail(status: str, data: pd.DataFrame) -> None:
    found = es.fit(study(faulty(status, parameter="mu", above=2.1), data, mu=0.5))
    assert found.outcome.ok, found.outcome.message
    assert found["mu"] == pytest.approx(2.0, abs=0.05)


@pytest.mark.slow
def test_values_that_are_no_numbers_fail_that_point_alone() -> None:
    model = es.load_model(faulty("nan", parameter="mu", above=3.0))
    response = model.response(TIMES, outputs=["x_out"], wrt=["mu"])
    assert response.at(np.array([2.0])).ok
    assert not response.at(np.array([4.0])).ok
    assert response.at(np.array([2.0])).ok


def test_an_error_everywhere_ends_in_the_words_of_the_fmu(data: pd.DataFrame) -> None:
    assert "the pump is dry" in told(faulty("error", text="the pump is dry"), data)


# --- crashes -------------------------------------------------------------------------------------


ENDS = {
    "segfault": "the FMU took its process down (signal SIGSEGV)",
    "abort": "the FMU took its process down (signal SIGABRT)",
    "exit": "the FMU ended its process (exit code 7)",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENDS)
def test_a_crash_everywhere_is_contained_and_told(kind: str, data: pd.DataFrame) -> None:
    assert ENDS[kind] in told(faulty(kind), data)


@pytest.mark.parametrize("kind", some("segfault", among=ENDS))
def test_a_fit_goes_round_the_points_that_crash(kind: str, data: pd.DataFrame) -> None:
    found = es.fit(study(faulty(kind, parameter="mu", above=2.1), data, mu=0.5))
    assert found.outcome.ok, found.outcome.message
    assert found["mu"] == pytest.approx(2.0, abs=0.05)


@pytest.mark.slow
def test_a_crash_while_instantiating_is_told(data: pd.DataFrame) -> None:
    assert ENDS["segfault"] in told(faulty("segfault", "instantiate"), data)


def write_study(folder: Path, data: pd.DataFrame, fault: Fault) -> None:
    build("vanDerPol", folder, fault=fault)
    data.to_csv(folder / "run.csv", index=False)
    (folder / "study.toml").write_text(
        '[model]\nsource = "vanDerPol.fmu"\n[tune]\nmu = 1.5\n[[case]]\nname = "run"\n'
        'data = "run.csv"\noutputs = { x_out = "x" }\n',
        encoding="utf-8",
    )


def test_the_command_line_shows_no_traceback(data: pd.DataFrame, tmp_path: Path) -> None:
    write_study(tmp_path, data, Fault("segfault", "derivatives"))
    done = subprocess.run(
        [sys.executable, "-m", "estimica", "fit", "study.toml", "--trust", "--no-store"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert ENDS["segfault"] in " ".join((done.stdout + done.stderr).split())


def test_an_fmu_that_hangs_is_ended_and_the_next_point_works() -> None:
    model = es.load_model(faulty("hang", parameter="mu", above=3.0))
    options = es.Options(max_seconds=1.0)
    response = model.response(TIMES, outputs=["x_out"], wrt=["mu"], options=options)
    assert response.at(np.array([2.0])).ok
    begun = time.perf_counter()
    bad = response.at(np.array([4.0]))
    assert time.perf_counter() - begun < 30
    assert not bad.ok
    assert "the FMU did not answer within 1 s and was ended" in bad.text
    assert response.at(np.array([2.0])).ok


@pytest.mark.slow
def test_ctrl_c_ends_a_fit_while_the_fmu_hangs(data: pd.DataFrame, tmp_path: Path) -> None:
    write_study(tmp_path, data, Fault("hang", "derivatives"))
    command = [sys.executable, "-m", "estimica", "fit", "study.toml", "--trust", "--no-store"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        time.sleep(20)
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate(timeout=60)
    assert process.returncode in (1, 130)
    assert "Traceback" not in text


# --- memory --------------------------------------------------------------------------------------


def resident(*processes: int) -> float:
    """Memory of some processes, by default of this one and its children, in MB."""
    total = 0.0
    for pid in processes or (os.getpid(), *children(os.getpid())):
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
        total += pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return total


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *children(child)]
    return found


def grown(model: es.Model, evaluations: int) -> float:
    """How much memory a number of evaluations leaves behind, after a tenth of them to warm up."""
    response = model.response(TIMES, outputs=["x_out"], wrt=["mu", "w"])
    theta = np.array([2.0, 1.2])
    random = np.random.default_rng(1)

    def evaluate(count: int) -> None:
        for _ in range(count):
            assert response.at(theta * (1 + 0.01 * random.standard_normal(2))).ok
        gc.collect()

    evaluate(evaluations // 10)
    before = resident()
    evaluate(evaluations)
    return resident() - before


needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["me", "cs"])
def test_memory_stays_flat(kind: str) -> None:
    assert grown(es.load_model(built("vanDerPol", kinds=(kind,))), 1000) < 3


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["me", "cs"])
@pytest.mark.parametrize("fmi", [2, 3])
def test_memory_stays_flat_over_ten_thousand_evaluations(fmi: int, kind: str) -> None:
    assert grown(es.load_model(built("vanDerPol", fmi=fmi, kinds=(kind,))), 10_000) < 5


@needs_proc
@pytest.mark.slow
def test_responses_that_are_left_leave_nothing_behind() -> None:
    model = es.load_model(built("vanDerPol"))

    def evaluate(count: int) -> None:
        for _ in range(count):
            assert model.response(TIMES, outputs=["x_out"], wrt=["mu"]).at(np.array([2.0])).ok
        gc.collect()

    evaluate(100)
    before = resident()
    evaluate(1000)
    assert resident() - before < 10


@pytest.mark.slow
def test_the_first_of_many_responses_still_answers() -> None:
    model = es.load_model(built("vanDerPol"))
    responses = [model.response(TIMES, outputs=["x_out"], wrt=["mu"]) for _ in range(80)]
    for response in (*responses, responses[0]):
        assert response.at(np.array([2.0])).ok


@needs_proc
def test_an_fmu_that_leaks_takes_no_memory_of_ours(data: pd.DataFrame) -> None:
    model = es.load_model(faulty("leak", "initialise", size=2_000_000))
    response = model.response(TIMES, outputs=["x_out"])
    before = resident(os.getpid())
    for _ in range(100):  # 200 MB at the least
        assert response.at().ok
    assert resident(os.getpid()) - before < 20
