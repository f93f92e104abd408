"""The stiff method: order, accuracy, algebraic unknowns, events, and the choice between methods."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from tests import engine_models as models
from tests.engine_models import HybridSystem, Problem, errors, sym, t, witness

from estimica.simulate.engine.methods import rosenbrock as r
from estimica.simulate.engine.options import Options, Pieces

STIFF = Options(rtol=1e-8, atol=1e-10, method="implicit")


def test_coefficients_are_those_of_casadi() -> None:
    x = ca.SX.sym("x")
    integrator = ca.integrator("I", "rosenbrock", {"x": x, "ode": -x}, 0, 1)
    code = ca.CodeGenerator("model", {"main": False})
    code.add(integrator)
    text = code.dump()

    def table(n: int) -> np.ndarray:
        body = text.split(f"casadi_c{n}[")[1].split("{")[1].split("}")[0]
        return np.array([float(v) for v in body.replace("\n", " ").split(",")])

    a, c, dense = table(0).reshape(8, 8), table(5).reshape(8, 8), table(3).reshape(4, 8)
    np.testing.assert_allclose(r.A, a[:6, :5], atol=1e-15)
    np.testing.assert_allclose(a[6:, :5], [r.A[5]] * 2, atol=1e-15)
    np.testing.assert_allclose(r.ALPHA, table(1), atol=1e-15)
    np.testing.assert_allclose(r.C, c[:, :7], atol=1e-13)
    np.testing.assert_allclose(r.GAMMA_SUM, table(6), atol=1e-15)
    theta = np.linspace(0, 1, 7)[:, None]
    rest = 1 - theta
    r2, r3, r4, r5 = r.DENSE
    ours = theta * (r2 + rest * (r3 + theta * (r4 + rest * r5)))
    theirs = sum(dense[k] * theta ** (k + 1) for k in range(4))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize(
    "problem",
    [models.boiler(30), models.four_states(40), models.circuit(30), models.pendulum(40)],
    ids=["boiler", "four states", "circuit", "pendulum"],
)
def test_stiff_method_agrees_with_sundials_on_easy_models(problem: Problem) -> None:
    run = problem.run(options=STIFF)
    assert run.ok, run.text
    state, sens = errors(run, *witness(problem))
    assert state < 1e-7
    assert sens < 1e-5


def test_robertson_agrees_with_sundials() -> None:
    problem = models.robertson(20)
    options = Options(rtol=1e-8, atol=1e-12, tuner_scales=tuple(problem.theta))
    run = problem.run(options=options)
    assert run.ok
    assert run.statistics.switches >= 1
    y, J = witness(problem)
    state, sens = errors(run, y, J)
    assert state < 1e-7
    assert sens < 1e-5
    assert run.statistics.steps < 2000


@pytest.mark.parametrize("tuners", [4, 15])
def test_heat_rod_uses_a_band_and_agrees_with_sundials(tuners: int) -> None:
    problem = models.heat_rod(30, tuners, 12)
    kernel = problem.kernel()
    run = problem.run(kernel, Options(rtol=1e-8, atol=1e-10))
    assert run.ok
    assert (kernel.stiff.lower, kernel.stiff.upper) == (1, 1)
    assert kernel.stiff.direct == (tuners == 4)
    assert run.statistics.stiff_steps > 0
    state, sens = errors(run, *witness(problem, 1e-11))
    assert state < 1e-7
    assert sens < 1e-5


def shuffled() -> Problem:
    """A chain of algebraic and differential equations in an order without a band."""
    n = 12
    x, z, P = sym("x", n), sym("z", n), sym("P", 2)
    order = np.random.default_rng(3).permutation(n)
    f, g = [ca.SX(0)] * n, [ca.SX(0)] * n
    for k in range(n):
        left = x[int(order[k - 1])] if k else ca.SX(1)
        right = x[int(order[k + 1])] if k + 1 < n else ca.SX(0)
        i = int(order[k])
        f[i] = 1e3 * P[0] * (left - x[i]) - 1e3 * P[0] * (x[i] - right) + P[1] * z[i]
        g[i] = z[i] + 0.1 * z[i] ** 3 + x[i]
    hybrid = HybridSystem(
        t=t, x=x, z=z, P=P, f=ca.vertcat(*f), g=ca.vertcat(*g), x0=ca.SX.zeros(n), z0=np.zeros(n),
        seed=ca.SX.eye(2),
    )  # fmt: skip
    y = ca.vertcat(x[0], z[5], x[7])
    return Problem(hybrid, y, np.array([1.2, 3.0]), np.linspace(0.001, 0.3, 12), Pieces.none())


def test_band_is_found_by_reordering_states_and_unknowns() -> None:
    problem = shuffled()
    kernel = problem.kernel()
    assert 0 < kernel.stiff.lower <= 4
    run = problem.run(kernel, STIFF)
    assert run.ok
    state, sens = errors(run, *witness(problem))
    assert state < 1e-7
    assert sens < 1e-5


def driven() -> Problem:
    """x' = -k (x - u) + cos(t), stiff, u in linear pieces: time derivatives matter."""
    x, P, u = sym("x"), sym("P", 2), sym("u")
    k, c = ca.vertsplit(P)
    hybrid = HybridSystem(
        t=t, x=x, P=P, u=u, f=-k * (x - u) + c * ca.cos(t), x0=ca.SX(0.5), seed=ca.SX.eye(2)
    )
    pieces = Pieces.of([0.0, 1.0, 2.0], [[0.0], [1.0], [-1.0]], [[1.0], [0.0], [2.0]])

    def exact(times, theta):  # type: ignore[no-untyped-def]
        k, c = theta

        def rest(s, u, slope):  # type: ignore[no-untyped-def]
            """A particular solution."""
            return u - slope / k + c * (k * np.cos(s) + np.sin(s)) / (k**2 + 1)

        rows = []
        for time in times:
            level = 0.5 + 0 * k
            for start, u0, slope in zip(
                pieces.starts, pieces.values[:, 0], pieces.slopes[:, 0], strict=True
            ):
                if time < start:
                    break
                end = min(time, start + 1) if start < 2 else time
                gap = level - rest(start, u0, slope)
                level = rest(end, u0 + slope * (end - start), slope) + gap * np.exp(
                    -k * (end - start)
                )
            rows.append((level,))
        return np.array(rows, complex)

    return Problem(hybrid, x, np.array([500.0, 2.0]), np.linspace(0.05, 3, 60), pieces, exact)


def test_time_and_input_slopes_enter_the_stiff_method() -> None:
    problem = driven()
    run = problem.run(options=STIFF)
    assert run.ok
    state, sens = errors(run, *problem.reference())
    assert state < 1e-7
    assert sens < 1e-5


@pytest.mark.parametrize("name", ["ball", "thermostat", "switched", "sampled_control", "cascade"])
def test_events_work_in_the_stiff_method(name: str) -> None:
    problem = getattr(models, name)()
    run = problem.run(options=STIFF)
    assert run.ok, run.text
    state, sens = errors(run, *problem.reference())
    assert state < 1e-8
    assert sens < 1e-6


def test_method_goes_back_when_the_model_is_no_longer_stiff() -> None:
    """The rate falls from 1e5 to 1 at t = 1."""
    x, d, P = sym("x", 2), sym("d"), sym("P")
    rate = ca.if_else(d, 1e5, 1.0)
    f = ca.vertcat(-rate * (x[0] - ca.sin(20 * t)), P * x[0])
    hybrid = HybridSystem(
        t=t, x=x, d=d, P=P, f=f, x0=ca.SX([0, 0]), instants=ca.SX(1), until=(True,),
        seed=ca.SX.eye(1), d0=np.ones(1),
    )  # fmt: skip
    problem = Problem(hybrid, x, np.array([1.0]), np.linspace(0.1, 20, 50), Pieces.none())
    run = problem.run(options=Options(rtol=1e-6, atol=1e-8))
    assert run.ok
    assert run.statistics.switches == 2
    assert 0 < run.statistics.stiff_steps < run.statistics.steps / 2


def test_forced_explicit_method_never_switches() -> None:
    run = models.heat_rod(20, 2, 5).run(options=Options(method="explicit"))
    assert run.ok
    assert run.statistics.switches == 0
    assert run.statistics.stiff_steps == 0
