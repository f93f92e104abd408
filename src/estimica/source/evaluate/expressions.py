"""The evaluator: nodes of the syntax tree as values, with the state of one loading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol

import numpy as np

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Assertion, Kind, Origin
from estimica.source.evaluate import bodies, calls, reductions
from estimica.source.evaluate.array_functions import joined_rows
from estimica.source.evaluate.names import Function, Names, ScalarType, Scope
from estimica.source.evaluate.operators import SCALAR, binary, choose, kind_text, unary
from estimica.source.evaluate.parameters import ParameterValues
from estimica.source.evaluate.scalar_types import require_one_kind, require_truth, type_of
from estimica.source.evaluate.subscripts import Index, IndexBounds, position, select
from estimica.source.evaluate.values import (
    Array,
    Frame,
    FunctionValue,
    Value,
    ValueMismatch,
    Written,
    field_of,
    first_of,
    is_array,
    make_array,
    sizes_of,
)
from estimica.source.instants import Instants
from estimica.source.limits import check_limits
from estimica.source.syntax import tree

#: what values of the wrong kind raise, in a model that nobody has checked before
MISFITS = (
    ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError,
)  # fmt: skip
MISFIT = "its parts do not fit together; check the names, sizes and arguments there"
#: nodes between two looks at the clock
_LOOK_EVERY = 5000
#: of a step: how much of one a range may fall short of its end by rounding
_ROUNDING = 1e-12

Twin = Callable[[Any, Sequence[Value]], "Value | Written"]
CheckTaker = Callable[[Expression, str, bool], None]
OtherStatement = Callable[[tree.Equation, Scope, Frame], bool]
#: the value of a call; None where the function is computed as it is written
Replacement = Callable[["Evaluator", Function, Frame], Value]


class Keeper(Protocol):
    """Decides which calls stay calls."""

    def __call__(
        self, evaluator: Evaluator, function: Function, arguments: Frame, written: Value = None
    ) -> Value:
        """The value of a call that stays one; None where it is written out.

        `written` is what it has become written out already, which may be too long.
        """


class Evaluator:
    """Evaluates nodes in frames of local names; a frame's names hide those of the model."""

    def __init__(
        self,
        names: Names,
        twins: Mapping[str, Twin] | None = None,
        keeper: Keeper | None = None,
        python: Replacement | None = None,
    ) -> None:
        self.names = names
        self._keeper = keeper
        #: calls of functions that Python computes
        self.python = python
        self.twins: Mapping[str, Twin] = twins or {}
        self.parameters = ParameterValues(names)
        self.place = Origin()
        self.assertions: dict[tuple[Expression, str], Assertion] = {}
        self.notes: list[str] = []
        #: parameters that are added to the model, as names and bindings
        self.helpers: dict[str, Expression] = {}
        #: variables that are functions of time alone
        self.time_functions: dict[str, Expression] = {}
        #: what does the statements that only models have: when, reinit, terminate
        self.other_statement: OtherStatement | None = None
        #: types of local names: of a function's, and of iterators
        self.local_types: Mapping[str, ScalarType] = {}
        #: calls that were written out already
        self.known_calls: dict[object, Value] = {}
        self.prepared: dict[Function, bodies.Prepared] = {}
        self.mentioned: dict[tree.Expression, set[str]] = {}
        #: expressions whose types were looked at
        self.typed_nodes: set[tree.Expression] = set()
        #: how often something was asserted that is not certain
        self.checks = 0
        #: when calls happen
        self.instants = Instants()
        #: the function that is written out, and where in its text
        self.inside: tuple[Function, int] | None = None
        #: what the condition of a loop tells of its subscripts, while it is evaluated
        self.learning: IndexBounds | None = None
        self.depth = 0
        self._variables: frozenset[str] = frozenset()
        self._guards: list[Expression] = []
        self._check_taker: CheckTaker | None = None
        self._ends: list[int] = []
        self._constants: dict[float, Expression] = {}
        self.steps = 0  # expressions so far
        self.last_step: int | None = None  # beyond which the call under way is given up

    # --- nodes ---------------------------------------------------------------------------------

    def value(self, node: tree.Expression, scope: Scope, frame: Frame) -> Value:
        """The value of an expression; a tuple for a call with several outputs."""
        self.steps += 1
        if not self.steps % _LOOK_EVERY:
            check_limits()
            if self.last_step is not None and self.steps > self.last_step:
                raise bodies.TooLong
        return _NODES[type(node)](self, node, scope, frame)

    def one(self, node: tree.Expression, scope: Scope, frame: Frame) -> Value:
        """The value of an expression, of several outputs the first."""
        value = self.value(node, scope, frame)
        return value[0] if isinstance(value, tuple) and value else value

    def scalar(self, node: tree.Expression, scope: Scope, frame: Frame) -> Expression:
        """The value of a node that must be one number or truth value."""
        value = self.one(node, scope, frame)
        if is_array(value) and value.size == 1:
            value = value.flat[0]
        if not isinstance(value, Expression):
            raise ValueMismatch(f"a single number is needed here, not {kind_text(value)}")
        return value

    def number(self, value: Value, why: str) -> float:
        """The number that `value` is now; the parameters it needs are built in, because `why`."""
        value = first_of(value)
        if isinstance(value, Expression):
            if value.op == "const":
                return value.value
            result = self.parameters.number(value, why)
            if result is not None:
                return result
        self.refuse(
            "a size, range, subscript or branch that is known only during the run",
            "make it depend on constants and parameters with values only",
        )

    def truth(self, node: tree.Expression, scope: Scope, frame: Frame) -> Expression:
        """A condition, with what Boolean and Integer parameters decide put in."""
        require_truth(self, node, scope, frame)
        condition = self.scalar(node, scope, frame)
        if condition.op == "const":
            return condition
        return self.parameters.settle(condition, self.why("selects a branch"))

    def element(
        self,
        base: Value,
        subscripts: Sequence[tree.Expression],
        scope: Scope,
        frame: Frame,
        leading: int = 0,
    ) -> Value:
        """base[subscripts], the first `leading` dimensions of it taken whole."""
        if not subscripts:
            return base
        if not is_array(base):
            raise ValueMismatch("a subscript on a value that is not an array")
        if len(subscripts) > base.ndim - leading:
            raise ValueMismatch(
                f"{len(subscripts)} subscripts on an array of {base.ndim - leading} dimensions"
            )
        index: list[Index] = [list(range(n)) for n in base.shape[:leading]]
        for size, node in zip(base.shape[leading:], subscripts, strict=False):
            index.append(self.subscript(node, size, scope, frame))
        return select(base, index)

    def subscript(self, node: tree.Expression, size: int, scope: Scope, frame: Frame) -> Index:
        """One subscript, counted from 0; a list for ranges; an expression where the run decides."""
        if isinstance(node, tree.Colon):
            return list(range(size))
        self._ends.append(size)
        try:
            value = self.one(node, scope, frame)
        finally:
            self._ends.pop()
        if isinstance(value, Expression) and value.op == "const" and value.value > 1.0:
            return position(value.value, size)  # what nearly all subscripts are
        if is_array(value) and value.ndim == 1:
            offset = self._offset(node, value[0], scope, frame) if value.size else 0
            why = self.why("is a subscript")
            return [position(self.number(v, why) + offset, size) for v in value]
        if not isinstance(value, Expression):
            raise ValueMismatch(f"{kind_text(value)} as a subscript")
        offset = self._offset(node, value, scope, frame)
        if value.op == "const":
            return position(value.value + offset, size)
        if not self.parameters.is_parametric(value):
            value = ex.add(value, ex.const(offset)) if offset else value
            if self.learning is not None:
                self.learning.learn(value, size)
            return value
        return position(self.number(value, self.why("is a subscript")) + offset, size)

    def _offset(self, node: tree.Expression, value: Value, scope: Scope, frame: Frame) -> int:
        """False is the first, true the second element of an array over Boolean."""
        if isinstance(node, (tree.Number, tree.End)):
            return 0
        known = type_of(self, node, value, scope, frame)
        return int(known is not None and known.kind is Kind.BOOLEAN)

    def type_of(
        self, node: tree.Expression, value: Value, scope: Scope, frame: Frame
    ) -> ScalarType | None:
        """The type of an expression with this value, where that is known."""
        return type_of(self, node, value, scope, frame)

    def require_one_kind(
        self,
        nodes: Sequence[tree.Expression],
        scope: Scope,
        frame: Frame,
        expected: ScalarType | None = None,
    ) -> None:
        """ValueMismatch unless all `nodes` can take each other's place, and that of `expected`."""
        require_one_kind(self, nodes, scope, frame, expected)

    def is_model_variable(self, name: str) -> bool:
        """Whether a local name of an algorithm means a variable of the model."""
        return name in self._variables

    def counts_truths(
        self, reference: tree.Reference, position: int, scope: Scope, frame: Frame
    ) -> bool:
        """Whether a dimension of an array is over Boolean: its subscripts are false and true."""
        first = reference.parts[0].name
        if first in frame and not self.is_model_variable(first):
            return False
        ask = getattr(self.names, "counts_truths", None)  # a model need not answer it
        return bool(ask is not None and ask(reference, position, scope))

    def call(
        self,
        function: Function,
        positional: Sequence[Value],
        named: Mapping[str, Value] | None = None,
    ) -> Value:
        """The value of a call with these arguments; a tuple for several outputs."""
        return calls.called(self, function, positional, named or {}, {})

    def kept_call(self, function: Function, values: Frame) -> Value | None:
        """The value of a call that stays a call; None where it is written out."""
        return None if self._keeper is None else self._keeper(self, function, values)

    def shortened(self, function: Function, arguments: Frame, value: Value, checks: int) -> Value:
        """`value`, which was written out with so many assertions before, or the call itself."""
        if self._keeper is None:
            return value
        short = self._keeper(self, function, arguments, value)
        if short is None:
            return value
        if self._check_taker is None:
            for key in list(self.assertions)[checks:]:
                del self.assertions[key]  # they are made inside
        return short

    # --- state ---------------------------------------------------------------------------------

    def in_time(self, e: Expression) -> Expression:
        """`e`, or the function of time that the variable `e` is.

        Choices on time then happen exactly at their instants.
        """
        return self.time_functions.get(e.target, e) if e.op == "name" else e

    @contextmanager
    def at(self, place: Origin) -> Iterator[None]:
        """Messages of what is done inside name `place`; what does not fit is an error of it."""
        previous, self.place = self.place, place
        try:
            yield
        except ValueMismatch as mismatch:
            raise SourceError("S012", f"{place}: {mismatch}") from None
        except RecursionError:
            raise SourceError(
                "S045", f"{place}: it is nested too deeply; split it into several equations"
            ) from None
        except MISFITS as misfit:
            raise SourceError("S211", f"{place}: {MISFIT}") from misfit
        finally:
            self.place = previous

    @contextmanager
    def guarded(self, condition: Expression) -> Iterator[None]:
        """Assertions met inside count only where `condition` holds."""
        self._guards.append(condition)
        try:
            yield
        finally:
            self._guards.pop()

    @contextmanager
    def algorithm(self, variables: frozenset[str]) -> Iterator[None]:
        """Inside, der, pre, edge and change of these local names mean variables of the model."""
        previous, self._variables = self._variables, variables
        try:
            yield
        finally:
            self._variables = previous

    @contextmanager
    def typed(self, types: Mapping[str, ScalarType | None]) -> Iterator[None]:
        """Inside, these local names (iterators) have these types and hide variables."""
        types_before, variables_before = self.local_types, self._variables
        known = {k: t for k, t in self.local_types.items() if k not in types}
        self.local_types = {**known, **{k: t for k, t in types.items() if t is not None}}
        self._variables = self._variables.difference(types)
        try:
            yield
        finally:
            self.local_types, self._variables = types_before, variables_before

    def without_variables(self, frame: Frame) -> Frame:
        """`frame` without what an algorithm has assigned to variables of the model."""
        if not self._variables:
            return frame
        return {k: v for k, v in frame.items() if k not in self._variables}

    @contextmanager
    def recording(self, take_check: CheckTaker) -> Iterator[None]:
        """Inside, a function is written by itself: what it asserts is its own matter."""
        before = self._guards, self._check_taker
        self._guards, self._check_taker = [], take_check
        try:
            yield
        finally:
            self._guards, self._check_taker = before

    def condition(self) -> Expression:
        """What holds wherever the value of what is evaluated now counts."""
        self.instants.particular += 1
        result = ex.ONE
        if self.instants.conditions == (ex.TERMINAL,):
            result = ex.TERMINAL
        for guard in self._guards:
            result = ex.logical_and(result, guard)
        return result

    def check(self, condition: Expression, message: str, warning: bool, origin: Origin) -> None:
        """Remember an assertion, under the conditions that hold here."""
        for guard in reversed(self._guards):
            condition = ex.logical_or(ex.logical_not(guard), condition)
        if not ex.is_const(condition, 1.0):
            self.checks += 1
            if self._check_taker is not None:
                self._check_taker(condition, message, warning)
                return
            key = (condition, message)
            self.assertions.setdefault(key, Assertion(condition, message, warning, origin))

    def refuse(self, construct: str, remedy: str) -> NoReturn:
        """Raise what says that `construct` is not supported here, and what to do instead."""
        where = self.told_inside()
        raise UnsupportedError(
            "U001", f"{self.place}: {construct} is not supported; {remedy}{where}"
        )

    def told_inside(self) -> str:
        """The function and the place in it that a message is about; "" outside of functions."""
        if self.inside is None:
            return ""
        function, at = self.inside
        if function.source is None:
            return f" [in {function.name}]"
        line, column = function.source.line_and_column(at)
        file = f"{function.source.label}:" if function.source.label else ""
        return f" [in {function.name}, {file}{line}:{column}]"

    def why(self, what: str) -> str:
        """The reason for which a parameter is built in: it does `what` here."""
        known = self.place.text or self.place.component
        return f"it {what} of {self.place}" if known else f"it {what}"

    def overload(self, op: str, operands: Sequence[Value]) -> Value:
        """An operation with a record among its operands, by the functions of its type."""
        return calls.overloaded(self, op, operands)

    # --- kinds of nodes ------------------------------------------------------------------------

    def _number(self, node: tree.Number | tree.Truth, scope: Scope, frame: Frame) -> Value:
        known = self._constants.get(node.value)
        if known is None:
            known = self._constants[node.value] = ex.const(node.value)
        return known

    def _text(self, node: tree.Text, scope: Scope, frame: Frame) -> Value:
        return node.value

    def _reference(self, node: tree.Reference, scope: Scope, frame: Frame) -> Value:
        first = node.parts[0]
        if first.name not in frame or node.from_root:
            if first.name == "time" and len(node.parts) == 1:
                return ex.TIME
            return self.names.value(node, scope, frame)
        value = frame[first.name]
        if value is None:
            self.refuse(f"'{first.name}', read before it has a value,", "assign it first")
        if first.subscripts:
            value = self.element(value, first.subscripts, scope, frame)
        for part in node.parts[1:]:
            leading = value.ndim if is_array(value) else 0
            value = field_of(value, part.name)
            if part.subscripts:
                value = self.element(value, part.subscripts, scope, frame, leading)
        if value is None:
            self.refuse(f"'{node.text}', read before it has a value,", "assign it first")
        return value

    def _binary(self, node: tree.Binary, scope: Scope, frame: Frame) -> Value:
        if node.op in ("and", "or"):
            return self._logical(node, scope, frame)
        chain = [node]  # a long sum is a deep tree on its left side
        while isinstance(left := chain[-1].left, tree.Binary) and left.op not in ("and", "or"):
            chain.append(left)
        a = self.one(chain[-1].left, scope, frame)
        for operation in reversed(chain):
            b = self.one(operation.right, scope, frame)
            if isinstance(a, Expression) and isinstance(b, Expression):
                a = SCALAR[operation.op](a, b)
            else:
                a = binary(operation.op, a, b, self.overload)
        return a

    def _logical(self, node: tree.Binary, scope: Scope, frame: Frame) -> Value:
        """a and b, a or b; b is not looked at where a decides."""
        self.learning = None  # the right side may not be looked at
        left = self.one(node.left, scope, frame)
        decides = 0.0 if node.op == "and" else 1.0
        if isinstance(left, Expression):
            if left.op != "const":
                left = self.parameters.settle(left, self.why("decides a condition"))
            if ex.is_const(left, decides):
                return left
        return binary(node.op, left, self.one(node.right, scope, frame), self.overload)

    def _unary(self, node: tree.Unary, scope: Scope, frame: Frame) -> Value:
        return unary(node.op, self.one(node.operand, scope, frame), self.overload)

    def _if(self, node: tree.IfExpression, scope: Scope, frame: Frame) -> Value:
        self.learning = None  # one of the branches is not looked at
        chosen: list[tuple[Expression, Value]] = []
        guards = len(self._guards)
        try:
            for condition_node, branch in node.branches:
                condition = self.truth(condition_node, scope, frame)
                if condition.op == "const":
                    if not condition.value:
                        continue
                    result = self.one(branch, scope, frame)
                    break
                self._guards.append(condition)
                chosen.append((condition, self.one(branch, scope, frame)))
                self._guards[-1] = ex.logical_not(condition)
            else:
                result = self.one(node.otherwise, scope, frame)
        finally:
            del self._guards[guards:]
        for condition, value in reversed(chosen):
            result = choose(condition, value, result)
        return result

    def _range(self, node: tree.Range, scope: Scope, frame: Frame) -> Array:
        why = self.why("sets the range")
        first = self.number(self.one(node.first, scope, frame), why)
        last = self.number(self.one(node.last, scope, frame), why)
        step = self.number(self.one(node.step, scope, frame), why) if node.step else 1.0
        if step == 0.0:
            raise ValueMismatch("a range with the step 0")
        (count,) = sizes_of(max(float(np.floor((last - first) / step + _ROUNDING)) + 1, 0.0))
        return make_array([ex.const(first + k * step) for k in range(count)])

    def _array(self, node: tree.ArrayOf, scope: Scope, frame: Frame) -> Value:
        if node.iterators:
            return reductions.array_of(self, node.elements[0], node.iterators, scope, frame)
        return make_array([self.one(e, scope, frame) for e in node.elements])

    def _matrix(self, node: tree.Matrix, scope: Scope, frame: Frame) -> Value:
        return joined_rows([[self.one(e, scope, frame) for e in row] for row in node.rows])

    def _several(self, node: tree.Several, scope: Scope, frame: Frame) -> Value:
        return tuple(e if e is None else self.one(e, scope, frame) for e in node.elements)

    def _indexed(self, node: tree.Indexed, scope: Scope, frame: Frame) -> Value:
        return self.element(self.one(node.base, scope, frame), node.subscripts, scope, frame)

    def _field(self, node: tree.Field, scope: Scope, frame: Frame) -> Value:
        return field_of(self.one(node.base, scope, frame), node.name)

    def _end(self, node: tree.End, scope: Scope, frame: Frame) -> Value:
        if not self._ends:
            raise ValueMismatch("'end' stands outside of a subscript")
        return ex.const(self._ends[-1])

    def _colon(self, node: tree.Colon, scope: Scope, frame: Frame) -> Value:
        raise ValueMismatch("':' stands outside of a subscript")

    def _call(self, node: tree.Call, scope: Scope, frame: Frame) -> Value:
        return calls.call_node(self, node, scope, frame)

    def _partial(self, node: tree.PartialCall, scope: Scope, frame: Frame) -> FunctionValue:
        return calls.function_argument(self, node, scope, frame)


_NODES: dict[type, Callable[[Evaluator, Any, Scope, Frame], Value]] = {
    tree.Number: Evaluator._number,
    tree.Truth: Evaluator._number,
    tree.Text: Evaluator._text,
    tree.Reference: Evaluator._reference,
    tree.Binary: Evaluator._binary,
    tree.Unary: Evaluator._unary,
    tree.IfExpression: Evaluator._if,
    tree.Range: Evaluator._range,
    tree.ArrayOf: Evaluator._array,
    tree.Matrix: Evaluator._matrix,
    tree.Several: Evaluator._several,
    tree.Indexed: Evaluator._indexed,
    tree.Field: Evaluator._field,
    tree.End: Evaluator._end,
    tree.Colon: Evaluator._colon,
    tree.Call: Evaluator._call,
    tree.PartialCall: Evaluator._partial,
}
