"""One result of every kind that the public functions return, of a first-order lag."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import estimica as es
from estimica.base.result import Result
from estimica.base.saving.saved import Saved

TIME = np.arange(0.0, 20.0, 0.25)
STUB = Path(es.__file__).with_name("__init__.pyi")


def data() -> pd.DataFrame:
    """A square wave through 2/(1 + 2 s), in closed form, with noise."""
    u = np.where(np.arange(len(TIME)) // 16 % 2 == 0, 1.0, -1.0)
    y, keep = np.zeros(len(TIME)), np.exp(-0.25 / 2)
    for k in range(1, len(TIME)):
        y[k] = keep * y[k - 1] + (1 - keep) * 2 * u[k - 1]
    noise = np.random.default_rng(1).normal(0, 0.05, len(TIME))
    return pd.DataFrame({"time": TIME, "u": u, "y": y + noise})


@cache
def study() -> es.Study:
    """K and τ of the lag."""
    tuners = [es.Tuner("K", start=1.5, min=0.1, max=10), es.Tuner("tau", start=3, min=0.1, max=20)]
    return es.Study(es.transfer_function("K/(1 + tau*s)"), tuners, [case()], "ml", name="lag")


LAG = """
model Lag
  parameter Real K = 2; parameter Real tau = 3;
  input Real u; output Real y(start = 0, fixed = true);
equation
  tau*der(y) = K*u - y;
end Lag;
"""


@cache
def modelica() -> es.Study:
    """The same of a Modelica model."""
    return es.Study(es.load_model(LAG), study().tuners, [case()], "ml", name="lag")


def case(**more: Any) -> es.Case:
    """The record as a case."""
    return es.Case("square", data(), inputs={"u": "u"}, outputs={"y": "y"}, **more)


@cache
def fit() -> es.Fit:
    """The fit of it."""
    return es.fit(study())


@cache
def drifting() -> es.Fit:
    """The same of a model with noise in its state."""
    own = modelica()
    return es.fit(
        es.Study(
            own.model, own.tuners, own.cases, "prediction", name="lag", process_noise={"y": "noise"}
        )
    )


def monitored() -> Any:
    """What a monitor has found in the record."""
    return es.Monitor(modelica()).take(data().to_dict("records"))


@cache
def smaller() -> es.Fit:
    """The same with a tuner fewer."""
    tuners = [study().tuners[0], es.Tuner("tau", start=2.5, active=False)]
    return es.fit(study().with_(tuners=tuners))


def filtered() -> es.Study:
    """The study with a prefilter."""
    return study().with_(cases=[case(prefilter={"band": [0.01, 1.0]})])


def design() -> es.Study:
    """Two criteria that are formulas of two tuners."""
    criteria = [es.Criterion("f1", "(x-1)^2 + 1", demand=2.0), es.Criterion("f2", "(x+1)^2 + y^2")]
    tuners = [es.Tuner("x", start=0.5, min=-2, max=2), es.Tuner("y", start=0.5, min=-1, max=1)]
    model = es.formula_model({c.name: c.of for c in criteria}, ())
    return es.Study(model, tuners, [], criteria=criteria, name="design")


def points() -> es.Study:
    """A parameter that is computed from each point."""
    model = es.load_model(
        "model L input Real dp; input Real m; parameter Real k = 1; equation m = (dp/k)^2; end L;",
        unknowns=["k"],
    )
    dp = np.linspace(1.0, 5.0, 12)
    table = pd.DataFrame({"dp": dp, "m": (dp / 2) ** 2})
    return es.Study(model, [], [es.Case("points", table, inputs={"dp": "dp", "m": "m"})])


W = np.geomspace(0.01, 10, 40)
SQUARE = {
    "signal": "square",
    "step": 0.1,
    "duration": 20,
    "sigma": 0.02,
    "vary": {"frequency": [0.05, 0.1]},
}
FREE = {"kind": "free", "step": 1.0, "duration": 8.0, "min": -1.0, "max": 1.0, "sigma": 0.02}
STEP = pd.DataFrame({"time": TIME, "u": (TIME >= 1) * 1.0, "y": 2 * (1 - np.exp(-(TIME - 1) / 2))})
STEP.loc[STEP.time < 1, "y"] = 0.0

#: by the public function that makes it
MAKERS: dict[str, Callable[[], Any]] = {
    "backcalculate": lambda: es.backcalculate(points(), "k", against="dp"),
    "bands": lambda: es.bands(fit()),
    "bode_guess": lambda: es.bode_guess(W, 2 / (1 + 3j * W)),
    "bootstrap": lambda: es.bootstrap(fit(), 12),
    "by_hand": lambda: es.by_hand(study()).at({"K": 1.8}),
    "cost_curve": lambda: es.cost_curve(fit(), "K", points=7),
    "covariance": lambda: es.covariance(fit()),
    "criterion_map": lambda: es.criterion_map(fit(), "K", "tau", points=4),
    "crossvalidate": lambda: es.crossvalidate(fit(), 3),
    "design_input": lambda: es.design_input(study(), SQUARE),
    "find_noise": lambda: es.find_noise(modelica()),
    "first_guess": lambda: es.first_guess(STEP, "u", "y"),
    "fit": fit,
    "forecast": lambda: es.forecast(drifting(), until=30.0, hold="last", paths=2),
    "frequency_estimate": lambda: es.frequency_estimate(
        {"time": TIME, "u": np.sin(TIME), "y": np.sin(TIME - 0.3)}, input="u", output="y"
    ),
    "identifiability": lambda: es.identifiability(study()),
    "likelihood_ratio": lambda: es.likelihood_ratio(smaller(), fit()),
    "measures": lambda: es.measures(fit()),
    "montecarlo": lambda: es.montecarlo(design(), draw={"x": {"min": 0, "max": 1}}, samples=10),
    "optimise": lambda: es.optimise(design()),
    "pareto": lambda: es.pareto(design(), points=3),
    "predict": lambda: es.predict(drifting(), ahead=3),
    "prefilter_weighting": lambda: es.prefilter_weighting(filtered()),
    "profile": lambda: es.profile(fit(), "K", points=4),
    "region": lambda: es.region(fit(), "K", "tau", points=8),
    "release": lambda: es.release(study()),
    "residuals": lambda: es.residuals(fit()),
    "sample": lambda: es.sample(fit(), 40, chains=2, warmup=40, method="ensemble"),
    "second_model": lambda: es.second_model(
        fit(), es.transfer_function("K/(1 + tau*s)^2"), cases=[case()]
    ),
    "states": lambda: es.states(drifting()),
    "sweep": lambda: es.sweep(design(), vary={"x": [0.0, 0.5, 1.0]}),
}
#: results of methods, and those that a function returns beside its usual ones
OTHERS: dict[str, Callable[[], Any]] = {
    "free input": lambda: es.design_input(modelica(), FREE),
    "monitor": monitored,
    "trajectory": lambda: study().model.simulate(TIME, {"u": 1.0}, {"K": 2, "tau": 2}),
    "sensitivities": lambda: study().model.sensitivities(
        TIME, {"u": 1.0}, {"K": 2.0, "tau": 2.0}, wrt=["K", "tau"]
    ),
    "linearisation": lambda: es.load_model(
        "model X input Real u; output Real y(start=0); equation der(y) = u - 2*y; end X;"
    ).linearise(),
}


@cache
def result(name: str) -> Any:
    """The result, made once."""
    return {**MAKERS, **OTHERS}[name]()


def public_names() -> dict[str, str]:
    """Every public name with the module that it lives in, as the stub says."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    imports = [n for n in tree.body if isinstance(n, ast.ImportFrom)]
    return {a.name: f"estimica.{i.module}" for i in imports for a in i.names}


def public_functions() -> dict[str, Any]:
    """The public functions."""
    named = {name: getattr(es, name) for name in public_names()}
    return {n: f for n, f in named.items() if callable(f) and not isinstance(f, type)}


def returned(function: Any) -> set[str]:
    """The names of the classes that a function returns."""
    return set(re.findall(r"\w+", str(inspect.signature(function).return_annotation)))


def saved_classes() -> Iterator[type]:
    """Every class of the package that can be saved."""
    for path in sorted(STUB.parent.rglob("*.py")):
        if "(Result)" in path.read_text(encoding="utf-8"):
            import_module(".".join(path.relative_to(STUB.parent.parent).with_suffix("").parts))
    known = [Saved]
    while known:
        for one in known.pop().__subclasses__():
            known.append(one)
            if one is not Result and one.__module__.startswith("estimica."):
                yield one
