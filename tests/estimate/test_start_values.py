"""Start values as unknowns, where the model ties them to parameters or to initial equations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import solve_ivp

from estimica.estimate.fit.result import Fit
from estimica.estimate.run.fit import fit
from estimica.simulate.load import load_model
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tuner import Tuner

TIME = np.linspace(0, 5, 60)


def fitted(text: str, rates, x0: list[float], tuners: dict[str, float], free: object) -> Fit:
    """Fit a model to what SciPy integrates from `x0`; the states are the outputs x1, x2."""
    exact = solve_ivp(rates, (0, 5), x0, t_eval=TIME, rtol=1e-10, atol=1e-12).y
    names = [f"x{k + 1}" for k in range(len(x0))]
    table = pd.DataFrame({"time": TIME, **dict(zip(names, exact, strict=True))})
    case = Case("run", table, outputs={n: n for n in names}, free_start=free)
    return fit(Study(load_model(text), [Tuner(n, start=v) for n, v in tuners.items()], [case]))


def test_other_start_follows_through_an_initial_equation() -> None:
    found = fitted(
        """model A
          parameter Real a = 1; parameter Real k = 2;
          output Real x1(start = 1, fixed = true); output Real x2;
        initial equation
          x2 = k*x1;
        equation
          der(x1) = -a*x1; der(x2) = x1 - x2;
        end A;""",
        lambda t, x: [-0.7 * x[0], x[0] - x[1]],
        [1.5, 4.5],
        {"a": 1.0, "k": 2.0},
        {"x1": 1.0},
    )
    assert found.values == pytest.approx([0.7, 3.0, 1.5], rel=1e-5)


def test_start_replaces_the_parameter_that_the_model_ties_it_to() -> None:
    found = fitted(
        """model C
          parameter Real a = 1; parameter Real x10 = 2*a;
          output Real x1(start = x10, fixed = true); output Real x2(start = a, fixed = true);
        equation
          der(x1) = -a*x1; der(x2) = x1 - x2;
        end C;""",
        lambda t, x: [-0.7 * x[0], x[0] - x[1]],
        [2.0, 0.7],
        {"a": 1.0},
        ["x1"],
    )
    assert found.values == pytest.approx([0.7, 2.0], rel=1e-5)


def test_start_replaces_the_steady_state_that_the_model_starts_from() -> None:
    found = fitted(
        """model B
          parameter Real a = 1; output Real x1(start = 1);
        initial equation
          der(x1) = 0;
        equation
          der(x1) = 1 - a*x1;
        end B;""",
        lambda t, x: [1 - 0.7 * x[0]],
        [2.0],
        {"a": 1.0},
        {"x1": 1.0},
    )
    assert found.values == pytest.approx([0.7, 2.0], rel=1e-5)


def test_only_the_equation_of_that_state_gives_way() -> None:
    # x2 still starts at rest: x1 − 2 x2 = 0
    found = fitted(
        """model E
          parameter Real a = 1; output Real x1(start = 1); output Real x2(start = 0);
        initial equation
          der(x1) = 0; der(x2) = 0;
        equation
          der(x1) = 1 - a*x1 + 0.3*x2; der(x2) = x1 - 2*x2;
        end E;""",
        lambda t, x: [1 - 0.7 * x[0] + 0.3 * x[1], x[0] - 2 * x[1]],
        [2.0, 1.0],
        {"a": 1.0},
        {"x1": 1.0},
    )
    assert found.values == pytest.approx([0.7, 2.0], rel=1e-5)
    assert found.cost < 1e-8
