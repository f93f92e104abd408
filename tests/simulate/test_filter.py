"""Filters: likelihoods and their gradients against dense Gaussians and filters written apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov

import estimica as es
from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.compiled.experiment import Experiment
from estimica.simulate.engine.options import Options
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise

ROOM = """model Room
  parameter Real Ri = 0.01; parameter Real Re = 0.02;
  parameter Real Ci = 1e5; parameter Real Ce = 1e6;
  input Real Ta; input Real Q;
  Real Ti(start = 20); Real Te(start = 15);
equation
  Ci*der(Ti) = (Te - Ti)/Ri + Q;
  Ce*der(Te) = (Ti - Te)/Ri + (Ta - Te)/Re;
end Room;"""
#: the same with the flow as an unknown of a nonlinear equation, which has one solution
IMPLICIT = """model Room
  parameter Real Ri = 0.01; parameter Real Re = 0.02;
  parameter Real Ci = 1e5; parameter Real Ce = 1e6;
  input Real Ta; input Real Q;
  Real Ti(start = 20); Real Te(start = 15); Real q(start = 100);
equation
  q + 1e-12*q^3 = (Te - Ti)/Ri + 1e-12*((Te - Ti)/Ri)^3;
  Ci*der(Ti) = q + Q;
  Ce*der(Te) = -q + (Ta - Te)/Re;
end Room;"""
VALUES = {
    "Ri": 0.01,
    "Re": 0.02,
    "Ci": 1e5,
    "Ce": 1e6,
    "si": 0.01,
    "se": 0.005,
    "sm": 0.1,
    "p": 1.0,
}
TIGHT = Options(rtol=1e-11, atol=1e-13)


@dataclass(frozen=True)
class Data:
    """Inputs and measured values at irregular stamps, of two outputs with stamps of their own."""

    t: Vector
    Ta: Vector
    Q: Vector
    Ti: Vector  # NaN where it was not sampled
    Te: Vector

    @property
    def inputs(self) -> dict[str, object]:
        return {"Ta": (self.t, self.Ta), "Q": (self.t, self.Q)}

    def series(self, *names: str) -> dict[str, Series]:
        own = {n: getattr(self, n) for n in names}
        return {n: Series(self.t[np.isfinite(v)], v[np.isfinite(v)]) for n, v in own.items()}


def data(n: int = 120, seed: int = 1) -> Data:
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(200, 1500, n))
    Ta, Q = 5 + 5 * np.sin(t / 2e4), 1000.0 * (rng.random(n) > 0.5)
    Ti, Te = 20 + np.cumsum(rng.normal(size=n)) * 0.1, 15 + np.cumsum(rng.normal(size=n)) * 0.1
    Ti[rng.random(n) < 0.2] = np.nan
    Te[rng.random(n) < 0.5] = np.nan
    return Data(t, Ta, Q, Ti, Te)


def linear(p: dict[str, float]) -> tuple[Vector, Vector]:
    A = np.array(
        [
            [-1 / p["Ri"] / p["Ci"], 1 / p["Ri"] / p["Ci"]],
            [1 / p["Ri"] / p["Ce"], -(1 / p["Ri"] + 1 / p["Re"]) / p["Ce"]],
        ]
    )
    return A, np.array([[0, 1 / p["Ci"]], [1 / p["Re"] / p["Ce"], 0]])


def dense_log_likelihood(
    p: dict[str, float], d: Data, names: tuple[str, ...], start: Vector | None = None
) -> float:
    """The density of all measured values at once: one multivariate normal, nothing sequential."""
    A, B = linear(p)
    noise = np.diag([p["si"] ** 2, p["se"] ** 2])
    mean, C = np.array([20.0, 15.0]), np.diag([0.25, p["p"] ** 2]) if start is None else start
    means, spreads, moves = [mean], [C], []
    for k, h in enumerate(np.diff(d.t)):
        exact = expm(np.block([[A, B], [np.zeros((2, 4))]]) * h)
        loan = expm(np.block([[-A, noise], [np.zeros((2, 2)), A.T]]) * h)
        F, G = exact[:2, :2], exact[:2, 2:]
        mean = F @ mean + G @ np.array([d.Ta[k], d.Q[k]])
        C = F @ C @ F.T + loan[2:, 2:].T @ loan[:2, 2:]
        means.append(mean)
        spreads.append(C)
        moves.append(F)
    place = {"Ti": 0, "Te": 1}
    rows = [(k, place[n], getattr(d, n)[k]) for k in range(len(d.t)) for n in names]
    rows = [r for r in rows if np.isfinite(r[2])]
    n = len(d.t)
    cross = np.zeros((n, n, 2, 2))
    for k in range(n):
        cross[k, k] = spreads[k]
        for j in range(k + 1, n):
            cross[j, k] = moves[j - 1] @ cross[j - 1, k]
            cross[k, j] = cross[j, k].T
    K = np.array([[cross[a, b][i, j] for b, j, _ in rows] for a, i, _ in rows])
    K += np.eye(len(rows)) * p["sm"] ** 2
    off = np.array([v - means[k][i] for k, i, v in rows])
    L = np.linalg.cholesky(K)
    w = np.linalg.solve(L, off)
    return float(-0.5 * w @ w - np.log(np.diag(L)).sum() - len(rows) / 2 * np.log(2 * np.pi))


def filter_noise(*outputs: str) -> FilterNoise:
    return FilterNoise(
        (("Ti", "si"), ("Te", "se")),
        (("Ti", "0.5"), ("Te", "p")),
        tuple((n, "sm") for n in outputs),
    )


def likelihood(
    text: str,
    d: Data,
    names: tuple[str, ...],
    options: Options = TIGHT,
    values: dict[str, float] = VALUES,
    wrt: tuple[str, ...] = tuple(VALUES),
) -> tuple[float, Vector]:
    """(log likelihood, gradient) of the filter."""
    return log_likelihood(text, d, filter_noise(*names), options, values, wrt)


def log_likelihood(
    text: str,
    d: Data,
    noise: FilterNoise,
    options: Options = TIGHT,
    values: dict[str, float] = VALUES,
    wrt: tuple[str, ...] = tuple(VALUES),
) -> tuple[float, Vector]:
    """(log likelihood, gradient) of the filter with this noise."""
    names = noise.outputs
    model = filtered(es.load_model(text), noise)
    experiment = Experiment(d.t, d.inputs, values, wrt=wrt, begin=float(d.t[0]), options=options)
    run = model.respond(experiment, d.series(*names)).at()
    assert run.ok, run.text
    ny = len(names)
    times = np.unique(np.concatenate([s.time for s in d.series(*names).values()]))
    total, gradient = 0.0, np.zeros(len(wrt))
    for k, n in enumerate(names):
        rows = np.searchsorted(times, d.series(n)[n].time)
        e, s = run.Y[rows, k], run.Y[rows, ny + k]
        total -= 0.5 * float(np.sum(e**2 / s + np.log(2 * np.pi * s)))
        gradient -= (e / s) @ run.YS[rows, k]
        gradient -= 0.5 * (1 / s - e**2 / s**2) @ run.YS[rows, ny + k]
    return total, gradient


@pytest.mark.parametrize("names", [("Ti",), ("Ti", "Te")], ids=["one output", "two outputs"])
@pytest.mark.parametrize("text", [ROOM, IMPLICIT], ids=["explicit", "algebraic unknowns"])
def test_the_likelihood_is_that_of_all_values_at_once(text: str, names: tuple[str, ...]) -> None:
    d = data()
    found, gradient = likelihood(text, d, names)
    assert found == pytest.approx(dense_log_likelihood(VALUES, d, names), rel=1e-9)
    for k, name in enumerate(VALUES):
        h = 1e-5 * VALUES[name]
        high, low = ({**VALUES, name: VALUES[name] + sign * h} for sign in (1, -1))
        ends = [dense_log_likelihood(p, d, names) for p in (high, low)]
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-6)


def test_default_tolerances_are_far_below_what_a_likelihood_ratio_sees() -> None:
    d = data()
    found, _ = likelihood(ROOM, d, ("Ti",), Options())
    assert found == pytest.approx(dense_log_likelihood(VALUES, d, ("Ti",)), abs=1e-3)


def test_exactly_known_start_values_and_states_without_noise_are_no_trouble() -> None:
    d = data()
    still = {**VALUES, "se": 0.0, "p": 0.0}
    found, _ = likelihood(ROOM, d, ("Ti",), values=still, wrt=("Ri", "si"))
    assert found == pytest.approx(dense_log_likelihood(still, d, ("Ti",)), rel=1e-9)


def test_measurements_far_more_exact_than_the_states_keep_the_covariance_positive() -> None:
    """Against 60 digits: the plain update C - K s Kᵀ has lost all digits here."""
    import mpmath as mp

    d = data(40)
    sharp = {**VALUES, "sm": 1e-7}
    model = filtered(es.load_model(ROOM), filter_noise("Ti", "Te"))
    experiment = Experiment(d.t, d.inputs, sharp, begin=float(d.t[0]), options=TIGHT)
    series = {n: Series(d.t, np.nan_to_num(getattr(d, n), nan=20.0)) for n in ("Ti", "Te")}
    run = model.respond(experiment, series).at()
    assert run.ok
    mp.mp.dps = 60
    A, _ = linear(sharp)
    A = mp.matrix(A.tolist())
    r, C = mp.mpf(sharp["sm"]) ** 2, mp.diag([mp.mpf("0.25"), mp.mpf(1)])
    for k in range(len(d.t)):
        if k:
            h = mp.mpf(float(d.t[k])) - mp.mpf(float(d.t[k - 1]))
            loan = mp.zeros(4)
            for i in range(2):
                for j in range(2):
                    loan[i, j], loan[2 + i, 2 + j] = -A[i, j], A[j, i]
            loan[0, 2], loan[1, 3] = mp.mpf(sharp["si"]) ** 2, mp.mpf(sharp["se"]) ** 2
            loan = mp.expm(loan * h)
            F = loan[2:, 2:].T
            C = F * C * F.T + F * loan[:2, 2:]
        for i in range(2):
            s = C[i, i] + r
            assert run.Y[k, 2 + i] == pytest.approx(float(s), rel=1e-7)
            v = C[:, i]
            C = C - v * v.T / s


NONLINEAR = {
    "predator and prey": (
        """model Hares
  parameter Real a = 1.0; parameter Real b = 0.1; parameter Real c = 1.5; parameter Real d = 0.075;
  Real x(start = 10); Real y(start = 5);
equation
  der(x) = a*x - b*x*y; der(y) = -c*y + d*x*y;
end Hares;""",
        lambda x, p: np.array(
            [p["a"] * x[0] - 0.1 * x[0] * x[1], -1.5 * x[1] + 0.075 * x[0] * x[1]]
        ),
        lambda x, p: np.array(
            [[p["a"] - 0.1 * x[1], -0.1 * x[0]], [0.075 * x[1], -1.5 + 0.075 * x[0]]]
        ),
        np.array([10.0, 5.0]),
        ("x", "y"),
    ),
    "radiator": (
        """model Radiator
  parameter Real a = 0.02;
  Real T(start = 20); Real R(start = 60);
equation
  der(T) = a*max(R - T, 1e-3)^1.3 - 0.1*(T - 5);
  der(R) = 0.5*(70 - R) - 0.01*max(R - T, 1e-3)^1.3;
end Radiator;""",
        lambda x, p: np.array(
            [
                p["a"] * (x[1] - x[0]) ** 1.3 - 0.1 * (x[0] - 5),
                0.5 * (70 - x[1]) - 0.01 * (x[1] - x[0]) ** 1.3,
            ]
        ),
        lambda x, p: np.array(
            [
                [-1.3 * p["a"] * (x[1] - x[0]) ** 0.3 - 0.1, 1.3 * p["a"] * (x[1] - x[0]) ** 0.3],
                [0.013 * (x[1] - x[0]) ** 0.3, -0.5 - 0.013 * (x[1] - x[0]) ** 0.3],
            ]
        ),
        np.array([20.0, 60.0]),
        ("T", "R"),
    ),
    "pendulum": (
        """model Pendulum
  parameter Real a = 9.81;
  Real phi(start = 1.5); Real w(start = 0);
equation
  der(phi) = w; der(w) = -a*sin(phi) - 0.3*w;
end Pendulum;""",
        lambda x, p: np.array([x[1], -p["a"] * np.sin(x[0]) - 0.3 * x[1]]),
        lambda x, p: np.array([[0.0, 1.0], [-p["a"] * np.cos(x[0]), -0.3]]),
        np.array([1.5, 0.0]),
        ("phi", "w"),
    ),
}


def plain_filter(f, jacobian, x, p, t, y, s) -> float:  # type: ignore[no-untyped-def]
    """An extended Kalman filter in NumPy with 400 steps of Runge-Kutta between samples."""
    C, total = np.diag([0.04, 0.01]), 0.0
    Q, noise = np.diag([s[0] ** 2, s[1] ** 2]), 0.1**2

    def rate(x: Vector, C: Vector) -> tuple[Vector, Vector]:
        A = jacobian(x, p)
        return f(x, p), A @ C + C @ A.T + Q

    for k in range(len(t)):
        if k:
            h = (t[k] - t[k - 1]) / 400
            for _ in range(400):
                a, A = rate(x, C)
                b, B = rate(x + h / 2 * a, C + h / 2 * A)
                c, D = rate(x + h / 2 * b, C + h / 2 * B)
                d, E = rate(x + h * c, C + h * D)
                x, C = x + h / 6 * (a + 2 * b + 2 * c + d), C + h / 6 * (A + 2 * B + 2 * D + E)
        e, v = y[k] - x[0], C[0, 0] + noise
        total -= 0.5 * (e**2 / v + np.log(2 * np.pi * v))
        K = C[:, 0] / v
        x, C = x + K * e, C - np.outer(K, C[0])
    return float(total)


@pytest.mark.parametrize("name", NONLINEAR)
def test_nonlinear_models_are_filtered_as_a_plain_filter_at_fine_steps_does(name: str) -> None:
    text, f, jacobian, x0, states = NONLINEAR[name]
    rng = np.random.default_rng(4)
    t = np.cumsum(rng.uniform(0.1, 0.4, 30))
    p, s = {"a": {"predator and prey": 1.0, "radiator": 0.02, "pendulum": 9.81}[name]}, (0.2, 0.1)
    y = x0[0] + rng.normal(size=30) * 0.3
    noise = FilterNoise(
        ((states[0], "0.2"), (states[1], "0.1")),
        ((states[0], "0.2"), (states[1], "0.1")),
        ((states[0], "0.1"),),
    )
    model = filtered(es.load_model(text), noise)
    experiment = Experiment(t, parameters=p, wrt=["a"], begin=float(t[0]), options=TIGHT)
    run = model.respond(experiment, {states[0]: Series(t, y)}).at()
    assert run.ok, run.text
    e, v = run.Y[:, 0], run.Y[:, 1]
    found = -0.5 * float(np.sum(e**2 / v + np.log(2 * np.pi * v)))
    assert found == pytest.approx(plain_filter(f, jacobian, x0, p, t, y, s), rel=1e-8)
    slope = -(e / v) @ run.YS[:, 0, 0] - 0.5 * (1 / v - e**2 / v**2) @ run.YS[:, 1, 0]
    h = 1e-4 * p["a"]
    ends = [plain_filter(f, jacobian, x0, {"a": p["a"] + q}, t, y, s) for q in (h, -h)]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("method", ["auto", "implicit"])
def test_stiff_models_are_filtered(method: str) -> None:
    """One time constant is ten microseconds, samples are a tenth of a second apart."""
    text = """model Stiff
  parameter Real b = 1;
  Real x(start = 1); Real y(start = 0.5);
equation
  der(x) = -1e5*(x - y); der(y) = -b*y + 0.2*x;
end Stiff;"""
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 3.0, 0.1)
    measured = 0.5 + 0.1 * rng.normal(size=len(t))
    noise = FilterNoise((("x", "10"), ("y", "0.2")), (), (("y", "0.1"),))
    model = filtered(es.load_model(text), noise)
    options = Options(rtol=1e-9, atol=1e-11, method=method)
    run = model.respond(
        Experiment(t, wrt=["b"], begin=0.0, options=options), {"y": Series(t, measured)}
    ).at()
    assert run.ok, run.text

    def exact(b: float) -> float:
        A = np.array([[-1e5, 1e5], [0.2, -b]])
        F, rest = expm(0.1 * A), solve_continuous_lyapunov(A, -np.diag([100.0, 0.04]))
        grown = rest - F @ rest @ F.T
        x, C, cost = np.array([1.0, 0.5]), np.zeros((2, 2)), 0.0
        for v in measured:
            e, s = v - x[1], C[1, 1] + 0.01
            cost += e**2 / s + np.log(s)
            K = C[:, 1] / s
            x, C = F @ (x + K * e), F @ (C - np.outer(K, C[1])) @ F.T + grown
        return float(cost)

    e, s = run.Y[:, 0], run.Y[:, 1]
    assert float(np.sum(e**2 / s + np.log(s))) == pytest.approx(exact(1.0), rel=1e-6)
    slope = float((2 * e / s) @ run.YS[:, 0, 0] + (1 / s - e**2 / s**2) @ run.YS[:, 1, 0])
    assert slope == pytest.approx((exact(1 + 1e-5) - exact(1 - 1e-5)) / 2e-5, rel=1e-4)


def test_many_states_and_tuners_go_by_sparse_products() -> None:
    """Above the size at which sensitivities are one expression: against differences."""
    n = 6
    text = "model Chain\n" + "".join(f"  parameter Real k{i} = 0.{i + 1};\n" for i in range(n))
    text += "".join(f"  Real x{i}(start = {i});\n" for i in range(n)) + "equation\n"
    for i in range(n):
        before = f"x{i - 1}" if i else "1"
        text += f"  der(x{i}) = k{i}*({before} - x{i}) - 0.01*x{i}^2;\n"
    text += "end Chain;"
    rng = np.random.default_rng(2)
    t, wrt = np.arange(1.0, 31.0), [f"k{i}" for i in range(n)] + ["s", "q"]
    values = {f"k{i}": 0.1 * (i + 1) for i in range(n)} | {"s": 0.2, "q": 0.3}
    noise = FilterNoise(
        tuple((f"x{i}", "s") for i in range(n)),
        tuple((f"x{i}", "0.5") for i in range(n)),
        (("x5", "q"), ("x2", "q")),
    )
    model = filtered(es.load_model(text), noise)
    series = {n: Series(t, rng.normal(size=30)) for n in ("x5", "x2")}

    def cost(p: dict[str, float], tuned: list[str]) -> tuple[float, Vector]:
        e = Experiment(t, parameters=p, wrt=tuned, begin=0.0, options=TIGHT)
        run = model.respond(e, series).at()
        assert run.ok
        v, s = run.Y[:, :2], run.Y[:, 2:4]
        total = float(np.sum(v**2 / s + np.log(s)))
        slope = np.einsum("nk,nkm->m", 2 * v / s, run.YS[:, :2])
        return total, slope + np.einsum("nk,nkm->m", 1 / s - v**2 / s**2, run.YS[:, 2:4])

    _, slope = cost(values, wrt)
    for k, name in enumerate(wrt):
        h = 1e-5 * values[name]
        ends = [cost({**values, name: values[name] + q}, [])[0] for q in (h, -h)]
        assert slope[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=2e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "state", "code"),
    [
        (ROOM, "Tj", "M240"),
        ("model A Real x; equation der(x) = -delay(x, 1.0); end A;", "x", "M241"),
        (
            "model B Real x; discrete Real m; equation der(x) = -x + m; "
            "when sample(0, 1) then m = x; end when; end B;",
            "x",
            "M242",
        ),
    ],
)
def test_what_a_filter_cannot_do_is_refused(text: str, state: str, code: str) -> None:
    with pytest.raises(ModelError) as error:
        filtered(es.load_model(text), FilterNoise(((state, "1"),), (), ()))
    assert error.value.code == code
