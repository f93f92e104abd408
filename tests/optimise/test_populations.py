"""Many designs at once are worth what each is worth alone: values within ten times the tolerance,
the same verdicts, the same failures, whoever does the work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.result import Progress
from estimica.execute.batches import WorkedBy
from estimica.execute.runs.record import Status
from estimica.execute.runs.store import Store
from estimica.optimise.assess.pieces import blocks, joined, of_rows
from estimica.optimise.assess.pieces import scored as score_samples
from estimica.optimise.assess.run import sampled_study
from estimica.optimise.batch import point_from_dict, scored
from estimica.optimise.criteria.score import DesignPoint, FailedDesign
from estimica.optimise.criteria.value_only.scores import ValueOnlyScorer
from estimica.optimise.design import Design, prepare_design
from estimica.optimise.robust import RobustDesign, combined, prepare_any_design
from estimica.study.estimation import Execution
from estimica.study.tables.optimisation import optimise_table

RTOL = 1e-6  # of a study that says nothing else
SERVO = """model Servo "second order, with an input; only r >= 0 can be simulated"
  parameter Real z = 0.4;
  parameter Real w = 5;
  parameter Real r = 1;
  input Real u;
  output Real y(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(y) = v;
  der(v) = w^2*(u*sqrt(r) - y) - 2*z*w*v;
end Servo;
"""
RAMP = """model Ramp "its reference ends at te, an event"
  parameter Real z = 0.4;
  parameter Real w = 5;
  parameter Real te = 1;
  output Real y(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
  Real ref;
equation
  ref = if time < te then time/te else 1;
  der(y) = v;
  der(v) = w^2*(ref - y) - 2*z*w*v;
end Ramp;
"""
DRAW = {
    "z": {"kind": "normal", "mean": 0.4, "sigma": 0.08},
    "w": {"kind": "normal", "mean": 5.0, "sigma": 1.0},
}
#: of which a tenth cannot be simulated
FAILING = {**DRAW, "r": {"min": -0.1, "max": 0.9}}


@cache
def model_of(text: str) -> es.Model:
    return es.load_model(text)


def servo() -> es.Study:
    """Two cases, the second too short for some designs to settle in."""
    criteria = [
        es.Criterion("overshoot", "y", kind="overshoot", reference=1.0, demand=0.25),
        es.Criterion("settling", "y", kind="settling-time", reference=1.0, demand=1.9),
        es.Criterion("error", "2*(y - 1) + 0*v", kind="itae", demand=1.0),
        es.Criterion("top", "y*w", kind="peak", demand=7.0, role="at-most"),
        es.Criterion("damping", "2*z*w", demand=4.0, role="watch"),
    ]
    tuners = [es.Tuner("z", start=0.4, min=0.05, max=2), es.Tuner("w", start=5, min=1, max=20)]
    cases = [
        es.Case("long", stop=4.0, inputs={"u": 1.0}),
        es.Case("short", stop=1.4, inputs={"u": 1.1}, fix={"r": 0.9}),
    ]
    return es.Study(model_of(SERVO), tuners, cases, criteria=criteria, name="servo")


def ramp(text: str = RAMP) -> es.Study:
    """An event at te; three signals."""
    criteria = [
        es.Criterion("miss", "y", kind="iae", reference="ref", demand=0.4),
        es.Criterion("top", "y", kind="maximum", demand=1.2),
    ]
    tuners = [es.Tuner("z", start=0.4, min=0.05, max=2), es.Tuner("w", start=5, min=1, max=20)]
    case = es.Case("ramp", stop=4.0)
    return es.Study(model_of(text), tuners, [case], criteria=criteria, name="ramp")


STUDIES = {"servo": (servo, FAILING), "ramp": (ramp, {**DRAW, "te": {"min": 0.8, "max": 1.2}})}


def one_by_one(design: Design, values: np.ndarray) -> Iterator[DesignPoint | FailedDesign]:
    """Each design by itself, as a search asks for it."""
    for row in values:
        yield design.at(design.unknowns.coordinates(row), slopes=False)


def check_alike(found: es.Result, study: es.Study) -> None:
    """An assessment against its samples one by one."""
    names, values = found.samples.names, found.samples.values
    design = prepare_design(sampled_study(study, names, values[:1]))
    design.make_quick()
    failed = {f.number: (f.case, f.message) for f in found.failures}
    for k, point in enumerate(one_by_one(design, values)):
        if isinstance(point, FailedDesign):
            assert failed.pop(k) == (point.case, point.message)
            continue
        scale = np.maximum(np.abs(point.least), 1.0)  # of the signals
        assert (np.abs(found.least[k] - point.least) <= 10 * RTOL * scale).all(), k
        assert (found.open[k] == ~point.reached).all()
        held = [s.holds(1e-6 if s.place.role == "equal" else 1e-9) for s in point.scores]
        assert found.held[k].tolist() == held
    assert not failed


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("sensitivity", ["none", "morris", "sobol"])
def test_samples_of_monte_carlo_are_worth_what_each_is_alone(name: str, sensitivity: str) -> None:
    make, draw = STUDIES[name]
    found = es.montecarlo(
        make(),
        draw=draw,
        samples={"none": 100, "morris": 12, "sobol": 16}[sensitivity],
        sensitivity=sensitivity,
        curves=7,
    )
    check_alike(found, make())
    assert (len(found.failures) > 0) == (name == "servo")
    if name == "servo" and sensitivity == "none":
        assert found.open.any()
        assert 0 < found.held[:, 0].mean() < 1


@pytest.mark.parametrize("name", STUDIES)
def test_points_of_a_sweep_are_worth_what_each_is_alone(name: str) -> None:
    third = {"servo": {"r": [1.0, -1.0, 0.8]}, "ramp": {"te": [1.0, 0.9]}}[name]
    vary = {"z": {"from": 0.05, "to": 1.2, "count": 5}, "w": {"from": 1, "to": 20, "count": 5}}
    check_alike(es.sweep(STUDIES[name][0](), vary={**vary, **third}), STUDIES[name][0]())


@pytest.mark.parametrize("name", STUDIES)
def test_generations_are_worth_what_each_design_is_alone(name: str) -> None:
    design = prepare_design(STUDIES[name][0]())
    rng = np.random.default_rng(3)
    low, high = design.unknowns.lower, design.unknowns.upper
    q = low + (high - low) * rng.random((24, 2))
    rows = scored(design, q.tolist())
    for row, one in zip(rows, q, strict=True):
        own, alone = point_from_dict(design, one, row), design.at(one, slopes=False)
        assert isinstance(own, DesignPoint)
        assert isinstance(alone, DesignPoint)
        assert (own.reached == alone.reached).all()
        assert own.penalised == pytest.approx(alone.penalised, rel=1e-7, abs=1e-7)
        assert own.least == pytest.approx(alone.least, rel=1e-7, abs=1e-7)


def test_a_genetic_search_does_not_depend_on_its_workers() -> None:
    pytest.importorskip("pymoo")
    settings = {"method": "genetic", "population": 24, "max_iterations": 3, "seed": 2}
    one, two = (es.optimise(servo(), workers=n, **settings) for n in (1, 2))  # type: ignore[arg-type]
    assert one.best.q.tobytes() == two.best.q.tobytes()
    assert one.best.penalised.tobytes() == two.best.penalised.tobytes()


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("measure", ["worst", "mean", "quantile"])
def test_scenarios_together_count_as_one_by_one(name: str, measure: str) -> None:
    uncertain = {"servo": {"r": [0.8, 1.0, 1.1]}, "ramp": {"te": [0.9, 1.1]}}[name]
    table = optimise_table({"robust": {"uncertain": uncertain, "measure": measure}})
    design = prepare_any_design(STUDIES[name][0](), table)
    assert isinstance(design, RobustDesign)
    for q in ([0.4, 1.0], [1.0, 1.3], [0.5, 0.5]):
        there = design.unknowns.clipped(np.array(q) * design.unknowns.start)
        alone = combined([d.at(there, slopes=False) for d in design.designs], design.table)  # type: ignore[misc]
        for point in (design.at(there, slopes=False), design.at_all(there[None])[0]):
            assert isinstance(point, DesignPoint)
            assert point.penalised == pytest.approx(alone.penalised, rel=1e-6, abs=1e-6)
            assert len(point.scenarios) == len(design.designs)
        rough = design.glance(there)
        assert isinstance(rough, DesignPoint)
        assert rough.penalised == pytest.approx(alone.penalised, rel=1e-4, abs=1e-4)


def test_the_first_scenario_that_fails_is_told() -> None:
    table = optimise_table({"robust": {"uncertain": {"r": [1.0, -1.0, -2.0]}}})
    design = prepare_any_design(servo(), table)
    failed = design.at(design.unknowns.start, slopes=False)
    assert isinstance(failed, FailedDesign)
    assert "(scenario r = -1)" in failed.message
    assert failed.values == {"z": 0.4, "w": 5.0}


def test_values_together_are_as_exact_as_one_by_one() -> None:
    study = servo()
    quick, exact = prepare_design(study), prepare_design(study)
    quick.make_quick()
    rng = np.random.default_rng(1)
    values = np.column_stack([rng.uniform(0.02, 1.2, 32), rng.uniform(1, 20, 32)])
    q = quick.unknowns.coordinates(values)
    right = np.array([p.least for p in one_by_one(exact, values)])  # type: ignore[union-attr]
    alone = np.array([p.least for p in one_by_one(quick, values)])  # type: ignore[union-attr]
    found = quick.at_all(q)
    together = np.where(np.isnan(found.least), found.penalised, found.least)
    off = np.abs(alone - right).max(axis=0)
    assert (np.abs(together - right).max(axis=0) <= np.maximum(off, 1e-9)).all()


@pytest.mark.parametrize("hold", ["previous", "linear"])
def test_inputs_that_jump_and_turn_are_seen_from_both_sides(hold: str) -> None:
    columns = {"time": [0, 0.5, 1.3, 2.0, 3.1, 4.0], "u": [0, 1.0, -0.5, 2.0, 0.3, 0.3]}
    table = pd.DataFrame({**columns, "y": columns["u"]})
    case = es.Case("c", table, inputs={"u": es.InputColumn("u", hold=hold)}, outputs={"y": "y"})  # type: ignore[arg-type]
    criteria = [
        es.Criterion("peak", "u - y", kind="peak", demand=9.0),
        es.Criterion("mean", "u*v", kind="mean", demand=9.0),
        es.Criterion("error", "y", kind="iae", reference="u", demand=9.0),
    ]
    tuners = [es.Tuner("z", start=0.4), es.Tuner("w", start=5.0)]
    designs = []
    for backend in ("scalar", "vector"):
        study = es.Study(
            model_of(SERVO), tuners, [case], criteria=criteria, execute=Execution(backend=backend)
        )
        designs.append(prepare_design(study))
        designs[-1].make_quick()
    values = np.column_stack([np.linspace(0.2, 0.9, 16), np.linspace(3, 9, 16)])
    alone, together = (d.at_all(d.unknowns.coordinates(values)) for d in designs)
    assert [d.worked_by().backend for d in designs] == ["scalar", "vector"]  # type: ignore[union-attr]
    assert together.alone == 0
    assert together.penalised == pytest.approx(alone.penalised, rel=10 * RTOL, abs=10 * RTOL)


def test_the_backend_is_said_in_the_result() -> None:
    fast = es.montecarlo(servo(), draw=DRAW, samples=20, curves=0)
    assert fast.to_dict()["worked_by"]["backend"] == "vector"  # type: ignore[index]
    assert "in the vector units of the processor" in str(fast.table().note)
    events = es.montecarlo(ramp(), draw=DRAW, samples=20, curves=0)
    assert events.worked_by == WorkedBy("vector", 0)
    late = ramp(RAMP.replace("(ref - y)", "(ref - delay(y, 0.01))"))
    delayed = es.montecarlo(late, draw=DRAW, samples=20, curves=0).worked_by
    assert delayed == WorkedBy("scalar", delayed.alone)  # type: ignore[union-attr]
    wished = late.with_(execute=Execution(backend="vector"))
    told = es.montecarlo(wished, draw=DRAW, samples=20, curves=0).worked_by
    assert told is not None
    assert "delays" in told.reason


# --- who does the work ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", STUDIES)
def test_two_threads_give_the_same_bits_as_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["estimica.optimise.design"], "LARGEST", 32)  # several blocks
    make, draw = STUDIES[name]
    one, two = (es.montecarlo(make(), draw=draw, samples=150, workers=n, curves=5) for n in (1, 2))
    assert one.values.tobytes() == two.values.tobytes()
    assert one.failures == two.failures
    for a, b in zip(one.families, two.families, strict=True):
        assert a.values.tobytes() == b.values.tobytes()


def test_a_run_that_was_interrupted_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["estimica.optimise.design"], "LARGEST", 16)
    monkeypatch.setattr(sys.modules["estimica.optimise.assess.run"], "LARGEST", 32)
    whole = es.montecarlo(servo(), draw=FAILING, samples=150, curves=0)

    def stop(p: Progress) -> None:
        if p.done > 60:
            raise KeyboardInterrupt

    store, settings = Store(tmp_path / "runs.db"), {"samples": 150, "curves": 0}
    run = store.begin("montecarlo", name="servo", study="", settings=settings)
    part = es.montecarlo(servo(), draw=FAILING, run=run, progress=stop, workers=2, **settings)  # type: ignore[arg-type]
    run.finish(Status.INTERRUPTED)
    run.close()
    assert 60 < part.done.sum() < 150
    with store.resume(run.id) as run:
        again = es.montecarlo(servo(), draw=FAILING, run=run, **settings)  # type: ignore[arg-type]
    assert again.values.tobytes() == whole.values.tobytes()
    assert again.failures == whole.failures


def test_blocks_are_cut_by_number_whatever_is_open() -> None:
    numbers = np.array([3, 4, 7, 8, 9, 15, 16, 17, 30])
    parts = [p.tolist() for p in blocks(numbers, 8)]
    assert parts == [[3, 4], [7], [8, 9], [15], [16, 17], [30]]


def test_pieces_are_joined_and_older_ones_are_read() -> None:
    study = sampled_study(servo(), ("z", "r"), np.array([[0.4, 1.0]]))
    design = prepare_design(study)
    design.make_quick()
    rows = [[0.4, 1.0], [0.3, -1.0], [0.9, 1.0], [0.05, 0.8], [0.5, 0.7]]
    drawn = [False, True, False, True, False]
    whole = score_samples(design, (0, rows, drawn))
    parts = [score_samples(design, (k, [rows[k]], [drawn[k]])) for k in range(5)]
    again = joined(parts)
    assert again["failed"] == whole["failed"]
    assert list(whole["failed"]) == ["1"]
    assert list(again["courses"]) == list(whole["courses"]) == ["3"]
    for name in ("values", "at_least"):
        assert again[name] == pytest.approx(whole[name], rel=1e-5, nan_ok=True)
    table = np.reshape(whole["values"], (5, -1))
    least = np.reshape(whole["at_least"], (5, -1))
    older = [
        {"case": "long", "failed": "why"}
        if k == 1
        else {
            "values": [None if np.isnan(v) else v for v in table[k]],
            "at_least": [None if np.isnan(v) else v for v in least[k]],
        }
        for k in range(5)
    ]
    read = of_rows(older)
    np.testing.assert_array_equal(read["values"], table)
    np.testing.assert_array_equal(read["at_least"], least)
    assert read["failed"] == {"1": ["long", "why"]}


def test_designs_that_need_finer_panels_are_scored_together_too() -> None:
    design = prepare_design(servo())
    design.make_quick()
    lively = design.unknowns.coordinates(np.array([[0.02, 19.0], [0.01, 18.0], [0.03, 20.0]]))
    together = design.at_all(lively)
    scorers = [s for s in design.many if isinstance(s, ValueOnlyScorer)]
    assert not any(s.again for s in scorers)
    for k, q in enumerate(lively):
        point = design.at(q, slopes=False)
        assert isinstance(point, DesignPoint)
        assert together.penalised[k] == pytest.approx(point.penalised, rel=1e-5, abs=1e-5)


def test_a_function_that_raises_costs_its_design_only(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "def last(x):\n    if x['z'] > 0.5:\n        raise ValueError('too much')\n"
        "    return float(x['y'][-1])\n"
    )
    (tmp_path / "Servo.mo").write_text(SERVO)
    (tmp_path / "s.toml").write_text(
        '[model]\nsource = "Servo.mo"\n[tune]\nz = { start = 0.4 }\n'
        '[[case]]\nname = "one"\nstop = 2\ninputs = { u = 1.0 }\n'
        '[[criterion]]\nname = "own"\nkind = "function"\nfunction = "own.py:last"\n'
        '[[criterion]]\nname = "top"\nkind = "peak"\nof = "y"\n'
    )
    found = es.sweep(es.read_study(tmp_path / "s.toml"), vary={"z": [0.3, 0.6, 0.4, 0.7]})
    assert [f.number for f in found.failures] == [1, 3]
    assert "too much" in found.failures[0].message
    assert np.isfinite(found.values[[0, 2]]).all()
