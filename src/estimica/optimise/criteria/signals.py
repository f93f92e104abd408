"""Signals of a design: expressions in variables, parameters and time, at the nodes of panels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.code.load import load_function
from estimica.base.code.reference import CodeRefusedError
from estimica.base.code.trusted import TrustedCode, trusted_code
from estimica.base.errors import DesignError
from estimica.base.quantities import Quantity
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import VARYING_ROLES, Model
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.source.formula import Formula, parse_formula
from estimica.study.criterion import Criterion

TIME = "time"


@dataclass(frozen=True, eq=False)
class Sampled:
    """A run at sampled times: variables and parameters with their derivatives by the tuners."""

    times: Vector
    values: Mapping[str, Vector | float]
    slopes: Mapping[str, Vector]  # (N, m) of variables, (m,) of parameters; absent: zero
    count: int  # tuners


class SignalFormula:
    """One expression of a criterion, with its partial derivatives."""

    def __init__(
        self, text: str, where: str, known: Mapping[str, Quantity], links: ParameterMap
    ) -> None:
        self.text = text
        self.formula: Formula = parse_formula(text, where)
        self.variables: tuple[str, ...] = ()
        names = {*known, *links.tuners, TIME}
        for name in self.formula.names:
            if name not in names:
                hint = did_you_mean(name, sorted(names)) or "; see `estimica inspect`"
                raise DesignError("O033", f"{where}: the model has no '{name}'{hint}")
        self.variables = tuple(
            n
            for n in self.formula.names
            if n in known and known[n].role in VARYING_ROLES and n != TIME
        )
        moving = {*self.variables, *links.parameters, *links.tuners}
        self._partials = {n: self.formula.partial(n) for n in self.formula.names if n in moving}

    def value(self, run: Sampled) -> Vector:
        """The values at the times of a run."""
        known = {name: run.values[name] for name in self.formula.names}
        with np.errstate(all="ignore"):
            values = np.asarray(self.formula.at(known), float)
        return np.broadcast_to(values, (len(run.times),))

    def at(self, run: Sampled) -> tuple[Vector, Vector]:
        """(values (N,), derivatives by the tuners (N, m)) at the times of a run."""
        slope = np.zeros((len(run.times), run.count))
        with np.errstate(all="ignore"):
            for name, partial in self._partials.items():
                if name in run.slopes:
                    rate = partial.at({m: run.values[m] for m in partial.names})
                    slope += np.reshape(rate, (-1, 1)) * np.atleast_2d(run.slopes[name])
        return self.value(run), slope


def numbers(known: Mapping[str, Quantity], fixed: Mapping[str, float]) -> dict[str, float]:
    """Values of the parameters, as the model has them or as a case sets them."""
    values = {
        n: float(q.value)
        for n, q in known.items()
        if q.role in ("parameter", "constant") and isinstance(q.value, (bool, int, float))
    }
    return values | dict(fixed)


def sampled(
    times: Vector,
    outputs: Sequence[str],
    Y: Vector,
    YS: Vector,
    links: ParameterMap,
    tuners: Vector,
    fixed: Mapping[str, float],
) -> Sampled:
    """A run with everything that expressions may name; `YS` is by the links' parameters."""
    parameters, chain = links.at(tuners)
    m = len(tuners)
    values: dict[str, Vector | float] = {TIME: times, **fixed}
    slopes: dict[str, Vector] = {}
    for k, name in enumerate(links.tuners):
        values[name] = float(tuners[k])
        slopes[name] = np.eye(m)[k]
    for k, name in enumerate(links.parameters):
        values[name] = float(parameters[k])
        slopes[name] = chain[k]
    for k, name in enumerate(outputs):
        values[name] = Y[:, k]
        if YS.shape[2]:
            slopes[name] = YS[:, k, :] @ chain
    return Sampled(times, values, slopes, m)


@dataclass(frozen=True, eq=False)
class TrajectoryFunction:
    """f(trajectory): a mapping of names to arrays, `time` among them, and of parameters."""

    name: str
    call: Callable[..., Any]
    of: str

    def variables(self, model: Model) -> list[str]:
        """What it gets: the names in `of`, or all outputs and states."""
        known = {q.name: q for q in model.quantities()}
        if self.of:
            return [n for n in parse_formula(self.of).names if n in known]
        states = [q.name for q in known.values() if q.role == "state"]
        return list(dict.fromkeys([*model.output_names(), *states]))

    def at(self, run: Sampled) -> float:
        """The value; it has no gradient of its own."""
        try:
            value = float(self.call(dict(run.values)))
        except Exception as error:  # the user's own code
            kind = type(error).__name__
            raise DesignError("O038", f"criterion '{self.name}': {kind}: {error}") from None
        return value if np.isfinite(value) else float("nan")


def trajectory_function(
    criterion: Criterion, code_for: Callable[[str], TrustedCode] | None
) -> TrajectoryFunction:
    """The function that `file.py:function` names; `code_for` gives its code."""
    text = criterion.function or ""
    try:
        code = code_for(text) if code_for else trusted_code(text, Path())
        call = load_function(code).call
    except CodeRefusedError as error:
        raise DesignError("O039", f"criterion '{criterion.name}': {error}") from None
    return TrajectoryFunction(criterion.name, call, criterion.of)
