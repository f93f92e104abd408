"""Equation sections as scalar equations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, Origin
from estimica.source.evaluate.texts import as_text
from estimica.source.evaluate.values import (
    Frame,
    Record,
    Value,
    ValueMismatch,
    is_array,
    scalars,
)
from estimica.source.flatten.loops import rounds
from estimica.source.flatten.origins import origin_of
from estimica.source.flatten.walk import PlacedSection
from estimica.source.flatten.whens import Whens, read_when
from estimica.source.instance.classes import Class
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator


@dataclass(slots=True)
class EquationReader:
    """Reads the equations of sections; when-clauses go to `whens`, assertions to the evaluator."""

    evaluator: Evaluator
    whens: Whens
    equations: list[Equation] = field(default_factory=list)

    def section(self, placed: PlacedSection) -> None:
        """Read an equation section."""
        prefix = "initial " if placed.section.initial else ""
        reading = _Reading(self.evaluator, self.whens, placed.scope, placed.instance.path, prefix)
        for node in placed.section.body:
            self.equations += reading.read(node, {})


@dataclass(slots=True)
class _Reading:
    evaluator: Evaluator
    whens: Whens
    scope: Class
    component: str
    prefix: str

    def read(self, node: tree.Equation, frame: Frame) -> list[Equation]:
        """The scalar equations that one equation means."""
        origin = origin_of(node, self.scope, f"{self.prefix}equation", self.component)
        with self.evaluator.at(origin):
            return list(self._read(node, frame, origin))

    def _read(self, node: tree.Equation, frame: Frame, origin: Origin) -> Iterator[Equation]:
        match node:
            case tree.Equality():
                yield from self._equality(node, frame, origin)
            case tree.Connect():
                return
            case tree.For():
                for inner in rounds(self.evaluator, node.iterators, node.body, self.scope, frame):
                    for equation in node.body:
                        yield from self.read(equation, inner)
            case tree.If():
                yield from self._choice(node, frame, origin)
            case tree.When():
                read_when(self.evaluator, self.whens, node, self.scope, frame, self.component)
            case tree.CallEquation():
                yield from self._call(node, frame, origin)
            case _:
                raise ValueMismatch("a statement in an equation section; write '=' instead of ':='")

    def _equality(self, node: tree.Equality, frame: Frame, origin: Origin) -> Iterator[Equation]:
        self.evaluator.require_one_kind((node.left, node.right), self.scope, frame)
        lhs = self.evaluator.value(node.left, self.scope, frame)
        rhs = self.evaluator.value(node.right, self.scope, frame)
        for left, right in sides(lhs, rhs):
            yield Equation(left, right, origin)
        for name in unassigned(lhs, rhs):
            self.evaluator.notes.append(
                f"the function of {origin} gives '{name}' no value; it is taken as 0"
            )
            yield Equation(ex.name(name), ex.ZERO, origin)

    def _call(self, node: tree.CallEquation, frame: Frame, origin: Origin) -> Iterator[Equation]:
        name = node.call.function.text
        if node.call.function.parts[0].name == "Connections":
            return
        if name == "assert":
            read_assertion(self.evaluator, node.call, self.scope, frame, origin)
            return
        if name in ("reinit", "terminate"):
            if name == "terminate":
                self.whens.terminated(self.evaluator, node.call, self.scope, frame, origin)
                return
            self.evaluator.refuse("'reinit' outside a when-clause", "put it into one")
        self.evaluator.value(node.call, self.scope, frame)
        yield from ()

    def _choice(self, node: tree.If, frame: Frame, origin: Origin) -> Iterator[Equation]:
        branches: list[tuple[Expression, list[Equation]]] = []
        excluded: list[Expression] = []
        for condition_node, body in node.branches:
            condition = ex.ONE
            if condition_node is not None:
                condition = self.evaluator.truth(condition_node, self.scope, frame)
            if ex.is_const(condition, 0.0):
                continue
            guards = [g for g in (*excluded, condition) if g.op != "const"]
            try:
                branches.append((condition, self._under(guards, body, frame)))
            except (SourceError, UnsupportedError):
                # sizes may fit only in the branch that parameters choose
                peek = self.evaluator.parameters.peek
                chosen = [b for b in branches if peek(b[0])]
                if not chosen and (condition.op == "const" or peek(condition) != 0.0):
                    raise
                self._chosen_by(chosen[0][0] if chosen else condition)
                if chosen:
                    branches = [(ex.ONE, chosen[0][1])]
                    break
                continue
            if condition.op == "const":
                break
            excluded.append(ex.logical_not(condition))
        if not branches:
            return
        if branches[-1][0].op != "const":
            branches.append((ex.ONE, []))
        if len({len(equations) for _, equations in branches}) > 1:
            branches = self._settled(branches)
        yield from joined(branches, origin)

    def _settled(
        self, branches: list[tuple[Expression, list[Equation]]]
    ) -> list[tuple[Expression, list[Equation]]]:
        """The branch that parameters choose, their values built in; all where the run chooses."""
        parameters = self.evaluator.parameters
        if any(parameters.peek(condition) is None for condition, _ in branches):
            return branches
        return [next(b for b in branches if self._chosen_by(b[0]))]

    def _chosen_by(self, condition: Expression) -> bool:
        why = self.evaluator.why("selects among different equations")
        return bool(self.evaluator.parameters.number(condition, why))

    def _under(
        self, guards: list[Expression], body: Sequence[tree.Equation], frame: Frame
    ) -> list[Equation]:
        if not guards:
            return [e for n in body for e in self.read(n, frame)]
        with self.evaluator.guarded(guards[0]):
            return self._under(guards[1:], body, frame)


def joined(branches: list[tuple[Expression, list[Equation]]], origin: Origin) -> Iterator[Equation]:
    """The equations of an if-equation: in the place of each one that makes the choice."""
    if len(branches) == 1:
        yield from branches[0][1]
        return
    counts = {len(equations) for _, equations in branches}
    if len(counts) > 1:
        shown = " and ".join(str(n) for n in sorted(counts))
        raise UnsupportedError(
            "U005",
            f"{origin}: the branches of this if-equation have {shown} equations, and the condition "
            "is known only during the run; give every branch the same number of equations",
        )
    for row in zip(*_aligned([e for _, e in branches]), strict=True):
        lefts = {e.lhs for e in row}
        if len(lefts) == 1:
            right = row[-1].rhs
            for (condition, _), equation in reversed(list(zip(branches, row, strict=True))[:-1]):
                right = ex.conditional(condition, equation.rhs, right)
            yield Equation(row[0].lhs, right, origin)
            continue
        residual = ex.sub(row[-1].lhs, row[-1].rhs)
        for (condition, _), equation in reversed(list(zip(branches, row, strict=True))[:-1]):
            residual = ex.conditional(condition, ex.sub(equation.lhs, equation.rhs), residual)
        yield Equation(residual, ex.ZERO, origin)


def _aligned(branches: list[list[Equation]]) -> list[list[Equation]]:
    """The branches with equations of the same left side in the same places, where that works."""
    lefts = [[e.lhs for e in b] for b in branches]
    if any(len(set(x)) != len(x) or set(x) != set(lefts[0]) for x in lefts):
        return branches
    return [sorted(b, key=lambda e: lefts[0].index(e.lhs)) for b in branches]


def read_assertion(
    evaluator: Evaluator, call: tree.Call, scope: Class, frame: Frame, origin: Origin
) -> None:
    """assert(condition, message, level)."""
    arguments = dict(zip(("condition", "message", "level"), call.arguments, strict=False))
    arguments.update(call.named)
    place = origin.rewritten(origin.text, "assertion")
    condition = evaluator.truth(arguments["condition"], scope, frame)
    if ex.is_const(condition, 1.0):
        return
    message = as_text(evaluator.one(arguments["message"], scope, frame))
    level = arguments.get("level")
    value = evaluator.one(level, scope, frame) if level is not None else None
    warning = isinstance(value, Expression) and ex.is_const(value, 1.0)
    evaluator.check(condition, message, warning, place)


def sides(lhs: Value, rhs: Value) -> Iterator[tuple[Expression, Expression]]:
    """The scalar pairs of lhs = rhs for values of any shape; a skipped output gives none."""
    if isinstance(lhs, tuple):
        right = rhs if isinstance(rhs, tuple) else (rhs,)
        for a, b in zip(lhs, right, strict=False):
            yield from sides(a, b)
    elif isinstance(rhs, tuple):
        yield from sides(lhs, rhs[0])
    elif lhs is None or rhs is None:
        return
    elif isinstance(lhs, Record) or isinstance(rhs, Record):
        yield from _records(lhs, rhs)
    elif is_array(lhs) or is_array(rhs):
        yield from _arrays(lhs, rhs)
    elif isinstance(lhs, Expression) and isinstance(rhs, Expression):
        yield lhs, rhs
    elif not (isinstance(lhs, str) and isinstance(rhs, str)):
        raise ValueMismatch("the two sides are of different kinds")


def unassigned(lhs: Value, rhs: Value) -> Iterator[str]:
    """Fields of variables that a function's record leaves without a value."""
    if isinstance(lhs, tuple) and isinstance(rhs, tuple):
        for a, b in zip(lhs, rhs, strict=False):
            yield from unassigned(a, b)
    elif isinstance(rhs, tuple) and rhs:
        yield from unassigned(lhs, rhs[0])
    elif isinstance(lhs, Record) and isinstance(rhs, Record):
        for key, field_ in lhs.items():
            if key in rhs and rhs[key] is None:
                for v in scalars(field_):
                    if isinstance(v, Expression) and v.op == "name":
                        yield v.target
            elif key in rhs:
                yield from unassigned(field_, rhs[key])


def _records(lhs: Value, rhs: Value) -> Iterator[tuple[Expression, Expression]]:
    if isinstance(lhs, Record) and isinstance(rhs, Record):
        lacking = [k for k in lhs if k not in rhs] or [k for k in rhs if k not in lhs]
        if lacking:
            raise ValueMismatch(f"one side has no field '{lacking[0]}'")
        for key in lhs:
            yield from sides(lhs[key], rhs[key])
        return
    for one, other in ((lhs, rhs), (rhs, lhs)):
        # a number where a complex number is needed has the imaginary part zero
        if isinstance(one, Record) and isinstance(other, Expression) and list(one) == ["re", "im"]:
            widened = Record({"re": other, "im": ex.ZERO}, one.type)
            yield from sides(lhs, widened) if one is lhs else sides(widened, rhs)
            return
    raise ValueMismatch("a record is set equal to something that is none")


def _arrays(lhs: Value, rhs: Value) -> Iterator[tuple[Expression, Expression]]:
    shapes = [v.shape for v in (lhs, rhs) if is_array(v)]
    if len(shapes) == 2 and shapes[0] != shapes[1]:
        raise ValueMismatch(f"the sides have the sizes {shapes[0]} and {shapes[1]}")
    left, right = _items(lhs), _items(rhs)
    count = max(len(left), len(right)) if shapes and 0 not in shapes[0] else 0
    if len(shapes) == 1 and count > 1:
        raise ValueMismatch(f"one side has the size {shapes[0]}, the other is a single number")
    for k in range(count):
        yield from sides(left[k if len(left) > 1 else 0], right[k if len(right) > 1 else 0])


def _items(value: Value) -> list[Value]:
    return list(value.flat) if is_array(value) else [value]
