"""Multiple shooting: the same optimum as shooting, and one where shooting finds none."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from tests.estimate.transcribed import (
    EXACT,
    REFERENCE,
    SHARP,
    Frame,
    apart,
    best,
    boiler,
    model,
    several_cases,
    simulated,
    study,
)

from estimica.base.errors import FitError
from estimica.estimate.objective.cost import Point, scored
from estimica.estimate.run.fit import fit
from estimica.estimate.run.one_start import Progress
from estimica.estimate.search.run import Status
from estimica.estimate.setup import prepare
from estimica.estimate.shooting.continuity import information
from estimica.estimate.shooting.segments import SegmentedCase
from estimica.estimate.shooting.stitching import ScoredSegments, SegmentedStudy
from estimica.simulate.load import load_model
from estimica.study.case import Case
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Prior, Tuner


def cut(**options: object) -> Estimation:
    return Estimation(transcription="multiple-shooting", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("name", REFERENCE)
def test_multiple_shooting_and_gauss_newton_find_the_optimum_of_shooting(
    name: str, criterion: str
) -> None:
    reference = best(name, criterion)
    for estimation in (cut(criterion=criterion), Estimation(criterion=criterion, method="gauss-newton")):  # fmt: skip
        found = fit(REFERENCE[name](estimation))
        assert found.outcome.status is Status.CONVERGED
        assert apart(found, reference) < 1e-5
        assert found.cost == pytest.approx(reference.cost, rel=1e-8)
        assert found.accuracy.stderr == pytest.approx(reference.accuracy.stderr, rel=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"criterion": "ml"},
        {"loss": "huber"},
        {"criterion": "ml", "loss": "cauchy"},
        {"criterion": "weight*abs(residual)^1.5"},
        {"segments": 40},
        {"segments": 2},
    ],
    ids=str,
)
def test_cases_gaps_start_values_and_criteria_are_those_of_shooting(
    options: dict[str, object],
) -> None:
    plain = {k: v for k, v in options.items() if k != "segments"}
    reference = fit(several_cases(Estimation(tolerance=1e-10, **plain)))  # type: ignore[arg-type]
    found = fit(several_cases(cut(**options)))
    assert found.outcome.status is Status.CONVERGED
    assert apart(found, reference) < 1e-5


def test_bounds_and_priors_are_those_of_shooting() -> None:
    def bounded(estimation: Estimation) -> Study:
        given = boiler(estimation, 200)
        tuners = [
            Tuner("A4", start=0.1, min=0, max=0.2)
            if t.name == "A4"
            else Tuner("T_R", start=30, prior=Prior(mean=25.0, sigma=0.5))
            if t.name == "T_R"
            else t
            for t in given.tuners
        ]
        return given.with_(tuners=tuners)

    reference = fit(bounded(Estimation(tolerance=1e-10)))
    found = fit(bounded(cut()))
    assert dict(zip([u.name for u in found.unknowns.items], found.at_bound, strict=True))["A4"] == "max"  # fmt: skip
    assert apart(found, reference) < 1e-5


def lorenz(estimation: Estimation, end: float = 20.0) -> Study:
    t = np.linspace(0, end, int(20 * end) + 1)
    data = simulated("Lorenz", t, {}, {"x": 0.5, "y": 0.5, "z": 0.5})
    start = {"sigma": 6.0, "rho": 20.0, "beta": 4.0}
    free = {"x": -5.0, "y": 5.0, "z": 20.0}
    return study("Lorenz", data, start, [], ["x", "y", "z"], estimation, free_start=free)


def notorious(estimation: Estimation, mu: float) -> Study:
    t = np.linspace(0.05, 1, 20)
    rng = np.random.default_rng(3)
    x = np.sin(np.pi * t) + 0.05 * rng.standard_normal(20)
    v = np.pi * np.cos(np.pi * t) + 0.05 * rng.standard_normal(20)
    return study(
        "Notorious", Frame({"t": t, "x": x, "v": v}), {"p": 1.0}, [], ["x", "v"], estimation,
        fix={"mu": mu}, begin=0.0,
    )  # fmt: skip


def test_shooting_does_not_fit_a_chaotic_model_and_says_what_to_try() -> None:
    found = fit(lorenz(Estimation()))
    assert found.cost > 100 * 2.8
    assert (
        "little of 'x' in 'run' is explained: if that is not noise, start elsewhere (starts = 20), "
        "or, if the model is unstable or chaotic, use transcription = 'multiple-shooting' or "
        "'collocation'"
    ) in found.outcome.message


def test_multiple_shooting_fits_a_chaotic_model() -> None:
    found = fit(lorenz(cut()))
    truth = np.array([10, 28, 8 / 3, -8, 7, 27])
    assert found.outcome.status is Status.CONVERGED
    assert (np.abs(found.values - truth) < 3 * found.accuracy.stderr).all()
    assert (found.accuracy.stderr[:3] < 0.05).all()
    assert all(output.fit_percent > 92 for output in found.cases[0].outputs)
    assert "the model is unstable; cost and curves are those of the pieces" in found.outcome.message


@pytest.mark.parametrize("mu", [20.0, 40.0, 60.0])
def test_multiple_shooting_solves_the_notorious_problem_of_bock(mu: float) -> None:
    found = fit(notorious(cut(), mu))
    assert found.outcome.status is Status.CONVERGED
    assert found.values[0] == pytest.approx(np.pi, abs=1e-5)
    assert found.cases[0].outputs[0].rmse == pytest.approx(0.05, rel=0.3)


def test_shooting_leaves_the_data_of_the_notorious_problem_and_says_so() -> None:
    found = fit(notorious(Estimation(), 60.0))
    assert found.cost > 1e10
    assert "use transcription = 'multiple-shooting' or 'collocation'" in found.outcome.message


def test_eliminated_nodes_leave_the_jacobian_of_a_single_simulation() -> None:
    setup = prepare(several_cases(cut()))
    objective = scored(setup.calibration(), {})
    cases = [SegmentedCase(model("DrumBoiler"), p, 7) for p in objective.predictors]
    for case in cases:
        case.size_states(objective.unknowns.values(objective.unknowns.start))
    stitching = SegmentedStudy(objective, cases)
    q = objective.unknowns.start
    whole = objective.at(q)
    assert isinstance(whole, Point)
    nodes = []
    for case in cases:
        borders = np.array([s.begin for s in case.segments])
        case.recut(1)
        ways = case.trajectories(objective.unknowns.values(q), np.zeros((0, 2)), borders)
        assert not isinstance(ways, str)
        case.recut(7)
        nodes.append(ways.found[1:])
    pieces = stitching.at(q, nodes, objective)
    assert isinstance(pieces, ScoredSegments)
    assert np.abs(pieces.gaps).max() < 1e-5
    assert pieces.cost == pytest.approx(whole.cost, rel=1e-6)
    R = information(stitching.linearised(pieces))
    np.testing.assert_allclose(R.T @ R, whole.R.T @ whole.R, rtol=1e-4, atol=1e-6)


def test_pieces_carry_modes_memories_and_reinits() -> None:
    sampled = load_model(
        """
        model Sampled "A sampled controller"
          parameter Real Kp = 0.8;
          parameter Real Ki = 0.5;
          Real x(start = 0, fixed = true);
          discrete Real I(start = 0, fixed = true);
          discrete Real u(start = 0, fixed = true);
        equation
          der(x) = -x + u;
          when sample(0, 0.3) then
            I = pre(I) + Ki*0.3*(1 - x);
            u = Kp*(1 - x) + I;
          end when;
        end Sampled;
        """
    )
    for one, output, truth, times in (
        (sampled, "x", {"Kp": 0.8, "Ki": 0.5}, np.linspace(0, 5, 120)),
        (model("Thermostat"), "T", {"tau": 600.0, "P": 25.0}, np.linspace(0, 3600, 181)),
    ):
        rng = np.random.default_rng(1)
        value = one.simulate(times, outputs=[output], options=EXACT).value(output)
        data = Frame({"t": times, output: value + 0.01 * rng.standard_normal(len(times))})
        tuners = [Tuner(n, start=1.03 * v) for n, v in truth.items()]
        case = Case("run", data, outputs={output: output})
        found = [
            fit(Study(one, tuners, [case], estimation=e, solver=SHARP))
            for e in (Estimation(tolerance=1e-10), cut(segments=6))
        ]
        assert apart(found[1], found[0]) < 1e-5


def test_initial_equations_that_depend_on_tuners() -> None:
    steady = load_model(
        """
        model Steady
          parameter Real a = 1;
          parameter Real b = 2;
          Real x(start = 1);
        initial equation
          der(x) = 0;
        equation
          der(x) = -a*x^2 + b + sin(time);
        end Steady;
        """
    )
    t = np.linspace(0, 5, 60)
    rng = np.random.default_rng(1)
    x = steady.simulate(t, outputs=["x"], options=EXACT).value("x")
    data = Frame({"t": t, "x": x + 0.01 * rng.standard_normal(60)})
    tuners = [Tuner("a", start=1.3), Tuner("b", start=1.5)]
    case = Case("run", data, outputs={"x": "x"})
    reference, *others = (
        fit(Study(steady, tuners, [case], estimation=e, solver=SHARP))
        for e in (Estimation(tolerance=1e-10), cut(), Estimation(transcription="collocation"))
    )
    assert all(apart(one, reference) < 1e-5 for one in others)


def test_limits_of_iterations_and_time_are_kept() -> None:
    short = fit(boiler(cut(max_iterations=2), 200))
    assert short.outcome.status is Status.ITERATIONS
    assert "not converged after 2 iterations; raise max_iterations" in short.outcome.message
    late = fit(boiler(cut(max_seconds=1e-6), 200))
    assert late.outcome.status is Status.TIME
    assert late.outcome.message.startswith("time is up; these are the best values so far")


def test_ctrl_c_returns_the_best_so_far() -> None:
    def stop(progress: Progress) -> None:
        if progress.iteration.number == 2:
            signal.raise_signal(signal.SIGINT)

    found = fit(boiler(cut(), 200), progress=stop)
    assert found.outcome.status is Status.INTERRUPTED
    assert found.outcome.message.startswith("interrupted; these are the best values so far")
    assert found.cost < fit(boiler(Estimation(), 200)).iterations[0].cost


ONE = "parameter Real a = 1; Real x(start = 1, fixed = true);"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"model M {ONE} equation der(x) = -a*delay(x, 0.3); end M;",
            "F045: multiple shooting cannot cut 'M' into pieces: 'x' is delayed, and what a delay "
            "remembers is not a state; use transcription = 'shooting'",
        ),
        (
            f"model M {ONE} parameter Real b(fixed = false, start = 1); initial equation "
            "der(x) = 0.5; equation der(x) = b - a*x; end M;",
            "F046: multiple shooting cannot cut 'M' into pieces: 'b' is found by the initial "
            "equations (fixed = false); use transcription = 'shooting'",
        ),
        (
            f"model M {ONE} discrete Real k(start = 0, fixed = true); equation der(x) = k - a*x; "
            "when initial() then k = 2; end when; end M;",
            "F047: multiple shooting cannot cut 'M' into pieces: it uses initial(), which would "
            "happen in every piece; use transcription = 'shooting'",
        ),
        (
            "model M parameter Real a = 1; Real x; equation x = a*time; end M;",
            "F044: multiple shooting cannot cut 'M' into pieces: it has no states; "
            "use transcription = 'shooting'",
        ),
    ],
    ids=["delay", "fixed = false", "initial()", "no states"],
)
def test_models_that_cannot_be_cut_are_told_so(text: str, message: str) -> None:
    data = Frame({"t": [0.0, 1.0, 2.0], "x": [1.0, 0.5, 0.2]})
    one = Study(load_model(text), ["a"], [Case("run", data, outputs={"x": "x"})], estimation=cut())
    with pytest.raises(FitError) as caught:
        fit(one)
    assert str(caught.value) == message


def test_a_static_study_has_nothing_to_cut() -> None:
    from estimica.simulate.formula import formula_model

    line = formula_model({"y": "a*x"}, inputs=["x"])
    data = Frame({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    case = Case("points", data, inputs={"x": "x"}, outputs={"y": "y"})
    tuners = [Tuner("a", start=2.0)]
    for name, word in (("multiple-shooting", "cut"), ("collocation", "collocate")):
        estimation = Estimation(transcription=name)  # type: ignore[arg-type]
        with pytest.raises(FitError, match=f"a static study has nothing to {word}"):
            fit(Study(line, tuners, [case], estimation=estimation))
