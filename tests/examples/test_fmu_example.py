"""The room that is known only as an FMU: built, measured, fitted and written as its page says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from tests.fmus.build import builder

import estimica as es

pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not builder.compiler(), reason="no C compiler")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "fmu"
SPACE = {"ssv": "http://ssp-standard.org/SSP1/SystemStructureParameterValues"}


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with its FMU built."""
    place = tmp_path_factory.mktemp("example") / "fmu"
    shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns("*.fmu", "*.ssv", "__pycache__"))
    run(place, "build.py")
    return place


def truth(folder: Path) -> dict[str, float]:
    sys.path.insert(0, str(folder))
    try:
        import make_data

        return dict(make_data.TRUTH)
    finally:
        sys.path.pop(0)
        sys.modules.pop("make_data", None)


def test_data_are_those_that_the_script_makes(folder: Path) -> None:
    before = pd.read_csv(folder / "room.csv")
    run(folder, "make_data.py")
    after = pd.read_csv(folder / "room.csv")
    assert list(after) == list(before)
    assert (after - before).abs().max().max() <= 0.0011  # the last digit


def test_the_script_finds_the_room_and_writes_its_parameter_set(folder: Path) -> None:
    text = run(folder, "fit.py")
    assert "wall.R_out" in text
    root = ElementTree.parse(folder / "room.ssv").getroot()
    found = {p.get("name"): p[0].get("value") for p in root.iterfind(".//ssv:Parameter", SPACE)}
    true = truth(folder)
    assert set(found) >= set(true)
    assert float(found["heater.gain"] or 0) == true["heater.gain"]
    for name, value in true.items():
        assert float(found[name] or 0) == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize(
    "options",
    [(), pytest.param(("--fmi", "3"), marks=pytest.mark.slow), ("--directional", "none"),
     pytest.param(("--fmi", "3", "--directional", "none"), marks=pytest.mark.slow)],
    ids=lambda o: " ".join(o) or "plain",
)  # fmt: skip
def test_estimates_agree_with_the_truth_within_their_errors(
    options: tuple[str, ...], folder: Path
) -> None:
    run(folder, "build.py", *options)
    fit = es.fit(es.read_study(folder / "room.toml"))
    assert fit.outcome.ok, fit.outcome.message
    true = pd.Series({n: v for n, v in truth(folder).items() if n in fit.estimates})
    off = (fit.parameters["value"] - true) / fit.parameters["stderr"]
    assert off.abs().max() < 3.5


def test_new_writes_a_study_of_an_fmu(folder: Path) -> None:
    run(folder, "-m", "estimica", "new", "rcThermal.fmu", "room.csv", "--output", "new.toml")
    text = (folder / "new.toml").read_text(encoding="utf-8")
    assert 'source = "rcThermal.fmu"' in text
    assert '"wall.R" = { start = 0.004, min = 1e-06 }' in text
    assert '# T_out = "outside"   # [K] Temperature outside' in text
