"""The algorithm of a function as statements over scalars: executed once, with names for numbers.

Every assignment makes a new name, so that a value once read stays what it was; where ways meet, and
round a loop, names are assigned on each way. What is constant stays so as long as the run does not
decide about it: loops over known ranges are unrolled, branches that are decided are taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimica.flat import expression as ex
from estimica.flat import function as ir
from estimica.flat.expression import Expression
from estimica.source.evaluate import statements as symbolic
from estimica.source.evaluate.names import Scope
from estimica.source.evaluate.references import below, subscripted_by
from estimica.source.evaluate.values import Frame, Value, ValueMismatch, first_of
from estimica.source.kept.leaves import Leaf, leaves, mapped, merged
from estimica.source.kept.lookups import with_lookups
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator

#: names of a function begin so; no variable of a model does
PREFIX = "$."
#: more statements than this take longer to compile than a model is worth
MOST_STATEMENTS = 60_000
#: rounds of a while-loop that are written one after another as long as its condition is constant
_MOST_KNOWN_ROUNDS = 1000
#: written out, each round of a loop that may be left early is a choice inside the one before it; of
#: so many nothing is gained by seeing them
_FEW_ROUNDS = 8


#: the first number, the step and the last number
_Range = tuple[Expression, Expression, Expression]


class CannotKeepError(Exception):
    """The function cannot be written as statements over scalars."""


@dataclass(frozen=True, slots=True)
class _Carried:
    """What a loop around a statement carries on: the names to assign before it is left."""

    values: Frame  # by variable: its leaves are those names


class Recorder:
    """Records one function; `body` are the statements so far."""

    def __init__(self, evaluator: Evaluator, scope: Scope, outputs: Sequence[str]) -> None:
        self.evaluator, self.scope = evaluator, scope
        self.body: list[ir.Statement] = []
        self.loops_of_the_run = 0
        #: labels of results that were assigned on some way out, and what one such way gave
        self.results: dict[str, str] = {}
        self.template: list[Value] | None = None
        self.returns = 0
        self._outputs = outputs
        self._numbers: dict[str, int] = {}
        self._loops: list[_Carried] = []
        self._count = 0

    def record(self, statements: Sequence[tree.Equation], frame: Frame) -> None:
        """The whole algorithm, its results at the end."""
        end = self._run(statements, frame)
        if end is not None:
            self._give_results(end)

    def check(self, condition: Expression, message: str, warning: bool) -> None:
        """What is asserted while an expression is evaluated; a warning stops nothing."""
        if not warning:
            self._add(ir.Check(condition, message))

    def held(self, label: str, value: Value) -> Value:
        """`value` with names for all that has to be computed."""
        return self._held([(label, value)])[0]

    def _number(self, label: str, value: Expression) -> Expression:
        held = self.held(label, value)
        assert isinstance(held, Expression)
        return held

    # -- names -----------------------------------------------------------------------------------

    def _new(self, label: str) -> str:
        number = self._numbers[label] = self._numbers.get(label, 0) + 1
        return f"{PREFIX}{label}" if number == 1 else f"{PREFIX}{label}#{number}"

    def _add(self, statement: ir.Statement) -> None:
        self._count += 1
        if self._count > MOST_STATEMENTS:
            raise CannotKeepError
        self.body.append(statement)

    def _held(self, values: Sequence[tuple[str, Value]]) -> list[Value]:
        targets: list[str] = []
        sources: list[Expression] = []
        memo: dict[Expression, Expression] = {}

        def hold(label: str, leaf: Leaf) -> Leaf:
            if leaf is None or leaf.op in ("const", "name"):
                return leaf
            targets.append(self._new(label))
            sources.append(with_lookups(leaf, memo))
            return ex.name(targets[-1])

        result = [mapped(label, value, hold) for label, value in values]
        if targets:
            self._add(ir.Assign(tuple(targets), tuple(sources)))
        return result

    def _assign(self, pairs: Iterable[tuple[str, Expression]]) -> None:
        needed = [(n, v) for n, v in pairs if not (v.op == "name" and v.target == n)]
        if needed:
            targets, values = zip(*needed, strict=True)
            self._add(ir.Assign(targets, values))

    @contextmanager
    def _inside(self, body: list[ir.Statement]) -> Iterator[None]:
        before, self.body = self.body, body
        try:
            yield
        finally:
            self.body = before

    # -- statements ------------------------------------------------------------------------------

    def _run(self, statements: Sequence[tree.Equation], frame: Frame) -> Frame | None:
        """The frame after statements; None where nobody passes through."""
        live: Frame | None = dict(frame)
        for s in statements:
            assert live is not None
            if self.evaluator.inside is not None:
                self.evaluator.inside = (self.evaluator.inside[0], s.at)
            live = self._step(s, live)
            if live is None:
                break
        return live

    def _step(self, s: tree.Equation, frame: Frame) -> Frame | None:
        match s:
            case tree.Assignment():
                self._assignment(s, frame)
                return frame
            case tree.If():
                return self._if(list(s.branches), frame)
            case tree.For():
                return self._for(s, frame)
            case tree.While():
                return self._while(s, frame)
            case tree.Jump():
                self._jump(s, frame)
                return None
            case tree.CallEquation():
                symbolic.run_statements(self.evaluator, [s], self.scope, frame)
                return frame
        raise CannotKeepError

    def _assignment(self, s: tree.Assignment, frame: Frame) -> None:
        value = self.evaluator.value(s.value, self.scope, frame)
        if isinstance(s.target, tree.Reference):
            held = self.held(s.target.text, first_of(value))
            symbolic.assign(self.evaluator, frame, s.target, held, self.scope)
            self._hold_elements(s.target, frame)
            return
        parts = value if isinstance(value, tuple) else (value,)
        pairs = [(t, v) for t, v in zip(s.target.elements, parts, strict=False) if t is not None]
        if not all(isinstance(t, tree.Reference) for t, _ in pairs):
            raise CannotKeepError
        targets = [t for t, _ in pairs if isinstance(t, tree.Reference)]
        held_parts = self._held([(t.text, v) for t, (_, v) in zip(targets, pairs, strict=True)])
        for target, part in zip(targets, held_parts, strict=True):
            symbolic.assign(self.evaluator, frame, target, part, self.scope)
            self._hold_elements(target, frame)

    def _hold_elements(self, target: tree.Reference, frame: Frame) -> None:
        """An element at a place that the run decides: all elements have changed."""
        first = target.parts[0].name
        if any(p.subscripts for p in target.parts):
            frame[first] = self.held(first, frame[first])

    def _jump(self, s: tree.Jump, frame: Frame) -> None:
        if s.word == "return":
            self.returns += 1
            self._give_results(frame)
            self._add(ir.Return())
        else:
            self._carry_on(self._loops[-1], frame)
            self._add(ir.Break())

    def _give_results(self, frame: Frame) -> None:
        values = [frame[n] for n in self._outputs]
        found = [x for n, v in zip(self._outputs, values, strict=True) for x in leaves(n, v)]
        given = [(label, leaf) for label, leaf in found if leaf is not None]
        for label, _ in given:
            self.results.setdefault(label, f"{PREFIX}{label} (result)")
        self._assign((self.results[label], leaf) for label, leaf in given)
        if self.template is None:
            self.template = values
            return
        for name, a, b in zip(self._outputs, self.template, values, strict=True):
            merged(name, a, b, lambda _, one, other: one if one is not None else other)

    # -- branches --------------------------------------------------------------------------------

    def _if(
        self,
        branches: list[tuple[tree.Expression | None, tuple[tree.Equation, ...]]],
        frame: Frame,
    ) -> Frame | None:
        if not branches:
            return frame
        node, body = branches[0]
        if node is None:
            return self._run(body, frame)
        condition = self.evaluator.truth(node, self.scope, frame)
        if condition.op == "const":
            return self._run(body, frame) if condition.value else self._if(branches[1:], frame)
        ways: list[tuple[list[ir.Statement], Frame | None]] = []
        for taken in (True, False):
            written: list[ir.Statement] = []
            with self._inside(written):
                end = self._run(body, frame) if taken else self._if(branches[1:], dict(frame))
            ways.append((written, end))
        (yes, one), (no, other) = ways
        result = self._met(yes, one, no, other)
        self._add(ir.Choice(condition, tuple(yes), tuple(no)))
        return result

    def _met(
        self,
        yes: list[ir.Statement],
        one: Frame | None,
        no: list[ir.Statement],
        other: Frame | None,
    ) -> Frame | None:
        """The frame where two ways meet; what differs gets a name that both assign."""
        if one is None or other is None:
            return one if other is None else other
        pairs: list[tuple[str, Leaf, Leaf]] = []

        def meet(label: str, a: Leaf, b: Leaf) -> Leaf:
            if a is b:
                return a
            pairs.append((self._new(label), a, b))
            return ex.name(pairs[-1][0])

        result = {n: merged(n, one[n], other[n], meet) for n in one if n in other}
        for way, k in ((yes, 1), (no, 2)):
            with self._inside(way):
                self._assign((p[0], p[k]) for p in pairs if p[k] is not None)  # type: ignore[misc]
        return result

    # -- loops -----------------------------------------------------------------------------------

    def _carried(self, body: Sequence[tree.Equation], frame: Frame) -> _Carried:
        """New names for all that a loop assigns."""
        names = [n for n in _assigned(body) if n in frame]

        def new(label: str, leaf: Leaf) -> Leaf:
            return ex.name(self._new(label))

        return _Carried({n: mapped(n, frame[n], new) for n in names})

    def _carry_on(self, carried: _Carried, frame: Frame) -> None:
        """Assigns what a loop carries on its values in `frame`."""
        pairs: list[tuple[str, Expression]] = []

        def pair(label: str, name: Leaf, leaf: Leaf) -> Leaf:
            if name is None or name.op != "name":
                raise ValueMismatch(f"'{label}' changes its size in a loop")
            if leaf is not None:
                pairs.append((name.target, leaf))
            return name

        for n, names in carried.values.items():
            merged(n, names, frame[n], pair)
        self._assign(pairs)

    def _once(self, s: tree.For, frame: Frame, rounds: list[Frame]) -> Frame | None:
        """Rounds one after another, left early by break: a loop of one round."""
        carried = self._carried(s.body, frame)
        inner: list[ir.Statement] = []
        self._loops.append(carried)
        with self._inside(inner):
            end = self._rounds(s, frame, rounds)
            if end is not None:
                self._carry_on(carried, end)
                self._add(ir.Break())
        self._loops.pop()
        self._add(ir.Loop(ex.ONE, tuple(inner)))
        return {**frame, **carried.values}

    def _rounds(self, s: tree.For, frame: Frame, rounds: list[Frame]) -> Frame | None:
        live: Frame | None = frame
        for indices in rounds:
            assert live is not None
            before = live
            live = self._run(s.body, {**live, **indices})
            if live is None:
                return None
            live = {n: live[n] for n in before if n not in indices} | {
                n: before[n] for n in indices if n in before
            }
        return live

    def _for(self, s: tree.For, frame: Frame) -> Frame | None:
        evaluator, scope = self.evaluator, self.scope
        runtime = self._range_of_the_run(s, frame)
        if runtime is not None:
            return self._counted(s, *runtime, frame)
        found = list(symbolic.loop_rounds(evaluator, s, s.iterators, scope, frame))
        rounds = [indices for indices, _ in found]
        types = found[0][1] if found else {}
        if len(rounds) > _FEW_ROUNDS and _has_jump(s.body):
            self.loops_of_the_run += 1
            known = self._plain_range(s, frame)
            if known is not None:
                return self._counted(s, *known, frame)
        with evaluator.typed(types):
            if _has_break(s.body):
                return self._once(s, frame, rounds)
            return self._rounds(s, frame, rounds)

    def _plain_range(self, s: tree.For, frame: Frame) -> _Range | None:
        """A range whose numbers are no subscripts: its rounds need not be told apart."""
        ranges = self._range(s, frame)
        if ranges is None or any(True for _ in subscripted_by(s.iterators[0].name, s.body)):
            return None
        return ranges

    def _range_of_the_run(self, s: tree.For, frame: Frame) -> _Range | None:
        """A range that only the run knows."""
        found = self._range(s, frame)
        if found is None or all(self.evaluator.parameters.peek(e) is not None for e in found):
            return None
        return found

    def _range(self, s: tree.For, frame: Frame) -> _Range | None:
        if len(s.iterators) != 1 or not isinstance(s.iterators[0].range, tree.Range):
            return None
        node = s.iterators[0].range
        scalar = self.evaluator.scalar
        first = scalar(node.first, self.scope, frame)
        step = scalar(node.step, self.scope, frame) if node.step is not None else ex.ONE
        last = scalar(node.last, self.scope, frame)
        return first, step, last

    def _counted(
        self, s: tree.For, first: Expression, step: Expression, last: Expression, frame: Frame
    ) -> Frame | None:
        iterator = s.iterators[0]
        counter = ex.name(self._new(iterator.name))
        first, step, last = (self._number(f"{iterator.name} range", e) for e in (first, step, last))
        self._assign([(counter.target, ex.sub(first, step))])
        before = ex.logical_and(
            ex.relation("gt", step, ex.ZERO), ex.relation("le", ex.add(counter, step), last)
        )
        behind = ex.logical_and(
            ex.relation("lt", step, ex.ZERO), ex.relation("ge", ex.add(counter, step), last)
        )
        carried = self._carried(s.body, frame)
        self._carry_on(carried, frame)
        inner: list[ir.Statement] = []
        self._loops.append(carried)
        range_ = iterator.range
        assert isinstance(range_, tree.Range)
        known = self.evaluator.type_of(range_.first, first, self.scope, frame)
        with self._inside(inner), self.evaluator.typed({iterator.name: known}):
            self._assign([(counter.target, ex.add(counter, step))])
            start = {**frame, **carried.values, iterator.name: counter}
            end = self._run(s.body, start)
            if end is not None:
                self._carry_on(carried, end)
        self._loops.pop()
        self.loops_of_the_run += 1
        self._add(ir.Loop(ex.logical_or(before, behind), tuple(inner)))
        return {**frame, **carried.values}

    def _while(self, s: tree.While, frame: Frame) -> Frame | None:
        live = frame
        for _ in range(_MOST_KNOWN_ROUNDS):
            start = len(self.body)
            condition = self.evaluator.truth(s.condition, self.scope, live)
            if condition.op != "const" or (condition.value and _has_break(s.body)):
                del self.body[start:]  # its checks are made in every round
                return self._open_loop(s, live)
            if not condition.value:
                return live
            end = self._run(s.body, live)
            if end is None:
                return None
            live = end
        raise CannotKeepError

    def _open_loop(self, s: tree.While, frame: Frame) -> Frame | None:
        carried = self._carried(s.body, frame)
        self._carry_on(carried, frame)
        inner: list[ir.Statement] = []
        self._loops.append(carried)
        with self._inside(inner):
            start = {**frame, **carried.values}
            condition = self.evaluator.truth(s.condition, self.scope, start)
            if not ex.is_const(condition, 1.0):
                self._add(ir.Choice(condition, (), (ir.Break(),)))
            end = self._run(s.body, start)
            if end is not None:
                self._carry_on(carried, end)
        self._loops.pop()
        self.loops_of_the_run += 1
        self._add(ir.Loop(ex.ONE, tuple(inner)))
        return {**frame, **carried.values}


def _assigned(body: Sequence[tree.Equation]) -> list[str]:
    """The variables that statements assign, wholly or in part."""
    found: dict[str, None] = {}
    for s in _all_statements(body):
        if isinstance(s, tree.Assignment):
            target = s.target
            parts = target.elements if isinstance(target, tree.Several) else (target,)
            found.update((t.parts[0].name, None) for t in parts if isinstance(t, tree.Reference))
    return list(found)


def _all_statements(body: Sequence[tree.Equation]) -> Iterator[tree.Equation]:
    for s in body:
        yield s
        if isinstance(s, (tree.For, tree.While)):
            yield from _all_statements(s.body)
        elif isinstance(s, tree.If):
            for _, inner in s.branches:
                yield from _all_statements(inner)


def _has_break(body: Sequence[tree.Equation]) -> bool:
    """Whether a loop with this body may be left by break."""
    for s in body:
        if isinstance(s, tree.Jump) and s.word == "break":
            return True
        if isinstance(s, tree.If) and any(_has_break(inner) for _, inner in s.branches):
            return True
    return False


def _has_jump(body: Sequence[tree.Equation]) -> bool:
    return any(isinstance(s, tree.Jump) for s in _all_statements(body))


def has_open_loop(body: Sequence[tree.Equation]) -> bool:
    """Whether a loop may end where only the run knows."""
    return any(
        isinstance(s, tree.While) or (isinstance(s, tree.For) and _has_jump(s.body))
        for s in _all_statements(body)
    )


def names_in_ranges(body: Sequence[tree.Equation]) -> frozenset[str]:
    """The variables that the ranges of loops depend on."""
    loops = [n for n in nodes_of(body) if isinstance(n, tree.For)]
    ranges = [i.range for loop in loops for i in loop.iterators if i.range is not None]
    found = (n for n in nodes_of(ranges) if isinstance(n, tree.Reference))
    return frozenset(n.parts[0].name for n in found)


def nodes_of(
    body: Sequence[tree.Expression | tree.Equation],
) -> Iterator[tree.Expression | tree.Equation]:
    """All nodes of an algorithm."""
    stack: list[tree.Expression | tree.Equation | None] = list(body)
    while stack:
        node = stack.pop()
        if node is not None:
            yield node
            stack.extend(below(node))
