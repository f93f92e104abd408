"""Algorithms, executed symbolically: branches become choices, loops are unrolled.

Running a list of statements gives the frame of those who pass through to the end (None if nobody
does) and the exits: for each `break` and `return` its condition and the frame at that point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from estimica.base.errors import UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate.names import ScalarType, Scope
from estimica.source.evaluate.operators import choose
from estimica.source.evaluate.reductions import iterator_type, iterator_values
from estimica.source.evaluate.subscripts import IndexBounds, replaced, select
from estimica.source.evaluate.texts import as_text
from estimica.source.evaluate.values import (
    Frame,
    Record,
    Value,
    ValueMismatch,
    broadcast,
    first_of,
    is_array,
    over_arrays,
)
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator

#: more rounds of a loop than this are taken for a mistake
MAX_ROUNDS = 200_000
#: and so many rounds of which it is not known whether they take place
MAX_UNDECIDED = 200
#: the ordinal of AssertionLevel.warning
_WARNING = 1.0


@dataclass(frozen=True, slots=True)
class EarlyExit:
    """Where an algorithm leaves early."""

    condition: Expression
    frame: Frame
    returns: bool


Passed = tuple["Frame | None", list[EarlyExit]]


def body_after(
    evaluator: Evaluator, body: Sequence[tree.Equation], scope: Scope, frame: Frame
) -> Frame:
    """The frame after an algorithm, early returns included."""
    live, exits = run_statements(evaluator, body, scope, frame)
    return _merged(live, exits)


def run_statements(
    evaluator: Evaluator, body: Sequence[tree.Equation], scope: Scope, frame: Frame
) -> Passed:
    """Execute statements; `frame` itself is not changed."""
    live: Frame | None = dict(frame)
    exits: list[EarlyExit] = []
    with ExitStack() as guards:
        for statement in body:
            assert live is not None
            live, left = _step(evaluator, statement, scope, live)
            if left:
                exits += left
                for e in left:
                    guards.enter_context(evaluator.guarded(ex.logical_not(e.condition)))
            if live is None:
                break
    return live, exits


def _step(evaluator: Evaluator, statement: tree.Equation, scope: Scope, frame: Frame) -> Passed:
    if evaluator.inside is not None:
        evaluator.inside = (evaluator.inside[0], statement.at)
    step = _STEPS.get(type(statement), _other)
    return step(evaluator, statement, scope, frame) or (frame, [])


# --- assignments ---------------------------------------------------------------------------------


def assign(
    evaluator: Evaluator, frame: Frame, target: tree.Reference, value: Value, scope: Scope
) -> None:
    """target := value in `frame`, where the target may go through fields and subscripts."""
    first, rest = target.parts[0], target.parts[1:]
    if first.name not in frame:
        raise ValueMismatch(f"'{target.text}' cannot be assigned")
    if not rest and not first.subscripts:
        old = frame[first.name]
        if is_array(old) and not is_array(value) and old.ndim:
            value = broadcast(value, old.shape)
        frame[first.name] = value
        return
    frame[first.name] = _updated(evaluator, frame[first.name], first, rest, value, (scope, frame))


def _updated(
    evaluator: Evaluator,
    old: Value,
    part: tree.Part,
    rest: Sequence[tree.Part],
    value: Value,
    where: tuple[Scope, Frame],
) -> Value:
    """`old` with `value` at part.rest."""
    if part.subscripts:
        return _array_updated(evaluator, old, part, rest, value, where)
    if not rest:
        return value
    if is_array(old):
        return over_arrays(
            lambda record, v: _updated(evaluator, record, tree.Part(part.name), rest, v, where),
            old,
            _spread(value, old.shape),
        )
    record = Record(old, old.type) if isinstance(old, Record) else Record({})
    field = rest[0]
    record[field.name] = _updated(evaluator, record.get(field.name), field, rest[1:], value, where)
    return record


def _array_updated(
    evaluator: Evaluator,
    old: Value,
    part: tree.Part,
    rest: Sequence[tree.Part],
    value: Value,
    where: tuple[Scope, Frame],
) -> Value:
    if not is_array(old):
        raise ValueMismatch(
            f"an element of '{part.name}' is assigned, which is no array or has no size yet"
        )
    if len(part.subscripts) > old.ndim:
        raise ValueMismatch(
            f"{len(part.subscripts)} subscripts on an array of {old.ndim} dimensions"
        )
    index = [evaluator.subscript(s, old.shape[k], *where) for k, s in enumerate(part.subscripts)]
    if rest:
        inner = select(old, index)
        value = _updated(evaluator, inner, tree.Part(part.name), rest, value, where)
    return replaced(old, index, value)


def _spread(value: Value, shape: tuple[int, ...]) -> Value:
    """`value` for every record of an array: its own element, or the same for all."""
    if is_array(value) and value.shape[: len(shape)] == shape and value.ndim == len(shape):
        return value
    return broadcast(value, shape) if not is_array(value) else _rows(value, shape)


def _rows(value: Value, shape: tuple[int, ...]) -> Value:
    raise ValueMismatch(f"a value does not fit {shape} records")


def _assignment(
    evaluator: Evaluator, statement: tree.Assignment, scope: Scope, frame: Frame
) -> None:
    target = statement.target
    if isinstance(target, tree.Reference):
        evaluator.require_one_kind((target, statement.value), scope, frame)
    value = evaluator.value(statement.value, scope, frame)
    if isinstance(target, tree.Reference):
        assign(evaluator, frame, target, first_of(value), scope)
        return
    parts = value if isinstance(value, tuple) else (value,)
    if len(target.elements) > len(parts):
        raise ValueMismatch(
            f"{len(parts)} results are assigned to {len(target.elements)} variables"
        )
    for element, part in zip(target.elements, parts, strict=False):
        if element is None:
            continue
        if not isinstance(element, tree.Reference):
            raise ValueMismatch("something that is not a variable is assigned")
        assign(evaluator, frame, element, part, scope)


# --- branches ------------------------------------------------------------------------------------


def _if(evaluator: Evaluator, statement: tree.If, scope: Scope, frame: Frame) -> Passed:
    ends: list[tuple[Expression, Frame | None]] = []
    exits: list[EarlyExit] = []
    remaining = ex.ONE
    branches = list(statement.branches)
    if not branches or branches[-1][0] is not None:
        branches.append((None, ()))
    for node, body in branches:
        condition = evaluator.truth(node, scope, frame) if node is not None else ex.ONE
        here = ex.logical_and(remaining, condition)
        if ex.is_const(here, 0.0):
            continue
        with evaluator.guarded(here):
            live, left = run_statements(evaluator, body, scope, frame)
        ends.append((here, live))
        exits += [EarlyExit(ex.logical_and(here, e.condition), e.frame, e.returns) for e in left]
        remaining = ex.logical_and(remaining, ex.logical_not(condition))
        if ex.is_const(remaining, 0.0):
            break
    alive = [(c, f) for c, f in ends if f is not None]
    if not alive:
        return None, exits
    result = alive[-1][1]
    for condition, other in reversed(alive[:-1]):
        result = merge_frames(condition, other, result)
    return result, exits


# --- loops ---------------------------------------------------------------------------------------


class _Loop:
    """The rounds of a loop so far: who still goes round, who has left."""

    def __init__(self, evaluator: Evaluator, frame: Frame, guards: ExitStack) -> None:
        self.live: Frame | None = frame
        self.breaks: list[EarlyExit] = []
        self.returns: list[EarlyExit] = []
        self._evaluator = evaluator
        self._guards = guards

    def round(
        self, body: Sequence[tree.Equation], scope: Scope, indices: Mapping[str, Value]
    ) -> bool:
        """One round; whether anybody passes through to the next."""
        assert self.live is not None
        before = self.live
        live, left = run_statements(self._evaluator, body, scope, {**before, **indices})
        for e in left:
            kept = EarlyExit(e.condition, _without(e.frame, indices, before), e.returns)
            (self.returns if e.returns else self.breaks).append(kept)
            self._guards.enter_context(self._evaluator.guarded(ex.logical_not(e.condition)))
        self.live = None if live is None else _without(live, indices, before)
        return live is not None

    def leave_if(self, condition: Expression) -> None:
        """Who fulfils `condition` leaves before the next round."""
        assert self.live is not None
        self.breaks.append(EarlyExit(condition, self.live, returns=False))
        self._guards.enter_context(self._evaluator.guarded(ex.logical_not(condition)))

    def result(self) -> Passed:
        """The frame after the loop."""
        if self.live is None and not self.breaks:
            return None, self.returns
        return _merged(self.live, self.breaks), self.returns


def _without(frame: Frame, indices: Mapping[str, Value], before: Frame) -> Frame:
    """`frame` without iterators, and with what they have hidden; it is changed itself."""
    for name in indices:
        frame.pop(name, None)
        if name in before:
            frame[name] = before[name]
    return frame


def _for(evaluator: Evaluator, statement: tree.For, scope: Scope, frame: Frame) -> Passed:
    with ExitStack() as guards:
        loop = _Loop(evaluator, frame, guards)
        for indices, types in loop_rounds(evaluator, statement, statement.iterators, scope, frame):
            with evaluator.typed(types):
                if not loop.round(statement.body, scope, indices):
                    break
    return loop.result()


def loop_rounds(
    evaluator: Evaluator,
    statement: tree.For,
    iterators: Sequence[tree.Iterator],
    scope: Scope,
    frame: Frame,
) -> Iterator[tuple[Frame, dict[str, ScalarType | None]]]:
    """The values of the iterators in each round of a loop, and their types."""
    if not iterators:
        yield {}, {}
        return
    first, rest = iterators[0], iterators[1:]
    values = iterator_values(evaluator, first, statement.body, scope, frame)
    known = iterator_type(evaluator, first, statement.body, values, scope, frame)
    for value in values:
        here = {first.name: value}
        if not rest:
            yield here, {first.name: known}
            continue
        for inner, types in loop_rounds(evaluator, statement, rest, scope, {**frame, **here}):
            yield {**here, **inner}, {first.name: known, **types}


def _while(evaluator: Evaluator, statement: tree.While, scope: Scope, frame: Frame) -> Passed:
    undecided = 0
    bounds = IndexBounds()
    with ExitStack() as guards:
        loop = _Loop(evaluator, frame, guards)
        for _ in range(MAX_ROUNDS):
            assert loop.live is not None
            learnt = IndexBounds()
            condition = _goes_on(evaluator, statement.condition, scope, loop.live, bounds, learnt)
            bounds.add(learnt)  # who goes on has had these subscripts
            if condition.op != "const":
                settled = evaluator.parameters.number(condition, "it ends a while-loop")
                condition = condition if settled is None else ex.const(settled)
            if ex.is_const(condition, 0.0):
                break
            if condition.op != "const":
                # the loop may end here, or go on until a bound that is known stops it
                undecided += 1
                if undecided > MAX_UNDECIDED:
                    evaluator.refuse(
                        "a while-loop whose number of rounds is known only during the run",
                        "use a for-loop with enough rounds and leave it by break",
                    )
                loop.leave_if(ex.logical_not(condition))
            if not loop.round(statement.body, scope, {}):
                break
        else:
            evaluator.refuse(f"a while-loop of more than {MAX_ROUNDS} rounds", "make it end")
    return loop.result()


def _goes_on(
    evaluator: Evaluator,
    node: tree.Expression,
    scope: Scope,
    frame: Frame,
    bounds: IndexBounds,
    learnt: IndexBounds,
) -> Expression:
    """The condition of a loop; of `a and b`, b is looked at where a holds only."""
    if isinstance(node, tree.Binary) and node.op == "and":
        left = _goes_on(evaluator, node.left, scope, frame, bounds, learnt)
        if ex.is_const(left, 0.0):
            return left
        right = _goes_on(evaluator, node.right, scope, frame, bounds, learnt)
        return ex.logical_and(left, right)
    before, evaluator.learning = evaluator.learning, learnt
    try:
        return bounds.decided(evaluator.truth(node, scope, frame))
    finally:
        evaluator.learning = before


def _jump(evaluator: Evaluator, statement: tree.Jump, scope: Scope, frame: Frame) -> Passed:
    return None, [EarlyExit(ex.ONE, frame, returns=statement.word == "return")]


# --- calls ---------------------------------------------------------------------------------------


def _call(evaluator: Evaluator, statement: tree.CallEquation, scope: Scope, frame: Frame) -> None:
    call = statement.call
    if call.function.text == "assert":
        _assert(evaluator, call, scope, frame)
        return
    if evaluator.other_statement is not None and evaluator.other_statement(statement, scope, frame):
        return
    name = call.function.text
    if name in ("terminate", "reinit"):
        evaluator.refuse(f"{name}() in a function", "use it in a when-equation of the model")
    function = evaluator.names.function(call.function, scope)
    if function is not None and function.external is None:
        evaluator.value(call, scope, frame)  # for what it asserts
        return
    try:
        if function is not None:
            evaluator.value(call, scope, frame)  # for what it keeps for calls to come
            return
    except (UnsupportedError, ValueMismatch):
        pass  # without a result, nobody misses it
    note = f"a call without a result is left out: {name}"
    if note not in evaluator.notes:
        evaluator.notes.append(note)


def _assert(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> None:
    names = ("condition", "message", "level")
    given: dict[str, tree.Expression] = dict(zip(names, call.arguments, strict=False))
    given.update(call.named)
    if "condition" not in given or "message" not in given or not given.keys() <= set(names):
        raise ValueMismatch("assert() takes the arguments condition, message, level")
    condition = evaluator.scalar(given["condition"], scope, frame)
    if condition.op != "const":
        condition = evaluator.parameters.settle(condition, evaluator.why("is asserted"))
    if ex.is_const(condition, 1.0):
        return
    message = as_text(evaluator.one(given["message"], scope, frame))
    level = evaluator.one(given["level"], scope, frame) if "level" in given else None
    warning = isinstance(level, Expression) and ex.is_const(level, _WARNING)
    evaluator.check(condition, message, warning, evaluator.place)


def _other(evaluator: Evaluator, statement: tree.Equation, scope: Scope, frame: Frame) -> None:
    if evaluator.other_statement is not None and evaluator.other_statement(statement, scope, frame):
        return
    words = {tree.When: "when", tree.Equality: "=", tree.Connect: "connect"}
    word = words.get(type(statement), type(statement).__name__)
    evaluator.refuse(f"'{word}' in a function", "use an equation section of the model")


_STEPS: dict[type, Callable[[Evaluator, Any, Scope, Frame], Passed | None]] = {
    tree.Assignment: _assignment,
    tree.If: _if,
    tree.For: _for,
    tree.While: _while,
    tree.Jump: _jump,
    tree.CallEquation: _call,
}


# --- joining -------------------------------------------------------------------------------------


def merge_frames(condition: Expression, yes: Frame, no: Frame) -> Frame:
    """The frame of those for whom `condition` holds joined with that of the others."""
    return {key: choose(condition, yes.get(key), no.get(key)) for key in dict.fromkeys((*yes, *no))}


def _merged(live: Frame | None, exits: Sequence[EarlyExit]) -> Frame:
    result = live
    for e in reversed(exits):
        result = e.frame if result is None else merge_frames(e.condition, e.frame, result)
    assert result is not None
    return result
