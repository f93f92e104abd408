"""The explicit method: accuracy, inputs, samples, and what a run reports when it cannot go on."""

from __future__ import annotations

import threading

import casadi as ca
import numpy as np
import pytest
from tests import engine_models as models
from tests.engine_models import HybridSystem, Problem, errors, sym, t, witness

from estimica.simulate.engine import status
from estimica.simulate.engine.options import Options, Pieces
from estimica.simulate.engine.run import integrate

FINE = Options(rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "problem",
    [models.boiler(60), models.four_states(80), models.circuit(60), models.pendulum(60)],
    ids=["boiler", "four states", "circuit", "pendulum"],
)
def test_outputs_and_sensitivities_agree_with_sundials(problem: Problem) -> None:
    run = problem.run(options=FINE)
    assert run.ok, run.text
    assert run.statistics.stiff_steps == 0
    state, sens = errors(run, *witness(problem))
    assert state < 1e-7
    assert sens < 1e-5


def test_without_sensitivities_the_outputs_are_the_same_to_tolerance() -> None:
    problem = models.boiler(60)
    plain = problem.run(problem.kernel(sensitivities=False), FINE)
    assert plain.YS.shape == (60, 2, 0)
    assert np.abs(plain.Y - problem.run(options=FINE).Y).max() < 1e-6


def test_sensitivities_may_be_left_out_of_the_error_test() -> None:
    problem = models.four_states(80)
    y, J = witness(problem)
    outside = problem.run(options=Options(sensitivities_in_error_test=False))
    inside = problem.run(options=Options())
    assert outside.statistics.steps < inside.statistics.steps
    assert errors(outside, y, J)[0] < 1e-5
    assert errors(inside, y, J)[1] < errors(outside, y, J)[1]


def test_many_states_use_sparse_products() -> None:
    problem = models.heat_rod(30, 15, 20)
    kernel = problem.kernel()
    assert not kernel.direct
    run = problem.run(kernel, Options(rtol=1e-8, atol=1e-10, method="explicit"))
    assert run.ok
    assert errors(run, *witness(problem))[1] < 1e-6


def ramp() -> Problem:
    """x' = -a x + u with u in linear pieces, closed form piece by piece."""
    x, P, u = sym("x"), sym("P"), sym("u")
    hybrid = HybridSystem(t=t, x=x, P=P, u=u, f=-P * x + u, x0=ca.SX(0), seed=ca.SX.eye(1))
    pieces = Pieces.of([0.0, 2.0, 4.0], [[0.0], [3.0], [1.0]], [[1.5], [-0.5], [0.0]])

    def exact(times, theta):  # type: ignore[no-untyped-def]
        a, rows = theta[0], []
        for time in times:
            level = 0 * a
            for start, u0, slope in zip(pieces.starts, pieces.values, pieces.slopes, strict=True):
                if time < start:
                    break
                s = min(time, start + 2) - start
                rest = u0[0] / a - slope[0] / a**2
                level = (level - rest) * np.exp(-a * s) + rest + slope[0] * s / a
                value = u0[0] + slope[0] * (time - start)
            rows.append((level, value + 0 * a))
        return np.array(rows, complex)

    times = np.linspace(0, 6, 61)
    return Problem(hybrid, ca.vertcat(x, u), np.array([0.7]), times, pieces, exact)


def test_inputs_in_linear_pieces_and_right_continuity() -> None:
    problem = ramp()
    run = problem.run()
    state, sens = errors(run, *problem.reference())
    assert state < 1e-7
    assert sens < 1e-6
    assert run.Y[20, 1] == 3.0  # the sample at the jump sees the new piece
    assert run.Y[40, 1] == 1.0


def test_samples_need_not_lie_on_pieces_and_may_repeat() -> None:
    problem = ramp()
    times = np.array([0.0, 0.0, 0.3, 1.999, 2.0, 2.0, 5.5])
    run = problem.run(times=times)
    assert problem.exact is not None
    y = problem.exact(times, problem.theta.astype(complex)).real
    np.testing.assert_allclose(run.Y, y, atol=1e-7)


def test_no_samples_is_a_run_too() -> None:
    run = ramp().run(times=np.zeros(0))
    assert run.ok
    assert run.Y.shape == (0, 2)


def simple(f, x0, y=None, theta=(), n=1, end=3.0, **parts) -> Problem:  # type: ignore[no-untyped-def]
    """A model x' = f(x) without inputs."""
    x, P = sym("x", n), sym("P", len(theta))
    expression = f(x, P)
    hybrid = HybridSystem(
        t=t, x=x, P=P, f=expression, x0=ca.SX(x0), seed=ca.SX.eye(len(theta)), **parts
    )
    times = np.linspace(0.0, end, 31)
    return Problem(hybrid, x, np.array(theta, float), times, Pieces.none())


def test_solution_that_runs_to_infinity_is_reported_with_time_and_state() -> None:
    problem = simple(lambda x, P: ca.vertcat(-x[0], x[1] ** 2), [1.0, 1.0], n=2)
    for method in ("auto", "explicit", "implicit"):
        run = problem.run(options=Options(rtol=1e-8, atol=1e-10, method=method))
        assert run.status == status.STEP_TOO_SMALL
        assert run.time == pytest.approx(1.0, abs=1e-6)
        assert run.index == 1
        assert run.x[1] > 1e6
        assert run.samples in (10, 11)  # the pole is at a sample


def test_function_leaving_its_domain_ends_the_run_there() -> None:
    run = simple(lambda x, P: -ca.sqrt(x) - 0.1, [1.0]).run()
    assert run.status == status.STEP_TOO_SMALL
    exact = 2 * (1 - 0.1 * np.log(1.1 / 0.1))
    assert run.time == pytest.approx(exact, abs=1e-4)


def test_derivative_that_is_not_finite_at_the_start() -> None:
    run = simple(lambda x, P: ca.vertcat(x[0], ca.log(x[1])), [1.0, -1.0], n=2).run()
    assert run.status == status.NOT_FINITE_START
    assert (run.time, run.index, run.tuner) == (0.0, 1, -1)


def test_sensitivity_that_is_not_finite_at_the_start_names_the_tuner() -> None:
    run = simple(lambda x, P: ca.sqrt(P[1]) + P[0] * x, [1.0], theta=(1.0, 0.0)).run()
    assert run.status == status.NOT_FINITE_START
    assert (run.index, run.tuner) == (0, 1)


def test_too_many_steps_is_an_outcome() -> None:
    run = simple(lambda x, P: ca.vertcat(x[1], -1e4 * x[0]), [1.0, 0.0], n=2).run(
        options=Options(max_steps=10)
    )
    assert run.status == status.TOO_MANY_STEPS
    assert 0 < run.time < 0.1
    assert run.samples == 1


def test_output_that_is_not_finite_is_an_outcome() -> None:
    problem = simple(lambda x, P: ca.SX(-1), [1.0])
    x = problem.hybrid.x
    log = Problem(
        problem.hybrid, ca.vertcat(x, ca.log(x)), problem.theta, problem.times, Pieces.none()
    )
    run = log.run()
    assert run.status == status.NOT_FINITE_OUTPUT
    assert run.index == 1
    assert run.time == pytest.approx(1.0)
    assert np.isnan(run.Y[run.samples :]).all()


def algebraic(g, z0=1.0) -> Problem:  # type: ignore[no-untyped-def]
    x, z = sym("x"), sym("z", 2)
    hybrid = HybridSystem(
        t=t, x=x, z=z, f=z[0], g=ca.vertcat(z[0] - 1, g(x, z)), x0=ca.SX(0), z0=np.full(2, z0)
    )
    return Problem(hybrid, x, np.zeros(0), np.linspace(0, 3, 31), Pieces.none())


def test_algebraic_equation_without_solution_is_named() -> None:
    run = algebraic(lambda x, z: z[1] ** 2 + x - 1).run()  # no real z beyond x = 1
    assert run.status in (status.ALGEBRAIC, status.SINGULAR)
    assert run.index == 1
    assert run.time == pytest.approx(1.0, abs=1e-4)


def test_singular_algebraic_equations_that_cannot_hold_are_named() -> None:
    run = algebraic(lambda x, z: (x - 1) * 0 * z[1] + 1e-3).run()
    assert run.status == status.SINGULAR
    assert run.time == 0.0


def test_an_unknown_that_nothing_determines_stays_as_it_is() -> None:
    problem = algebraic(lambda x, z: ca.fmax(x - 1, 0) * (z[1] - x), z0=0.25)
    run = problem.run()
    np.testing.assert_allclose(run.Y[:, 0], problem.times, atol=1e-6)
    assert run.status == status.DONE
    assert run.z[1] == pytest.approx(3.0)


def test_violated_check_ends_the_run_with_its_index() -> None:
    x = sym("x")
    hybrid = HybridSystem(t=t, x=x, f=ca.SX(-1), x0=ca.SX(1), checks=ca.vertcat(x + 5, x - 0.5, x))
    run = Problem(hybrid, x, np.zeros(0), np.linspace(0, 3, 31), Pieces.none()).run(
        options=Options(max_step=0.01)
    )
    assert run.status == status.CHECK_VIOLATED
    assert run.index == 1
    assert run.time == pytest.approx(0.5, abs=0.02)


def test_pendulum_keeps_its_length() -> None:
    run = models.pendulum(200).run(options=Options(rtol=1e-6, atol=1e-8))
    assert np.abs(np.hypot(run.Y[:, 0], run.Y[:, 1]) - 1).max() < 1e-10
    drifting = models.pendulum(200, constrained=False).run(options=Options(rtol=1e-6, atol=1e-8))
    assert np.abs(np.hypot(drifting.Y[:, 0], drifting.Y[:, 1]) - 1).max() > 1e-8


def tank(full: float) -> Problem:
    """h' = q - a sqrt(h): the derivative of the square root is infinite at the empty tank."""
    return simple(
        lambda x, P: P[0] - P[1] * ca.sqrt(ca.fmax(x, 1e-30)), [full], theta=(0.8, 0.5), end=10.0
    )


def test_tank_that_starts_empty_fills_with_its_sensitivities() -> None:
    problem = tank(0.0)
    run = problem.run()
    assert run.ok, run.text
    q, a = problem.theta

    def when(s, q, a):  # type: ignore[no-untyped-def]
        """The time at which sqrt(h) = s."""
        return -(2 / a) * (s + q / a * np.log(1 - a * s / q))

    s = np.sqrt(run.Y[1:, 0])
    np.testing.assert_allclose(when(s, q, a), problem.times[1:], rtol=1e-7)
    for j, moved in enumerate([(q + 1e-30j, a), (q, a + 1e-30j)]):
        slope = -(when(s, *moved).imag / 1e-30) / (2 * s / (q - a * s))
        np.testing.assert_allclose(run.YS[1:, 0, j], 2 * s * slope, rtol=1e-5)


def test_start_value_of_the_empty_tank_may_be_tuned() -> None:
    problem = simple(
        lambda x, P: P[0] - P[1] * ca.sqrt(ca.fmax(x, 1e-30)), [0.0], theta=(0.8, 0.5, 0.0), end=4.0
    )
    hybrid = problem.hybrid
    tuned = HybridSystem(t=t, x=hybrid.x, P=hybrid.P, f=hybrid.f, x0=hybrid.P[2], seed=ca.SX.eye(3))
    run = Problem(tuned, hybrid.x, problem.theta, problem.times, Pieces.none()).run()
    assert run.ok, run.text
    # d h(t) / d h(0) = (q - a s(t)) / q, since dt = dh / (q - a sqrt(h)) at both ends
    s = np.sqrt(run.Y[1:, 0])
    np.testing.assert_allclose(run.YS[1:, 0, 2], 1 - 0.5 * s / 0.8, rtol=1e-4)


def test_tank_that_runs_empty_stays_empty() -> None:
    problem = simple(lambda x, P: -P[0] * ca.sqrt(ca.fmax(x, 1e-30)), [1.0], theta=(1.0,), end=4.0)
    run = problem.run()
    assert run.ok, run.text
    before = problem.times < 1.9
    level = (1 - problem.times / 2) ** 2
    np.testing.assert_allclose(run.Y[before, 0], level[before], atol=1e-7)
    assert np.abs(run.Y[problem.times > 2, 0]).max() < 1e-6
    np.testing.assert_allclose(
        run.YS[before, 0, 0], (-problem.times * (1 - problem.times / 2))[before], atol=1e-6
    )


def test_threads_share_a_kernel() -> None:
    problem = models.boiler(200)
    kernel = problem.kernel()
    start = problem.start(kernel)
    wanted = problem.run(kernel)
    results: list[bool] = []

    def work() -> None:
        for _ in range(20):
            run = integrate(kernel, problem.theta, start, problem.pieces, problem.times, FINE)
            results.append(bool((run.YS == wanted.YS).all()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80


def test_many_samples_cost_in_proportion() -> None:
    small, large = (models.boiler(n, hold=1) for n in (1_000, 20_000))
    runs = [p.run(options=Options()) for p in (small, large)]
    assert all(r.ok for r in runs)
    assert runs[1].statistics.evaluations < 21 * runs[0].statistics.evaluations


def test_influence_that_dies_out_ends_at_zero() -> None:
    """Numbers without a full mantissa are slow; the start value's influence must not become one."""
    problem = simple(lambda x, P: -5 * x + P[0], [1.0], theta=(1.0, 1.0), end=400.0)
    h = problem.hybrid
    tuned = HybridSystem(t=t, x=h.x, P=h.P, f=h.f, x0=h.P[1], seed=ca.SX.eye(2))
    for method in ("explicit", "implicit"):
        run = Problem(tuned, h.x, problem.theta, problem.times, Pieces.none()).run(
            options=Options(method=method, max_step=0.1)
        )
        assert run.ok
        assert run.YS[-1, 0, 1] == 0.0
        assert run.YS[-1, 0, 0] == pytest.approx(0.2)


def test_time_limit_ends_a_run() -> None:
    problem = simple(lambda x, P: ca.vertcat(x[1], -1e14 * x[0]), [1.0, 0.0], n=2)
    run = problem.run(options=Options(max_steps=10**9, max_seconds=0.2))
    assert run.status == status.TIME_LIMIT
    assert 0 < run.time < problem.times[-1]
    assert problem.run(options=Options(max_steps=10)).status == status.TOO_MANY_STEPS
