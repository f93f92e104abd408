"""Derivatives of functions as functions: the same statements, each with what it changes.

Forward differentiation of the text: before a name gets its new value, its changes do. Loops and
choices are taken as they are executed, so that the derivative is that of what was computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.foreign import LINEAR, is_python
from estimica.flat.function import (
    Assign,
    Choice,
    FlatFunction,
    Foreign,
    Loop,
    Statement,
    bracketed_inputs,
    dependencies,
    flat_function,
    invoke,
    searching_inputs,
)

#: the step of a difference in units of its input: the cube root of the precision of numbers, where
#: rounding (h⁻¹) and curvature (h²) are about as large; and the size below which it counts as 1
_WIDTH = ex.const(6e-6)
_SMALLEST_SIZE = ex.const(1e-3)
Seed = Callable[[Expression], Expression]
#: `calculus.tangent`, which needs this file itself
Tangent = Callable[[Iterable[Expression], Seed], list[Expression]]


@dataclass(frozen=True, eq=False)
class FunctionJacobian:
    """A function of the same inputs; its outputs are the original ones, then their derivatives."""

    function: FlatFunction
    place: Mapping[tuple[int, int], int]  # (output, input): the output that is this derivative


_jacobians: WeakKeyDictionary[FlatFunction, dict[tuple[int, ...], FunctionJacobian]]
_jacobians = WeakKeyDictionary()


def jacobian_of(
    function: FlatFunction, columns: tuple[int, ...], tangent: Tangent
) -> FunctionJacobian:
    """The partial derivatives by the inputs numbered `columns`; those that vanish are left out."""
    known = _jacobians.setdefault(function, {})
    if columns not in known:
        known[columns] = _jacobian(function, columns, tangent)
    return known[columns]


def _jacobian(
    function: FlatFunction, columns: tuple[int, ...], tangent: Tangent
) -> FunctionJacobian:
    inputs, outputs = function.inputs, function.outputs
    given = function.derivative
    if given is not None:
        found = {
            (k, j): change_name(y, j)
            for j in columns
            if j in given.moving
            for k, y in enumerate(outputs)
            if k not in function.whole
        }
        body = _given_jacobian(function, columns)
    else:
        depending = dependencies(function)
        none: frozenset[int] = frozenset()
        real = [(k, y) for k, y in enumerate(outputs) if k not in function.whole]
        formal = [j for j in columns if j not in bracketed_inputs(function)]
        found = {
            (k, j): change_name(y, j)
            for j in formal
            for k, y in real
            if j in depending.get(y, none)
        }
        seeds = [(j, {inputs[j]: ex.ONE}) for j in formal]
        body = _Differentiated(depending, seeds, tangent).body(function.body)
        for j in sorted(searching_inputs(function).intersection(columns)):
            missing = {(k, j): change_name(y, j) for k, y in real if (k, j) not in found}
            found.update(missing)
            # first of all: the rest may return early
            body = _differences(function, j, [k for k, _ in missing]) + body
    name = f"der({function.name}{''.join(f',{inputs[j]}' for j in columns)})"
    derived = flat_function(name, inputs, (*outputs, *found.values()), body)
    return FunctionJacobian(derived, {p: len(outputs) + n for n, p in enumerate(found)})


def directional(function: FlatFunction, tangent: Tangent) -> FlatFunction:
    """The function of all inputs and then of their changes that gives the changes of outputs."""
    inputs, outputs = function.inputs, function.outputs
    changes = tuple(change_name(n) for n in inputs)
    results = tuple(change_name(n) for n in outputs)
    given = function.derivative
    body: Sequence[Statement]
    if given is not None:
        arguments = [*map(ex.name, inputs), *(ex.name(changes[k]) for k in given.moving)]
        body = [Assign(results, invoke(given.function, arguments))]
        return flat_function(change_name(function.name), (*inputs, *changes), results, body)
    bracketed = bracketed_inputs(function)
    seed = {
        n: ex.ZERO if k in bracketed else ex.name(c)
        for k, (n, c) in enumerate(zip(inputs, changes, strict=True))
    }
    depending = dependencies(function)
    body = _Differentiated(depending, [(None, seed)], tangent).body(function.body)
    formal = flat_function(change_name(function.name), (*inputs, *changes), results, body)
    searched = _searched(function)
    if not any(searched):
        return formal
    arguments = [*map(ex.name, inputs), *map(ex.name, changes)]
    slopes = {js: difference_along(function, js) for js in set(searched) if js}
    values = [
        ex.add(value, slopes[js][k]) if js else value
        for k, (value, js) in enumerate(zip(invoke(formal, arguments), searched, strict=True))
    ]
    name = f"{change_name(function.name)} with searches"
    return flat_function(name, (*inputs, *changes), results, [Assign(results, tuple(values))])


def _searched(function: FlatFunction) -> list[frozenset[int]]:
    """For each output the inputs whose influence on it no formula tells."""
    none: frozenset[int] = frozenset()
    searching, bracketed = searching_inputs(function), bracketed_inputs(function)
    depending = dependencies(function)
    return [
        none if k in function.whole else (searching - depending.get(y, none)) | bracketed
        for k, y in enumerate(function.outputs)
    ]


def difference_along(function: FlatFunction, moving: frozenset[int]) -> list[Expression]:
    """How all outputs change with the changes of these inputs; 0 where none of them changes."""
    inputs = [ex.name(n) for n in function.inputs]
    changes = {j: ex.name(change_name(function.inputs[j])) for j in moving}
    speed = ex.ZERO  # of the input that changes most for its size
    for j, change in changes.items():
        size = ex.call("max", ex.call("abs", inputs[j]), _SMALLEST_SIZE)
        speed = ex.call("max", speed, ex.div(ex.call("abs", change), size))
    moves = ex.relation("gt", speed, ex.ZERO)
    width = ex.conditional(moves, ex.div(_WIDTH, speed), ex.ONE)
    ahead, behind = (
        invoke(
            function,
            [
                ex.add(x, ex.mul(ex.mul(sign, width), changes[k])) if k in changes else x
                for k, x in enumerate(inputs)
            ],
        )
        for sign in (ex.ONE, ex.const(-1.0))
    )
    twice = ex.mul(ex.const(2.0), width)
    return [ex.div(ex.sub(a, b), twice) for a, b in zip(ahead, behind, strict=True)]


def change_name(name: str, direction: int | None = None) -> str:
    """What the change of a name is called, by all inputs or by one."""
    return f"der({name})" if direction is None else f"der({name},{direction})"


def _differences(function: FlatFunction, j: int, outputs: Sequence[int]) -> list[Statement]:
    """Slopes by a search whose way an input decides while no formula leads from it to the result.

    The result is a function of that input all the same; with what was executed, it would have the
    slope 0.
    """
    inputs = [ex.name(n) for n in function.inputs]
    x = inputs[j]
    width = ex.mul(_WIDTH, ex.call("max", ex.call("abs", x), _SMALLEST_SIZE))
    ahead, behind = (
        invoke(function, [*inputs[:j], moved, *inputs[j + 1 :]])
        for moved in (ex.add(x, width), ex.sub(x, width))
    )
    slopes = [ex.div(ex.sub(ahead[k], behind[k]), ex.mul(ex.const(2.0), width)) for k in outputs]
    targets = tuple(change_name(function.outputs[k], j) for k in outputs)
    return [Assign(targets, tuple(slopes))] if targets else []


def _given_jacobian(function: FlatFunction, columns: tuple[int, ...]) -> list[Statement]:
    """One call of the author's derivative for each input, which is changed by 1."""
    given = function.derivative
    assert given is not None
    inputs = tuple(map(ex.name, function.inputs))
    body: list[Statement] = [Assign(function.outputs, invoke(function, inputs))]
    for j in columns:
        if j in given.moving:
            unit = [ex.ONE if k == j else ex.ZERO for k in given.moving]
            targets = tuple(change_name(y, j) for y in function.outputs)
            body.append(Assign(targets, invoke(given.function, (*inputs, *unit))))
    return body


class _Differentiated:
    """Writes statements together with the changes of what they assign, in several directions."""

    def __init__(
        self,
        depending: Mapping[str, frozenset[int]],
        directions: Sequence[tuple[int | None, Mapping[str, Expression]]],
        tangent: Tangent,
    ) -> None:
        self.depending, self.tangent = depending, tangent
        self.directions = [(j, self._seed(j, seeds)) for j, seeds in directions]

    def _moves(self, name: str, direction: int | None) -> bool:
        inputs = self.depending.get(name)
        return bool(inputs) if direction is None else inputs is not None and direction in inputs

    def _seed(self, direction: int | None, seeds: Mapping[str, Expression]) -> Seed:
        def seed(leaf: Expression) -> Expression:
            if leaf.op != "name" or not self._moves(leaf.target, direction):
                return ex.ZERO
            return seeds.get(leaf.target) or ex.name(change_name(leaf.target, direction))

        return seed

    def body(self, statements: Iterable[Statement]) -> list[Statement]:
        written: list[Statement] = []
        for s in statements:
            match s:
                case Assign():
                    written.append(self._assign(s))
                case Choice():
                    yes, no = (tuple(self.body(side)) for side in (s.yes, s.no))
                    written.append(Choice(s.condition, yes, no))
                case Loop():
                    written.append(Loop(s.condition, tuple(self.body(s.body))))
                case Foreign() if s.twin in LINEAR:
                    written += [*self._same_of_changes(s), s]
                case Foreign():
                    written += [s, *self._held(s)]
                case _:
                    written.append(s)
        return written

    def _assign(self, s: Assign) -> Assign:
        targets, values = list(s.targets), list(s.values)
        for j, seed in self.directions:
            moving = [k for k, n in enumerate(s.targets) if self._moves(n, j)]
            targets += [change_name(s.targets[k], j) for k in moving]
            values += self.tangent([s.values[k] for k in moving], seed)
        return Assign(tuple(targets), tuple(values))

    def _same_of_changes(self, s: Foreign) -> list[Statement]:
        """What is linear does with changes what it does with values."""
        size, *values = s.arguments
        return [
            Foreign(
                s.twin,
                tuple(change_name(n, j) for n in s.targets),
                (size, *self.tangent(values, seed)),
            )
            for j, seed in self.directions
            if any(self._moves(n, j) for n in s.targets)
        ]

    def _held(self, s: Foreign) -> list[Statement]:
        """Whole numbers do not change by a little; where no derivative is given none is known."""
        rate = ex.const(math.nan) if is_python(s.twin) else ex.ZERO
        held = [
            change_name(n, j) for j, _ in self.directions for n in s.targets if self._moves(n, j)
        ]
        return [Assign(tuple(held), (rate,) * len(held))] if held else []
