"""Numbers for expressions, without any compiler: for checks, tests and structural decisions."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from estimica.flat.expression import Expression, fold, walk
from estimica.flat.foreign import foreign
from estimica.flat.function import (
    MOST_ROUNDS,
    Assign,
    Break,
    Check,
    Choice,
    FlatFunction,
    Foreign,
    Loop,
    Return,
    Statement,
    assigned_names,
    called,
)


@dataclass(frozen=True, slots=True)
class EvaluationPoint:
    """What the leaves are worth; a missing name is a KeyError."""

    names: Mapping[str, float] = field(default_factory=dict)
    derivatives: Mapping[str, float] = field(default_factory=dict)
    previous: Mapping[str, float] = field(default_factory=dict)
    time: float = 0.0
    initial: bool = False
    terminal: bool = False
    modes: Mapping[int, bool] = field(default_factory=dict)


def evaluate(
    expression: Expression,
    names: Mapping[str, float] | None = None,
    values: EvaluationPoint | None = None,
) -> float:
    """The number that `expression` has for the given values; NaN where it is undefined.

    `sample`, `edge` and `change` are worth 0 unless `previous` values make them true;
    `delay` is its undelayed argument; `homotopy` its actual one.
    """
    point = values or EvaluationPoint(names=names or {})
    memo: dict[Expression, float] = {}
    for e in walk(expression):
        memo[e] = _leaf(e, point) if not e.operands else _node(e, memo, point)
    return memo[expression]


def _leaf(e: Expression, point: EvaluationPoint) -> float:
    match e.op:
        case "const":
            return e.value
        case "name":
            return float(point.names[e.target])
        case "der":
            return float(point.derivatives[e.target])
        case "pre":
            return float(point.previous[e.target])
        case "time":
            return point.time
        case "initial":
            return float(point.initial)
        case "terminal":
            return float(point.terminal)
        case _:
            return float(point.modes[e.args[0]])  # type: ignore[index]


def _node(e: Expression, memo: dict[Expression, float], point: EvaluationPoint) -> float:
    arguments = [memo[a] for a in e.operands]
    match e.op:
        case "if":
            return arguments[1] if arguments[0] else arguments[2]
        case "and":
            return float(bool(arguments[0]) and bool(arguments[1]))
        case "or":
            return float(bool(arguments[0]) or bool(arguments[1]))
        case "noEvent" | "smooth" | "homotopy" | "delay":
            return arguments[0]
        case "sample":
            return _sample(arguments[0], arguments[1], point.time)
        case "edge":
            return float(bool(arguments[0]) and not _previous(e.operands[0], point))
        case "change":
            return float(arguments[0] != _previous(e.operands[0], point))
        case "table" | "table_slope":
            return _table(arguments[0], arguments[1::2], arguments[2::2], slope=e.op != "table")
        case "element":
            return _element(arguments)
        case "call":
            function, output = called(e)
            return call_function(function, arguments)[output]
        case _:
            value = fold(e.op, *arguments)
            return math.nan if value is None else value


def _table(u: float, xs: Sequence[float], ys: Sequence[float], *, slope: bool) -> float:
    """Straight lines through the points, straight on beyond both ends."""
    if len(xs) == 1:
        return 0.0 if slope else ys[0]
    k = min(max(bisect_right(xs, u) - 1, 0), len(xs) - 2)
    if xs[k] == xs[k + 1]:
        return math.nan
    steepness = (ys[k + 1] - ys[k]) / (xs[k + 1] - xs[k])
    return steepness if slope else ys[k] + steepness * (u - xs[k])


def _element(arguments: Sequence[float]) -> float:
    """The element at the place that comes first; beyond an end the one there."""
    index, *elements = arguments
    if math.isnan(index):
        return math.nan
    return elements[int(min(max(index, 1.0), len(elements))) - 1]


def _previous(e: Expression, point: EvaluationPoint) -> float:
    if e.op == "name" and e.target in point.previous:
        return float(point.previous[e.target])
    return evaluate(e, values=point)


def _sample(start: float, interval: float, time: float) -> float:
    if not interval > 0.0:
        return math.nan
    if time < start:
        return 0.0
    periods = (time - start) / interval
    return float(abs(periods - round(periods)) < 1e-12 * max(1.0, abs(periods)))


def call_function(function: FlatFunction, arguments: Sequence[float]) -> tuple[float, ...]:
    """The outputs of a call; all are NaN where it fails."""
    try:
        return _Call(function, arguments).outputs()
    except _FailedCallError:
        return (math.nan,) * len(function.outputs)


class _FailedCallError(Exception):
    """A check does not hold, or a loop does not end."""


class _Call:
    """The names of a function while it is executed."""

    def __init__(self, function: FlatFunction, arguments: Sequence[float]) -> None:
        self.function = function
        self.values = dict.fromkeys((*assigned_names(function.body), *function.outputs), 0.0)
        self.values.update(zip(function.inputs, arguments, strict=True))
        self.rounds = 0

    def outputs(self) -> tuple[float, ...]:
        self.run(self.function.body)
        return tuple(self.values[n] for n in self.function.outputs)

    def value(self, e: Expression) -> float:
        if e.op == "const":
            return e.value
        if e.op == "if":  # the other side may be a call that fails
            return self.value(e.operands[1 if self.value(e.operands[0]) else 2])
        point = EvaluationPoint(names=self.values)
        if e.op == "call":
            function, output = called(e)
            result = _Call(function, [self.value(a) for a in e.operands]).outputs()
            return result[output]
        if not any(x.op in ("if", "call") for x in walk(e)):
            return evaluate(e, values=point)
        return _node(e, {a: self.value(a) for a in e.operands}, point)

    def run(self, body: Iterable[Statement]) -> Statement | None:
        """Executes statements; comes back with a break or return that has ended them early."""
        for s in body:
            left: Statement | None = None
            match s:
                case Assign():
                    values = [self.value(v) for v in s.values]
                    self.values.update(zip(s.targets, values, strict=True))
                case Choice():
                    left = self.run(s.yes if self.value(s.condition) else s.no)
                case Loop():
                    left = self._loop(s)
                case Break() | Return():
                    return s
                case Check():
                    if not self.value(s.condition):
                        raise _FailedCallError
                case Foreign():
                    results = foreign(s.twin)([self.value(a) for a in s.arguments])
                    self.values.update(zip(s.targets, results, strict=True))
            if left is not None:
                return left
        return None

    def _loop(self, loop: Loop) -> Statement | None:
        while self.value(loop.condition):
            self.rounds += 1
            if self.rounds > MOST_ROUNDS:
                raise _FailedCallError
            left = self.run(loop.body)
            if isinstance(left, Break):
                return None
            if left is not None:
                return left
        return None
