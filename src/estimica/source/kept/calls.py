"""Which calls stay calls, and what they are in the flat system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.function import (
    FlatFunction,
    GivenDerivative,
    Statement,
    expressions_of,
    flat_function,
    invoke,
    statements,
)
from estimica.flat.system import Kind
from estimica.source.evaluate.bodies import body_frame
from estimica.source.evaluate.expressions import MISFITS
from estimica.source.evaluate.names import Function, Parameter
from estimica.source.evaluate.values import (
    Frame,
    FunctionValue,
    Record,
    Value,
    ValueMismatch,
    is_array,
    key_of,
)
from estimica.source.kept.derivatives import StatedDerivative, stated_derivative
from estimica.source.kept.leaves import Leaf, leaves, mapped
from estimica.source.kept.recorder import (
    PREFIX,
    CannotKeepError,
    Recorder,
    has_open_loop,
    names_in_ranges,
    nodes_of,
)
from estimica.source.limits import check_limits
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator

#: names, numbers and operations of an algorithm and all that it calls, from which on it is not
#: written out at each call: thousands of parts of expressions that the optimiser must go through
#: each time; less than that is quicker in place, and its structure is seen
LARGE = 1500
#: parts of the expressions that a call has become, from which on it is kept after all
LONG = 3000
#: pairs of an input and an output, each a dependency of its own, from which on a call is written
#: out all the same
_MOST_PAIRS = 100_000
#: how often a loop over a known range counts: its rounds are not known beforehand
_ROUNDS = 5
#: the leaves of expressions that mean a variable or instant of the model
_OF_THE_MODEL = frozenset(["der", "pre", "time", "initial", "terminal", "mode"])
_ALSO_OF_THE_MODEL = frozenset(["sample", "edge", "change", "delay"])


@dataclass(frozen=True, slots=True)
class _Kept:
    """A function for arguments of one shape."""

    function: FlatFunction
    outside: tuple[str, ...]  # parameters of the model that it needs besides
    result: Value  # its leaves: names of outputs, or numbers
    results: dict[str, int]  # which output a label of `result` is


class KeptCalls:
    """What `Evaluator.keeper` is: remembers functions that were written already."""

    def __init__(self) -> None:
        self._known: dict[object, _Kept | None] = {}
        self._weights: dict[Function, int] = {}
        self._ends: dict[Function, frozenset[str]] = {}
        self._active: list[tuple[Function, ...]] = []  # with the functions handed to them

    def call(
        self, evaluator: Evaluator, function: Function, arguments: Frame, written: Value = None
    ) -> Value:
        """The value of a call that stays a call; None where it is written out.

        `written` is what it has become written out already, which may be too long.
        """
        if _with_functions(function, arguments) in self._active:
            return None
        if written is not None:
            if function.external is not None or not _is_long(written):
                return None
            if _pairs(arguments, written) > _MOST_PAIRS:
                return None
            self._weights[function] = LARGE
        if not self._is_candidate(evaluator, function) and not self._runs_on(
            evaluator, function, arguments
        ):
            return None
        symbols, given = _symbols(evaluator, function, arguments)
        if not given:
            return None
        key = (function, *[key_of(v) for v in symbols.values()])
        if key not in self._known:
            self._known[key] = self._written(evaluator, function, symbols, tuple(given))
        kept = self._known[key]
        if kept is None:
            return None
        outputs = invoke(kept.function, [*given.values(), *map(ex.name, kept.outside)])

        def output(label: str, leaf: Leaf) -> Leaf:
            place = kept.results.get(label)
            return leaf if place is None else outputs[place]

        names = [p.name for p in function.outputs]
        assert isinstance(kept.result, tuple)
        values = [mapped(n, v, output) for n, v in zip(names, kept.result, strict=True)]
        return values[0] if len(values) == 1 else tuple(values)

    # -- which -----------------------------------------------------------------------------------

    def _is_candidate(self, evaluator: Evaluator, function: Function) -> bool:
        if function.external is not None or not function.outputs or not function.body:
            return False
        return self._weight(evaluator, function) >= LARGE

    def _runs_on(self, evaluator: Evaluator, function: Function, arguments: Frame) -> bool:
        """Whether a loop of a function goes up to an argument that only the run knows."""
        if function.external is not None or not function.outputs:
            return False
        if function not in self._ends:
            self._ends[function] = names_in_ranges(function.body)
        given = [v for n, v in arguments.items() if n in self._ends[function]]
        return any(
            isinstance(v, Expression) and evaluator.parameters.peek(v) is None for v in given
        )

    def _weight(self, evaluator: Evaluator, function: Function) -> int:
        """Its length with all that it calls; a loop without a known end counts as too long."""
        if function not in self._weights:
            self._weights[function] = 0  # of a function that calls itself
            if has_open_loop(function.body):
                self._weights[function] = LARGE
            else:
                self._weights[function] = self._length(evaluator, function)
        return self._weights[function]

    def _length(self, evaluator: Evaluator, function: Function) -> int:
        total = 0
        for node in nodes_of(function.body):
            total += 1
            if isinstance(node, tree.For):
                total += (_ROUNDS - 1) * sum(1 for _ in nodes_of(node.body))
            if isinstance(node, tree.Call):
                total += self._called_weight(evaluator, function, node)
            if total >= LARGE:
                return total
        return total

    def _called_weight(self, evaluator: Evaluator, function: Function, call: tree.Call) -> int:
        try:
            called = evaluator.names.function(call.function, function.scope)
        except (SourceError, ValueMismatch):
            return 0
        if called is None or called.record is not None:
            return 0
        # a long one is kept itself: what calls it may still be short
        weight = self._weight(evaluator, called)
        return 0 if weight >= LARGE else weight

    # -- what ------------------------------------------------------------------------------------

    def _written(
        self, evaluator: Evaluator, function: Function, symbols: Frame, inputs: tuple[str, ...]
    ) -> _Kept | None:
        self._active.append(_with_functions(function, symbols))
        try:
            recorder = _recorded(evaluator, function, symbols)
            short = has_open_loop(function.body) and self._length(evaluator, function) < LARGE
            if short and not recorder.loops_of_the_run:
                return None  # all its loops were over known ranges
            return self._finished(evaluator, function, symbols, inputs, recorder)
        except (CannotKeepError, UnsupportedError, SourceError, ValueMismatch, *MISFITS):
            check_limits()  # that the time is over is no reason to try something else
            return None
        finally:
            self._active.pop()

    def _finished(
        self,
        evaluator: Evaluator,
        function: Function,
        symbols: Frame,
        inputs: tuple[str, ...],
        recorder: Recorder,
    ) -> _Kept | None:
        outside = _outside(recorder.body, inputs)
        if outside is None or recorder.template is None:
            return None
        result = tuple(recorder.template)
        numbers = _constant_results(function, result) if not recorder.returns else {}
        labels = {n: k for k, n in enumerate(n for n in recorder.results if n not in numbers)}
        if not labels:
            return None
        derivative = None
        if not outside:
            derivative = self._derivative(evaluator, function, symbols, inputs, len(labels))
        flat = flat_function(
            function.name,
            (*inputs, *outside),
            [recorder.results[n] for n in labels],
            recorder.body,
            derivative,
            whole=[k for label, k in labels.items() if _is_whole(function, label)],
        )
        return _Kept(flat, outside, result, labels)

    def _derivative(
        self,
        evaluator: Evaluator,
        function: Function,
        symbols: Frame,
        inputs: tuple[str, ...],
        count: int,
    ) -> GivenDerivative | None:
        """The derivative that the author gives, for arguments of these shapes."""
        stated = stated_derivative(evaluator, function)
        if stated is None:
            return None
        frame, moving = _derivative_frame(stated, function, symbols)
        if frame is None:
            return None
        changes = tuple(_change(n) for n in moving)
        active = _with_functions(stated.function, frame)
        if active in self._active:
            return None
        self._active.append(active)
        try:
            recorder = _recorded(evaluator, stated.function, frame)
        except (CannotKeepError, UnsupportedError, SourceError, ValueMismatch, *MISFITS):
            return None
        finally:
            self._active.pop()
        if _outside(recorder.body, (*inputs, *changes)) != () or len(recorder.results) != count:
            return None
        flat = flat_function(
            stated.function.name, (*inputs, *changes), recorder.results.values(), recorder.body
        )
        return GivenDerivative(flat, tuple(inputs.index(n) for n in moving))


def _with_functions(function: Function, arguments: Frame) -> tuple[Function, ...]:
    """A function and those that are handed to it: an iteration whose curve needs an iteration of
    another curve does not call itself."""
    given = [v.function for v in arguments.values() if isinstance(v, FunctionValue)]
    return (function, *given)


def _is_long(value: Value) -> bool:
    parts = [e for _, e in leaves("", value) if e is not None and e.operands]
    return any(k >= LONG for k, _ in enumerate(ex.walk(*parts))) if parts else False


def _pairs(arguments: Frame, written: Value) -> int:
    counts = [
        sum(1 for _, e in leaves("", v) if e is not None and e.op != "const")
        for v in (tuple(arguments.values()), written)
    ]
    return counts[0] * counts[1]


def _is_whole(function: Function, label: str) -> bool:
    """Whether a result is of a type that only jumps."""
    known = {p.name: p.kind for p in function.outputs}
    return known.get(label.partition("[")[0]) not in (None, Kind.REAL)


def _change(name: str) -> str:
    return f"{PREFIX}der({name.removeprefix(PREFIX)})"


def _derivative_frame(
    stated: StatedDerivative, function: Function, symbols: Frame
) -> tuple[Frame | None, list[str]]:
    """The arguments of a derivative, and the inputs whose changes are among them."""
    given = stated.function.inputs
    values = list(symbols.values())
    moving: list[str] = []

    def change(label: str, leaf: Leaf) -> Leaf:
        if leaf is None or leaf.op == "const":
            return ex.ZERO
        moving.append(leaf.target)
        return ex.name(_change(leaf.target))

    for parameter in function.inputs:
        value = symbols[parameter.name]
        if parameter.name in stated.zero:
            if any(leaf is not None and leaf.op != "const" for _, leaf in leaves("", value)):
                return None, []  # it may change with what is tuned
        elif parameter.name not in stated.ignored and parameter.kind is Kind.REAL:
            values.append(mapped(parameter.name, value, change))
        elif parameter.name not in stated.ignored and parameter.kind is None:
            return None, []
    if len(values) != len(given):
        return None, []
    return {p.name: v for p, v in zip(given, values, strict=True)}, moving


def _symbols(
    evaluator: Evaluator, function: Function, arguments: Frame
) -> tuple[Frame, dict[str, Expression]]:
    """The arguments with names for what is no number, and what these names stand for.

    Whole numbers, truth values and enumerations that parameters give are put in: sizes and
    branches depend on them.
    """
    given: dict[str, Expression] = {}
    symbols: Frame = {}
    for parameter in function.inputs:
        symbols[parameter.name] = _symbol(
            evaluator, parameter, parameter.name, arguments[parameter.name], given
        )
    return symbols, given


def _symbol(
    evaluator: Evaluator,
    parameter: Parameter,
    label: str,
    value: Value,
    given: dict[str, Expression],
) -> Value:
    def symbol(inner: str, leaf: Leaf) -> Leaf:
        if leaf is None or leaf.op == "const":
            return leaf
        if parameter.kind is not Kind.REAL:
            number = evaluator.parameters.number(leaf, evaluator.why("is an argument"))
            if number is not None:
                return ex.const(number)
        given[f"{PREFIX}{inner}"] = leaf
        return ex.name(f"{PREFIX}{inner}")

    if isinstance(value, FunctionValue):  # what it was given beforehand are arguments too
        inputs = {p.name: p for p in value.function.inputs}
        held = {
            n: _symbol(evaluator, inputs.get(n, parameter), f"{label}.{n}", v, given)
            for n, v in value.given.items()
        }
        return FunctionValue(value.function, held)
    if parameter.fields is None:
        return mapped(label, value, symbol)
    fields = {f.name: f for f in parameter.fields}

    def record(inner: str, part: Value) -> Value:
        if is_array(part):
            result = part.copy()
            for index in range(result.size):
                result.flat[index] = record(f"{inner}[{index + 1}]", part.flat[index])
            return result
        if not isinstance(part, Record):
            return mapped(inner, part, symbol)
        return Record(
            {
                n: _symbol(evaluator, fields.get(n, parameter), f"{inner}.{n}", v, given)
                for n, v in part.items()
            },
            part.type,
        )

    return record(label, value)


def _recorded(evaluator: Evaluator, function: Function, symbols: Frame) -> Recorder:
    recorder = Recorder(evaluator, function.scope, [p.name for p in function.outputs])
    with evaluator.recording(recorder.check), body_frame(evaluator, function, symbols) as frame:
        held = {n: v if n in symbols else recorder.held(n, v) for n, v in frame.items()}
        recorder.record(function.body, held)
    return recorder


def _constant_results(function: Function, result: Sequence[Value]) -> dict[str, Expression]:
    """The outputs that are numbers, whatever the inputs are."""
    names = [p.name for p in function.outputs]
    found = [x for n, v in zip(names, result, strict=True) for x in leaves(n, v)]
    return {label: leaf for label, leaf in found if leaf is not None and leaf.op == "const"}


def _outside(body: Sequence[Statement], inputs: Sequence[str]) -> tuple[str, ...] | None:
    """The variables of the model that a body uses; None where it uses what no argument can be."""
    found: dict[str, None] = {}
    for statement in statements(body):
        for e in ex.walk(*expressions_of(statement)):
            if e.op in _OF_THE_MODEL or e.op in _ALSO_OF_THE_MODEL:
                return None
            if e.op == "name" and not e.target.startswith(PREFIX):
                found[e.target] = None
    return tuple(found)
