"""Criteria of trajectories: against closed forms, and gradients against central differences."""

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import estimica as es
from estimica.base.code.trusted import trusted_code
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.optimise.criteria.measures import MEASURES
from estimica.optimise.criteria.score import CriterionInCase
from estimica.optimise.criteria.trajectory import Experiment, TrajectoryScorer
from estimica.study.criterion import Criterion
from estimica.study.tuner import Tuner

SECOND = """
model Second
  parameter Real z = 0.3;
  parameter Real w = 2;
  parameter Real k = 1;
  input Real u;
  Real y(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(y) = v;
  der(v) = w*w*(u - y) - 2*z*w*v;
end Second;
"""
BALL = """
model Ball
  parameter Real e = 0.7;
  parameter Real g = 9.81;
  Real h(start = 1, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
end Ball;
"""
END = 12.0
Z, W = 0.3, 2.0
WD = W * math.sqrt(1 - Z * Z)


@pytest.fixture(scope="module")
def second():
    return es.load_model(SECOND)


def step(t):
    """The unit step response of the second-order system."""
    return 1 - math.exp(-Z * W * t) * (math.cos(WD * t) + Z * W / WD * math.sin(WD * t))


def scorer(model, criteria, *, u=1.0, end=END, tuners=("z", "w"), **options):
    inputs = (
        {"u": u if isinstance(u, es.Signal) else es.Signal.constant(u)} if u is not None else {}
    )
    experiment = Experiment("run", 0.0, end, inputs, {}, {})
    links = ParameterMap([Tuner(n, start=1.0) for n in tuners], {})
    places = [CriterionInCase(c, "run") for c in criteria]
    return TrajectoryScorer(model, experiment, links, places, **options)


def value(model, kind, at=(Z, W), *, of="y", slopes=False, **options):
    fields = {n: options.pop(n) for n in list(options) if n in Criterion.__dataclass_fields__}
    for word in ("from",):
        if word in options:
            fields[word] = options.pop(word)
    asked = Criterion("c", of=of, kind=kind, **fields)
    (found,) = scorer(model, [asked], **options).at(np.array(at), slopes=slopes)
    return found if slopes else found.value


def crossings(level, end=END):
    grid = np.linspace(0, end, 4001)
    f = [step(t) - level for t in grid]
    return [
        brentq(lambda t: step(t) - level, a, b, xtol=1e-13)
        for a, b, fa, fb in zip(grid[:-1], grid[1:], f[:-1], f[1:], strict=True)
        if fa * fb < 0
    ]


# --- closed forms --------------------------------------------------------------------------------


def test_overshoot_of_a_second_order_system(second):
    exact = math.exp(-math.pi * Z / math.sqrt(1 - Z * Z))
    assert value(second, "overshoot", reference=1.0) == pytest.approx(exact, abs=1e-8)
    assert value(second, "peak") == pytest.approx(1 + exact, abs=1e-8)
    assert value(second, "maximum") == pytest.approx(1 + exact, abs=1e-8)
    assert value(second, "overshoot", at=(1.5, 2.0), reference=1.0) == 0
    assert value(second, "undershoot", reference=1.0) == 0


def test_overshoot_downwards_counts_alike(second):
    exact = 3 * math.exp(-math.pi * Z / math.sqrt(1 - Z * Z))
    found = value(second, "overshoot", reference=-3.0, u=-3.0)
    assert found == pytest.approx(exact, rel=1e-8)


def test_rise_time_lies_between_first_crossings(second):
    exact = crossings(0.9)[0] - crossings(0.1)[0]
    assert value(second, "rise-time", reference=1.0) == pytest.approx(exact, abs=1e-7)
    exact = crossings(0.8)[0] - crossings(0.2)[0]
    found = value(second, "rise-time", reference=1.0, levels=(0.2, 0.8))
    assert found == pytest.approx(exact, abs=1e-7)


def test_settling_time_is_the_last_time_outside_of_the_band(second):
    exact = max(crossings(1.02) + crossings(0.98))
    assert value(second, "settling-time", reference=1.0) == pytest.approx(exact, abs=1e-6)
    exact = max(crossings(1.1) + crossings(0.9))
    assert value(second, "settling-time", reference=1.0, band=0.1) == pytest.approx(exact, abs=1e-7)


def test_integrals_have_their_closed_forms(second):
    end = 40.0
    ise = (1 + 4 * Z * Z) / (4 * Z * W)
    assert value(second, "ise", reference=1.0, end=end) == pytest.approx(ise, abs=1e-7)
    rms = math.sqrt(ise / end)
    assert value(second, "rms", reference=1.0, end=end) == pytest.approx(rms, abs=1e-7)
    assert value(second, "integral", end=end) == pytest.approx(end - 2 * Z / W, abs=1e-7)
    assert value(second, "mean", end=end) == pytest.approx(1 - 2 * Z / W / end, abs=1e-8)
    parts = [0.0, *crossings(1.0), END]
    ends = list(pairwise(parts))
    iae = sum(quad(lambda t: abs(step(t) - 1), a, b, epsabs=1e-12)[0] for a, b in ends)
    assert value(second, "iae", reference=1.0) == pytest.approx(iae, abs=1e-7)
    itae = sum(quad(lambda t: t * abs(step(t) - 1), a, b, epsabs=1e-12)[0] for a, b in ends)
    assert value(second, "itae", reference=1.0) == pytest.approx(itae, abs=1e-6)
    energy = quad(lambda t: step(t) ** 2, 0, END, epsabs=1e-12, limit=200)[0]
    assert value(second, "energy") == pytest.approx(energy, abs=1e-7)


def test_final_value_and_what_is_left(second):
    assert value(second, "final") == pytest.approx(step(END), abs=1e-8)
    found = value(second, "steady-state-error", reference=1.0)
    assert found == pytest.approx(abs(step(END) - 1), abs=1e-8)
    assert value(second, "minimum", **{"from": 3.0}) == pytest.approx(
        min(step(t) for t in np.linspace(3, END, 200_001)), abs=1e-8
    )


@pytest.mark.parametrize("kind", MEASURES)
def test_measures_do_not_depend_on_the_panels(second, kind):
    few = value(second, kind, reference=1.0, panels=4)
    many = value(second, kind, reference=1.0, panels=160)
    assert few == pytest.approx(many, abs=1e-7)


def test_transfer_functions_are_measured_alike():
    model = es.transfer_function("w^2/(s^2 + 2*d*w*s + w^2)", parameters={"w": W, "d": Z})
    asked = [
        Criterion("overshoot", of="y", kind="overshoot", reference=1.0),
        Criterion("rise", of="y", kind="rise-time", reference=1.0),
    ]
    both = scorer(model, asked, tuners=("d", "w"))
    overshoot, rise = both.at(np.array([Z, W]), slopes=False)
    exact = math.exp(-math.pi * Z / math.sqrt(1 - Z * Z))
    assert overshoot.value == pytest.approx(exact, abs=1e-8)
    assert rise.value == pytest.approx(crossings(0.9)[0] - crossings(0.1)[0], abs=1e-7)
    agree(both, AT)


def test_panels_of_the_start_change_the_work_and_not_the_values(second):
    plain = value(second, "settling-time", reference=1.0)
    settled = value(second, "settling-time", reference=1.0, start=np.array([0.1, 3.0]))
    assert settled == pytest.approx(plain, abs=1e-7)


# --- gradients -----------------------------------------------------------------------------------

AT = np.array([0.25, 1.7])


def differences(scorer, at, h=1e-4):
    columns = []
    for k in range(len(at)):
        moved = [at.copy(), at.copy()]
        moved[0][k] += h
        moved[1][k] -= h
        up, down = ([m.value for m in scorer.at(p, slopes=False)] for p in moved)
        columns.append((np.array(up) - np.array(down)) / (2 * h))
    return np.array(columns).T


def agree(scorer, at):
    found = scorer.at(at, slopes=True)
    expected = differences(scorer, at)
    for place, measure, row in zip(scorer.places, found, expected, strict=True):
        assert measure.gradient is not None, place.criterion.name
        size = max(1.0, float(np.abs(row).max()))
        assert measure.gradient == pytest.approx(row, abs=1e-4 * size), place.criterion.name


def test_gradients_of_all_measures_agree_with_central_differences(second):
    kinds = [Criterion(k, of="y", kind=k, reference=1.0) for k in MEASURES]
    kinds += [
        Criterion(f"{k} alone", of="y", kind=k) for k in MEASURES if k != "steady-state-error"
    ]
    agree(scorer(second, kinds), AT)


def test_gradients_of_expressions_see_tuners_in_them(second):
    asked = [
        Criterion("power", of="k*v*y + w*time", kind="integral"),
        Criterion("size", of="k^2*y", kind="maximum", reference="z*y"),
    ]
    agree(scorer(second, asked, tuners=("z", "w", "k")), np.array([0.3, 2.0, 1.5]))


def test_tuners_that_drive_expressions_are_chained(second):
    tuner = Tuner("a", start=0.3, drives={"z": "a", "w": "4*a"})
    links = ParameterMap([tuner], {})
    experiment = Experiment("run", 0.0, END, {"u": es.Signal.constant(1.0)}, {}, {})
    place = CriterionInCase(Criterion("c", of="y", kind="overshoot", reference=1.0), "run")
    agree(TrajectoryScorer(second, experiment, links, [place]), np.array([0.3]))


def test_what_is_not_reached_goes_on_growing_with_a_slope(second):
    asked = [
        Criterion("rise", of="y", kind="rise-time", reference=2.0),
        Criterion("settle", of="y", kind="settling-time", reference=2.0),
    ]
    at = np.array([1.2, 2.0])
    both = scorer(second, asked)
    rise, settle = both.at(at, slopes=False)
    assert rise.value > END - 1
    assert settle.value > END
    agree(both, at)


# --- windows, jumps, events ----------------------------------------------------------------------


def test_window_after_the_reference_is_at_rest(second):
    ramp = es.Signal(np.array([0.0, 1.0, 3.0, 12.0]), np.array([0.0, 0.0, 1.0, 1.0]), "linear")
    found = value(second, "overshoot", reference="u", at_rest=True, u=ramp)
    t = np.linspace(3.0, END, 100_001)
    y = second.simulate(
        t,
        {"u": ramp},
        parameters={"z": Z, "w": W},
        outputs=["y"],
        begin=0.0,
        options=es.Options(rtol=1e-10, atol=1e-12),
    ).values[:, 0]
    turns = np.flatnonzero(np.diff(np.sign(np.diff(y))) != 0) + 1
    assert found == pytest.approx(np.abs(y[turns] - 1).max(), abs=1e-7)
    settle = value(second, "settling-time", reference="u", at_rest=True, u=ramp, band=0.01)
    assert settle == pytest.approx(t[np.abs(y - 1) > 0.01].max() - 3.0, abs=2e-4)


def test_step_at_a_later_time_is_a_break_not_a_kink(second):
    late = es.Signal(np.array([0.0, 2.5]), np.array([0.0, 1.0]))
    exact = math.exp(-math.pi * Z / math.sqrt(1 - Z * Z))
    assert value(second, "overshoot", reference=1.0, u=late) == pytest.approx(exact, abs=1e-8)
    rise = value(second, "rise-time", reference="u", u=late)
    assert rise == pytest.approx(crossings(0.9)[0] - crossings(0.1)[0], abs=1e-7)


def test_bouncing_ball_events_are_breaks():
    ball = es.load_model(BALL)
    asked = [
        Criterion("top", of="h", kind="maximum", **{"from": 0.6}),
        Criterion("speed", of="v", kind="peak"),
        Criterion("way", of="abs(v)", kind="integral"),
    ]
    found = scorer(ball, asked, u=None, end=1.0, tuners=("e", "g"))
    at = np.array([0.7, 9.81])
    top, speed, way = found.at(at, slopes=False)
    first = math.sqrt(2 / 9.81)
    assert top.value == pytest.approx(0.49, abs=1e-7)
    assert speed.value == pytest.approx(math.sqrt(2 * 9.81), rel=1e-6)
    up = 0.7 * math.sqrt(2 / 9.81)
    fallen = 9.81 / 2 * (1.0 - first - up) ** 2
    assert way.value == pytest.approx(1 + 0.49 + fallen, abs=1e-6)
    agree(found, at)


def test_function_of_the_users_own_has_a_value_and_no_gradient(second, tmp_path):
    (tmp_path / "own.py").write_text(
        "def area(run):\n    y = run['y']\n    return float(abs(y).max() + run['w'])\n"
    )
    asked = Criterion("own", kind="function", function="own.py:area")
    (found,) = scorer(second, [asked], code_for=partial(trusted_code, folder=tmp_path)).at(
        np.array([Z, W]), slopes=True
    )
    assert found.gradient is None
    assert found.value == pytest.approx(2 + 1.3723, abs=1e-2)


# --- what is wrong -------------------------------------------------------------------------------


def test_failed_simulation_is_told_in_words():
    model = es.load_model(
        "model Grow parameter Real a = 1; Real x(start = 1, fixed = true); "
        "equation der(x) = a*x^2; end Grow;"
    )
    found = scorer(
        model, [Criterion("c", of="x", kind="final")], u=None, end=5.0, tuners=("a",)
    ).at(np.array([1.0]), slopes=True)
    assert isinstance(found, str)
