"""The smallest evaluator that twins of external functions can be called with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from estimica.base.errors import UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.evaluate import EvaluationPoint, evaluate
from estimica.flat.expression import Expression
from estimica.flat.system import Origin
from estimica.source.external.twins import TWINS
from estimica.source.instants import Instants


@dataclass
class FakeHost:
    """Parameters by name; everything that a twin leaves behind can be looked at."""

    values: dict[str, float] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)
    clocks: dict[str, Expression] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    helpers: dict[str, Expression] = field(default_factory=dict)
    checks: list[tuple[Expression, str]] = field(default_factory=list)
    place: Origin = field(default_factory=Origin)
    instants: Instants = field(default_factory=Instants)

    @property
    def parameters(self) -> FakeHost:
        return self

    @property
    def names(self) -> FakeHost:
        return self

    def package_folder(self, package: str) -> Path | None:
        return self.folders.get(package)

    def peek(self, e: Expression) -> float | None:
        if any(n not in self.values for n in ex.names_in(e)):
            return None
        return evaluate(e, self.values)

    def number(self, value: Any, why: str) -> float:
        found = self.peek(value) if isinstance(value, Expression) else None
        if found is None:
            self.refuse("a number of the run", "use parameters")
        return found

    def in_time(self, e: Expression) -> Expression:
        return self.clocks.get(e.target, e) if e.op == "name" else e

    def condition(self) -> Expression:
        return ex.ONE

    def check(self, condition: Expression, message: str, warning: bool, origin: Origin) -> None:
        self.checks.append((condition, message))

    def refuse(self, construct: str, remedy: str) -> NoReturn:
        raise UnsupportedError("U001", f"{construct} is not supported; {remedy}")

    def call(self, function: str, *arguments: Any) -> Any:
        """The twin of `function` called with plain Python values."""
        return TWINS[function](self, [as_value(a) for a in arguments])

    def at(self, e: Expression, time: float = 0.0, **names: float) -> float:
        """The number that `e` is, helper parameters included."""
        known = {**self.values, **names}
        known |= {n: evaluate(b, known) for n, b in self.helpers.items()}
        return evaluate(e, values=EvaluationPoint(names=known, time=float(time)))


def as_value(value: Any) -> Any:
    """Numbers, lists of numbers and arrays as the evaluator holds them."""
    if isinstance(value, (bool, int, float)):
        return ex.const(float(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = np.array(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        result = np.empty(value.shape, dtype=object)
        for index in np.ndindex(*value.shape):
            result[index] = as_value(value[index].item())
        return result
    return value


def plain(value: Any) -> Any:
    """Constant expressions as numbers."""
    if isinstance(value, Expression):
        return value.value
    if isinstance(value, np.ndarray):
        return np.array([plain(v) for v in value.flat], dtype=object).reshape(value.shape)
    return value
