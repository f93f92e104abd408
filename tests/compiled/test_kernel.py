"""Kernels: tables, sparsities, sensitivities of every function against central differences."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from tests import engine_models as models

from estimica.compiled.hybrid import HybridSystem
from estimica.compiled.kernel import ARGUMENTS, FUNCTIONS, build_kernel
from estimica.simulate.engine import layout as at


def test_tables_of_kernel_and_engine_agree() -> None:
    assert len(ARGUMENTS) == at.WS + 1
    assert ARGUMENTS[at.S_PRE] == "S_pre"
    assert ARGUMENTS[at.WS] == "W"
    for name in FUNCTIONS:
        place = getattr(at, name.upper())
        assert FUNCTIONS[place - at.RHS] == name


def test_only_what_a_model_needs_is_compiled() -> None:
    kernel = models.boiler(10).kernel()
    compiled = {n for n, a in zip(FUNCTIONS, kernel.addresses, strict=True) if a}
    assert compiled == {"rhs", "both", "output"}
    assert not kernel.has_events
    ball = models.ball().kernel()
    compiled = {n for n, a in zip(FUNCTIONS, ball.addresses, strict=True) if a}
    needed = {"rhs", "both", "output", "zero", "zero_rate", "zero_sens", "event", "event_sens"}
    assert compiled == needed


def test_linear_algebraic_equations_are_recognised() -> None:
    assert models.pendulum().kernel().linear_algebraic
    assert not models.circuit().kernel().linear_algebraic


def test_seed_carries_dependent_parameters() -> None:
    """P = [a, b] with b = 2 a^2: the seed's entry is an element of P, itself a run constant."""
    x, P = models.sym("x"), models.sym("P", 3)  # a, b, db/da
    seed = ca.vertcat(1, P[2], 0)
    hybrid = HybridSystem(t=models.t, x=x, P=P, f=-P[0] * x + P[1], x0=ca.SX(1), seed=seed)
    a = 0.7
    problem = models.Problem(
        hybrid, x, np.array([a, 2 * a**2, 4 * a]), np.linspace(0.1, 2, 20), models.Pieces.none()
    )
    run = problem.run()
    t = problem.times
    exact = 2 * a + (1 - 2 * a) * np.exp(-a * t)
    slope = 2 - 2 * np.exp(-a * t) - t * (1 - 2 * a) * np.exp(-a * t)
    np.testing.assert_allclose(run.Y[:, 0], exact, rtol=1e-8)
    np.testing.assert_allclose(run.YS[:, 0, 0], slope, rtol=1e-7)


@pytest.mark.parametrize("name", ["boiler", "four_states", "circuit", "pendulum", "thermostat"])
def test_sensitivities_agree_with_central_differences(name: str) -> None:
    problem = getattr(models, name)()
    kernel = problem.kernel()
    options = models.Options(rtol=1e-10, atol=1e-12)
    times = problem.times[:40]
    run = problem.run(kernel, options, times=times)
    for j, value in enumerate(problem.theta):
        step = 1e-5 * max(abs(value), 1e-2)
        ends = []
        for sign in (1, -1):
            theta = problem.theta.copy()
            theta[j] += sign * step
            ends.append(problem.run(kernel, options, theta, times).Y)
        difference = (ends[0] - ends[1]) / (2 * step)
        size = np.abs(difference).max() + 1e-6
        far = np.abs(difference - run.YS[:, :, j]).max() / size
        assert far < 1e-4, (j, far)


def test_a_wrong_derivative_would_be_caught() -> None:
    """The comparison above has teeth: a seed with an error of one per mille fails it."""
    problem = models.four_states(40)
    wrong = ca.SX.eye(12)
    wrong[3, 3] = 1.001
    h = problem.hybrid
    spoilt = HybridSystem(t=h.t, x=h.x, P=h.P, u=h.u, f=h.f, x0=h.x0, seed=wrong)
    right = problem.run().YS[:, :, 3]
    run = models.Problem(
        spoilt, problem.outputs, problem.theta, problem.times, problem.pieces
    ).run()
    assert np.abs(run.YS[:, :, 3] - right).max() / np.abs(right).max() > 5e-4


def test_lengths_that_do_not_fit_are_our_own_bugs() -> None:
    with pytest.raises(AssertionError, match=r"HybridSystem\.f has 2 elements, not 1"):
        HybridSystem(t=models.t, x=models.sym("x"), f=ca.SX.zeros(2), x0=ca.SX(0))


def test_kernel_without_sensitivities_is_smaller() -> None:
    problem = models.four_states()
    kernel = build_kernel(problem.hybrid, problem.outputs, sensitivities=False)
    assert kernel.m == 0
    assert kernel.addresses[FUNCTIONS.index("both")] == 0
