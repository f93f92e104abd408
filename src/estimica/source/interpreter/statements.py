"""Algorithms, executed symbolically: branches become choices, loops are unrolled.

Running a list of statements gives the frame of those who pass through to the end (None if nobody
does) and the exits: for each `break` and `return` its condition and the frame at that point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.interpreter.operators import as_text, choose
from estimica.source.interpreter.values import Value, ValueMismatch, broadcast, is_array
from estimica.source.syntax.nodes import Node, path_of

if TYPE_CHECKING:
    from estimica.source.interpreter.expressions import Frame, Interpreter

#: more rounds of a loop than this are taken for a mistake
MAX_ROUNDS = 20_000
#: and so many rounds of which it is not known whether they take place
MAX_UNDECIDED = 200


@dataclass(frozen=True, slots=True)
class EarlyExit:
    """Where an algorithm leaves early."""

    condition: Expression
    frame: Frame
    returns: bool


def run_statements(
    interpreter: Interpreter, statements: Sequence[Node], frame: Frame
) -> tuple[Frame | None, list[EarlyExit]]:
    """Execute `statements`; `frame` itself is not changed."""
    live: Frame | None = dict(frame)
    exits: list[EarlyExit] = []
    with ExitStack() as guards:
        for statement in statements:
            assert live is not None
            live, left = _step(interpreter, statement, live)
            exits += left
            if live is None:
                break
            for e in left:
                guards.enter_context(interpreter.guarded(ex.logical_not(e.condition)))
    return live, exits


def frame_after(interpreter: Interpreter, statements: Sequence[Node], frame: Frame) -> Frame:
    """The frame after `statements`, early returns included."""
    live, exits = run_statements(interpreter, statements, frame)
    return _merged(live, exits)


def assign(
    interpreter: Interpreter, frame: Frame, path: Sequence[tuple[str, list[Any]]], value: Value
) -> None:
    """frame.path := value, where `path` may go through fields and subscripts."""
    if path[0][0] not in frame:
        path = _declared_path(interpreter, frame, path)
    (ident, subscripts), rest = path[0], path[1:]
    old = frame.get(ident)
    frame[ident] = _updated(interpreter, old, subscripts, rest, value, frame)


def _declared_path(
    interpreter: Interpreter, frame: Frame, path: Sequence[tuple[str, list[Any]]]
) -> Sequence[tuple[str, list[Any]]]:
    """`path` with as many leading parts as name a variable of the model joined into one."""
    name = ""
    for k, (ident, subscripts) in enumerate(path):
        name += f".{ident}" if name else ident
        if name in frame:
            return [(name, subscripts), *path[k + 1 :]]
        if subscripts:
            numbers = [interpreter.subscript(s, MAX_ROUNDS, frame) for s in subscripts]
            if not all(isinstance(n, int) for n in numbers):
                break
            name += f"[{','.join(str(n + 1) for n in numbers if isinstance(n, int))}]"
            if name in frame:
                return [(name, []), *path[k + 1 :]]
    raise ValueMismatch(f"'{'.'.join(i for i, _ in path)}' cannot be assigned")


def _updated(
    interpreter: Interpreter,
    old: Value,
    subscripts: list[Any],
    rest: Sequence[tuple[str, list[Any]]],
    value: Value,
    frame: Frame,
) -> Value:
    if subscripts:
        if not is_array(old):
            raise ValueMismatch("an element is assigned of something that is not an array")
        return _array_updated(interpreter, old, subscripts, rest, value, frame)
    if not rest:
        return value
    record = dict(old) if isinstance(old, dict) else {}
    ident, inner = rest[0]
    record[ident] = _updated(interpreter, record.get(ident), inner, rest[1:], value, frame)
    return record


def _array_updated(
    interpreter: Interpreter,
    old: Value,
    subscripts: list[Any],
    rest: Sequence[tuple[str, list[Any]]],
    value: Value,
    frame: Frame,
) -> Value:
    assert is_array(old)
    index = [interpreter.subscript(s, old.shape[k], frame) for k, s in enumerate(subscripts)]
    lists = [
        list(range(old.shape[k])) if isinstance(i, Expression) else i for k, i in enumerate(index)
    ]
    runtime = [(k, i) for k, i in enumerate(index) if isinstance(i, Expression)]
    result = old.copy()
    shape = tuple(len(i) for i in index if isinstance(i, list))
    parts = broadcast(value, shape) if shape and not rest else None
    positions = [i if isinstance(i, list) else [i] for i in lists]
    for position in np.ndindex(*(len(p) for p in positions)):
        target = tuple(p[j] for p, j in zip(positions, position, strict=True))
        source = tuple(j for j, i in zip(position, index, strict=True) if isinstance(i, list))
        piece: Value = parts[source] if parts is not None else value
        if rest:
            piece = _updated(interpreter, result[target], [], rest, value, frame)
        for k, i in runtime:
            here = ex.relation("eq", i, ex.const(target[k] + 1))
            piece = choose(here, piece, result[target])
        result[target] = piece
    return result


def _step(
    interpreter: Interpreter, statement: Node, frame: Frame
) -> tuple[Frame | None, list[EarlyExit]]:
    kind, content = (
        next(iter(statement.items())) if isinstance(statement, dict) else (statement, {})
    )
    match kind:
        case "Assignment":
            assign(
                interpreter,
                frame,
                path_of(content["comp"]),
                interpreter.value(content["value"], frame),
            )
        case "If":
            return _if(interpreter, content, frame)
        case "For":
            return _for(interpreter, content, frame)
        case "While":
            return _while(interpreter, content["block"], frame)
        case "FunctionCall" if not content["outputs"]:
            name = content["comp"]["name"]
            interpreter.notes.append(f"a call without a result is left out: {name}")
        case "FunctionCall":
            _several(interpreter, content, frame)
        case "Assert":
            _assert(interpreter, content, frame)
        case "Return":
            return None, [EarlyExit(ex.ONE, frame, returns=True)]
        case "Break":
            return None, [EarlyExit(ex.ONE, frame, returns=False)]
        case "Empty":
            pass
        case _:
            interpreter.refuse(f"the statement '{kind}' in a function", "use an equation section")
    return frame, []


def _if(
    interpreter: Interpreter, content: Node, frame: Frame
) -> tuple[Frame | None, list[EarlyExit]]:
    ends: list[tuple[Expression, Frame | None]] = []
    exits: list[EarlyExit] = []
    remaining = ex.ONE
    branches = [(b["cond"], b["stmts"]) for b in content["cond_blocks"]]
    for node, statements in [*branches, (None, content["else_block"] or [])]:
        condition = interpreter.truth(node, frame) if node is not None else ex.ONE
        here = ex.logical_and(remaining, condition)
        if ex.is_const(here, 0.0):
            continue
        with interpreter.guarded(here):
            live, left = run_statements(interpreter, statements, frame)
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


def _for(
    interpreter: Interpreter, content: Node, frame: Frame
) -> tuple[Frame | None, list[EarlyExit]]:
    return _rounds(
        interpreter, _bindings(interpreter, content["indices"], frame), content["equations"], frame
    )


def _bindings(interpreter: Interpreter, indices: list[Node], frame: Frame) -> Iterable[Frame]:
    if not indices:
        yield {}
        return
    values = interpreter.value(indices[0]["range"], frame)
    if not is_array(values):
        raise ValueMismatch("a loop over something that is not an array")
    for value in values:
        first = {indices[0]["ident"]: value}
        for rest in _bindings(interpreter, indices[1:], {**frame, **first}):
            yield {**first, **rest}


def _rounds(
    interpreter: Interpreter, bindings: Iterable[Frame], body: Sequence[Node], frame: Frame
) -> tuple[Frame | None, list[EarlyExit]]:
    live: Frame | None = frame
    breaks: list[EarlyExit] = []
    returns: list[EarlyExit] = []
    with ExitStack() as guards:
        for indices in bindings:
            assert live is not None
            hidden = {k: live[k] for k in indices if k in live}
            live, left = run_statements(interpreter, body, {**live, **indices})
            for e in left:
                (returns if e.returns else breaks).append(e)
                guards.enter_context(interpreter.guarded(ex.logical_not(e.condition)))
            if live is None:
                break
            live = {**{k: v for k, v in live.items() if k not in indices}, **hidden}
    if live is None and not breaks:
        return None, returns
    return _merged(live, breaks), returns


def _while(
    interpreter: Interpreter, block: Node, frame: Frame
) -> tuple[Frame | None, list[EarlyExit]]:
    live: Frame | None = frame
    breaks: list[EarlyExit] = []
    returns: list[EarlyExit] = []
    undecided = 0
    with ExitStack() as guards:
        for _ in range(MAX_ROUNDS):
            assert live is not None
            condition = interpreter.truth(block["cond"], live)
            if condition.op != "const":
                settled = interpreter.parameters.number(condition, "it ends a while-loop")
                condition = condition if settled is None else ex.const(settled)
            if ex.is_const(condition, 0.0):
                break
            if condition.op != "const":
                # the loop may end here, or go on until a bound that is known stops it
                undecided += 1
                if undecided > MAX_UNDECIDED:
                    interpreter.refuse(
                        "a while-loop whose number of rounds is known only during the run",
                        "use a for-loop with enough rounds and leave it by break",
                    )
                breaks.append(EarlyExit(ex.logical_not(condition), live, returns=False))
                guards.enter_context(interpreter.guarded(condition))
            live, left = run_statements(interpreter, block["stmts"], live)
            for e in left:
                (returns if e.returns else breaks).append(e)
                guards.enter_context(interpreter.guarded(ex.logical_not(e.condition)))
            if live is None:
                break
        else:
            interpreter.refuse(f"a while-loop of more than {MAX_ROUNDS} rounds", "make it end")
    if live is None and not breaks:
        return None, returns
    return _merged(live, breaks), returns


def _several(interpreter: Interpreter, content: Node, frame: Frame) -> None:
    """(a, b) := f(x)."""
    from estimica.source.interpreter import calls

    values = calls.call_statement(interpreter, content, frame)
    parts = values if isinstance(values, tuple) else (values,)
    for target, value in zip(content["outputs"], parts, strict=False):
        if target and target["parts"]:
            assign(interpreter, frame, path_of(target), value)


def _assert(interpreter: Interpreter, content: Node, frame: Frame) -> None:
    condition = interpreter.truth(content["condition"], frame)
    message = as_text(interpreter.value(content["message"], frame))
    level = interpreter.value(content["level"], frame) if content.get("level") else None
    warning = isinstance(level, Expression) and ex.is_const(level, 1.0)
    interpreter.check(condition, message, warning, interpreter.place)


def merge_frames(condition: Expression, yes: Frame, no: Frame) -> Frame:
    """The frame of those for whom `condition` holds joined with that of the others."""
    return {key: choose(condition, yes.get(key), no.get(key)) for key in dict.fromkeys((*yes, *no))}


def _merged(live: Frame | None, exits: Sequence[EarlyExit]) -> Frame:
    result = live
    for e in reversed(exits):
        result = e.frame if result is None else merge_frames(e.condition, e.frame, result)
    assert result is not None
    return result
