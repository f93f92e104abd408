"""Large sparse models: the same results as with dense matrices, and closed solutions."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es
from estimica.compiled import kernel as kernels
from estimica.compiled.sparse_plan import sparse_plan
from estimica.simulate.engine.options import Options
from estimica.simulate.engine.result import Run

LOOPS = """
model Loops "nonlinear equations in a ring, of which none can be solved by itself"
  parameter Integer n = 70;
  parameter Real c = 0.4;
  parameter Real k[3] = {1, 2, 3};
  Real x[3](each start = 1, each fixed = true);
  Real z[n](each start = 0.5);
equation
  for i in 1:n loop
    2*z[i] + 0.1*z[i]^3 = c*sin(z[mod(i, n) + 1]) + c*sin(z[mod(i + 8, n) + 1]) + x[mod(i, 3) + 1];
  end for;
  der(x[1]) = -k[1]*x[1]*z[1];
  der(x[2]) = -100*k[2]*(x[2] - z[20]);
  der(x[3]) = -k[3]*z[n];
end Loops;
"""

STAR = """
model Star "a room and its walls: everything meets in one temperature"
  parameter Integer n = 60;
  parameter Real G = 2;
  parameter Real C = 0.01;
  Real room(start = 0, fixed = true);
  Real wall[n](each start = 1, each fixed = true);
  Real back[n](each start = 1, each fixed = true);
equation
  der(room) = sum(G*(wall[i] - room) for i in 1:n)/n;
  for i in 1:n loop
    C*der(wall[i]) = G*(room - wall[i]) + i*(back[i] - wall[i]);
    der(back[i]) = i*(wall[i] - back[i]);
  end for;
end Star;
"""

ROD = """
model Rod
  parameter Integer n = 1000;
  parameter Real a = 1;
  constant Real pi = 3.141592653589793;
  Real T[n](start = {sin(pi*i/(n + 1)) for i in 1:n}, each fixed = true);
equation
  der(T[1]) = a*(n + 1)^2*(T[2] - 2*T[1]);
  for i in 2:n - 1 loop
    der(T[i]) = a*(n + 1)^2*(T[i - 1] - 2*T[i] + T[i + 1]);
  end for;
  der(T[n]) = a*(n + 1)^2*(T[n - 1] - 2*T[n]);
end Rod;
"""


def run_of(text: str, wrt: list[str], outputs: list[str]) -> tuple[Run, kernels.Kernel]:
    response = es.load_model(text).response(
        np.linspace(0, 1, 11), outputs=outputs, wrt=wrt, options=Options(method="implicit")
    )
    return response.at(), response.configuration.kernel


@pytest.mark.parametrize(
    ("text", "wrt", "outputs"),
    [
        (LOOPS, ["c", "k[1]", "k[2]", "k[3]"], ["x[1]", "x[2]", "z[7]"]),
        (STAR, ["G", "C"], ["room", "wall[60]", "back[1]"]),
    ],
    ids=["loops", "star"],
)
def test_sparse_factors_give_what_dense_ones_do(
    monkeypatch: pytest.MonkeyPatch, text: str, wrt: list[str], outputs: list[str]
) -> None:
    sparse, kernel = run_of(text, wrt, outputs)
    assert kernel.stiff.plan is not None
    assert (kernel.z_plan is not None) == (text is LOOPS)
    monkeypatch.setattr(kernels, "sparse_plan", lambda *_: None)
    dense, kernel = run_of(text, wrt, outputs)
    assert kernel.stiff.plan is None
    assert sparse.ok
    np.testing.assert_allclose(sparse.Y, dense.Y, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(sparse.YS, dense.YS, rtol=1e-8, atol=1e-9)


def test_a_rod_of_a_thousand_states() -> None:
    """Its first mode decays as one exponential, whose rate is known for the cells as they are."""
    times = np.linspace(0, 0.1, 6)
    found = es.load_model(ROD).sensitivities(times, wrt=["a"], outputs=["T[500]"])
    rate = 4 * 1001**2 * np.sin(np.pi / 2002) ** 2
    wanted = np.sin(500 * np.pi / 1001) * np.exp(-rate * times)
    np.testing.assert_allclose(found.values[:, 0], wanted, rtol=1e-4)
    np.testing.assert_allclose(found.derivative("T[500]", "a"), -rate * times * wanted, atol=1e-4)


def test_what_is_not_worth_it_is_left_dense() -> None:
    few = np.arange(10)
    assert sparse_plan(10, few, few, few) is None
    rows, columns = (a.ravel() for a in np.indices((40, 40)))
    assert sparse_plan(40, rows, columns, np.zeros(0, np.int64)) is None
    many = np.arange(200)
    plan = sparse_plan(200, many, many, many)
    assert plan is not None
    assert sorted(plan.columns) == list(many)
