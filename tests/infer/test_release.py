"""Release: unknowns are set free as long as the data ask for it, and never to no avail."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, f
from tests.infer.release_problems import EXAMPLES, TRUTH, boiler, boiler_cost, boiler_data, line

import estimica as es
from estimica.base.view import text
from estimica.execute.runs.writer import NoRunWriter
from estimica.infer.release.result import Release, Step
from estimica.infer.release.run import Progress
from estimica.simulate.formula import formula_model

START_AND_NOISE = [
    "start of P in run 1",
    "start of x2 in run 1",
    "noise of E",
    "noise of P",
]
FIRST = [["start values", "noise"]]


def squares(study: es.Study, columns: str) -> float:
    """The least sum of squares with some columns free, by NumPy."""
    data = study.cases[0].data
    x, y = data.column("x"), data.column("y")  # type: ignore[union-attr]
    A = np.column_stack([{"a": np.ones_like(x), "b": x, "c": x**2}[c] for c in columns] or [0 * x])
    return float(np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2))


@pytest.fixture(scope="module")
def measured() -> dict[str, np.ndarray]:
    return boiler_data()


@pytest.fixture(scope="module")
def boiled(measured: dict[str, np.ndarray]) -> Release:
    return es.release(boiler(measured), settings={"noise": 1.0})


# --- the drum boiler of the thesis ---------------------------------------------------------------


def test_boiler_ends_with_everything_free_and_near_the_truth(boiled: Release):
    assert str(boiled.outcome.status) == "done"
    assert boiled.outcome.message == "everything is released"
    assert boiled.held == ()
    labels = [u.label for u in boiled.fit.unknowns.items]
    assert set(labels) == set(TRUTH)
    errors = dict(zip(labels, boiled.fit.accuracy.stderr, strict=True))
    for label, value in zip(labels, boiled.fit.values, strict=True):
        assert abs(value - TRUTH[label]) < 4 * errors[label]
    assert boiled.fit.noise["E"].variance == pytest.approx(0.5, rel=0.2)
    assert boiled.fit.noise["P"].variance == pytest.approx(10, rel=0.2)


def test_boiler_is_released_in_the_order_of_the_thesis(boiled: Release):
    first, second, third = boiled.steps[:3]
    assert list(first.candidates[0].released) == START_AND_NOISE
    assert first.free == ()
    assert first.candidates[0].freedom == 4
    assert [c.released for c in second.candidates] == [
        ("disturbance of E in run 1", "disturbance of P in run 1")
    ]
    assert [c.name for c in third.candidates] == ["T_D", "T_R", "A4"]
    assert [s.choice.name for s in boiled.steps[2:] if s.choice] == ["A4", "T_R", "T_D"]


def test_no_candidate_ends_above_its_null_model_by_scipy(
    boiled: Release, measured: dict[str, np.ndarray]
):
    for step in boiled.steps:
        null = boiler_cost(step.values, step.noise, measured)
        assert null == pytest.approx(step.cost, rel=1e-6, abs=0.05)
        for c in step.candidates:
            cost = boiler_cost(c.values, c.noise, measured)
            assert cost == pytest.approx(c.cost, rel=1e-6, abs=0.05)
            assert null - cost > 0
            assert c.cost_reduction == step.cost - c.cost  # nothing is clamped
            assert c.cost_reduction == pytest.approx(null - cost, rel=1e-5, abs=0.05)


def test_thesis_candidate_that_ended_1532_above_its_null_model_gains(boiled: Release):
    """Table 5.16: T_R after A4 came out with a cost reduction of -1532.865."""
    fourth = boiled.steps[3]
    assert "A4" in fourth.free
    assert "T_R" not in fourth.free
    candidate = next(c for c in fourth.candidates if c.name == "T_R")
    assert candidate.cost_reduction > 900
    assert len(candidate.starts) == 4


def test_chosen_model_is_the_next_null_model(boiled: Release):
    for step, following in zip(boiled.steps, boiled.steps[1:], strict=False):
        assert step.choice is not None
        assert following.cost == step.choice.cost
        assert following.values == step.choice.values
        assert following.noise == step.choice.noise
        assert following.aic == step.choice.aic


def test_fits_of_consecutive_steps_are_nested(boiled: Release):
    for k, step in enumerate(boiled.steps):
        test = es.likelihood_ratio(boiled.model(k), boiled.model(k + 1))
        assert step.choice is not None
        assert set(test.released) == set(step.choice.released)
        assert test.freedom == step.choice.freedom
        assert test.cost_reduction == pytest.approx(step.choice.cost_reduction, rel=1e-4)
        assert test.risk == pytest.approx(step.choice.risk, abs=1e-6)


def risks_by_hand(step: Any, candidate: Any) -> tuple[float, float]:
    """χ² of the cost where noise is known or tested itself, else F of the squares it leaves.

    The released unknowns depend on the noise of one output, of both, or of something between.
    """
    if candidate.noise == step.noise or any(n.startswith("noise") for n in candidate.released):
        risk = float(chi2.sf(candidate.cost_reduction, candidate.freedom))
        return risk, risk
    samples = 500  # of each output
    squares = samples * sum(step.noise[n] / v - 1 for n, v in candidate.noise.items())
    free = len(candidate.values)
    p = candidate.freedom
    both, one = 2 * samples - free, samples - free
    most, least = (squares * (1 - k / samples) / p for k in (free / 2, free))
    return float(f.sf(most, p, both)), float(f.sf(least, p, one))


def test_risk_counts_released_unknowns_and_noise(boiled: Release):
    for step in boiled.steps:
        n = len(step.candidates)
        for c in step.candidates:
            assert c.freedom == len(c.released)
            low, high = risks_by_hand(step, c)
            assert low * (1 - 1e-9) <= c.risk <= high * (1 + 1e-9)
            assert c.risk_multiple == pytest.approx(-np.expm1(n * np.log1p(-c.risk)), rel=1e-9)


def test_information_criteria_are_those_of_the_fit(boiled: Release):
    last = boiled.steps[-1].choice
    assert last is not None
    assert last.aic == pytest.approx(boiled.fit.aic, abs=1e-3)
    assert last.bic == pytest.approx(boiled.fit.bic, abs=1e-3)
    assert boiled.model(2).aic == pytest.approx(boiled.steps[2].aic, abs=0.01)


def test_workers_give_the_same_numbers_bit_for_bit(
    boiled: Release, measured: dict[str, np.ndarray]
):
    shared = es.release(boiler(measured), settings={"noise": 1.0}, workers=2)
    assert plain(shared) == plain(boiled)


def plain(release: Release) -> object:
    """The JSON of a release without its durations."""

    def without(value: object) -> object:
        if isinstance(value, dict):
            return {k: without(v) for k, v in value.items() if k not in ("seconds", "run")}
        return [without(v) for v in value] if isinstance(value, list) else value

    return without(json.loads(json.dumps(release.to_dict())))


# --- over-parametrised: the RC circuit -----------------------------------------------------------


@pytest.fixture(scope="module")
def circuit() -> es.Study:
    return es.read_study(EXAMPLES / "rc_circuit" / "rc_circuit.toml")


def test_resistance_after_capacitance_gains_nothing(circuit: es.Study):
    release = es.release(circuit, order=[FIRST, ["C"], ["R"]])
    last = release.steps[-1]
    assert "C" in last.free
    assert last.chosen is None
    (candidate,) = last.candidates
    assert candidate.released == ("R",)
    assert abs(candidate.cost_reduction) < 1e-6
    assert candidate.risk > 0.995
    assert "1.00" in text(last.table())
    assert any("R·C" in a for a in candidate.advice)
    assert release.advice == candidate.advice
    assert release.held == ("R",)
    product = release.fit["C"] * 1500
    assert product == pytest.approx(0.9e3 * 0.11e-3, rel=0.03)


def test_resistance_or_capacitance_alone_cost_the_same(circuit: es.Study):
    release = es.release(circuit)
    assert release.steps[0].cost == pytest.approx(-663.3, abs=0.2)  # the thesis had -663.4388
    first, second = release.steps[1].candidates
    assert {first.name, second.name} == {"R", "C"}
    assert first.cost == pytest.approx(second.cost, abs=1e-6)
    assert release.steps[1].chosen == 0  # of like ones the first
    assert [row[-1] for row in release.steps[1].table().rows] == ["released", "gains as much"]
    assert release.outcome.message == "1 candidate left, none of which is worth releasing"


# --- the rule ------------------------------------------------------------------------------------


def test_true_line_needs_no_square():
    release = es.release(line())
    assert set(release.released) == {"a", "b"}
    assert release.held == ("c",)
    assert set(release.fit.estimates) == {"a", "b"}


def test_costs_are_those_of_linear_least_squares():
    study = line()
    release = es.release(study, order=[["a"], ["b"], ["c"]])
    n = 60
    for step, columns in zip(release.steps, ("a", "ab", "abc"), strict=True):
        expected = n * np.log(squares(study, columns) / n) + n
        assert step.candidates[0].cost == pytest.approx(expected, rel=1e-10)


def test_output_error_stops_where_little_is_gained():
    study = line().with_(estimation=es.Estimation(criterion="oe"))
    release = es.release(study, order=[["a"], ["b"], ["c"]])
    assert release.released == ("a", "b")
    last = release.steps[-1].candidates[0]
    small, large = squares(study, "abc"), squares(study, "ab")
    statistic = (large - small) / (small / (60 - 3))
    assert last.risk == pytest.approx(f.sf(statistic, 1, 57), rel=1e-6)
    assert release.steps[-1].table().rows[0][-1] == "gains too little"
    generous = es.release(study, order=[["a"], ["b"]], settings={"reduction": 0.99})
    assert generous.released == ()


def test_noise_that_is_given_is_held_until_it_is_released():
    study = line()
    release = es.release(study, order=[["a"], ["noise"]], settings={"noise": {"y": 4.0}})
    first, second = release.steps
    total = squares(study, "")
    assert first.cost == pytest.approx(total / 4 + 60 * np.log(4.0), rel=1e-12)
    assert first.noise == {"y": 4.0}
    assert "noise of y" not in first.free
    assert second.candidates[0].released == ("noise of y",)
    assert second.candidates[0].freedom == 1
    assert release.fit.noise["y"].estimated


def test_noise_that_is_not_given_is_estimated_from_the_start():
    release = es.release(line(), order=[["a"]])
    assert release.steps[0].free == ("noise of y",)
    assert release.steps[0].candidates[0].freedom == 1


def test_known_sigma_is_never_released():
    release = es.release(line(sigma=0.2), settings={"noise": 4.0})
    assert all("noise" not in n for s in release.steps for c in s.candidates for n in c.released)
    assert release.steps[0].noise == {"y": pytest.approx(0.04)}


def test_groups_are_released_together():
    release = es.release(line(), settings={"groups": [["b", "c"]]})
    assert {c.released for s in release.steps for c in s.candidates} == {("a",), ("b", "c")}
    assert max(c.freedom for s in release.steps for c in s.candidates) == 2


def test_what_is_not_released_is_tried_again_in_the_next_stage():
    release = es.release(line(), order=[["c"], ["a", "b"]], settings={"risk": 1e-9})
    tried = [[c.name for c in s.candidates] for s in release.steps]
    assert tried[0] == ["c"]
    assert tried[-1] == ["c"] or "c" not in tried[-1]
    assert "a" in release.released


def test_step_limit_ends_a_release():
    release = es.release(line(), settings={"max_steps": 1})
    assert str(release.outcome.status) == "step limit"
    assert release.outcome.message == "stopped after 1 steps; set max_steps to go on"
    assert len(release.steps) == 1


def test_every_candidate_begins_at_the_null_optimum():
    """A spread start alone may end in a poorer optimum; the first one cannot end above."""
    random = np.random.default_rng(3)
    x = np.linspace(0, 10, 80)
    y = np.sin(1.0 * x) + 0.05 * random.standard_normal(80)
    model = formula_model({"y": "a*sin(w*x)"}, inputs=["x"])
    case = es.Case("wave", pd.DataFrame({"x": x, "y": y}), inputs={"x": "x"}, outputs={"y": "y"})
    tuners = [es.Tuner("a", start=0.5, min=-2, max=2), es.Tuner("w", start=1.01, min=0.1, max=6)]
    release = es.release(es.Study(model, tuners, [case], criterion="ml"), settings={"starts": 6})
    worst = max(s.cost for step in release.steps for c in step.candidates for s in c.starts)
    assert worst > max(step.cost for step in release.steps)  # some start ended above
    assert all(c.cost_reduction >= 0 for step in release.steps for c in step.candidates)
    assert release.fit["w"] == pytest.approx(1.0, abs=0.01)


def test_null_model_that_cannot_be_simulated_is_told():
    model = formula_model({"y": "log(a)*x"}, inputs=["x"])
    x = np.arange(5.0)
    case = es.Case("points", pd.DataFrame({"x": x, "y": x}), inputs={"x": "x"}, outputs={"y": "y"})
    study = es.Study(model, [es.Tuner("a", start=-1.0)], [case], criterion="ml")
    with pytest.raises(
        es.InferError, match=r"I109: the null model cannot be simulated: .*give start"
    ):
        es.release(study)


# --- choosing, going on --------------------------------------------------------------------------


def test_choice_overrules_the_proposal():
    seen: list[Step] = []

    def last(step: Step) -> int | None:
        seen.append(step)
        return len(step.candidates) - 1 if len(step.candidates) > 1 else None

    release = es.release(line(), choose=last)
    assert [s.choice.name if s.choice else None for s in release.steps] == ["c", "b", None]
    assert seen[0].proposed == 1
    assert release.steps[0].table().rows[2][-1] == "released, as chosen"


def test_choice_must_be_a_candidate():
    with pytest.raises(es.InferError, match="I107: step 1 has candidates 0 … 2, not 7"):
        es.release(line(), choose=lambda step: 7)


def test_ctrl_c_keeps_the_finished_steps_and_the_run_goes_on():
    run = NoRunWriter()

    def impatient(progress: Progress) -> None:
        if progress.step == 2 and progress.done == 3:
            raise KeyboardInterrupt

    cut = es.release(line(), progress=impatient, run=run)
    assert str(cut.outcome.status) == "interrupted"
    assert cut.outcome.message == "stopped after 1 complete step"
    assert len(cut.steps) == 1
    assert len(cut.fit.estimates) == 1
    known = set(run.checkpoints())
    told: list[Progress] = []
    whole = es.release(line(), progress=told.append, run=run)
    assert plain(whole) == plain(es.release(line()))
    searched = [p for p in told if p.chosen is None]
    total = sum(len(c.starts) for s in whole.steps for c in s.candidates)
    noted = [k for k in known if k.count("/") == 2]
    assert len(searched) == total - len(noted)  # nothing is done twice


def test_run_of_other_data_is_not_taken_up():
    run = NoRunWriter()
    es.release(line(), run=run)
    with pytest.raises(es.InferError, match=r"I112: .*: the model or the data has changed since"):
        es.release(line(seed=2), run=run)
    with pytest.raises(es.InferError, match=r"I112: .*: 'risk' has changed since; begin a new run"):
        es.release(line(), risk=0.01, run=run)


# --- several cases, disturbances that are held ---------------------------------------------------


def two_cases(measured: dict[str, np.ndarray], **details: object) -> es.Study:
    study = boiler(measured)
    first = study.cases[0]
    second = replace(first, name="run 2", to=600.0, free_start={"P": 140.0, "x2": 25.0})
    power = es.OutputColumn("E", disturbance=es.StartValue(start=5.0), **details)  # type: ignore[arg-type]
    outputs = {"E": power, "P": first.outputs["P"]}
    return study.with_(cases=[replace(first, outputs=outputs), second])


def test_start_value_of_all_cases_has_a_short_name(measured: dict[str, np.ndarray]):
    order = [["x2", "start of P"], ["disturbance of E", "disturbance of P in run 2"]]
    release = es.release(two_cases(measured), order=order, settings={"max_steps": 4, "starts": 1})
    names = {c.released for s in release.steps for c in s.candidates}
    assert ("start of x2 in run 1", "start of x2 in run 2") in names
    assert ("start of P in run 1", "start of P in run 2") in names
    assert ("disturbance of E in run 1", "disturbance of E in run 2") in names
    assert ("disturbance of P in run 2",) in names


@pytest.mark.parametrize("criterion", ["ml", "oe"])
def test_model_of_a_step_costs_what_the_step_says(measured: dict[str, np.ndarray], criterion: str):
    study = two_cases(measured).with_(estimation=es.Estimation(criterion=criterion))
    settings = {"max_steps": 1, "starts": 1} | ({"noise": 2.0} if criterion == "ml" else {})
    release = es.release(study, order=[[["start values"]], ["T_R"]], settings=settings)
    assert release.steps[0].values["disturbance of E in run 1"] == 5.0
    assert release.model(0).n_free == 0
    assert release.model(0).cost == pytest.approx(release.steps[0].cost, rel=1e-6)
    assert release.steps[0].choice is not None
    assert release.model(1).cost == pytest.approx(release.steps[0].choice.cost, rel=1e-6)


def test_disturbance_of_a_transformed_output_cannot_be_held_away_from_zero(
    measured: dict[str, np.ndarray],
):
    study = two_cases(measured, transform="value^2")
    with pytest.raises(es.InferError, match="I106: case 'run 1': the disturbance of 'E' cannot be"):
        es.release(study, order=[["T_R"]], settings={"starts": 1})
