"""Events in the engine: location, jumps, sensitivities, and what cannot go on."""

from __future__ import annotations

import numpy as np
import pytest
from tests import engine_models as models
from tests.engine_models import Problem, errors

from estimica.simulate.engine import status
from estimica.simulate.engine.options import Options, Pieces

CASES = {
    "ball": models.ball(),
    "thermostat": models.thermostat(),
    "switched": models.switched(),
    "sampled_control": models.sampled_control(),
    "relay_of_input": models.relay_of_input(),
    "cascade": models.cascade(),
}


@pytest.mark.parametrize("name", CASES)
def test_events_agree_with_the_closed_form(name: str) -> None:
    problem = CASES[name]
    run = problem.run()
    assert run.ok, run.text
    state, sens = errors(run, *problem.reference())
    assert state < 1e-9
    assert sens < 1e-6


@pytest.mark.parametrize(("restitution", "end"), [(0.8, 6.0), (0.5, 3.0), (0.5, 1.36), (0.1, 1.0)])
def test_accumulating_bounces_are_reported_and_never_fall_through(
    restitution: float, end: float
) -> None:
    problem = models.ball(restitution, end)
    run = problem.run()
    g, e, h0 = problem.theta
    limit = np.sqrt(2 * h0 / g) * (1 + e) / (1 - e)
    assert run.status == status.ACCUMULATION
    assert run.index == 0
    assert run.time == pytest.approx(limit, rel=1e-6)
    valid = run.Y[: run.samples]
    assert len(valid) == np.sum(problem.times < run.time)
    assert valid[:, 0].min() > -1e-9
    assert np.isnan(run.Y[run.samples :]).all()
    assert problem.exact is not None
    y = problem.exact(problem.times[: run.samples], problem.theta.astype(complex)).real
    assert np.abs(valid - y).max() < 1e-7


def relay() -> Problem:
    """x' = -1 above zero, +1 below: it slides."""
    x, d, P = models.sym("x"), models.sym("d"), models.sym("P")
    hybrid = models.HybridSystem(
        t=models.t, x=x, d=d, P=P, f=1 - 2 * d, x0=P, zero=x, strict=(True,),
        seed=models.ca.SX.eye(1), d0=np.ones(1),
    )  # fmt: skip
    return Problem(hybrid, x, np.array([0.5]), np.linspace(0, 1, 11), Pieces.none())


def test_sliding_is_reported_as_chattering() -> None:
    run = relay().run()
    assert run.status == status.CHATTERING
    assert run.index == 0
    assert run.time == pytest.approx(0.5, abs=1e-9)


def test_sample_exactly_at_an_event_sees_the_value_after_it() -> None:
    problem = models.ball()
    g, e, h0 = problem.theta
    hit = float(np.sqrt(2 * h0 / g))
    run = problem.run(times=np.array([hit]))
    assert run.ok
    assert run.Y[0, 1] == pytest.approx(e * np.sqrt(2 * g * h0), rel=1e-9)
    # at a fixed time the sensitivity is that of the branch after the event: d/dh0 of
    # v(t) = e sqrt(2 g h0) - g (t - sqrt(2 h0 / g))
    assert run.YS[0, 1, 2] == pytest.approx((1 + e) * np.sqrt(g / (2 * h0)), rel=1e-8)


def test_sample_exactly_at_an_instant_sees_the_value_after_it() -> None:
    problem = models.switched()
    run = problem.run()
    at = int(np.flatnonzero(problem.times == 2.345)[0])
    assert run.Y[at, 1] == 1.0
    assert run.Y[at - 1, 1] == 0.0
    assert [e.kind for e in run.events] == ["time"]
    assert run.events[0].time == 2.345


def test_event_times_are_logged_with_their_relation() -> None:
    problem = models.ball()
    run = problem.run()
    g, e, h0 = problem.theta
    first = np.sqrt(2 * h0 / g)
    flights = first + np.concatenate([[0], np.cumsum(2 * first * e ** np.arange(1, 6))])
    assert [x.kind for x in run.events] == ["state"] * 6
    assert [x.index for x in run.events] == [0] * 6
    np.testing.assert_allclose([x.time for x in run.events], flights, rtol=1e-12)


def sticking(loose: float) -> Problem:
    """x[0] is the speed of a body that sticks: what moves it is of the size of rounding squared,
    as a balance of forces leaves it, and a tuner moves it by rounding. `loose` lets its sign act."""
    ca = models.ca
    x, P, d = models.sym("x", 3), models.sym("P", 1), models.sym("d")
    acceleration = 1e-33 * ca.cos(40 * models.t)
    hybrid = models.HybridSystem(
        t=models.t, x=x, P=P, d=d, zero=x[0], strict=(True,), x0=ca.vertcat(1e-17 * (P - 1), 0, 0),
        f=ca.vertcat(acceleration, P**2 + loose * d, 1000 * P * ca.cos(models.t)),
        seed=ca.SX.eye(1), d0=np.zeros(1),
    )  # fmt: skip
    return Problem(hybrid, x[1:], np.ones(1), np.linspace(0, 4, 9), Pieces.none())


def test_signs_that_rounding_changes_leave_the_sensitivities_alone() -> None:
    problem = sticking(loose=0.0)
    run = problem.run()
    t = problem.times
    assert run.ok
    assert run.events == ()  # its relation changes, and nothing follows from that
    np.testing.assert_allclose(run.YS[:, 0, 0], 2 * t, rtol=1e-9)
    np.testing.assert_allclose(run.YS[:, 1, 0], 1000 * np.sin(t), rtol=1e-6, atol=1e-6)
    assert len(sticking(loose=1.0).run().events) > 10  # the same changes where something follows


def dead_zone(events: bool) -> Problem:
    """x'' = -k max(|x| - c, 0) sign(x) - b x' + u, by relations or by a formula without events."""
    x, P, u = models.sym("x", 2), models.sym("P", 3), models.sym("u")
    ca = models.ca
    k, b, c = ca.vertsplit(P)
    outside = ca.fmax(x[0] - c, 0) + ca.fmin(x[0] + c, 0)
    d, zero = ca.SX(0, 1), ca.SX(0, 1)
    if events:
        d, zero = models.sym("d", 2), ca.vertcat(x[0] - c, -c - x[0])
        outside = d[0] * (x[0] - c) + d[1] * (x[0] + c)
    hybrid = models.HybridSystem(
        t=models.t, x=x, P=P, u=u, d=d, zero=zero, strict=(True,) * zero.shape[0],
        f=ca.vertcat(x[1], -k * outside - b * x[1] + u), x0=ca.vertcat(0.0, 1.0),
        seed=ca.SX.eye(3), d0=np.zeros(d.shape[0]),
    )  # fmt: skip
    pieces = Pieces.of([0.0, 2.0, 4.0], [[0.0], [1.0], [-0.5]], [[0.5], [0.0], [0.25]])
    return Problem(hybrid, x, np.array([4.0, 0.3, 0.4]), np.linspace(0, 8, 81), pieces)


def test_dead_zone_with_and_without_events_agree() -> None:
    tight = Options(rtol=1e-10, atol=1e-12, max_step=0.01)
    smooth = dead_zone(events=False).run(options=tight)
    run = dead_zone(events=True).run()
    assert run.ok
    assert smooth.ok
    assert len(run.events) == 4
    assert errors(run, smooth.Y, smooth.YS)[0] < 1e-7
    assert errors(run, smooth.Y, smooth.YS)[1] < 1e-6


def test_event_iteration_without_end_is_reported() -> None:
    x, d, d_pre = models.sym("x"), models.sym("d", 2), models.sym("dp", 2)
    hybrid = models.HybridSystem(
        t=models.t, x=x, d=d, d_pre=d_pre, f=models.ca.SX(1), x0=models.ca.SX(0),
        instants=models.ca.SX(0.5), until=(False,),
        event_l=models.ca.if_else(d[0], 1 - d_pre[1], 0), d0=np.zeros(2),
    )  # fmt: skip
    run = Problem(hybrid, x, np.zeros(0), np.array([1.0]), Pieces.none()).run()
    assert run.status == status.EVENT_ITERATION
    assert run.time == 0.5
    assert run.index == 1


def test_relation_at_rest_on_its_surface_makes_no_events() -> None:
    """Friction that sticks: v reaches zero and stays there."""
    x, d, d_pre, P = models.sym("x"), models.sym("d", 2), models.sym("dp", 2), models.sym("P")
    ca = models.ca
    slides = ca.logic_and(d_pre[1], d[0])
    hybrid = models.HybridSystem(
        t=models.t, x=x, d=d, d_pre=d_pre, P=P, f=-P * d[1], x0=ca.SX(1), zero=x, strict=(True,),
        event_l=slides, event_x=x, seed=ca.SX.eye(1), d0=np.ones(2),
    )  # fmt: skip
    run = Problem(hybrid, x, np.array([0.7]), np.linspace(0, 5, 51), Pieces.none()).run()
    assert run.ok
    assert len(run.events) == 1
    assert run.events[0].time == pytest.approx(1 / 0.7, rel=1e-12)
    assert np.abs(run.Y[20:]).max() < 1e-12
    assert np.abs(run.YS[20:]).max() < 1e-9


def test_terminal_event_is_seen_by_the_last_sample() -> None:
    x, flags, x_pre = models.sym("x", 2), models.sym("flags", 2), models.sym("xp", 2)
    ca = models.ca
    memory = ca.if_else(flags[1], x[0], x_pre[1])
    hybrid = models.HybridSystem(
        t=models.t, x=x, x_pre=x_pre, flags=flags, f=ca.vertcat(1, 0), x0=ca.SX([0, -1]),
        event_x=ca.vertcat(x[0], memory), n_memory=1,
    )  # fmt: skip
    run = Problem(hybrid, x, np.zeros(0), np.array([1.0, 2.0]), Pieces.none()).run()
    assert run.Y[0, 1] == -1
    assert run.Y[1, 1] == pytest.approx(2.0)


def implicit_relation() -> Problem:
    """A relation and a reinit that see an algebraic unknown: z + z^3 = x + x^3, so z = x.

    x' = a; when z > c, x := k z and y starts to rise with b.
    """
    ca, sym = models.ca, models.sym
    x, z, P, d = sym("x", 2), sym("z"), sym("P", 4), sym("d", 2)
    x_pre, d_pre = sym("xp", 2), sym("dp", 2)
    a, b, c, k = ca.vertsplit(P)
    hit = ca.logic_and(d[0], ca.logic_not(d_pre[0]))
    hybrid = models.HybridSystem(
        t=models.t, x=x, z=z, P=P, d=d, x_pre=x_pre, d_pre=d_pre, f=ca.vertcat(a, b * d[1]),
        g=z + z**3 - x[0] - x[0] ** 3, x0=ca.SX([0, 0]), z0=np.zeros(1), zero=z - c, strict=(True,),
        event_x=ca.vertcat(k * z, x[1]), reinit_fired=ca.vertcat(hit, 0),
        event_l=ca.logic_or(d_pre[1], d[0]), seed=ca.SX.eye(4), d0=np.zeros(2),
    )  # fmt: skip

    def exact(times, theta):  # type: ignore[no-untyped-def]
        a, b, c, k = theta
        since = times - c / a
        on = since.real >= 0
        x = np.where(on, k * c + a * since, a * times)
        return np.stack([x, on * b * since, x], axis=1)

    theta = np.array([0.7, 1.5, 0.8, 1.4])
    outputs = ca.vertcat(x, z)
    return Problem(hybrid, outputs, theta, np.linspace(0, 3, 31), Pieces.none(), exact)


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_relations_and_reinits_may_see_algebraic_unknowns(method: str) -> None:
    problem = implicit_relation()
    run = problem.run(options=Options(rtol=1e-8, atol=1e-10, method=method))
    assert run.ok, run.text
    assert len(run.events) == 1
    state, sens = errors(run, *problem.reference())
    assert state < 1e-9
    assert sens < 1e-6


def test_ramp_sampled_at_a_tuned_time() -> None:
    """m := u(T) + t(T): the memory moves with the time at which it is taken."""
    ca, sym = models.ca, models.sym
    x, P, u, d = sym("x", 2), sym("P"), sym("u"), sym("d")
    x_pre, d_pre = sym("xp", 2), sym("dp")
    taken = ca.logic_and(d, ca.logic_not(d_pre))
    memory = ca.if_else(taken, u + models.t + x[0], x_pre[1])
    hybrid = models.HybridSystem(
        t=models.t, x=x, P=P, u=u, d=d, x_pre=x_pre, d_pre=d_pre, f=ca.vertcat(3 + 0 * x[0], 0),
        x0=ca.SX([0, 0]), instants=P, until=(False,), event_x=ca.vertcat(x[0], memory), n_memory=1,
        seed=ca.SX.eye(1), d0=np.zeros(1),
    )  # fmt: skip
    pieces = Pieces.of([0.0], [[0.5]], [[2.0]])
    run = Problem(hybrid, x, np.array([1.2]), np.array([1.0, 1.2, 2.0]), pieces).run()
    np.testing.assert_allclose(run.Y[:, 1], [0, 0.5 + 6 * 1.2, 0.5 + 6 * 1.2])
    np.testing.assert_allclose(run.YS[:, 1, 0], [0, 6, 6], rtol=1e-12)
    np.testing.assert_allclose(run.YS[:, 0, 0], 0, atol=1e-12)


def test_relations_that_change_together_belong_to_one_event() -> None:
    """x > c and 2 (c - x) < 0, written differently, have their edges at the same time."""
    ca, sym = models.ca, models.sym
    x, P, d, d_pre = sym("x"), sym("P"), sym("d", 3), sym("dp", 3)
    both = ca.logic_and(
        ca.logic_and(d[0], ca.logic_not(d_pre[0])), ca.logic_and(ca.logic_not(d[1]), d_pre[1])
    )
    hybrid = models.HybridSystem(
        t=models.t, x=x, P=P, d=d, d_pre=d_pre, f=1 + 0.3 * ca.sin(x), x0=ca.SX(0),
        zero=ca.vertcat(x - P, 2 * (P - x) * ca.exp(x)), strict=(True, False),
        event_l=d_pre[2] + both, seed=ca.SX.eye(1), d0=np.array([0.0, 1.0, 0.0]),
    )  # fmt: skip
    run = Problem(hybrid, d[2], np.array([0.777]), np.linspace(0, 3, 31), Pieces.none()).run()
    assert run.ok
    assert run.Y[-1, 0] == 1
    assert len(run.events) == 1


def test_event_and_input_jump_at_the_same_time() -> None:
    """The relation reaches its surface exactly when the input jumps."""
    ca, sym = models.ca, models.sym
    x, u, d, d_pre = sym("x"), sym("u"), sym("d", 2), sym("dp", 2)
    rises = ca.logic_and(d[0], ca.logic_not(d_pre[0]))
    hybrid = models.HybridSystem(
        t=models.t, x=x, u=u, d=d, d_pre=d_pre, f=u, x0=ca.SX(0), zero=x - 1, strict=(False,),
        event_l=d_pre[1] + rises, d0=np.zeros(2),
    )  # fmt: skip
    pieces = Pieces.of([0.0, 1.0, 2.0], [[1.0], [-1.0], [2.0]])
    run = Problem(hybrid, ca.vertcat(x, d), np.zeros(0), np.linspace(0, 3, 13), pieces).run()
    assert run.ok, run.text
    shape = np.interp(run.times, [0, 1, 2, 3], [0, 1, 0, 2])
    np.testing.assert_allclose(run.Y[:, 0], shape, atol=1e-12)
    assert run.Y[run.times > 2.5 + 1e-9, 1].min() == 1  # above the surface at the end
    assert run.Y[run.times < 1, 1].max() == 0
    assert run.Y[-1, 2] in (1, 2)
