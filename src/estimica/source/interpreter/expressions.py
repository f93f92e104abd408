"""The interpreter: expression nodes of the flat JSON as values, with the state of one decoding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from estimica.base.errors import SourceError, UnsupportedError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Assertion, Kind, Origin, Variability
from estimica.source.interpreter import builtin_functions, calls
from estimica.source.interpreter.names import Declaration, NameTable
from estimica.source.interpreter.operators import as_text, binary, choose, unary
from estimica.source.interpreter.parameters import ParameterValues
from estimica.source.interpreter.values import (
    Array,
    Value,
    ValueMismatch,
    field_of,
    is_array,
    make_array,
    make_nested,
    sizes_of,
)
from estimica.source.limits import check_limits
from estimica.source.syntax.nodes import Node

Frame = dict[str, Value]
#: what values of the wrong kind raise, in a model that no compiler has checked before
MISFITS = (
    ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError,
)  # fmt: skip
MISFIT = "its parts do not fit together; check the names, sizes and arguments there"
#: nodes between two looks at the clock
_LOOK_EVERY = 5000


class Interpreter:
    """Evaluates nodes in frames of local names; a frame's names hide those of the model."""

    def __init__(self, flat: Mapping[str, Any]) -> None:
        self.names = NameTable(flat)
        self.functions = calls.FunctionTable(flat["functions"])
        self.parameters = ParameterValues(self.names, self._bound)
        self.place = Origin()
        self.assertions: dict[tuple[Expression, str], Assertion] = {}
        self.notes: list[str] = []
        #: parameters that the decoder adds, as names and bindings
        self.helpers: dict[str, Expression] = {}
        self._flat = flat
        self._owner: str | None = None
        self._modifiers = _modifiers(self.names.declared)
        self._clocks: dict[str, Node] | None = None
        self._guards: list[Expression] = []
        self.depth = 0
        self._steps = 0

    # --- nodes ---------------------------------------------------------------------------------

    def declared_value(self, declared: Declaration, node: Node) -> Value:
        """The value of an expression in the declaration of a variable.

        The compiler passes modifiers on as they are written: in `Body body(m=m)` of a component
        `arm(m=5)` it binds arm.body.m to 5, not to arm.m. Here it is arm.m again, so that a change
        of arm.m reaches arm.body.m.
        """
        previous, self._owner = self._owner, declared.name
        try:
            return self.value(node, {})
        finally:
            self._owner = previous

    def value(self, node: Node, frame: Frame) -> Value:
        """The value of an expression node."""
        self._steps += 1
        if not self._steps % _LOOK_EVERY:
            check_limits()
        kind, content = next(iter(node.items()))
        if self._owner is not None and content.get("span"):
            passed_on = self._passed_on(node, content["span"])
            if passed_on is not None:
                return passed_on
        match kind:
            case "Literal":
                return _literal(content["value"])
            case "VarRef":
                return self._reference(content, frame)
            case "Binary" if content["op"] in ("And", "Or"):
                return self._logical(content, frame)
            case "Binary":
                return binary(
                    content["op"],
                    self.value(content["lhs"], frame),
                    self.value(content["rhs"], frame),
                )
            case "Unary":
                return unary(content["op"], self.value(content["rhs"], frame))
            case "If":
                return self._if(content, frame)
            case "BuiltinCall":
                return builtin_functions.call_builtin(
                    self, content["function"], content["args"], frame
                )
            case "FunctionCall":
                return calls.call_function(self, content, frame)
            case "FunctionReference":
                return calls.function_argument(self, content, frame)
            case "Array":
                return self._array(content, frame)
            case "Index":
                return self.element(
                    self.value(content["base"], frame), content["subscripts"], frame
                )
            case "FieldAccess":
                return field_of(self.value(content["base"], frame), content["field"])
            case "Range":
                return self._range(content, frame)
            case "ArrayComprehension":
                return self._comprehension(content["expr"], content["indices"], content, frame)
            case "Tuple":
                return tuple(self.value(e, frame) for e in content["elements"])
            case "StringConversion":
                return as_text(self.value(content["value"], frame)) if "value" in content else "{…}"
            case "Empty":
                return None
        self.refuse(f"the expression '{kind}'", "write it with other means")

    def scalar(self, node: Node, frame: Frame) -> Expression:
        """The value of a node that must be one number or truth value."""
        value = self.value(node, frame)
        if is_array(value) and value.size == 1:
            value = value.flat[0]
        if not isinstance(value, Expression):
            raise ValueMismatch("a single number is needed here")
        return value

    def number(self, value: Value, why: str) -> float:
        """The number that `value` is now; the parameters it needs are built in, because `why`."""
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

    def truth(self, node: Node, frame: Frame) -> Expression:
        """A condition, with what Boolean and Integer parameters decide put in."""
        condition = self.scalar(node, frame)
        return self.parameters.settle(condition, self._why("selects a branch"))

    def element(self, base: Value, subscripts: list[Any], frame: Frame) -> Value:
        """base[subscripts]."""
        if not subscripts:
            return base
        if not is_array(base):
            raise ValueMismatch("a subscript on a value that is not an array")
        if len(subscripts) > base.ndim:
            raise ValueMismatch(
                f"{len(subscripts)} subscripts on an array of {base.ndim} dimensions"
            )
        index = [self.subscript(s, base.shape[k], frame) for k, s in enumerate(subscripts)]
        return _select(base, index)

    def subscript(self, node: Any, size: int, frame: Frame) -> int | list[int] | Expression:
        """One subscript, counted from 0; a list for ranges; an expression where the run decides."""
        if node == "Colon" or "Colon" in node:
            return list(range(size))
        if "Index" in node:
            value: Value = ex.const(node["Index"]["value"])
        else:
            value = self.value(node["Expr"]["expr"], {**frame, "end": ex.const(size)})
        if is_array(value):
            return [self._position(v, size) for v in value]
        if isinstance(value, Expression) and value.op != "const" and not self._is_parametric(value):
            return value
        return self._position(value, size)

    # --- state ---------------------------------------------------------------------------------

    def in_time(self, e: Expression) -> Expression:
        """`e` with variables that are functions of time alone replaced by these functions.

        Choices on time then happen exactly at their instants.
        """
        if e.op != "name":
            return e
        if self._clocks is None:
            self._clocks = dict(self._found_clocks())
        node = self._clocks.get(e.target)
        return self.scalar(node, {}) if node is not None else e

    def _found_clocks(self) -> Iterator[tuple[str, Node]]:
        for raw in self._flat["equations"]:
            sides = raw["residual"].get("Binary")
            if sides is None or sides["op"] != "Sub" or "VarRef" not in sides["lhs"]:
                continue
            right = sides["rhs"]
            parts = right.get("Binary")
            heads = [parts["lhs"], parts["rhs"]] if parts and parts["op"] == "Div" else [right]
            names = [h["VarRef"]["name"]["name"] if "VarRef" in h else "" for h in heads]
            settled = (self.names.declared.get(n) for n in names[1:])
            if names[0] == "time" and all(d is not None and d.is_parameter for d in settled):
                yield sides["lhs"]["VarRef"]["name"]["name"], right

    @contextmanager
    def at(self, place: Origin) -> Iterator[None]:
        """Messages of what is done inside name `place`."""
        previous, self.place = self.place, place
        try:
            yield
        except ValueMismatch as mismatch:
            raise SourceError("S012", f"{place}: {mismatch}") from None
        except MISFITS as misfit:
            if not self._flat.get("unchecked"):
                raise
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

    def check(self, condition: Expression, message: str, warning: bool, origin: Origin) -> None:
        """Remember an assertion, under the conditions that hold here."""
        for guard in reversed(self._guards):
            condition = ex.logical_or(ex.logical_not(guard), condition)
        if not ex.is_const(condition, 1.0):
            key = (condition, message)
            self.assertions.setdefault(key, Assertion(condition, message, warning, origin))

    def refuse(self, construct: str, remedy: str) -> NoReturn:
        """Raise what says that `construct` is not supported here, and what to do instead."""
        raise UnsupportedError("U001", f"{self.place}: {construct} is not supported; {remedy}")

    # --- helpers -------------------------------------------------------------------------------

    def _why(self, what: str) -> str:
        return (
            f"it {what} of {self.place}"
            if self.place.text or self.place.component
            else f"it {what}"
        )

    def _reference(self, content: Node, frame: Frame) -> Value:
        name: str = content["name"]["name"]
        if name in frame:
            base = frame[name]
            if base is None:
                self.refuse(f"'{name}', read before it has a value,", "assign it first")
        else:
            base = self._lookup(name, content["name"], frame)
        return self.element(base, content["subscripts"], frame)

    def _passed_on(self, node: Node, span: Node) -> Value:
        """The parameter of an enclosing component that was given `node`; None if there is none."""
        found = self._modifiers.get((span["source"], span["start"], span["end"]))
        if found is None:
            return None
        assert self._owner is not None
        inside = self._owner.rpartition(".")[0]
        enclosing = [
            declared
            for declared in found
            if declared.name != self._owner
            and _encloses(declared.name.rpartition(".")[0], inside)
            and declared.raw["binding"] == node
        ]
        if not enclosing:
            return None
        return max(enclosing, key=lambda d: d.name.count(".")).symbol

    def _lookup(self, name: str, reference: Node, frame: Frame) -> Value:
        if frame:
            local = self._local(name, reference, frame)
            if local is not None:
                return local
        declared = self.names.declared.get(name)
        if declared is not None:
            return self._variable(declared)
        handle = self.names.handles.get(name)
        value = self.value(handle, {}) if handle is not None else self.names.lookup(name)
        if value is None:
            raise SourceError(
                "S013",
                f"{self.place}: nothing is called '{name}'"
                f"{did_you_mean(name, self.names.declared)}",
            )
        return value

    def _local(self, name: str, reference: Node, frame: Frame) -> Value:
        """A field of a local record, or a name with subscripts inside."""
        parts = (reference.get("component_ref") or {}).get("parts") or []
        if not parts or parts[0]["ident"] not in frame:
            head, _, rest = name.partition(".")
            if head not in frame or not rest:
                return None
            value = frame[head]
            for field in rest.split("."):
                value = field_of(value, field)
            return value
        value = self.element(frame[parts[0]["ident"]], parts[0]["subs"], frame)
        for part in parts[1:]:
            value = self.element(field_of(value, part["ident"]), part["subs"], frame)
        return value

    def _variable(self, declared: Declaration) -> Value:
        if declared.kind is Kind.STRING and declared.is_parameter:
            return self.parameters.binding(declared)
        if declared.variability is Variability.CONSTANT:
            value = self.parameters.binding(declared)
            if isinstance(value, Expression) and value.op == "const" and not declared.dims:
                return value
        return declared.symbol

    def _bound(self, declared: Declaration) -> Value:
        binding = declared.raw["binding"]
        if binding is None:
            return None
        with self.at(Origin(text=declared.name, kind="declaration of")):
            value = self.declared_value(declared, binding)
            if not declared.dims and is_array(value) and value.size == 1:
                value = value.flat[0]
            return value

    def _logical(self, content: Node, frame: Frame) -> Value:
        """a and b, a or b; b is not looked at where a decides."""
        left = self.value(content["lhs"], frame)
        decides = 0.0 if content["op"] == "And" else 1.0
        if isinstance(left, Expression):
            left = self.parameters.settle(left, self._why("decides a condition"))
            if ex.is_const(left, decides):
                return left
        return binary(content["op"], left, self.value(content["rhs"], frame))

    def _if(self, content: Node, frame: Frame) -> Value:
        chosen: list[tuple[Expression, Value]] = []
        excluded: list[Expression] = []
        result: Value = None
        for condition_node, branch in [*content["branches"], (None, content["else_branch"])]:
            condition = self.truth(condition_node, frame) if condition_node else ex.ONE
            if ex.is_const(condition, 0.0):
                continue
            value = self._under(excluded, condition, branch, frame)
            if condition.op == "const":
                result = value
                break
            chosen.append((condition, value))
            excluded.append(ex.logical_not(condition))
        for condition, value in reversed(chosen):
            result = choose(condition, value, result)
        return result

    def _under(
        self, excluded: list[Expression], condition: Expression, branch: Node, frame: Frame
    ) -> Value:
        added = [g for g in (*excluded, condition) if g.op != "const"]
        self._guards.extend(added)
        try:
            return self.value(branch, frame)
        finally:
            del self._guards[len(self._guards) - len(added) :]

    def _array(self, content: Node, frame: Frame) -> Value:
        elements = [self.value(e, frame) for e in content["elements"]]
        match content.get("kind", "Array"):
            case "Array":
                return make_array(elements)
            case "Horizontal":
                return np.concatenate([builtin_functions.as_matrix(e) for e in elements], axis=1)
            case "Vertical":
                return np.concatenate([builtin_functions.as_matrix(e) for e in elements], axis=0)
        raise ValueMismatch(f"an array of the unknown kind {content['kind']}")

    def _range(self, content: Node, frame: Frame) -> Array:
        why = self._why("sets the range")
        first = self.number(self.value(content["start"], frame), why)
        last = self.number(self.value(content["end"], frame), why)
        step = self.number(self.value(content["step"], frame), why) if content["step"] else 1.0
        if step == 0.0:
            raise ValueMismatch("a range with the step 0")
        (count,) = sizes_of(max(float(np.floor((last - first) / step + 1e-12)) + 1, 0.0))
        return make_array([ex.const(first + k * step) for k in range(count)])

    def _comprehension(self, body: Node, indices: list[Node], content: Node, frame: Frame) -> Value:
        if content.get("filter") is not None:
            self.refuse("an array constructor with a filter", "leave the filter out")
        if not indices:
            return self.value(body, frame)
        values = self.value(indices[0]["range"], frame)
        if not is_array(values):
            raise ValueMismatch("a loop over something that is not an array")
        elements = [
            self._comprehension(body, indices[1:], content, {**frame, indices[0]["name"]: v})
            for v in values
        ]
        return make_nested(elements, (len(elements),))

    def _is_parametric(self, value: Expression) -> bool:
        return all(
            (owner := self.names.owner.get(n)) is not None and owner.is_parameter
            for n in ex.names_in(value)
        ) and not any(e.op == "time" for e in ex.walk(value))

    def _position(self, value: Value, size: int) -> int:
        number = self.number(value, self._why("is a subscript"))
        if not (1 <= number <= size) or number != int(number):
            raise ValueMismatch(f"the subscript {number:g} is outside 1:{size}")
        return int(number) - 1


def _modifiers(
    declared: Mapping[str, Declaration],
) -> dict[tuple[int, int, int], list[Declaration]]:
    """Parameters with a modifier for their value, by the place of the modifier."""
    found: dict[tuple[int, int, int], list[Declaration]] = {}
    for d in declared.values():
        binding = d.raw["binding"]
        if binding is None or not d.is_parameter or not d.raw["binding_from_modification"]:
            continue
        span = next(iter(binding.values())).get("span")
        if span:
            key = (span["source"], span["start"], span["end"])
            found.setdefault(key, []).append(d)
    return found


def _encloses(outer: str, inner: str) -> bool:
    return outer != inner and (not outer or inner.startswith((f"{outer}.", f"{outer}[")))


def _literal(value: Mapping[str, Any]) -> Value:
    kind, content = next(iter(value.items()))
    return content if kind == "String" else ex.const(float(content))


def _select(base: Array, index: list[int | list[int] | Expression]) -> Value:
    """base[index], outer product of lists; a subscript of the run becomes a choice."""
    for k, i in enumerate(index):
        if isinstance(i, Expression):
            options = [
                _select(base, [*index[:k], j, *index[k + 1 :]]) for j in range(base.shape[k])
            ]
            result = options[-1]
            for j in reversed(range(len(options) - 1)):
                result = choose(ex.relation("eq", i, ex.const(j + 1)), options[j], result)
            return result
    value: Value = base
    axis = 0
    for i in index:
        assert is_array(value)
        if isinstance(i, list):
            value = np.take(value, np.array(i, dtype=int), axis=axis)
            axis += 1
        else:
            assert isinstance(i, int)
            value = value.take(i, axis=axis)
    return value
