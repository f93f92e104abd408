"""What a function does with its arguments: its algorithm, its external twin, a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate import statements
from estimica.source.evaluate.builtin_functions import builtin_of_values, is_builtin
from estimica.source.evaluate.names import Dimension, Function, Parameter, ScalarType, Scope
from estimica.source.evaluate.references import first_names
from estimica.source.evaluate.values import (
    Frame,
    FunctionValue,
    Record,
    Value,
    ValueMismatch,
    Written,
    broadcast,
    elementwise,
    full,
    is_array,
    key_of,
    scalars,
    sizes_of,
)
from estimica.source.limits import deep_recursion
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator

#: functions that call themselves more deeply than this are refused
MAX_DEPTH = 60
#: expressions that one call may evaluate, all that it calls included, before it is computed with
#: the values that parameters have: some seconds, and the longest media functions take a tenth
MOST_STEPS = 300_000


class TooDeep(UnsupportedError):
    """A function that calls itself too often, perhaps because only the run knows where it ends."""


class TooLong(Exception):
    """A call that takes so many steps that it is better computed than written out."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is the same for all calls of a function."""

    order: list[Parameter]  # outputs and locals, each after those that it depends on
    types: dict[str, ScalarType]


def applied(evaluator: Evaluator, function: Function, arguments: Frame) -> Value:
    """The value of a function for all its arguments; a tuple for several outputs."""
    if function.record is not None:
        return _record(evaluator, function, arguments)
    if evaluator.python is not None:
        computed = evaluator.python(evaluator, function, arguments)
        if computed is not None:
            return computed
    if evaluator.depth == 0 and evaluator.last_step is None and function.external is None:
        return _within_steps(evaluator, function, arguments)
    return _applied(evaluator, function, arguments)


def _within_steps(evaluator: Evaluator, function: Function, arguments: Frame) -> Value:
    """A call that is given up where it takes too long, if it can be computed instead."""
    key = (function, *[key_of(v) for v in arguments.values()])
    if key in evaluator.known_calls:
        return evaluator.known_calls[key]
    if _are_numbers(arguments):
        return _applied(evaluator, function, arguments)
    evaluator.last_step = evaluator.steps + MOST_STEPS
    try:
        return _applied(evaluator, function, arguments)
    except TooLong:
        evaluator.last_step = None
        why = evaluator.why("is an argument of a function that is too long to be written out")
        numbers = _numbers(evaluator, arguments, why)
        if numbers is None:
            return _applied(evaluator, function, arguments)
        value = evaluator.known_calls[key] = _guarded_run(evaluator, function, numbers)
        return value
    finally:
        evaluator.last_step = None


def _applied(evaluator: Evaluator, function: Function, arguments: Frame) -> Value:
    kept = evaluator.kept_call(function, arguments)
    if kept is not None:
        return kept
    if function.external is not None:
        return _guarded_run(evaluator, function, arguments)
    key = (function, *[key_of(v) for v in arguments.values()])
    if key in evaluator.known_calls:
        return evaluator.known_calls[key]
    checks, asserted = _particular(evaluator), len(evaluator.assertions)
    try:
        value = _guarded_run(evaluator, function, arguments)
        value = evaluator.shortened(function, arguments, value, asserted)
    except TooDeep:
        why = evaluator.why("ends the recursion of a function")
        numbers = _numbers(evaluator, arguments, why) if evaluator.depth == 0 else None
        if numbers is None:
            raise
        value = _guarded_run(evaluator, function, numbers)
    if checks == _particular(evaluator):
        # what it asserts, or draws at random, depends on the conditions around the call
        evaluator.known_calls[key] = value
    return value


def _particular(evaluator: Evaluator) -> int:
    """Grows with everything that holds for one call only."""
    return evaluator.checks + evaluator.instants.particular


def _numbers(evaluator: Evaluator, arguments: Frame, why: str) -> Frame | None:
    """The arguments for the present values of parameters, where they depend on nothing else."""
    if _are_numbers(arguments):
        return None
    values = _expressions(arguments)
    if any(evaluator.parameters.peek(e) is None for e in values):
        return None

    def number(value: Value) -> Value:
        if isinstance(value, FunctionValue):
            given = {k: elementwise(number, v) for k, v in value.given.items()}
            return FunctionValue(value.function, given)
        return ex.const(evaluator.number(value, why)) if isinstance(value, Expression) else value

    return {name: elementwise(number, value) for name, value in arguments.items()}


def _are_numbers(arguments: Frame) -> bool:
    return all(e.op == "const" for e in _expressions(arguments))


def _expressions(arguments: Frame) -> Iterator[Expression]:
    held = [v.given for v in arguments.values() if isinstance(v, FunctionValue)]
    for given in (arguments, *held):
        for v in given.values():
            yield from (e for e in scalars(v) if isinstance(e, Expression))


def _guarded_run(evaluator: Evaluator, function: Function, arguments: Frame) -> Value:
    """Run it one level deeper."""
    with body_frame(evaluator, function, arguments) as local:
        if function.external is not None:
            after = _external(evaluator, function, function.external, local)
            if function.object_type:
                return after["$object"]
        else:
            after = statements.body_after(evaluator, function.body, function.scope, local)
        return _outputs(evaluator, function, after)


@contextmanager
def body_frame(evaluator: Evaluator, function: Function, arguments: Frame) -> Iterator[Frame]:
    """The names of a function at the beginning of its algorithm, which is executed inside.

    What does not fit there is told with the function's place.
    """
    types_before, inside_before = evaluator.local_types, evaluator.inside
    evaluator.local_types = _prepared(evaluator, function).types
    evaluator.inside = (function, function.at)
    room = ExitStack()
    if evaluator.depth == 0:
        room.enter_context(deep_recursion())
    evaluator.depth += 1
    try:
        if evaluator.depth > MAX_DEPTH:
            raise TooDeep(
                "U001",
                f"{evaluator.place}: the function '{function.name}', whose calls are nested more "
                f"than {MAX_DEPTH} deep, is not supported; write it as a loop"
                f"{evaluator.told_inside()}",
            )
        with evaluator.algorithm(frozenset()):
            local = dict(arguments)
            for parameter in _prepared(evaluator, function).order:
                local[parameter.name] = _if_known(evaluator, parameter, function.scope, local)
            _check_sizes(evaluator, function, local)
            yield local
    except ValueMismatch as mismatch:
        text = str(mismatch)
        if not text.endswith("]"):
            text += evaluator.told_inside()
        raise ValueMismatch(text) from None
    finally:
        evaluator.depth -= 1
        evaluator.local_types, evaluator.inside = types_before, inside_before
        room.close()


def _prepared(evaluator: Evaluator, function: Function) -> Prepared:
    known = evaluator.prepared.get(function)
    if known is None:
        types = {
            p.name: ScalarType(p.kind, p.literals)
            for p in (*function.inputs, *function.outputs, *function.locals)
            if p.kind is not None
        }
        known = evaluator.prepared[function] = Prepared(_in_order(function), types)
    return known


# --- declarations --------------------------------------------------------------------------------


def _in_order(function: Function) -> list[Parameter]:
    """Outputs and locals, each after those that its size or default depends on."""
    by_name = {p.name: p for p in (*function.outputs, *function.locals)}
    order: dict[str, Parameter] = {}
    begun: set[str] = set()

    def visit(name: str) -> None:
        if name in begun:
            return  # a circle: what it needs is told missing when it is read
        begun.add(name)
        for other in sorted(_needs(by_name[name], function.scope) & by_name.keys()):
            visit(other)
        order[name] = by_name[name]

    for name in by_name:
        visit(name)
    return list(order.values())


def _needs(parameter: Parameter, scope: Scope) -> set[str]:
    needed = first_names(*(d.expression for d in parameter.dimensions if not d.outside))
    if parameter.default is not None and parameter.sees != "outside":
        needed |= first_names(parameter.default[0])
    for field in parameter.fields or ():
        needed |= _needs(field, scope)
    return needed - {parameter.name}


def declared(evaluator: Evaluator, parameter: Parameter, scope: Scope, local: Frame) -> Value:
    """The value of a local before anything is assigned: its default, or nothing in its shape.

    `scope` is that of the function; `local` are the function's names.
    """
    shape = _shape(evaluator, parameter.dimensions, local)
    if parameter.default is not None:
        expression, written_in = parameter.default
        seen = local if parameter.sees != "outside" else {}
        value = evaluator.one(expression, written_in, seen)
        return broadcast(value, shape) if shape else value
    if shape is None:
        return _growing(evaluator, parameter, local)
    value = None
    if parameter.fields is not None:
        record: Frame = {}
        for field in parameter.fields:
            known = local if field.sees == "around" else record  # in `R r(a = a)` the latter
            record[field.name] = _if_known(evaluator, field, scope, known)
        value = Record(record, parameter.type)
    return full(shape, value) if shape else value


def _growing(evaluator: Evaluator, parameter: Parameter, local: Frame) -> Value:
    """An array without a size: it has no elements until it is assigned."""
    sizes = [
        0.0 if isinstance(d.expression, tree.Colon) else _dimension(evaluator, d, local)
        for d in parameter.dimensions
    ]
    return full(sizes_of(*sizes), None)


def _if_known(evaluator: Evaluator, parameter: Parameter, scope: Scope, known: Frame) -> Value:
    """The declared value; a default that needs something without a value waits for that."""
    if parameter.default is not None and parameter.sees != "outside":
        expression = parameter.default[0]
        needed = evaluator.mentioned.get(expression)
        if needed is None:
            needed = evaluator.mentioned[expression] = first_names(expression)
        if any(_lacks(known[n]) for n in needed if n in known):
            parameter = replace(parameter, default=None)
    return declared(evaluator, parameter, scope, known)


def _shape(
    evaluator: Evaluator, dimensions: tuple[Dimension, ...], local: Frame
) -> tuple[int, ...] | None:
    """The sizes; None where one is `:`."""
    if not dimensions:
        return ()
    if any(isinstance(d.expression, tree.Colon) for d in dimensions):
        return None
    return sizes_of(*(_dimension(evaluator, d, local) for d in dimensions))


def _dimension(evaluator: Evaluator, dimension: Dimension, local: Frame) -> float:
    seen = {} if dimension.outside else local
    value = evaluator.one(dimension.expression, dimension.scope, seen)
    if is_array(value):  # an enumeration or Boolean as a dimension
        return float(len(value))
    return evaluator.number(value, "it sets the size of an array")


def _check_sizes(evaluator: Evaluator, function: Function, arguments: Frame) -> None:
    for parameter in function.inputs:
        if not parameter.dimensions:
            continue
        value = arguments[parameter.name]
        if not is_array(value) or value.ndim != len(parameter.dimensions):
            raise ValueMismatch(
                f"the input '{parameter.name}' is an array of {len(parameter.dimensions)} "
                "dimensions, what it is given is not"
            )
        for size, dimension in zip(value.shape, parameter.dimensions, strict=True):
            if isinstance(dimension.expression, tree.Colon):
                continue
            declared_size = _dimension(evaluator, dimension, arguments)
            if size != declared_size and value.size:
                raise ValueMismatch(
                    f"the input '{parameter.name}' of size {declared_size:g} is given {size} "
                    "elements"
                )


# --- kinds of functions --------------------------------------------------------------------------


def _record(evaluator: Evaluator, function: Function, arguments: Frame) -> Value:
    local = dict(arguments)
    for parameter in _prepared(evaluator, function).order:
        local[parameter.name] = declared(evaluator, parameter, function.scope, local)
    for parameter in function.inputs:
        value, dimensions = local[parameter.name], parameter.dimensions
        if dimensions and not is_array(value):
            shape = _shape(evaluator, dimensions, local)
            local[parameter.name] = full(shape, value) if shape else value
    return Record(local, function.record)


def _external(
    evaluator: Evaluator, function: Function, external: tree.External, local: Frame
) -> Frame:
    name = external.function or function.name.rsplit(".", 1)[-1]
    outputs = [p.name for p in function.outputs]
    targets: Sequence[tree.Expression]
    output = external.output
    if external.function:
        targets = list(external.arguments)
    else:  # without a call of its own: the inputs, and outputs unless it is the only one
        alone = len(outputs) == 1
        by_reference = [] if alone else outputs
        targets = [_reference(p.name) for p in function.inputs] + [
            _reference(n) for n in by_reference
        ]
        output = _reference(outputs[0]) if alone else None
    arguments = [_external_argument(evaluator, t, function.scope, local) for t in targets]
    result: Value | Written
    if name in evaluator.twins and external.language != "builtin":
        result = evaluator.twins[name](evaluator, arguments)
    elif external.language == "builtin" and is_builtin(name):
        result = builtin_of_values(evaluator, name, arguments)
    else:
        raise UnsupportedError(
            "U003",
            f"{evaluator.place}: the function '{function.name}' is external (it calls '{name}' of "
            f"language {external.language or 'C'}) and has no meaning here; write it as a Modelica "
            "function with an algorithm section, as a table, or let Python compute it: functions = "
            f'{{ "{function.name}" = "file.py:function" }} in [model]',
        )
    written = result if isinstance(result, Written) else Written({}, result)
    after = dict(local)
    if function.object_type:
        return {**after, "$object": written.returned}
    if output is not None:
        statements.assign(evaluator, after, output, written.returned, function.scope)
    elif isinstance(written.returned, tuple):
        after.update(zip(outputs, written.returned, strict=False))
    elif written.returned is not None and len(outputs) == 1:
        after[outputs[0]] = written.returned
    for place, value in written.arguments.items():
        target = targets[place]
        if isinstance(target, tree.Reference):
            statements.assign(evaluator, after, target, value, function.scope)
    return after


def _reference(name: str) -> tree.Reference:
    return tree.Reference((tree.Part(name),), 0)


def _external_argument(
    evaluator: Evaluator, node: tree.Expression, scope: Scope, local: Frame
) -> Value:
    """An argument; an output that has no value yet is written by the function."""
    if isinstance(node, tree.Reference) and len(node.parts) == 1 and not node.parts[0].subscripts:
        name = node.parts[0].name
        if name in local:
            return local[name]
    return evaluator.one(node, scope, local)


def _what_to_redeclare(function: Function) -> str:
    """Of a function without an algorithm: it is open in its package, or itself to be replaced."""
    if function.of_partial:
        return (
            "it has no algorithm, as in a partial package: redeclare the package, as in "
            "Valve(redeclare package Medium = Modelica.Media.Water.StandardWater)"
        )
    return (
        "it has no algorithm: redeclare the function of the model that it stands for, as in "
        "Pump(redeclare function flowCharacteristic = MyCharacteristic)"
    )


def _outputs(evaluator: Evaluator, function: Function, frame: Frame) -> Value:
    """The outputs; further ones may have no value, as long as nobody reads them."""
    results: list[Value] = []
    for parameter in function.outputs:
        value = frame[parameter.name]
        if _lacks(value) and not results:
            advice = "assign it on every way through its algorithm"
            if not function.body:
                advice = _what_to_redeclare(function)
            raise SourceError(
                "S014",
                f"{evaluator.place}: the function '{function.name}' ends without a value for "
                f"its output '{parameter.name}'; {advice}",
            )
        results.append(value)
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)


def _lacks(value: Value) -> bool:
    """Whether an output has no value. A field of a record may have none until somebody reads it."""
    if isinstance(value, Record):
        return bool(value) and all(_lacks(v) for v in value.values())
    if is_array(value):
        return any(_lacks(v) for v in value.flat)
    return value is None
