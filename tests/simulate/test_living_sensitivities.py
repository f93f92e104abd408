"""Sensitivities that are zero whatever happens: which they are, and that groups go without them."""

from __future__ import annotations

import numpy as np
import pytest

from estimica.base.arrays import Flags, Vector
from estimica.compiled.living import living
from estimica.simulate.engine.lanes.stretches import row_stretches, stretches
from estimica.simulate.engine.options import Options
from estimica.simulate.ensemble.backends import Ensemble
from estimica.simulate.ensemble.groups import lane_model
from estimica.simulate.ensemble.members import Measured, normal_equations
from estimica.simulate.load import load_model
from estimica.simulate.response import Response

#: a chain in which each tuner moves its own state and those behind it; `s` starts the second one,
#: `none` moves nothing
CHAIN = """model Chain
  parameter Real a = 1.1; parameter Real b = 0.7; parameter Real c = 0.4; parameter Real s = 0.5;
  parameter Real none = 3; parameter Real fast = 1;
  Real x1(start = 1, fixed = true); Real x2(start = s, fixed = true);
  Real x3(start = 0.2, fixed = true); Real x4(start = 2, fixed = true);
  output Real y = x3 + b*x4;
equation
  der(x1) = -a*x1 + sin(time);
  der(x2) = a*x1 - b*x2*x2;
  der(x3) = x2 - c*tanh(x3);
  der(x4) = -fast*x4 + cos(3*time);
end Chain;"""
TUNERS = ["a", "b", "c", "s", "none", "fast"]
#: of x1 ... x4 by the tuners, read off the equations
ALIVE = np.array(
    [[1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1]], bool
)
RTOL = 1e-6


def chain(outputs: list[str], wrt: list[str] | None = None, **options: object) -> Response:
    return load_model(CHAIN).response(
        np.linspace(0, 6, 41),
        outputs=outputs,
        wrt=TUNERS if wrt is None else wrt,
        options=Options(rtol=RTOL, **options),
    )


def around(response: Response, wrt: list[str], many: int) -> Vector:
    named = {"a": 1.1, "b": 0.7, "c": 0.4, "s": 0.5, "none": 3.0, "fast": 1.0}
    middle = np.array([named[n] for n in wrt])
    return middle * (1 + 0.05 * np.random.default_rng(3).standard_normal((many, len(wrt))))


@pytest.mark.parametrize("lanes", [4, 8])
def test_a_chain_lives_from_its_tuner_on(lanes: int) -> None:
    response = chain(["y"])
    kernel = lane_model(response.configuration, lanes).kernel
    np.testing.assert_array_equal(kernel.alive, ALIVE)


def test_what_does_not_live_is_zero_in_the_scalar_engine_too() -> None:
    response = chain(["x1", "x2", "x3", "x4"])
    YS = response.at(around(response, TUNERS, 1)[0]).YS
    assert not YS[:, ~ALIVE].any()
    assert (np.abs(YS[:, ALIVE]).max(axis=0) > 1e-3).all()


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("method", ["auto", "explicit", "implicit"])
@pytest.mark.parametrize("in_test", [True, False])
def test_groups_agree_with_the_scalar_engine(lanes: int, method: str, in_test: bool) -> None:
    response = chain(
        ["y", "x1", "x2", "x3", "x4"], method=method, sensitivities_in_error_test=in_test
    )
    thetas = around(response, TUNERS, 2 * lanes + 3)  # two whole groups and a part of one
    together = Ensemble(response, "vector", lanes=lanes).at(thetas)
    alone = Ensemble(response, "scalar").at(thetas)
    assert together.ok.all()
    assert not together.alone.any()
    np.testing.assert_allclose(together.Y, alone.Y, rtol=10 * RTOL, atol=10 * RTOL)
    # sensitivities that are not in the error test have no tolerance of their own
    within = 10 * RTOL if in_test else 1e-3
    np.testing.assert_allclose(together.YS, alone.YS, rtol=within, atol=within)
    assert not together.YS[:, :, 1:][:, :, ~ALIVE].any()


@pytest.mark.parametrize("wrt", [["none"], ["c"], ["fast", "none"], ["a", "b", "c"]])
@pytest.mark.parametrize("outputs", [["x4"], ["y", "x1", "x2"]])
def test_any_choice_of_tuners_and_outputs(wrt: list[str], outputs: list[str]) -> None:
    response = chain(outputs, wrt)
    thetas = around(response, wrt, 9)
    together, alone = (
        Ensemble(response, "vector").at(thetas),
        Ensemble(response, "scalar").at(thetas),
    )
    np.testing.assert_allclose(together.Y, alone.Y, rtol=10 * RTOL, atol=10 * RTOL)
    np.testing.assert_allclose(together.YS, alone.YS, rtol=10 * RTOL, atol=10 * RTOL)


def test_normal_equations_have_rows_of_zeros_there() -> None:
    response = chain(["y", "x1"])
    thetas = around(response, TUNERS, 11)
    measured = Measured(np.zeros((1, 41, 2)), np.ones((41, 2)))
    sums = Ensemble(response, "vector").normal(thetas, measured)
    alone = normal_equations(Ensemble(response, "scalar").at(thetas), measured)
    np.testing.assert_allclose(sums.information, alone.information, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(sums.gradient, alone.gradient, rtol=1e-4, atol=1e-4)
    assert not sums.information[:, :, TUNERS.index("none")].any()


def test_members_that_become_stiff_change_method_with_all_their_sensitivities() -> None:
    response = chain(["x1", "x2", "x3", "x4"])
    thetas = around(response, TUNERS, 16)
    thetas[:, TUNERS.index("fast")] = 3e4  # all of them: the group goes on together
    together, alone = (
        Ensemble(response, "vector").at(thetas),
        Ensemble(response, "scalar").at(thetas),
    )
    assert together.ok.all()
    np.testing.assert_allclose(together.Y, alone.Y, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(together.YS, alone.YS, rtol=1e-4, atol=1e-5)
    # and a group after them begins as if nothing had been
    calm = around(response, TUNERS, 8)
    both = Ensemble(response, "vector").at(np.vstack([thetas, calm]))
    np.testing.assert_array_equal(both.YS[16:], Ensemble(response, "vector").at(calm).YS)


def test_all_live_where_an_event_could_bring_them_to_life() -> None:
    text = CHAIN.replace("cos(3*time)", "(if time > a then 1 else 0)")
    response = load_model(text).response(np.linspace(0, 6, 41), outputs=["x4"], wrt=["a"])
    assert lane_model(response.configuration, 8).kernel.alive is None
    thetas = np.linspace(0.9, 1.3, 9)[:, None]
    together, alone = (
        Ensemble(response, "vector").at(thetas),
        Ensemble(response, "scalar").at(thetas),
    )
    assert np.abs(together.YS).max() > 0.5  # the step comes later with a
    np.testing.assert_allclose(together.YS, alone.YS, rtol=1e-4, atol=1e-5)


def test_all_live_where_the_start_is_solved_for() -> None:
    text = CHAIN.replace("Real x4(start = 2, fixed = true)", "Real x4(start = 2)").replace(
        "equation\n", "initial equation\n  x4^3 + x4 = a;\nequation\n", 1
    )
    response = load_model(text).response(np.linspace(0, 2, 9), outputs=["x4"], wrt=["a", "none"])
    thetas = np.array([[1.0, 3.0], [1.2, 3.0]])
    together = Ensemble(response, "vector").at(thetas)
    slope = together.YS[:, 0, 0, 0]  # dx4/da = 1/(3 x4² + 1) at the start
    np.testing.assert_allclose(slope, 1 / (3 * together.Y[:, 0, 0] ** 2 + 1), rtol=1e-6)


def test_what_feeds_something_that_lives_is_found_to_the_end() -> None:
    feeds = np.eye(5, k=-1, dtype=bool)  # each state feeds the next one
    moved, begun = np.zeros((5, 2), bool), np.zeros((5, 2), bool)
    moved[1, 0] = begun[3, 1] = True
    expected = np.array([[0, 0], [1, 0], [1, 0], [1, 1], [1, 1]], bool)
    np.testing.assert_array_equal(living(feeds, moved, begun), expected)


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("seed", range(20))
def test_stretches_hold_all_that_lives_once(lanes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    alive: Flags = rng.random((rng.integers(1, 6), rng.integers(0, 9))) < rng.random()
    whole = np.concatenate([np.ones(len(alive), bool), alive.ravel()])
    covered = np.zeros(len(whole), int)
    found = np.array(stretches(alive, lanes)).reshape(-1, 2) // lanes
    for begin, length in found:
        covered[begin : begin + length] += 1
        assert begin + length <= len(whole)
    assert covered.max() == 1
    assert covered[whole].all()
    rows = np.zeros(alive.shape, int)
    for begin, length, column in np.array(row_stretches(alive, lanes)).reshape(-1, 3) // lanes:
        i, j = divmod(int(begin), alive.shape[1])
        assert j == column
        rows[i, j : j + length] += 1
    np.testing.assert_array_equal(rows, alive.astype(int))
