"""Results carry on: values of runs as starts, written into studies, mapped to other names."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.execute.runs.record import Status
from estimica.execute.runs.store import Store

GROWTH = """# Growth of a culture, measured in May
[static]
expression = "b1*(1 - exp(-b2*x))"

[tune]
b1 = { start = 500, min = 10, max = 1000 }   # the plateau
b2 = { start = 1e-4, scale = "log" }         # the rate, spans decades

[[case]]
name = "points"
data = "points.csv"
inputs = { x = "x" }
outputs = { y = { column = "y", weight = 1 } }
"""
OSCILLATOR = """model Oscillator
  parameter Real d = 0.2 "damping";
  parameter Real w(unit = "rad/s") = 3 "frequency";
  output Real y(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(y) = v;
  der(v) = w^2*(1 - y) - 2*d*w*v;
  annotation(experiment(StopTime = 10));
end Oscillator;
"""
DESIGN = """[model]
source = "Oscillator.mo"

[tune]
d = { start = 0.2, min = 0.1, max = 0.9 }

[[case]]
name = "step"
stop = 10

[[criterion]]
name = "overshoot"
kind = "overshoot"
of = "y"
reference = "1"
demand = 0.05

[sweep]
vary = { w = [2, 3] }

[montecarlo]
draw = { d = { kind = "normal", sigma = 0.01 } }
samples = 8

[solver]
rtol = 1e-9
atol = 1e-11
"""


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(w) for w in words])


def told(*words: object) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def plain(done: Result) -> str:
    """Everything that was printed, in one line."""
    return " ".join(done.output.split())


@pytest.fixture
def growth(tmp_path: Path) -> Path:
    x = np.linspace(100, 8000, 40)
    y = 240 * (1 - np.exp(-5e-4 * x)) + np.random.default_rng(3).normal(0, 0.5, 40)
    pd.DataFrame({"x": x, "y": y}).to_csv(tmp_path / "points.csv", index=False)
    path = tmp_path / "growth.toml"
    path.write_text(GROWTH, encoding="utf-8")
    return path


@pytest.fixture
def design(tmp_path: Path) -> Path:
    (tmp_path / "Oscillator.mo").write_text(OSCILLATOR, encoding="utf-8")
    path = tmp_path / "design.toml"
    path.write_text(DESIGN, encoding="utf-8")
    return path


def test_values_of_a_fit_are_written_with_comments_kept_and_taken_back(growth: Path) -> None:
    found = told("fit", growth)
    b1, b2 = (found["parameters"][n]["value"] for n in ("b1", "b2"))
    assert b1 == pytest.approx(240, rel=0.02)
    rehearsed = run("use", "last", growth, "--dry-run")
    assert "growth.toml would have the values" in rehearsed.stdout
    assert growth.read_text(encoding="utf-8") == GROWTH

    used = run("use", "last", growth)
    assert used.exit_code == 0, used.output
    assert f"growth.toml has the values of run {found['run']} (fit of 'growth'):" in used.stdout
    assert f"b1: 500 → {b1:.6g}" in used.stdout
    assert f"b2: 0.0001 → {b2:.6g}" in used.stdout
    text = growth.read_text(encoding="utf-8")
    assert f"b1 = {{ start = {float(f'{b1:.9g}')!r}, min = 10, max = 1000 }}" in text
    assert "# the plateau" in text
    assert len(text.splitlines()) == len(GROWTH.splitlines())
    assert text.splitlines()[0] == "# Growth of a culture, measured in May"
    assert "# the rate, spans decades" in text
    study = es.read_study(growth)
    assert {t.name: t.start for t in study.tuners} == pytest.approx({"b1": b1, "b2": b2}, rel=1e-8)
    assert "nothing is changed" in run("use", found["run"], growth).stdout

    undone = run("use", "--undo", growth)
    assert f"growth.toml is as it was before the values of run {found['run']}" in undone.stdout
    assert growth.read_text(encoding="utf-8") == GROWTH
    nothing = run("use", "--undo", growth)
    assert nothing.exit_code == 2
    assert "Q196" in nothing.output


def test_an_edit_after_the_use_is_not_lost_by_undoing(growth: Path) -> None:
    told("fit", growth)
    assert told("use", "last", growth)["undoable"]
    changed = growth.read_text(encoding="utf-8") + "# a thought\n"
    growth.write_text(changed, encoding="utf-8")
    refused = run("use", "--undo", growth)
    assert refused.exit_code == 2
    assert "was changed after the values of run" in plain(refused)
    assert growth.read_text(encoding="utf-8") == changed


def test_a_command_writes_the_values_first_where_that_is_asked(growth: Path) -> None:
    found = told("fit", growth)
    done = run("residuals", growth, "--use", "last")
    assert done.exit_code == 0, done.output
    assert f"growth.toml has the values of run {found['run']}" in plain(done)
    assert f"b1: 500 → {found['parameters']['b1']['value']:.6g}" in done.output
    both = run("fit", growth, "--use", "last", "--fit", "last")
    assert both.exit_code == 2
    assert "B065" in both.output


def test_the_last_run_is_one_that_fits_the_question(growth: Path) -> None:
    store = Store.beside(growth)
    nothing = run("bootstrap", growth, "--fit", "last")
    assert nothing.exit_code == 2
    assert "no run of fit or release of study 'growth'" in plain(nothing)
    found = told("fit", growth)
    other = growth.with_name("other.toml")
    other.write_text(GROWTH.replace("min = 10", "min = 300"), encoding="utf-8")
    told("fit", other)  # a newer one of another study
    with store.begin("fit", name="growth", study=GROWTH, settings={}) as failed:
        failed.finish(Status.FAILED, "no", {})
    running = store.begin("fit", name="growth", study=GROWTH, settings={})
    done = run(
        "bootstrap", growth, "--fit", "last", "--replicates", "3", "--workers", "1", "--json"
    )
    assert done.exit_code == 0, done.output
    assert f"from run {found['run']} (fit of 'growth'): b1 = " in done.stderr
    answer = json.loads(done.stdout)
    assert answer["from"]["run"] == found["run"]
    # the very fit of that run: nothing was searched again
    assert answer["parameters"]["b1"]["value"] == found["parameters"]["b1"]["value"]
    early = run("profile", growth, "--fit", running.id)
    assert f"B064: run '{running.id}' is still running" in plain(early)
    empty = run("profile", growth, "--fit", failed.id)
    assert empty.exit_code == 2
    assert "has found no values" in plain(empty)


@pytest.mark.parametrize(
    "command",
    [
        ("fit",),
        ("residuals",),
        ("profile", "b1"),
        ("identifiability", "--no-structural"),
        ("map", "b1", "b2", "--points", "3", "--at-start"),
    ],
)
def test_analyses_begin_with_the_values_of_a_run(growth: Path, command: tuple[str, ...]) -> None:
    found = told("fit", growth)
    name, *rest = command
    answer = told(name, growth, *rest, "--fit", "last", "--report", growth.with_name("page.html"))
    assert answer["from"]["run"] == found["run"]
    page = growth.with_name("page.html").read_text(encoding="utf-8")
    assert f"The values are from run {found['run']} (fit of" in page
    if name == "map":
        assert answer["centre"]["b1"] == pytest.approx(found["parameters"]["b1"]["value"])
    if name == "fit":
        assert len(answer["iterations"]) <= 3  # it begins at the optimum


def test_changed_data_are_told_and_the_fit_is_searched_again(growth: Path) -> None:
    told("fit", growth)
    data = pd.read_csv(growth.with_name("points.csv"))
    data["y"] *= 1.1
    data.to_csv(growth.with_name("points.csv"), index=False)
    done = run(
        "bootstrap", growth, "--fit", "last", "--replicates", "3", "--workers", "1", "--json"
    )
    assert "the data of case 'points' has changed" in plain(done)
    assert json.loads(done.stdout)["parameters"]["b1"]["value"] == pytest.approx(264, rel=0.02)


def test_starts_outside_bounds_and_missing_logarithms_are_told(growth: Path) -> None:
    found = told("fit", growth)
    narrow = GROWTH.replace("max = 1000", "max = 200").replace("start = 500", "start = 100")
    growth.write_text(narrow, encoding="utf-8")
    used = run("use", found["run"], growth)
    assert "b1: 100 → 200" in used.stdout
    assert "the value found, 24" in used.stdout
    assert "is above its max 200" in used.stdout
    study = es.read_study(growth)
    assert study.tuners[0].start == 200


def test_the_optimum_is_assessed_not_the_design_before_it(design: Path) -> None:
    """Overshoot of a second-order system: exp(−π d/√(1 − d²)), whatever its frequency."""
    optimum = told("optimise", design)
    d = optimum["tuners"]["d"]["value"]
    assert d > 0.6  # it began at 0.2
    known = math.exp(-math.pi * d / math.sqrt(1 - d**2))
    drawn = told("montecarlo", design, "--fit", optimum["run"], "--curves", "0")
    assert np.mean(drawn["samples"]["d"]) == pytest.approx(d, abs=0.02)
    assert drawn["from"]["run"] == optimum["run"]
    assert drawn["from"]["values"]["d"]["value"] == d
    source = told("montecarlo", design, "--source", optimum["run"], "--curves", "0")
    assert source["samples"] == drawn["samples"]
    # the values go on: a sweep from the Monte Carlo holds the optimum too
    for named in (optimum["run"], "last", drawn["run"]):
        swept = told("sweep", design, "--fit", named, "--curves", "0")
        values = swept["criteria"]["step"]["overshoot"]["values"]
        assert values == pytest.approx([known, known], rel=1e-3)
    plain_sweep = told("sweep", design, "--curves", "0")
    before = math.exp(-math.pi * 0.2 / math.sqrt(1 - 0.2**2))
    assert plain_sweep["criteria"]["step"]["overshoot"]["values"][0] == pytest.approx(
        before, rel=1e-3
    )


def test_results_carry_on_in_python(design: Path) -> None:
    study = es.read_study(design)
    optimum = es.optimise(study)
    d = optimum.best.tuners[0]
    there = study.use(optimum)
    assert there.tuners[0].start == d
    assert study.tuners[0].start == 0.2  # the study itself stays what it was
    swept = es.sweep(study, start=optimum, curves=0)
    assert np.array_equal(swept.values, es.sweep(there, curves=0).values)
    drawn = es.montecarlo(study, source=optimum, curves=0)
    assert drawn.samples.values.mean() == pytest.approx(d, abs=0.02)
    assert "optimise of 'design'" in there.origin.text  # type: ignore[union-attr]
    study.use(optimum, write=True)
    assert es.read_study(design).tuners[0].start == pytest.approx(d, rel=1e-8)
    with pytest.raises(es.StudyError, match="there is no tuner or parameter 'dd'"):
        study.use(optimum, {"dd": "d"})


def test_a_mean_of_its_own_stands_and_is_told(design: Path) -> None:
    optimum = told("optimise", design)
    text = DESIGN.replace('kind = "normal", ', 'kind = "normal", mean = 0.3, ')
    design.write_text(text, encoding="utf-8")
    drawn = told("montecarlo", design, "--fit", optimum["run"], "--curves", "0")
    assert "'d' is drawn around its mean 0.3, not around" in drawn["outcome"]["message"]


def test_one_design_of_a_front_is_chosen_by_its_number(design: Path) -> None:
    more = """
[[criterion]]
name = "damping"
kind = "value"
of = "d"
demand = 1
"""
    design.write_text(DESIGN.replace("\n[sweep]", f"{more}\n[sweep]"), encoding="utf-8")
    front = told("optimise", design, "--pareto", "--points", "3")
    which = run("use", front["run"], design)
    assert which.exit_code == 2
    assert f"is a front of {len(front['front'])} designs: say which" in plain(which)
    used = told("use", f"{front['run']}.2", design)
    assert used["changes"][0]["new"] == front["front"][1]["tuners"]["d"]
    outside = run("use", f"{front['run']}.99", design)
    assert "none is number 99" in plain(outside)


MOTOR = """[model]
source = "Motor.mo"
class = "Motor"
[tune]
R = { start = 1, min = 0.1 }
k = 0.5
[[case]]
name = "run"
data = "run.csv"
outputs = { y = "y" }
"""
MODELS = """model Motor
  parameter Real R(unit = "Ohm") = 1;
  parameter Real k(unit = "1/s") = 0.5;
  output Real y(start = 1, fixed = true);
equation
  der(y) = -k*y + 0.1*R;
end Motor;
"""
DRIVE = """model Axis
  parameter Real R(unit = "mOhm") = 1000;
  parameter Real k(unit = "1/s") = 0.5;
  parameter Real m(unit = "kg") = 1;
  output Real y(start = 0, fixed = true);
equation
  der(y) = -k*y + 1e-4*R;
end Axis;
model Drive
  Axis mot;
  Axis aux;
  parameter Real gain = 1;
  output Real y;
equation
  y = gain*mot.y + 0*aux.y;
end Drive;
"""
VEHICLE = """[model]
source = "Drive.mo"
class = "Drive"
[tune]
gain = { start = 1, min = 0.1, max = 5 }
[from_fit]
study = "motor.toml"
"mot.R" = "R"
[[case]]
name = "step"
stop = 40
[[criterion]]
name = "end"
kind = "final"
of = "y"
demand = 1
"""


@pytest.fixture
def vehicle(tmp_path: Path) -> Path:
    (tmp_path / "Motor.mo").write_text(MODELS, encoding="utf-8")
    (tmp_path / "Drive.mo").write_text(DRIVE, encoding="utf-8")
    t = np.linspace(0, 10, 41)
    # y' = -k y + R/10 with R = 2.5, k = 0.8: y = R/(10 k) + (1 - R/(10 k)) exp(-k t)
    y = 0.3125 + 0.6875 * np.exp(-0.8 * t)
    pd.DataFrame({"time": t, "y": y}).to_csv(tmp_path / "run.csv", index=False)
    (tmp_path / "motor.toml").write_text(MOTOR, encoding="utf-8")
    path = tmp_path / "vehicle.toml"
    path.write_text(VEHICLE, encoding="utf-8")
    return path


def test_a_fitted_value_reaches_another_name_in_a_larger_model(vehicle: Path) -> None:
    early = run("check", vehicle)
    assert early.exit_code == 2
    assert "[from_fit]: no run of optimise, fit or release of study 'motor'" in plain(early)
    fitted = told("fit", vehicle.with_name("motor.toml"))
    study = es.read_study(vehicle)
    assert study.origin is not None
    assert study.origin.held == pytest.approx({"mot.R": 2500.0}, rel=1e-4)  # Ohm → mOhm
    assert study.origin.run == fitted["run"]
    remarks = " ".join(study.origin.remarks)
    assert "'k' of run" in remarks
    assert "it may be 'mot.k', 'aux.k'" in remarks  # told, not guessed
    swept = run("sweep", vehicle, "--vary", "gain=1,2", "--curves", "0", "--json")
    assert f"from run {fitted['run']} (fit of 'motor'): mot.R = 2500" in swept.stderr
    values = json.loads(swept.stdout)["criteria"]["step"]["end"]["values"]
    assert values == pytest.approx([0.5, 1.0], rel=1e-3)  # 1e-4·2500/0.5, times the gain

    used = run("use", fitted["run"], vehicle)
    assert "mot.R: 1000 → 2500 mOhm" in used.stdout
    assert "[model] fix" not in used.stdout
    assert es.read_study(vehicle).tables["model"]["fix"]["mot.R"] == pytest.approx(2500, rel=1e-4)  # type: ignore[index]


def test_the_last_run_of_a_larger_model_is_its_own_and_not_that_of_its_part(vehicle: Path) -> None:
    """A Monte Carlo after Optimise is of the optimum, also where [from_fit] names another study."""
    fitted = told("fit", vehicle.with_name("motor.toml"))
    text = vehicle.read_text(encoding="utf-8").replace('of = "y"', 'of = "(y - 2)^2"')
    draws = "[montecarlo]\nsamples = 4\n[montecarlo.draw]\n"
    vehicle.write_text(f'{text}\n{draws}"mot.k" = {{ min = 0.4, max = 0.6 }}\n', encoding="utf-8")
    before = run("sweep", vehicle, "--fit", "last", "--vary", "gain=1,2", "--json")
    assert json.loads(before.stdout)["from"]["run"] == fitted["run"]  # there is no other yet
    best = told("optimise", vehicle)
    gain = best["tuners"]["gain"]["value"]
    assert gain == pytest.approx(4, rel=1e-2)  # 0.25/0.5 times the gain is 2
    for which in ("last", best["run"]):
        scatter = told("montecarlo", vehicle, "--fit", which, "--curves", "0")
        assert scatter["from"]["run"] == best["run"]
        for k, value in zip(
            scatter["samples"]["mot.k"], scatter["criteria"]["step"]["end"]["values"], strict=True
        ):
            expected = (gain * 0.25 / k - 2) ** 2  # 0.25 is of the fitted R
            assert value == pytest.approx(expected, rel=1e-2, abs=1e-4)
    used = run("use", "last", vehicle)
    assert "mot.R: 1000 → 2500 mOhm" in used.stdout
    assert f"gain: 1 → {gain:.6g}" in used.stdout


def test_a_run_that_is_older_than_the_table_says_what_it_lacks(vehicle: Path) -> None:
    told("fit", vehicle.with_name("motor.toml"))
    with_table = vehicle.read_text(encoding="utf-8")
    without = with_table.replace('[from_fit]\nstudy = "motor.toml"\n"mot.R" = "R"\n', "")
    vehicle.write_text(without, encoding="utf-8")
    old = told("optimise", vehicle)
    vehicle.write_text(with_table, encoding="utf-8")
    swept = run("sweep", vehicle, "--fit", "last", "--vary", "gain=1,2", "--curves", "0")
    assert f"run {old['run']} (optimise of 'vehicle') has no 'mot.R' of [from_fit]" in plain(swept)


def test_units_that_contradict_are_refused_and_endings_are_proposed(vehicle: Path) -> None:
    fitted = told("fit", vehicle.with_name("motor.toml"))
    vehicle.write_text(VEHICLE.replace('"mot.R" = "R"', '"mot.m" = "R"'), encoding="utf-8")
    wrong = run("check", vehicle)
    assert "is in Ohm, 'mot.m' of this study in kg" in plain(wrong)
    vehicle.write_text(VEHICLE.replace('"mot.R" = "R"', '"mot.R" = "Q"'), encoding="utf-8")
    wrong = run("check", vehicle)
    assert f"run {fitted['run']} (fit of 'motor') has no 'Q'" in plain(wrong)
    text = VEHICLE.replace('"mot.R" = "R"', "").replace('study = "motor.toml"', "")
    vehicle.write_text(text, encoding="utf-8")
    nothing = run("sweep", vehicle, "--fit", fitted["run"], "--vary", "gain=1,2")
    assert nothing.exit_code == 2
    assert "it may be 'mot.R', 'aux.R': write which, as [from_fit]" in plain(nothing)


def test_a_resumed_run_begins_with_the_same_run(
    design: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from estimica.optimise.assess import run as assess_run

    first = told("optimise", design)
    whole = told("montecarlo", design, "--fit", first["run"], "--curves", "0", "--workers", "1")
    real = assess_run.scored

    def stopped(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(assess_run, "scored", stopped)
    cut = run("montecarlo", design, "--fit", "last", "--curves", "0", "--workers", "1", "--json")
    assert json.loads(cut.stdout)["outcome"]["status"] == "interrupted"
    monkeypatch.setattr(assess_run, "scored", real)
    told("optimise", design)  # a newer last one
    again = told("montecarlo", design, "--resume", "last", "--workers", "1")
    assert again["from"]["run"] == first["run"]
    assert again["criteria"] == whole["criteria"]
