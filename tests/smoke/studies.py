"""One law, known in closed form, as every kind of model; and studies of it with planted truth.

Over time: τ·dy/dt = k·u − y from y(0) = 0 with u held between samples. At points:
y = k·(1 − exp(−x/τ)), the same law for a step of length x. As a frequency response: k/(1 + iωτ).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es

TRUTH = {"k": 2.0, "tau": 0.7}
START = {"k": 1.5, "tau": 1.0}
NOISE = 0.02
OUTLIER = 1.5  # added to three samples
OFFSET = 0.3  # of records with a disturbance, and of those that are left out
TIME = np.linspace(0.0, 6.0, 41)
POINTS = np.linspace(0.05, 3.0, 41)
HERTZ = np.logspace(-1.5, 0.8, 41)

MODELICA = """
model Lag "A lag of first order"
  parameter Real k(min = 0) = 1;
  parameter Real tau(min = 0) = 1;
  input Real u;
  output Real y(start = 0, fixed = true);
equation
  tau*der(y) = k*u - y;
end Lag;
"""
BASE = """//! base 0.1.0
package 'Lag'
  model 'Lag'
    parameter Real 'k' = 1.0;
    parameter Real 'tau' = 1.0;
    input Real 'u';
    output Real 'y'(fixed = true, start = 0.0);
  equation
    'tau' * der('y') = 'k' * 'u' - 'y';
  end 'Lag';
end 'Lag';
"""
LAW = """
model Law "What is left of a step"
  parameter Real k = 1;
  parameter Real tau = 1;
  input Real x;
  output Real y;
equation
  y = k*(1 - exp(-x/tau));
end Law;
"""


def lag(u, t, k=1.0, tau=1.0):  # type: ignore[no-untyped-def]
    """The lag as a Python function."""
    decay = np.exp(-(t[1] - t[0]) / tau)
    x, y = 0.0 * k, []
    for value in u:
        y.append(x)
        x = decay * x + (1 - decay) * k * value
    return np.array(y)


DYNAMIC = ("modelica", "base modelica", "fmu", "transfer function", "function")
STATIC = ("formula", "points")
KINDS = (*DYNAMIC, *STATIC, "frequency", "discrete time")
STATES = {
    "modelica": "y",
    "base modelica": "y",
    "transfer function": "x1",
    "fmu": "T",
    "discrete time": "x1",
}
OUTPUTS = {"fmu": "T_out"}


@cache
def model_of(kind: str) -> es.Model:
    """The law as one kind of model; each is made once."""
    match kind:
        case "modelica":
            return es.load_model(MODELICA)
        case "base modelica":
            return es.load_model(BASE)
        case "fmu":
            return es.load_model(unit())
        case "transfer function" | "frequency":
            return es.transfer_function("k/(1 + tau*s)")
        case "discrete time":
            apart = float(TIME[1] - TIME[0])
            decay = f"exp(-{apart!r}/tau)"
            return es.transfer_function(f"k*(1 - {decay})/(z - {decay})", sample_time=apart)
        case "function":
            return es.function_model(lag)
        case "formula":
            return es.formula_model({"y": "k*(1 - exp(-x/tau))"}, inputs=["x"])
    return es.load_model(LAW).at_points()  # type: ignore[attr-defined]


def unit() -> Path:
    """The FMU: the same lag, whose input is a heater that switches itself."""
    pytest.importorskip("fmpy")
    from tests.fmus.build import builder, built

    if not builder.compiler():
        pytest.skip("no C compiler")
    return built("pulsed")


def step(record: int) -> np.ndarray:
    """The input of a record: a square wave, another one in each."""
    return (TIME % (3.0 - 0.5 * record) < 1.5) * 1.0


def truth_of(kind: str, record: int, k: float, tau: float) -> np.ndarray:
    """The output without noise, in closed form."""
    if kind in STATIC:
        return k * (1 - np.exp(-POINTS / tau))
    if kind == "frequency":
        return k / (1 + 2j * np.pi * HERTZ * tau)
    if kind == "fmu":  # on for the first half of a period of 5 s
        y, before, edges = 0.0, 0.0, np.union1d(TIME, [2.5, 5.0])
        values = {0.0: 0.0}
        for edge in edges[1:]:
            target = k if before % 5 < 2.5 else 0.0
            y = target + (y - target) * np.exp(-(edge - before) / tau)
            values[float(edge)], before = y, edge
        return np.array([values[float(t)] for t in TIME])
    y = [0.0]
    decay = np.exp(-(TIME[1] - TIME[0]) / tau)
    for value in step(record)[:-1]:
        y.append(decay * y[-1] + (1 - decay) * k * value)
    return np.array(y)


def decayed(kind: str, tau: float) -> np.ndarray:
    """How a start value is forgotten."""
    assert kind in STATES
    return np.exp(-TIME / tau)


def table_of(kind: str, record: int, *, outliers: bool, offset: float = 0.0) -> pd.DataFrame:
    """The record with noise, and with outliers where it is asked for them."""
    random = np.random.default_rng([KINDS.index(kind), record])
    y = truth_of(kind, record, **TRUTH) + offset
    y = y + NOISE * random.standard_normal(y.size)
    if kind == "frequency":
        y = y + 1j * NOISE * random.standard_normal(y.size)
    if outliers:
        y[[9, 20, 33]] += OUTLIER
    if kind == "frequency":
        return pd.DataFrame({"f": HERTZ, "re": y.real, "im": y.imag})
    if kind in STATIC:
        return pd.DataFrame({"x": POINTS, "y": y})
    return pd.DataFrame({"time": TIME, "u": step(record), "y": y})


def case_of(
    kind: str,
    record: int,
    column: Mapping[str, object],
    *,
    outliers: bool,
    offset: float = 0.0,
    **details: object,
) -> es.Case:
    """A record as a case; `column` says more of its output, `details` of the case."""
    table = table_of(kind, record, outliers=outliers, offset=offset)
    output = OUTPUTS.get(kind, "y")
    if kind == "frequency":
        from estimica.study.response_columns import ResponseColumns

        columns = {"y": ResponseColumns(real="re", imag="im", **column)}  # type: ignore[arg-type]
        return es.Case(f"run {record}", table, outputs=columns, frequency="f", **details)  # type: ignore[arg-type]
    inputs = {"fmu": {}, "formula": {"x": "x"}, "points": {"x": "x"}}.get(kind, {"u": "u"})
    columns = {output: es.OutputColumn("y", **column)}  # type: ignore[arg-type]
    return es.Case(f"run {record}", table, inputs=inputs, outputs=columns, **details)  # type: ignore[arg-type]


def tuners_of(kind: str, how: str, known_noise: bool) -> list[es.Tuner]:
    """k and τ, searched as they are, by their logarithms, or with a prior.

    A prior is weighed against noise. Where a criterion does not know how large that is, only a
    prior too wide to matter leaves the standard errors as they are.
    """
    wide = 1.0 if known_noise else 500.0
    renamed = {"k": "K"} if kind == "fmu" else {}
    details: dict[str, Callable[[str], dict[str, object]]] = {
        "plain": lambda name: {},
        "log": lambda name: {"scale": "log"},
        "prior": lambda name: {
            "prior": es.Prior(mean=TRUTH[name] * 1.05, sigma=wide * TRUTH[name])
        },
    }
    return [
        es.Tuner(
            name,
            start=START[name],
            min=0.05,
            max=20.0,
            drives=(renamed[name],) if name in renamed else (),
            **details[how](name),  # type: ignore[arg-type]
        )
        for name in TRUTH
    ]


CRITERIA: dict[str, tuple[str, dict[str, object]]] = {
    "oe": ("oe", {}),
    "oe, known noise": ("oe", {"sigma": NOISE}),
    "ml": ("ml", {}),
    "ml, known noise": ("ml", {"sigma": NOISE}),
    "ml, bounded noise": ("ml", {"sigma": {"min": NOISE / 4, "max": NOISE * 4}}),
    "own, smooth": (f"sqrt(1 + (residual/{NOISE})^2)", {}),
    "own, with a kink": ("abs(residual)", {}),
}
LOSSES = ("squared", "huber", "soft-l1", "cauchy")
SEARCHES = (
    "levenberg-marquardt",
    "gauss-newton",
    "steepest-descent",
    "multiple-shooting",
    "collocation",
    "three starts",
)
ROLES = ("one", "two", "validated", "apart", "left out", "disturbed", "free start")
TUNERS = ("plain", "log", "prior")


def study_of(row: Mapping[str, str]) -> es.Study:
    """The study that a row says."""
    kind, roles, loss = row["model"], row["roles"], row["loss"]
    criterion, column = CRITERIA[row["criterion"]]
    outliers = loss != "squared"

    def case(record: int, **details: object) -> es.Case:
        more = {"disturbance": True} if details.pop("disturbed", False) else {}
        return case_of(kind, record, column | more, outliers=outliers, **details)  # type: ignore[arg-type]

    cases = {
        "one": lambda: [case(0)],
        "two": lambda: [case(0), case(1)],
        "validated": lambda: [case(0), case(1, role="validate")],
        "apart": lambda: [case(0), case(1, role="validate", disturbed=True, offset=OFFSET)],
        "left out": lambda: [case(0), case(1, active=False, offset=OFFSET)],
        "disturbed": lambda: [case(0, disturbed=True, offset=OFFSET)],
        "free start": lambda: [case(0, free_start={STATES.get(kind, "y"): 0.1})],
    }[roles]()
    search: dict[str, dict[str, object]] = {
        "multiple-shooting": {"transcription": "multiple-shooting", "segments": 3},
        "collocation": {"transcription": "collocation", "elements": 40},
        "three starts": {"starts": 3},
    }
    estimation = es.Estimation(
        criterion=criterion,
        loss=loss,  # type: ignore[arg-type]
        **search.get(row["search"], {"method": row["search"]}),  # type: ignore[arg-type]
    )
    return es.Study(
        model_of(kind),
        tuners_of(kind, row["tuners"], "noise" in row["criterion"] or "ml" in row["criterion"]),
        cases,
        estimation=estimation,
        name="pairs",
    )
