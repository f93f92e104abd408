"""The 24 feature models that were collected before the project began, against independent results.

They are not part of this repository: set ESTIMICA_PROBES to the folder that holds them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import estimica as es

ROOT = Path(__file__).resolve().parents[2]
FOLDER = (
    Path(os.environ.get("ESTIMICA_PROBES", ROOT.parent / "shared" / "probes"))
    / "frontend"
    / "models"
)
OPTIONS = es.Options(rtol=1e-9, atol=1e-11)
TIMES = np.linspace(0, 1, 21)

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no feature models: {FOLDER} is not a folder; set ESTIMICA_PROBES"
)


def run(file: str, outputs: list[str], class_: str | None = None, inputs=None, times=TIMES):
    model = es.load_model(FOLDER / f"{file}.mo", class_ or file)
    return model.simulate(times, inputs, outputs=outputs, options=OPTIONS).values.T


def ode(f, x0, times=TIMES, **options):
    given = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13} | options
    solved = solve_ivp(f, (0, times[-1]), np.atleast_1d(x0), t_eval=times, **given)
    assert solved.success
    return solved.y


def close(got, wanted, tolerance=1e-7):
    np.testing.assert_allclose(
        got, np.broadcast_to(wanted, np.shape(got)), rtol=tolerance, atol=tolerance
    )


def test_m01_plain_ode():
    i, vc = run("M01_ode", ["y", "vc"])
    wanted = ode(lambda t, x: [10 - x[1] - 0.5 * x[0] - x[0] ** 5, x[0] / 0.5], [0, 0])
    close(i, wanted[0])
    close(vc, wanted[1])


@pytest.mark.parametrize(
    ("class_", "R1", "R2", "C"), [("P.M02_conn", 1, 0, 0.25), ("P.M02b", 0.7, 1, 0.3)]
)
def test_m02_connections_and_redeclaration(class_, R1, R2, C):
    (y,) = run("M02_conn", ["y"], class_)
    wanted = ode(lambda t, x: [(10 - x[1] - R1 * x[0] - R2 * x[0] ** 5) / 2, x[0] / C], [0, 0])
    close(y, wanted[1])


def test_m03_arrays_of_components():
    Tout, x5, m = run("M03_arrays", ["Tout", "x[5]", "m"], "Q.M03_arrays", {"Q": 3.0})
    A = np.array([[1, 2], [3, 4]])

    def f(t, s):
        T, x, w = s[:5], s[5:10], s[10:]
        flow = np.concatenate([[3.0], 2 * (T[:-1] - T[1:]), [0.0]])
        return np.concatenate([
            (flow[:-1] - flow[1:]) / np.arange(1, 6),
            -x + np.concatenate([[3.0], x[:-1]]),
            -A @ w + [3.0, 0],
        ])  # fmt: skip

    s = ode(f, np.concatenate([np.full(5, 20.0), np.ones(5), [1, 2]]))
    close(Tout, s[4])
    close(x5, s[9])
    close(m, s[5:10].sum(axis=0) + (s[10:] ** 2).sum(axis=0))


def test_m04_branches_and_events():
    x, z, out = run("M04_if", ["x", "z", "out"], inputs={"u": 0.5})

    def rhs(x):
        z = x**2 if x > 0.5 else -(x**2) if x < -0.5 else x
        return -z + 1.0 + (0.1 if x > 0.2 else -0.1) + (x**2 if x > 0 else 0) - np.sqrt(max(x, 0))

    # x rises: integrate from one switching point to the next, each stretch with its own branches
    def solution(t):
        begin = 0.0
        for a, b in ((0.1, 0.2), (0.2, 0.5), (0.5, 2.0)):
            low = a * (1 + 1e-15)
            solved = solve_ivp(
                lambda _, y, low=low, b=b: [rhs(min(max(y[0], low), b))],
                (begin, t), [low], rtol=1e-12, atol=1e-14, events=_reach(b),
            )  # fmt: skip
            if not len(solved.t_events[0]):
                return solved.y[0, -1]
            begin = solved.t_events[0][0]
        raise AssertionError("x left its range")

    wanted = np.array([0.1] + [solution(t) for t in TIMES[1:]])
    close(x, wanted, 1e-6)
    close(z, np.where(wanted > 0.5, wanted**2, wanted), 1e-6)
    close(out, np.minimum(wanted, 1) + np.abs(wanted) + 1 + (wanted <= 0.2), 1e-6)


def _reach(level):
    def event(t, y):
        return y[0] - level

    event.terminal, event.direction = True, 1
    return event


def test_m05_ball_by_the_letter_of_the_language():
    # `flying` is computed with the velocity before reinit, so the ball goes straight on
    h, v, n = run("M05_ball", ["h", "v", "n"])
    hit = np.sqrt(2 / 9.81)
    speed = 0.8 * 9.81 * hit
    after = hit < TIMES
    close(h, np.where(after, speed * (TIMES - hit), 1 - 9.81 * TIMES**2 / 2))
    close(v, np.where(after, speed, -9.81 * TIMES))
    close(n, after)


def test_m06_sampled_controller():
    x, integral, wanted = 0.0, 0.0, []
    crossing = 0.0
    for k in range(10):
        integral += 0.1 * (1 - x)
        u = 2 * (1 - x) + integral
        middle = u + (x - u) * np.exp(-0.05)
        wanted.append(middle)
        end = u + (x - u) * np.exp(-0.1)
        if x <= 0.5 < end:
            crossing = 0.1 * k + np.log((u - x) / (u - 0.5))
        x = end
    model = es.load_model(FOLDER / "M06_sample.mo", "M06_sample")
    run = model.simulate(
        np.linspace(0.05, 0.95, 10), begin=0.0, outputs=["y", "cnt", "t_last"], options=OPTIONS
    )
    close(run.value("y"), wanted)
    close(run.value("cnt"), 1)
    close(run.value("t_last")[-1], crossing)


def test_m07_pendulum_of_index_three():
    x, y = run("M07_pend", ["x", "y"])
    phi = ode(lambda t, s: [s[1], -9.81 * np.sin(s[0])], [np.pi / 2, 0])[0]
    close(x, np.sin(phi), 1e-6)
    close(y, -np.cos(phi), 1e-6)


def test_m08_parallel_capacitors():
    (y,) = run("M08_parcap", ["y"], inputs={"u": 2.0})
    close(y, 2 - 1.5 * np.exp(-TIMES / 9))


def test_m09_initial_equations():
    x, z, w, p4 = run("M09_init", ["x", "z", "w", "p4"])
    close(x, 1 / 3 + (2 - 1 / 3) * np.exp(-3 * TIMES))
    close(p4, 4.0)
    close(z, 41 / 6)
    close(w, 8 / 0.3 + (6 - 8 / 0.3) * np.exp(-0.3 * TIMES))


def test_m10_records_functions_enumerations():
    pos, x, s, q = run("M10_rec", ["st.pos", "x", "s", "q"], "RF.M10_rec", {"u": 0.5})
    close(pos, 0.4 + 0.6 * np.exp(-5 * TIMES))
    # p > 1 while x > 0: der(x) = -1 + 0.5 + 1
    close(x, 2 + 0.5 * TIMES)
    close(s, np.sin(2 + 0.5 * TIMES))
    close(q, 2.0)


@pytest.mark.parametrize(
    ("class_", "f"),
    [
        ("M10x_ext", lambda x: -np.sinh(x)),
        ("M10w_while", lambda x: -np.sqrt(x**2 + 1)),
        ("M10p_poly", lambda x: -(1 + 2 * x + 3 * x**2 + 4 * x**3)),
        ("M10s_sat", lambda x: -np.clip(x, -1, 2)),
        ("M10t_two", lambda x: -np.sin(x) - np.cos(x)),
        ("M10m_rec", lambda x: -2 * x),
        ("M10d_data", lambda x: -5 * x + 3),
    ],
)
def test_m10_functions_one_by_one(class_, f):
    (x,) = run("M10_rec", ["x"], f"RF.{class_}")
    start = 1.0 if class_ == "M10x_ext" else 2.0
    # the while loop of M10w stops at an accuracy of its own
    close(x, ode(lambda t, y: f(y), start)[0], 1e-6)


def test_m17_delay():
    (x,) = run("M17_delay", ["x"], inputs={"u": 0.0})
    t = TIMES
    close(x, np.where(t <= 0.5, 1 - t, 0.5 - (t - 0.5) + 0.5 * (t - 0.5) ** 2), 1e-6)


def test_m18_external_function_of_the_c_library():
    (x,) = run("M18_ext", ["x"], "X.M18_ext")
    close(x, 2 * np.arctanh(np.tanh(0.5) * np.exp(-TIMES)))


def test_m19_boolean_and_integer_inputs():
    x, k, q = run("M19_bool", ["x", "k", "q"], inputs={"on": 1, "mode": 3})
    # b1 holds until x = 1: x' = 3 - x + 0.3, then x' = 3 - x
    switch = np.log(3.3 / 2.3)
    early, late = 3.3 * (1 - np.exp(-TIMES)), 3 - 2 * np.exp(-(TIMES - switch))
    wanted = np.where(switch > TIMES, early, late)
    close(x, wanted)
    close(k, np.where(switch > TIMES, 3, 0))
    close(q, np.floor(wanted) + np.where(switch > TIMES, 2, 0))


def test_m20_homotopy():
    z, x = run("M20_homotopy", ["z", "x"], inputs={"u": 1.0})

    def root(z):
        return brentq(lambda x: x**3 + x - 1 - z, -5, 5, xtol=1e-14)

    wanted = ode(lambda t, s: [-s[0] + root(s[0])], 1.0)[0]
    close(z, wanted)
    close(x, [root(v) for v in wanted])


def test_m23_operators():
    y, x = run("M23_semi", ["y", "x"], inputs={"u": 0.3})
    close(x, 0.3 + 0.2 * np.exp(-TIMES))
    wanted = []
    for s in x:
        skew = np.array([[0, -2, 1], [2, 0, -s], [-1, s, 0]])
        M = np.eye(3) + skew + np.outer([1, 2, 3], [1, s, 2])
        v = M @ [1, s, 0.3]
        cross = np.cross(v, [1, 0, 0])
        wanted.append(
            (v**2).sum() + M[1, 0] + v[2] + cross[1] + v.max() + 2 * s + s
            + (np.diag([1, 2, 3]) @ v).sum() + v.sum() + 1 + 1.5 + 1e-3
        )  # fmt: skip
    close(y, wanted)


@pytest.mark.parametrize("name", ["M21_spatial"])
def test_what_the_front_end_refuses_is_refused_by_name(name):
    with pytest.raises(es.EstimicaError, match="spatialDistribution"):
        es.load_model(FOLDER / f"{name}.mo", name)
