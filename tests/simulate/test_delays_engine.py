"""Delayed signals in the engine."""

from __future__ import annotations

import numpy as np
import pytest
from tests import engine_models as models
from tests.engine_models import Problem, errors

from estimica.simulate.engine import status, workspace
from estimica.simulate.engine.options import Options, Pieces


@pytest.mark.parametrize("problem", [models.delayed_decay(), models.delayed_input()])
def test_delays_agree_with_the_closed_form(problem: Problem) -> None:
    run = problem.run()
    assert run.ok, run.text
    state, sens = errors(run, *problem.reference())
    assert state < 1e-8
    assert sens < 1e-6


def delayed_event() -> Problem:
    """y' = c; when y passes `level`, a logical goes on, and comes through the delay T later."""
    ca, sym = models.ca, models.sym
    x, w, z, P, d = sym("x", 2), sym("w"), sym("z"), sym("P", 4), sym("d", 2)
    a, c, level, T = ca.vertsplit(P)
    hybrid = models.HybridSystem(
        t=models.t, x=x, w=w, z=z, P=P, d=d, f=ca.vertcat(c, -a * x[1] + z), g=z - 2 * w,
        x0=ca.SX([0, 0]), z0=np.zeros(1), zero=x[0] - level, strict=(True,), event_l=d[0],
        delayed=d[1], delays=T, seed=ca.SX.eye(4), d0=np.zeros(2),
    )  # fmt: skip

    def exact(times, theta):  # type: ignore[no-untyped-def]
        a, c, level, T = theta
        since = times - level / c - T
        on = since.real >= 0
        return np.stack([c * times, on * 2 / a * (1 - np.exp(-a * since * on))], axis=1)

    theta = np.array([0.8, 0.5, 0.6, 0.9])
    return Problem(hybrid, x, theta, np.linspace(0, 5, 61), Pieces.none(), exact)


def chain() -> Problem:
    """A jump through two delays, one after the other; and the sum of both delays in one."""
    ca, sym = models.ca, models.sym
    x, w, P, u = sym("x", 2), sym("w", 3), sym("P", 2), sym("u")
    hybrid = models.HybridSystem(
        t=models.t, x=x, w=w, P=P, u=u, f=ca.vertcat(w[1], w[2]), x0=ca.SX([0, 0]),
        delayed=ca.vertcat(u, w[0], u), delays=ca.vertcat(P[0], P[1], P[0] + P[1]),
        seed=ca.SX.eye(2),
    )  # fmt: skip
    pieces = Pieces.of([0.0, 1.0], [[0.0], [1.5]])

    def exact(times, theta):  # type: ignore[no-untyped-def]
        since = times - 1 - theta.sum()
        y = 1.5 * since * (since.real >= 0)
        return np.stack([y, y], axis=1)

    return Problem(hybrid, x, np.array([0.3, 0.5]), np.linspace(0, 4, 41) + 0.007, pieces, exact)


@pytest.mark.parametrize("make", [delayed_event, chain])
def test_jumps_come_through_delays_with_their_sensitivities(make) -> None:  # type: ignore[no-untyped-def]
    problem = make()
    run = problem.run()
    assert run.ok, run.text
    state, sens = errors(run, *problem.reference())
    assert state < 1e-9
    assert sens < 1e-6


def test_memory_of_the_past_grows_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace._Pool, "segments", 4)
    problem = models.delayed_input()
    kernel = problem.kernel()
    pool = workspace.pool_of(kernel)
    pool.segments = 4
    run = problem.run(kernel)
    assert run.ok
    assert pool.segments > 4
    assert errors(run, *problem.reference())[1] < 1e-6


def test_delay_that_is_not_positive_is_named() -> None:
    problem = chain()
    run = problem.run(theta=np.array([0.3, -0.1]))
    assert run.status == status.DELAY_NOT_POSITIVE
    assert run.index == 1


def test_delays_always_use_the_explicit_method() -> None:
    run = models.delayed_decay().run(options=Options(method="implicit"))
    assert run.ok
    assert run.statistics.stiff_steps == 0
