"""Study.write: a study as a file that reads back as an equal study, or a refusal that says why."""

from __future__ import annotations

import math
import os
import pickle
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.saving.packing import packed, unpacked
from estimica.data.table import Data
from estimica.execute.runs.provenance import fingerprint
from estimica.simulate.function.model import FunctionModel
from estimica.study.criterion import Indicator
from estimica.study.prefilter import Prefilter
from estimica.study.stages import Change
from estimica.study.written.data import is_same_table

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: one of each kind of model and of case; the others are slow together
QUICK = (
    "rc_circuit/rc_circuit",
    "impedance/cell",
    "ohm/ohm",
    "varying_gain/varying_gain",
    "first_order/first_order",
    "two_point_noise/two_point_noise",
    "drive/assessment",
)
#: in no Study by themselves: they are in its fields, and `[reading]` in its cases
FIELDS = {"model", "static", "tune", "outputs", "case", "estimate", "solver", "criterion"}
FIELDS |= {"indicator", "reading", "execute"}

TANK = """model Tank
  parameter Real k = 0.5 "outflow";
  parameter Integer n = 2;
  input Real q;
  Real h(start = 1, fixed = true);
equation
  der(h) = (q - k*h)/n;
end Tank;
"""


def other_tables(study: es.Study) -> Mapping[str, object]:
    return {n: t for n, t in study.tables.items() if n not in FIELDS}


def require_equal(one: es.Study, other: es.Study) -> None:
    """Everything that a study holds: model, tuners, cases with their data, criteria, settings."""
    codes = [dict(fingerprint(one)), dict(fingerprint(other))]
    if isinstance(one.bare, FunctionModel):  # its code is spelt as the file spells it
        assert isinstance(other.bare, FunctionModel)
        assert one.bare.origin[0].sha256 == other.bare.origin[0].sha256
        assert one.bare.quantities() == other.bare.quantities()
        codes = [{n: c for n, c in code.items() if n != "the model"} for code in codes]
    assert codes[0] == codes[1]
    assert (one.tuners, one.estimation, one.solver) == (
        other.tuners,
        other.estimation,
        other.solver,
    )
    assert (one.criteria, one.indicators) == (other.criteria, other.indicators)
    assert one.outputs == other.outputs
    for a, b in zip(one.cases, other.cases, strict=True):
        assert replace(a, data=None) == replace(b, data=None)
        if isinstance(a.data, Data):
            assert isinstance(b.data, Data)
            assert is_same_table(a.data, b.data, a.time)
    assert other_tables(one) == other_tables(other)


def written(study: es.Study, path: Path, **options: Any) -> es.Study:
    return es.read_study(study.write(path, **options)[0])


def example_names() -> list[Any]:
    found = sorted(str(p.relative_to(EXAMPLES).with_suffix("")) for p in EXAMPLES.rglob("*.toml"))
    return [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in found]


@pytest.mark.parametrize("name", example_names())
def test_examples_read_back_equal_from_another_folder(name: str, tmp_path: Path) -> None:
    try:
        study = es.read_study(EXAMPLES / f"{name}.toml")
    except es.EstimicaError as error:
        assert name not in QUICK
        pytest.skip(f"cannot be read here: {str(error)[:80]}")
    files = study.write(tmp_path / "again.toml")
    assert files == (tmp_path / "again.toml",)  # all that it needs lies in files
    require_equal(study, es.read_study(files[0]))


def record(n: int = 41) -> pd.DataFrame:
    t = np.linspace(0, 10, n)
    q = np.where(t < 5, 1.0, 0.3)
    h = 1 + np.exp(-t / 3) * np.sin(t) / 3
    return pd.DataFrame({"time": t, "q [m3/s]": q, "h": h})


def tank_study(**options: Any) -> es.Study:
    return es.Study(
        es.load_model(TANK, fix={"n": 3}),
        [es.Tuner("k", start=0.1 + 0.2, min=0, max=2)],
        [es.Case("run 1", record(), inputs={"q": "q"}, outputs={"h": "h"})],
        **options,
    )


def test_text_and_frame_are_written_beside_and_fit_to_the_last_bit(tmp_path: Path) -> None:
    study = tank_study()
    files = study.write(tmp_path / "tank.toml")
    assert [f.name for f in files] == ["tank.toml", "tank.mo", "tank_run_1.csv"]
    assert (tmp_path / "tank.mo").read_text() == TANK
    again = es.read_study(files[0])
    assert again.tuners == study.tuners
    assert again.tuners[0].start == 0.1 + 0.2
    assert again.bare.fixed == {"n": 3}
    assert is_same_table(study.cases[0].data, again.cases[0].data, None)
    one, other = es.fit(study, progress=False), es.fit(again, progress=False)
    assert np.array_equal(one.values, other.values)
    assert one.cost == other.cost


def test_everything_that_tuners_and_cases_hold(tmp_path: Path) -> None:
    case = es.Case(
        "all of it",
        record(),
        inputs={"q": es.InputColumn("q", hold="linear", scale=2.0, offset=-0.1)},
        outputs={
            "h": es.OutputColumn(
                "h",
                weight=2.0,
                sigma=0.1,
                unit="1",
                disturbance=es.StartValue(start=0.0, min=-1, max=1),
                prefilter=Prefilter(lowpass=0.5, order=3),
            ),
            "h2": es.OutputColumn("h", expression="2*h + bias", transform="log"),
        },
        free_start={"h": es.StartValue(start=1.0, min=0.5, prior=es.Prior(1.0, 0.1))},
        fix={"k": "2*base"},
        role="validate",
        from_=0.5,
        to=9.5,
        exclude=((2.0, 2.5), (3.0, 4.0)),
        gaps="bridge",
    )
    changed = es.Case(
        "doses",
        record(),
        inputs={"q": 0.4},
        outputs={"h": "h"},
        begin="steady",
        change=(Change(2.0, {"h": 0.5}), Change(3.0, set_={"q": 0.1})),
        active=False,
    )
    study = es.Study(
        es.load_model(TANK),
        [
            es.Tuner("base", start=0.3, min=0.01, scale="log", drives={"k": "base*2"}),
            es.Tuner("bias", start=0.25, prior=es.Prior(0.0, 1.0), unit="m", active=False),
        ],
        [case, changed],
        estimation=es.Estimation(criterion="ml", starts=3, max_seconds=12.5),
        solver=es.Solver(rtol=1e-7, max_step=0.25),
        criteria=[es.Criterion("low", of="h", kind="maximum", demand=1.5, role="at-most", to=4.0)],
        indicators=[Indicator("heights", show=("h", "2*h"), from_=1.0)],
        outputs={"double": "2*h"},
        tables={"optimise": {"method": "simplex"}, "bootstrap": {"replicates": 20, "seed": 4}},
    )
    again = written(study, tmp_path / "all.toml")
    assert again.tuners == study.tuners
    for one, other in zip(study.cases, again.cases, strict=True):
        assert replace(one, data=None) == replace(other, data=None)
    assert (again.estimation, again.solver) == (study.estimation, study.solver)
    assert (again.criteria, again.indicators) == (study.criteria, study.indicators)
    assert again.outputs == study.outputs
    assert other_tables(again) == study.tables
    once_more = written(again, tmp_path / "all2.toml")
    assert once_more.tuners == study.tuners


def test_paths_are_relative_below_and_absolute_elsewhere(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "Tank.mo").write_text(TANK)
    record().to_csv(tmp_path / "run.csv", index=False)
    monkeypatch.chdir(tmp_path)
    case = es.Case("a", es.read_data("run.csv"), inputs={"q": "q"}, outputs={"h": "h"})
    later = replace(case, name="b", data="run.csv", active=False)
    study = es.Study(es.load_model("models/Tank.mo"), ["k"], [case, later])
    assert len(study.write("here.toml")) == 1
    tables = tomllib.loads(Path("here.toml").read_text())
    assert tables["model"]["source"] == "models/Tank.mo"
    assert [c["data"] for c in tables["case"]] == ["run.csv", "run.csv"]
    (tmp_path / "other").mkdir()
    study.write("other/there.toml")
    tables = tomllib.loads(Path("other/there.toml").read_text())
    assert tables["model"]["source"] == str(tmp_path / "models" / "Tank.mo")
    assert tables["case"][0]["data"] == str(tmp_path / "run.csv")
    # messages name files as the study was named, so that both are given whole
    near, far = tmp_path / "here.toml", tmp_path / "other" / "there.toml"
    require_equal(es.read_study(near), es.read_study(far))


def test_data_that_are_no_longer_as_their_file_has_them(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    record().to_csv(path, index=False)
    study = tank_study()
    data = es.read_data(path)
    study = study.with_(cases=[replace(study.cases[0], data=data)])
    record().assign(h=0.0).to_csv(path, index=False)
    again = written(study, tmp_path / "tank.toml")
    assert (tmp_path / "tank_run_1.csv").exists()
    assert is_same_table(data, again.cases[0].data, None)


@pytest.mark.parametrize("zone", [None, "UTC", "+02:00"])
@pytest.mark.parametrize("step", ["1min", "12345678us", "1234567891ns"])
def test_dates_come_back_to_the_last_bit(zone: str | None, step: str, tmp_path: Path) -> None:
    stamps = pd.date_range("2025-03-29T22:00", periods=41, freq=step, tz=zone)
    frame = record().assign(time=stamps)
    study = tank_study()
    study = study.with_(cases=[replace(study.cases[0], data=frame)])
    again = written(study, tmp_path / "dated.toml")
    one, other = study.cases[0].data, again.cases[0].data
    assert one.origins
    assert dict(one.origins) == dict(other.origins)
    assert np.array_equal(one.time(), other.time())


def test_gaps_and_awkward_numbers_come_back(tmp_path: Path) -> None:
    frame = record()
    frame.loc[3:5, "h"] = math.nan
    frame.loc[7, "h"] = 5e-324
    frame.loc[8, "h"] = 1.7976931348623157e308
    frame.loc[9, "h"] = 0.1 + 0.2
    study = tank_study()
    study = study.with_(cases=[replace(study.cases[0], data=frame)])
    again = written(study, tmp_path / "x.toml")
    assert np.array_equal(again.cases[0].data.column("h"), frame["h"].to_numpy(), equal_nan=True)


def test_joined_files_stay_one_record(tmp_path: Path) -> None:
    whole = record()
    whole[:20].to_csv(tmp_path / "a.csv", index=False)
    whole[20:].to_csv(tmp_path / "b.csv", index=False)
    (tmp_path / "Tank.mo").write_text(TANK)
    (tmp_path / "study.toml").write_text(
        '[model]\nsource = "Tank.mo"\n[tune]\nk = 1\n[[case]]\nname = "all"\ndata = "?.csv"\n'
        'join = true\ninputs = { q = "q" }\noutputs = { h = "h" }\n'
    )
    study = es.read_study(tmp_path / "study.toml")
    again = written(study, tmp_path / "again.toml")
    require_equal(study, again)
    assert tomllib.loads((tmp_path / "again.toml").read_text())["case"][0]["data"] == [
        "a.csv",
        "b.csv",
    ]


def test_formulas_points_and_transfer_functions(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 4.1, 8.8, 16.2]})
    points = es.Case("p", frame, inputs={"x": "x"}, outputs={"y": "y"})
    study = es.Study(es.formula_model({"y": "a*x^b"}, ["x"]), ["a", "b"], [points])
    study = study.with_(starts={"a": 1.0, "b": 1.5})
    again = written(study, tmp_path / "power.toml")
    require_equal(study, again)
    one, other = es.fit(study, progress=False), es.fit(again, progress=False)
    assert np.array_equal(one.values, other.values)

    run = es.Case("r", record(), inputs={"u": "q"}, outputs={"y": "h"})
    for k, model in enumerate(
        (
            es.transfer_function("K*exp(-T*s)/(1 + tau*s)", parameters={"K": 2.0, "tau": 3.0}),
            es.transfer_function("K/(1 + tau*s)", delay="T"),
            es.transfer_function(["K"], ["tau", 1.0]),
            es.transfer_function("b/(z - a)", sample_time=0.25),
        )
    ):
        name = model.parameter_names[0]
        study = es.Study(model, [es.Tuner(name, start=1.0)], [run])
        again = written(study, tmp_path / f"linear{k}.toml")
        assert sorted(map(repr, again.bare.quantities())) == sorted(map(repr, model.quantities()))
        assert again.bare.system.entries == model.system.entries


def test_a_function_of_a_file_and_its_criterion(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "law.py").write_text(
        "def law(u, t, K=1.0, b=0.5):\n    return K*u + b*t\n"
        "def squares(residual, weight, time, dt, measured, simulated):\n"
        "    return residual**2\n"
    )
    monkeypatch.chdir(tmp_path)
    case = es.Case("r", record(), inputs={"u": "q"}, outputs={"y": "h"})
    study = es.Study(es.load_model("code/law.py:law", fix={"b": 0.25}), ["K"], [case])
    study = study.with_(estimation=es.Estimation(criterion="code/law.py:squares"))
    written(study, tmp_path / "code" / "study.toml")
    tables = tomllib.loads((tmp_path / "code" / "study.toml").read_text())
    assert tables["model"] == {"source": "law.py:law", "fix": {"b": 0.25}}
    assert tables["estimate"] == {"criterion": "law.py:squares"}


def test_functions_of_python_in_a_model(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "props.py").write_text(
        "def area(h):\n    return 2 + h\n\ndef slope(h):\n    return 1\n"
    )
    monkeypatch.chdir(tmp_path)
    function = 'function area input Real h; output Real y; external "C"; end area;\n'
    file = tmp_path / "Tank.mo"
    file.write_text(function + TANK.replace("(q - k*h)/n", "(q - k*h)/area(h)"))
    both = {"value": "code/props.py:area", "derivatives": "code/props.py:slope"}
    for named in ("code/props.py:area", both):
        model = es.load_model(file, functions={"area": named})
        plain = tank_study()
        study = es.Study(model, plain.tuners, plain.cases)
        again = written(study, tmp_path / "study.toml", overwrite=True)
        tables = tomllib.loads((tmp_path / "study.toml").read_text())
        assert tables["model"]["functions"] == {"area": named}
        require_equal(study, again)
        for kept in (pickle.loads(pickle.dumps(model)), unpacked(packed(model))):
            assert kept.origin == model.origin
            times = np.linspace(0, 1, 3)
            np.testing.assert_array_equal(kept.simulate(times)["h"], model.simulate(times)["h"])
    (tmp_path / "code" / "props.py").write_text("def area(h):\n    return 3 + h\n")
    changed = es.load_model(file, functions={"area": "code/props.py:area"})
    other = es.Study(changed, plain.tuners, plain.cases)
    assert fingerprint(other)["the model"] != fingerprint(study)["the model"]


def test_where_a_model_comes_from_survives_processes_and_saving(tmp_path: Path) -> None:
    model = es.load_model(TANK)
    for again in (pickle.loads(pickle.dumps(model)), unpacked(packed(model))):
        assert again.origin == model.origin
        assert again.with_inputs(["q"]).origin == model.origin
    study = tank_study()
    kept = pickle.loads(pickle.dumps(study))
    assert len(kept.write(tmp_path / "kept.toml")) == 3


def test_a_moved_study_is_the_same_for_runs(tmp_path: Path) -> None:
    one = tank_study()
    there = es.load_model(TANK, libraries=[tmp_path])
    assert (
        fingerprint(one)["the model"]
        == fingerprint(
            es.Study(es.load_model(TANK, fix={"n": 3}, libraries=[tmp_path]), one.tuners, one.cases)
        )["the model"]
    )
    assert there.origin.libraries == (str(tmp_path),)


# --- refusals ------------------------------------------------------------------------------------


def test_nothing_is_replaced_silently(tmp_path: Path) -> None:
    study = tank_study()
    (tmp_path / "tank.mo").write_text("mine")
    with pytest.raises(es.StudyError, match=r"Q181: there is already '.*tank\.mo'.*overwrite=True"):
        study.write(tmp_path / "tank.toml")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tank.mo"]
    assert (tmp_path / "tank.mo").read_text() == "mine"
    written(study, tmp_path / "tank.toml", overwrite=True)
    assert (tmp_path / "tank.mo").read_text() == TANK
    with pytest.raises(es.StudyError, match=r"Q181.*to replace them"):
        study.write(tmp_path / "tank.toml")


def test_all_files_or_none(tmp_path: Path, monkeypatch: Any) -> None:
    replaced = os.replace

    def fails_at_the_study(draft: Any, target: Any) -> None:
        if str(target).endswith(".toml"):
            raise OSError(28, "No space left on device")
        replaced(draft, target)

    monkeypatch.setattr(os, "replace", fails_at_the_study)
    with pytest.raises(es.EstimicaError, match="No space left"):
        tank_study().write(tmp_path / "tank.toml")
    assert list(tmp_path.iterdir()) == []


def test_what_a_file_cannot_hold_is_refused_by_name(tmp_path: Path) -> None:
    def law(u: Any, t: Any, K: float = 1.0) -> Any:
        return K * u

    case = es.Case("r", record(), inputs={"u": "q"}, outputs={"y": "h"})
    refused = {
        "model 'law': it is a Python function.*model.py:law": es.function_model(law),
        "model 'state space'.*from u to y, from rest.*Modelica": es.state_space(
            [["a"]], [["b"]], [[1.0]], parameters={"a": -1.0, "b": 1.0}
        ),
        "model 'transfer function'.*from u to y": es.transfer_function(
            "K/(s + 1)", initial="steady"
        ),
    }
    for words, model in refused.items():
        tuner = model.parameter_names[0]
        with pytest.raises(es.StudyError, match=f"Q183: {words}"):
            es.Study(model, [es.Tuner(tuner, start=1.0)], [case]).write(tmp_path / "x.toml")
    with pytest.raises(es.StudyError, match=r"Q184: .*'.*study\.toml'"):
        tank_study().write(tmp_path / "study.txt")
    with pytest.raises(es.EstimicaError, match="there is no folder"):
        tank_study().write(tmp_path / "nowhere" / "study.toml")
    with pytest.raises(es.StudyError, match=r"Q180: \[optimise\]: weights.*cannot hold"):
        tank_study(tables={"optimise": {"weights": object()}}).write(tmp_path / "x.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_no_file_can_hold_names_its_case(tmp_path: Path) -> None:
    data = Data("table", {"y": np.array([1.0, 2.0])})
    case = es.Case("short", data, outputs={"y": "y"})
    study = es.Study(es.formula_model({"y": "a"}, []), [es.Tuner("a", start=1.0)], [case])
    with pytest.raises(es.StudyError, match=r"Q182: case 'short': its data.*only one column"):
        study.write(tmp_path / "x.toml")


def test_a_model_is_the_same_wherever_its_file_lies(tmp_path: Path) -> None:
    """What a stored run depends on is not called changed because the folder was moved."""
    codes = []
    for folder in (tmp_path / "here", tmp_path / "moved"):
        folder.mkdir()
        (folder / "Tank.mo").write_text(TANK)
        study = es.Study(es.load_model(folder / "Tank.mo"), [es.Tuner("k", start=1.0)], [])
        codes.append(fingerprint(study)["the model"])
    (tmp_path / "moved" / "Tank.mo").write_text(TANK.replace("0.5", "0.6"))
    other = es.Study(es.load_model(tmp_path / "moved" / "Tank.mo"), [es.Tuner("k", start=1.0)], [])
    assert codes[0] == codes[1] != fingerprint(other)["the model"]
