"""Collocation: the same optimum as shooting, its bias on a coarse grid, and unstable models."""

from __future__ import annotations

import signal
from functools import cache

import numpy as np
import pytest
from tests.estimate.test_multiple_shooting import lorenz, notorious
from tests.estimate.transcribed import (
    EXACT,
    REFERENCE,
    SHARP,
    STEPS,
    Frame,
    apart,
    best,
    boiler,
    held,
    model,
    several_cases,
    simulated,
)

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.base.signals import Hold, Signal
from estimica.estimate.collocation.elements import Radau, divided, elements, intervals
from estimica.estimate.fit.result import Fit
from estimica.estimate.run.fit import fit
from estimica.estimate.run.one_start import Progress
from estimica.estimate.search.run import Status
from estimica.simulate.load import load_model
from estimica.study.case import Case
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Prior, Tuner


def collocated(**options: object) -> Estimation:
    return Estimation(transcription="collocation", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("name", REFERENCE)
def test_collocation_finds_the_optimum_of_shooting(name: str, criterion: str) -> None:
    reference = best(name, criterion)
    found = fit(REFERENCE[name](collocated(criterion=criterion)))
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
        {"degree": 5},
        {"degree": 2, "elements": 4000},
    ],
    ids=str,
)
def test_cases_gaps_start_values_and_criteria_are_those_of_shooting(
    options: dict[str, object],
) -> None:
    plain = {k: v for k, v in options.items() if k not in ("degree", "elements")}
    reference = fit(several_cases(Estimation(tolerance=1e-10, **plain)))  # type: ignore[arg-type]
    found = fit(several_cases(collocated(**options)))
    assert found.outcome.status is Status.CONVERGED
    assert apart(found, reference) < 1e-5


def test_bounds_and_priors_are_those_of_shooting() -> None:
    def bounded(estimation: Estimation) -> Study:
        given = boiler(estimation, 200)
        changed = {
            "A4": Tuner("A4", start=0.1, min=0, max=0.2),
            "T_R": Tuner("T_R", start=30, prior=Prior(mean=25.0, sigma=0.5)),
        }
        return given.with_(tuners=[changed.get(t.name, t) for t in given.tuners])

    reference = fit(bounded(Estimation(tolerance=1e-10)))
    found = fit(bounded(collocated()))
    assert found.at_bound == reference.at_bound
    assert "max" in found.at_bound
    assert apart(found, reference) < 1e-5


def test_algebraic_unknowns_are_collocated_and_see_the_input_after_its_jump() -> None:
    t = np.linspace(0, 10, 101)
    steps = {"u": ([0.0, 3.0, 6.0], [10.0, 4.0, 8.0])}
    data = simulated("ParallelCircuit", t, steps, {"i": 0.02, "resistor.i": 0.02})
    case = Case("run", data, inputs={"u": "u"}, outputs={"i": "i", "resistor.i": "resistor.i"})
    tuners = [Tuner(n, start=v) for n, v in {"R1": 0.7, "R2": 0.8, "C": 0.6, "L": 1.2}.items()]
    reference, found = (
        fit(Study(model("ParallelCircuit"), tuners, [case], estimation=e, solver=SHARP))
        for e in (Estimation(tolerance=1e-10), collocated())
    )
    assert model("ParallelCircuit").equations.z.shape[0] > 0
    assert found.outcome.status is Status.CONVERGED
    assert apart(found, reference) < 1e-5


def test_a_transform_of_the_output_enters_the_criterion() -> None:
    decay = load_model(
        "model Decay parameter Real k = 0.7; Real x(start = 5, fixed = true); "
        "equation der(x) = -k*x; end Decay;"
    )
    t = np.linspace(0, 4, 50)
    rng = np.random.default_rng(2)
    x = 5 * np.exp(-0.7 * t + 0.05 * rng.standard_normal(50))
    case = Case(
        "run", Frame({"t": t, "x": x}), outputs={"x": {"column": "x", "transform": "log"}},
        free_start={"x": 4.0},
    )  # fmt: skip
    line = np.polyfit(t, np.log(x), 1)
    for transcription in ("collocation", "multiple-shooting"):
        estimation = Estimation(transcription=transcription)  # type: ignore[arg-type]
        found = fit(Study(decay, [Tuner("k", start=0.3)], [case], estimation=estimation))
        assert found.values == pytest.approx([-line[0], np.exp(line[1])], rel=1e-5)


# -- the implicit Euler method of seed 001 ---------------------------------------------------------

TRUTH = {"a1": 1.0, "a2": 1.0, "b1": 1.0, "b2": 3.0, "x10": 0.5, "x20": 0.9}


def linear_states(estimation: Estimation, data: Frame) -> Fit:
    """Equation 5.1 of seed 001, all parameters free, weight 1."""
    outputs = {n: {"column": n, "weight": 1.0} for n in ("y1", "y2")}
    case = Case("run", data, inputs={"u1": "u1", "u2": "u2"}, outputs=outputs)  # type: ignore[arg-type]
    tuners = [Tuner(n, start=1.1 * v) for n, v in TRUTH.items()]
    one = Study(model("LinearStates"), tuners, [case], estimation=estimation, solver=SHARP)
    return fit(one)


def bias(found: Fit) -> Vector:
    return found.values / np.array(list(TRUTH.values())) - 1


@cache
def exact(samples: int) -> Frame:
    t = np.linspace(0, 40, samples)
    return simulated("LinearStates", t, STEPS, {"y1": 0.0, "y2": 0.0})


def test_implicit_euler_biases_the_estimates_by_percents_and_by_half_with_twice_the_samples() -> (
    None
):
    few, more, many = (
        bias(linear_states(collocated(degree=1), exact(n))) for n in (500, 1000, 2000)
    )
    assert 0.04 < np.abs(few).max() < 0.13  # table 5.2 has up to 12.6 %
    assert (np.abs(few) > 0.01).all()
    assert np.abs(more / few) == pytest.approx(np.full(6, 0.5), abs=0.12)
    assert np.abs(many / more) == pytest.approx(np.full(6, 0.5), abs=0.06)


def test_the_bias_is_gone_with_the_default_degree() -> None:
    found = linear_states(collocated(), exact(500))
    assert np.abs(bias(found)).max() < 1e-6


def test_data_of_the_implicit_euler_method_are_fitted_without_bias_by_degree_one() -> None:
    t = np.linspace(0, 40, 500)
    u = np.column_stack([held(STEPS[n], t) for n in ("u1", "u2")])
    A = np.array([[-1.0, 1.0], [-1.0, -3.0]])
    x = [np.array([0.5, 0.9])]
    for k, h in enumerate(np.diff(t)):
        x.append(np.linalg.solve(np.eye(2) - h * A, x[-1] + h * u[k]))
    x1, x2 = np.array(x).T
    data = Frame({"t": t, "u1": u[:, 0], "u2": u[:, 1], "y1": x1 * x2, "y2": x2 / (1 + x1)})
    found = linear_states(collocated(degree=1), data)
    assert np.abs(bias(found)).max() < 1e-7
    assert found.cost < 1e-12
    assert "the grid is coarse (raise degree or elements)" in found.outcome.message
    assert found.cases[0].outputs[0].simulated == pytest.approx(x1 * x2, abs=1e-7)
    assert (found.accuracy.stderr < 1e-6).all()


def test_more_elements_lessen_the_bias_of_degree_one() -> None:
    few = bias(linear_states(collocated(degree=1), exact(500)))
    more = bias(linear_states(collocated(degree=1, elements=4 * 499), exact(500)))
    assert np.abs(more / few) == pytest.approx(np.full(6, 0.25), abs=0.1)


# -- the grid --------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", range(1, 10))
def test_radau_points_integrate_polynomials_of_their_order_exactly(degree: int) -> None:
    scheme = Radau.of(degree)
    assert scheme.points[-1] == 1
    powers = np.concatenate([[0.0], scheme.points])
    for k in range(degree + 1):
        slopes = powers**k @ scheme.slopes
        wanted = k * scheme.points ** max(k - 1, 0)
        assert slopes == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_error_at_the_ends_is_of_order_twice_the_degree_minus_one(degree: int) -> None:
    scheme = Radau.of(degree)

    def end(h: float) -> float:
        # Σ_r slopes[r, j] X_r = −h X_j for x' = −x
        A = scheme.slopes[1:].T + h * np.eye(degree)
        return float(np.linalg.solve(A, -scheme.slopes[0])[-1])

    errors = [abs(end(h) - np.exp(-h)) for h in (0.2, 0.1)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2 * degree, abs=0.25)


def test_elements_end_at_stamps_and_at_changes_of_the_inputs() -> None:
    stamps = np.array([0.5, 1.0, 2.0])
    signals = [
        Signal(np.array([0.0, 0.3, 1.0, 1.5]), np.array([1.0, 1.0, 2.0, 3.0])),
        Signal(np.array([0.0, 0.7, 2.0]), np.array([0.0, 1.4, 0.0]), Hold.LINEAR),
    ]
    bounds = intervals(0.0, stamps, signals)
    assert bounds == pytest.approx([0.0, 0.5, 0.7, 1.0, 1.5, 2.0])
    grid = elements(bounds, stamps, signals, Radau.of(1))
    assert grid.inputs[0, 0] == pytest.approx([1, 1, 1, 2, 3])  # held from the beginning on
    assert grid.inputs[1, 0] == pytest.approx([1.0, 1.4, 1.4 * 1.0 / 1.3, 1.4 * 0.5 / 1.3, 0.0])
    assert grid.seen[0] == pytest.approx([1, 2, 3])  # after the jump
    assert list(grid.places) == [1, 3, 5]
    assert divided(bounds, np.array([1, 2, 1, 1, 3]))[:4] == pytest.approx([0.0, 0.5, 0.6, 0.7])


# -- unstable models -------------------------------------------------------------------------------


def test_collocation_fits_a_chaotic_model_as_multiple_shooting_does() -> None:
    cut = fit(lorenz(Estimation(transcription="multiple-shooting"), 10.0))
    found = fit(lorenz(collocated(), 10.0))
    assert found.outcome.status is Status.CONVERGED
    assert apart(found, cut) < 1e-5
    assert found.accuracy.stderr == pytest.approx(cut.accuracy.stderr, rel=1e-3)


@pytest.mark.slow
def test_collocation_fits_a_chaotic_model_of_which_one_state_is_measured() -> None:
    given = lorenz(collocated())
    case = given.cases[0]
    one = Case("run", case.data, outputs={"x": "x"}, free_start=case.free_start)
    found = fit(given.with_(cases=[one]))
    truth = np.array([10, 28, 8 / 3, -8, 7, 27])
    assert found.outcome.status is Status.CONVERGED
    assert (np.abs(found.values - truth) < 4 * found.accuracy.stderr).all()


@pytest.mark.parametrize("mu", [20.0, 40.0, 60.0])
def test_collocation_solves_the_notorious_problem_of_bock(mu: float) -> None:
    found = fit(notorious(collocated(), mu))
    assert found.outcome.status is Status.CONVERGED
    assert found.values[0] == pytest.approx(np.pi, abs=1e-5)
    assert found.cases[0].outputs[0].rmse == pytest.approx(0.05, rel=0.3)


# -- the ends of a search --------------------------------------------------------------------------


def test_limits_of_iterations_and_time_are_kept() -> None:
    short = fit(boiler(collocated(max_iterations=2), 200))
    assert short.outcome.status is Status.ITERATIONS
    assert short.outcome.message.startswith("not converged within max_iterations; raise it")
    late = fit(boiler(collocated(max_seconds=1e-6), 200))
    assert late.outcome.status is Status.TIME
    assert late.outcome.message.startswith("time is up; these are the last values")


def test_ctrl_c_returns_the_best_so_far() -> None:
    told = []

    def stop(progress: Progress) -> None:
        told.append(progress.iteration.number)
        if progress.iteration.number == 2:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    found = fit(boiler(collocated(), 200), progress=stop)
    assert found.outcome.status is Status.INTERRUPTED
    assert found.outcome.message.startswith("interrupted; these are the last values")
    assert told == [0, 1, 2]
    assert found.cost <= fit(boiler(Estimation(), 200)).iterations[0].cost
    assert signal.getsignal(signal.SIGINT) is before


def test_a_progress_that_raises_keyboard_interrupt_ends_the_search() -> None:
    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    found = fit(boiler(collocated(), 200), progress=stop)
    assert found.outcome.status is Status.INTERRUPTED


def test_iterations_tell_cost_and_values() -> None:
    found = fit(boiler(collocated(), 200))
    assert [one.number for one in found.iterations] == list(range(len(found.iterations)))
    assert found.iterations[-1].cost == found.cost
    assert found.iterations[-1].values == pytest.approx(found.values)


ONE = "parameter Real a = 1; Real x(start = 1, fixed = true);"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"model M {ONE} equation der(x) = -a*delay(x, 0.3); end M;", "it delays a signal"),
        (
            f"model M {ONE} equation der(x) = if x > 0.5 then -a else -a*x; end M;",
            "it has events: relations outside noEvent, Booleans or Integers",
        ),
        (
            f"model M {ONE} equation der(x) = -a; when x < 0 then reinit(x, 1); end when; end M;",
            "'x' changes at events",
        ),
        (
            f"model M {ONE} parameter Real b(fixed = false, start = 1); initial equation "
            "der(x) = 0.5; equation der(x) = b - a*x; end M;",
            "'b' is found by the initial equations (fixed = false)",
        ),
        ("model M parameter Real a = 1; Real x; equation x = a*time; end M;", "it has no states"),
    ],
    ids=["delay", "relation", "reinit", "fixed = false", "no states"],
)
def test_models_that_cannot_be_collocated_are_told_so(text: str, reason: str) -> None:
    data = Frame({"t": [0.0, 1.0, 2.0], "x": [1.0, 0.5, 0.2]})
    case = Case("run", data, outputs={"x": "x"})
    with pytest.raises(FitError) as caught:
        fit(Study(load_model(text), ["a"], [case], estimation=collocated()))
    assert str(caught.value) == (
        f"F040: collocation cannot write down 'M': {reason}; use transcription = 'shooting', or "
        "'multiple-shooting' where a single simulation runs away"
    )


@pytest.mark.parametrize("transcription", ["multiple-shooting", "collocation"])
def test_only_the_product_of_two_tuners_is_found_where_only_that_matters(
    transcription: str,
) -> None:
    decay = load_model(
        "model Decay parameter Real a = 1; parameter Real b = 2; parameter Real idle = 5; "
        "Real x(start = 1, fixed = true); equation der(x) = -a*b*x; end Decay;"
    )
    t = np.linspace(0, 3, 40)
    x = np.exp(-2 * t) + 0.01 * np.random.default_rng(1).standard_normal(40)
    case = Case("run", Frame({"t": t, "x": x}), outputs={"x": "x"})
    tuners = [Tuner("a", start=0.5), Tuner("b", start=1.0), Tuner("idle", start=3.0)]
    reference, found = (
        fit(Study(decay, tuners, [case], estimation=Estimation(transcription=name)))  # type: ignore[arg-type]
        for name in ("shooting", transcription)
    )
    assert found.outcome.status is Status.CONVERGED
    assert found.values[0] * found.values[1] == pytest.approx(
        reference.values[0] * reference.values[1], rel=1e-5
    )
    assert found.values[2] == 3.0
    assert found.identifiability.rank == 1


def test_samples_at_the_beginning_alone_are_told() -> None:
    one = load_model(f"model M {ONE} equation der(x) = -a*x; end M;")
    case = Case("run", Frame({"t": [0.0], "x": [1.0]}), outputs={"x": "x"})
    with pytest.raises(FitError) as caught:
        fit(Study(one, ["a"], [case], estimation=collocated()))
    assert str(caught.value) == (
        "F043: case 'run': all samples are at its beginning, 0, so there is nothing to collocate; "
        "use transcription = 'shooting'"
    )


def test_branches_inside_no_event_are_collocated() -> None:
    soft = load_model(
        f"model M {ONE} equation der(x) = if noEvent(x > 0.5) then -a else -2*a*x; end M;"
    )
    t = np.linspace(0, 2, 40)
    data = Frame({"t": t, "x": soft.simulate(t, outputs=["x"], options=EXACT).value("x")})
    case = Case("run", data, outputs={"x": "x"})
    found = fit(Study(soft, [Tuner("a", start=1.2)], [case], estimation=collocated()))
    assert found.values[0] == pytest.approx(1.0, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [10_000, 50_000])
def test_many_samples_are_collocated_in_memory_that_grows_with_them(samples: int) -> None:
    import resource

    reference = fit(boiler(Estimation(criterion="ml", tolerance=1e-10), samples))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = fit(boiler(collocated(criterion="ml"), samples))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert apart(found, reference) < 1e-5
    assert grown < 40 * samples  # kilobytes
