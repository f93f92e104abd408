"""What is told of wrong designs, sweeps and Monte Carlo runs, word for word: the table is
messages.toml, and `tests/messages.py` says how it is renewed
(`python -m tests.optimise.test_messages --renew`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.messages import Messages, Provoke
from tests.optimise.formula_studies import formula_study

import estimica as es
from estimica.base.code.trusted import trusted_code
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.optimise.assess.run import assess
from estimica.optimise.assess.samples import (
    Samples,
    grid,
    one_at_a_time,
    require_few,
    unit_samples,
)
from estimica.optimise.criteria.score import CriterionInCase
from estimica.optimise.criteria.trajectory import Experiment, TrajectoryScorer

DECAY = """model Decay
  parameter Real k = 1;
  parameter Real a = 2;
  parameter Real b = 3;
  Real x(start = 1, fixed = true);
equation
  der(x) = -k*x;
end Decay;"""
LAG = """model Lag
  parameter Real k = 2;
  Real x(start = 0, fixed = true);
equation
  der(x) = k*(1 - x);
end Lag;"""
SECOND = """model Second
  parameter Real z = 0.3;
  parameter Real w = 2;
  input Real u;
  Real y(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(y) = v;
  der(v) = w*w*(u - y) - 2*z*w*v;
end Second;"""


@cache
def decay() -> es.Study:
    return es.Study(
        es.load_model(DECAY),
        [es.Tuner("k", start=1.0, min=0.1, max=2)],
        [es.Case("one", stop=1.0)],
        criteria=[es.Criterion("left", "x", kind="final", demand=0.5)],
        name="decay",
    )


@cache
def fitted() -> es.Fit:
    time = np.linspace(0, 1, 11)
    data = {"time": time, "x": np.exp(-time) + 0.01 * (-1) ** np.arange(11)}
    case = es.Case("one", data=data, outputs={"x": "x"}, stop=1.0)
    return es.fit(decay().with_(tuners=[es.Tuner("k", start=1.2)], cases=[case]))


def uniform(low: float, high: float) -> dict[str, object]:
    return {"kind": "uniform", "min": low, "max": high}


def normal(mean: float, sigma: float) -> dict[str, object]:
    return {"kind": "normal", "mean": mean, "sigma": sigma}


# --- sweeps and Monte Carlo ----------------------------------------------------------------------


def swept(vary: Mapping[str, object] | None = None, **changes: Any) -> Provoke:
    return lambda _: es.sweep(decay().with_(**changes), **({} if vary is None else {"vary": vary}))


def drawn(source: Callable[[], object] | None = None, **settings: Any) -> Provoke:
    return lambda _: es.montecarlo(
        decay(), **settings, **({} if source is None else {"source": source()})
    )


def without_salib(kind: str) -> Provoke:
    def provoke(_: Path) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "SALib", None)
            return es.montecarlo(decay(), draw={"k": uniform(1, 2)}, samples=32, sensitivity=kind)

    return provoke


def plotted(*kind: str, vary: Mapping[str, object] | None = None) -> Provoke:
    values = {"k": [0.5, 1], "a": [1, 2]} if vary is None else vary
    return lambda _: es.sweep(decay(), vary=values).plot(*kind)


WIDE = {f"a{k}": range(10) for k in range(3000)}

ASSESSMENTS: Mapping[str, Provoke] = {
    "sweep: an unknown parameter": swept({"kk": [1]}),
    "sweep: no value": swept({"k": []}),
    "sweep: too many combinations": swept(
        {name: {"from": 0, "to": 1, "count": 400} for name in "kab"}
    ),
    "sweep: no criterion": swept({"k": [1]}, criteria=[]),
    "sweep: no tuner": swept(tuners=[]),
    "sweep: a tuner without bounds": swept(tuners=[es.Tuner("k", start=1)]),
    "sweep: a parameter that a tuner sets": swept(
        {"a": [1]}, tuners=[es.Tuner("z", start=1, drives=("a",))]
    ),
    "no sample": lambda _: assess(decay(), Samples(("k",), np.zeros((0, 1)))),
    "a grid of too many points": lambda _: grid({f"a{k}": range(100) for k in range(10)}),
    "one at a time of too many parameters": lambda _: one_at_a_time(WIDE, dict.fromkeys(WIDE, 0.0)),
    "too many samples": lambda _: unit_samples(5_000_000, 11, "random", 1),
    "too many values": lambda _: require_few({f"a{k}": 200_000 for k in range(1000)}),
    "draw: an unknown parameter": drawn(draw={"aa": uniform(0, 1)}),
    "draw: nothing scatters": drawn(),
    "draw: half a uniform distribution": drawn(draw={"k": {"min": 1}}),
    "draw: bounds the wrong way round": drawn(draw={"k": uniform(2, 1)}),
    "draw: a negative width": drawn(draw={"k": normal(1, -1)}),
    "draw: what the fit draws already": drawn(fitted, draw={"k": uniform(1, 2)}),
    "draw: indices of what is correlated": drawn(fitted, sensitivity="sobol"),
    "draw: a fit without data": drawn(lambda: "fit"),
    "draw: a run without a store": drawn(lambda: "20260101-000000-abcd"),
    "draw: too few samples for indices": drawn(
        draw={"k": uniform(1, 2)}, samples=9, sensitivity="sobol"
    ),
    "draw: no samples": drawn(draw={"k": uniform(1, 2)}, samples=0),
    "draw: an unknown distribution": drawn(draw={"k": {"kind": "gauss"}}),
    "SALib is missing for Sobol's indices": without_salib("sobol"),
    "SALib is missing for Morris's effects": without_salib("morris"),
    "plot: curves of two parameters": plotted("curves"),
    "plot: a misspelt kind": plotted("maps"),
    "plot: indices that were not computed": plotted("sensitivity"),
    "plot: a map of one parameter": plotted("map", vary={"k": [0.5, 1]}),
    "plot: a misspelt criterion": plotted("map", "lefd"),
}


# --- designs -------------------------------------------------------------------------------------


def optimised(
    tuners: Mapping[str, float], of: str, *more: es.Criterion, **settings: Any
) -> Provoke:
    study = formula_study(tuners, [es.Criterion("cost", of), *more])
    return lambda _: es.optimise(study, **settings)


def idle(_: Path) -> object:
    study = formula_study({"x": 1.0}, [es.Criterion("cost", "x^2")])
    return es.optimise(study.with_(tuners=[es.Tuner("x", start=1.0, active=False)]))


def unknown_indicator(_: Path) -> object:
    study = decay()
    shown = [es.Indicator("decay", ("y",))]
    return es.optimise(
        es.Study(study.model, study.tuners, study.cases, criteria=study.criteria, indicators=shown)
    )


def late_limit(role: str, use: Callable[[es.Study], object]) -> Provoke:
    """A settling time whose limit is longer than what is simulated."""

    def provoke(_: Path) -> object:
        settling = es.Criterion(
            "settling", "x", kind="settling-time", reference=1.0, band=0.05, demand=3.0,
            unit="s", role=role,
        )  # fmt: skip
        tuner = es.Tuner("k", start=2.0, min=0.2, max=8)
        study = es.Study(
            es.load_model(LAG), [tuner], [es.Case("step", stop=2.0)], criteria=[settling]
        )
        return use(study)

    return provoke


def front(*criteria: str) -> Provoke:
    study = formula_study(
        {"x1": 0.5, "x2": 0.5}, [es.Criterion("f1", "x1"), es.Criterion("f2", "1 - x1 + x2")]
    )
    return lambda _: es.pareto(study, list(criteria))


def robust(**settings: Any) -> Provoke:
    return optimised({"x": 0.2}, "(x - a)^2", robust=settings)


LIMIT = es.Criterion("limit", "x + 1", role="at-most")

DESIGNS: Mapping[str, Provoke] = {
    "optimise: a start without a value": optimised({"x": -1.0}, "sqrt(x)"),
    "optimise: no active tuner": idle,
    "optimise: an indicator of an unknown variable": unknown_indicator,
    "optimise: limits by quasi-newton": optimised({"x": 1.0}, "x^2", LIMIT, method="quasi-newton"),
    "optimise: limits by pattern": optimised({"x": 1.0}, "x^2", LIMIT, method="pattern"),
    "optimise: a limit at most beyond the window": late_limit("at-most", es.optimise),
    "optimise: a limit to equal beyond the window": late_limit("equal", es.optimise),
    "sweep: a limit at most beyond the window": late_limit(
        "at-most", partial(es.sweep, vary={"k": [1.0]})
    ),
    "sweep: a limit to equal beyond the window": late_limit(
        "equal", partial(es.sweep, vary={"k": [1.0]})
    ),
    "pareto: a misspelt criterion": front("f1", "f22"),
    "pareto: one criterion": front("f1"),
    "robust: nothing is uncertain": robust(),
    "robust: a tuner is uncertain": robust(uncertain={"x": [1.0]}),
    "robust: no values": robust(uncertain={"a": []}),
    "robust: an unknown parameter": robust(uncertain={"aa": [1.0]}),
    "robust: too many scenarios": robust(uncertain={"a": list(range(2000))}),
    "robust: a covariance without a fit": robust(covariance=True),
}


# --- criteria of trajectories --------------------------------------------------------------------


@cache
def second() -> es.Model:
    return es.load_model(SECOND)


def criterion(code: str | None = None, **fields: Any) -> Provoke:
    """Evaluate a criterion of a step response, perhaps by code in own.py."""

    def provoke(folder: Path) -> object:
        if code is not None:
            (folder / "own.py").write_text(code, encoding="utf-8")
        scorer = TrajectoryScorer(
            second(),
            Experiment("run", 0.0, 12.0, {"u": es.Signal.constant(1.0)}, {}, {}),
            ParameterMap([es.Tuner("z", start=1.0), es.Tuner("w", start=1.0)], {}),
            [CriterionInCase(es.Criterion("c", **fields), "run")],
            code_for=partial(trusted_code, folder=folder),
        )
        return scorer.at(np.array([0.3, 2.0]), slopes=False)

    return provoke


OWN = "def f(run):\n    return run['no']\n"

CRITERIA: Mapping[str, Provoke] = {
    "criterion: an unknown variable": criterion(of="yy", kind="final"),
    "criterion: a window beyond the end": criterion(of="y", kind="final", to=50.0),
    "criterion: no reference": criterion(of="y", kind="steady-state-error"),
    "criterion: a reference that does not come to rest": criterion(
        of="y", kind="overshoot", reference="y", at_rest=True
    ),
    "criterion: no step": criterion(of="y", kind="settling-time", reference=1.0, at_rest=True),
    "criterion: no file of the function": criterion(kind="function", function="no.py:f"),
    "criterion: a function without a file": criterion(kind="function", function="f"),
    "criterion: a function that raises": criterion(OWN, kind="function", function="own.py:f"),
    "criterion: a misspelt function": criterion(OWN, kind="function", function="own.py:ff"),
}

MISTAKES: Mapping[str, Provoke] = {**ASSESSMENTS, **DESIGNS, **CRITERIA}
MESSAGES = Messages(__file__, MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_as_the_table_says(mistake: str, tmp_path: Path) -> None:
    assert MESSAGES.told(mistake, tmp_path) == MESSAGES.table[mistake]


def test_the_table_holds_these_mistakes_and_no_others() -> None:
    assert set(MESSAGES.table) == set(MISTAKES)


if __name__ == "__main__":
    MESSAGES.main()
