"""A model that is just a table of values, functions, records and enumerations: for the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.evaluate import evaluate
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Variability
from estimica.source.evaluate.expressions import Evaluator
from estimica.source.evaluate.names import Dimension, Function, Parameter, ScalarType
from estimica.source.evaluate.values import Frame, Record, Value, is_array, make_array
from estimica.source.syntax import tree
from estimica.source.syntax.file import parse_expression, parse_file

KINDS = {"Real": Kind.REAL, "Integer": Kind.INTEGER, "Boolean": Kind.BOOLEAN, "String": Kind.STRING}
OPERATORS = {"+": "add", "-": "subtract", "*": "multiply", "constructor": "fromReal"}


@dataclass(frozen=True)
class Variable:
    """A scalar variable of the flat model."""

    kind: Kind = Kind.REAL
    variability: Variability = Variability.CONTINUOUS
    solved: bool = False

    @property
    def is_parameter(self) -> bool:
        return self.variability in (Variability.PARAMETER, Variability.CONSTANT)


class SmallModel:
    """Names of one text of classes, and values that the test gives."""

    def __init__(
        self,
        text: str = "",
        values: Mapping[str, Value] | None = None,
        variables: Mapping[str, Variable] | None = None,
        bindings: Mapping[str, Expression] | None = None,
    ) -> None:
        self.classes = {c.name: c for c in parse_file(tree.Source(text)).classes}
        self.values = dict(values or {})
        self.variables = dict(variables or {})
        self.bindings = dict(bindings or {})
        self._functions: dict[str, Function | None] = {}

    # --- what the evaluator asks ---

    def value(self, reference: tree.Reference, scope: object, frame: Frame) -> Value:
        name = reference.text
        literals = self._literals(reference.parts[0].name)
        if literals and len(reference.parts) == 1:
            return make_array([ex.const(k + 1) for k in range(len(literals))])
        if literals:
            return ex.const(literals.index(reference.parts[1].name) + 1)
        if name == "Boolean":
            return make_array([ex.ZERO, ex.ONE])
        if name == "AssertionLevel.warning":
            return ex.ONE
        if name not in self.values:
            raise SourceError("S013", f"nothing is called '{name}'")
        return self.evaluator.element(
            self.values[name], reference.parts[-1].subscripts, scope, frame
        )

    def function(self, reference: tree.Reference, scope: object) -> Function | None:
        name = reference.text
        if name not in self._functions:
            found = self.classes.get(name)
            known = found is not None and found.word in ("function", "record")
            self._functions[name] = self._made(found) if known else None  # type: ignore[arg-type]
        return self._functions[name]

    def operator(self, op: str, operands: Sequence[Value]) -> Function | None:
        record = next((o for o in operands if isinstance(o, Record)), None)
        if record is None or record.type != "C":
            return None
        name = "negate" if op == "'-'" and len(operands) == 1 else OPERATORS.get(op.strip("'"), "")
        return self.function(tree.Reference((tree.Part(name),), 0), None)

    def special(self, call: tree.Call, scope: object, frame: Frame) -> Value | None:
        return ex.const(7.0) if call.function.text == "Connections.rooted" else None

    def variable(self, name: str) -> Variable | None:
        return self.variables.get(name)

    def binding(self, name: str) -> Expression | str | None:
        return self.bindings.get(name)

    def type_of(self, reference: tree.Reference, scope: object) -> ScalarType | None:
        literals = self._literals(reference.parts[0].name)
        return ScalarType(Kind.ENUMERATION, literals) if literals else None

    # --- classes ---

    def _literals(self, name: str) -> tuple[str, ...]:
        found = self.classes.get(name)
        return tuple(n for n, _ in found.literals) if found and found.literals else ()

    def _made(self, definition: tree.ClassDefinition) -> Function:
        scope = definition.name
        if definition.derivative is not None:
            base, inputs = definition.derivative
            function = self.function(tree.Reference((tree.Part(base.text),), 0), None)
            assert function is not None
            return Function(scope, (), derivative_of=(function, inputs))
        body = definition.body
        assert body is not None
        if definition.word == "record":
            fields = tuple(self._parameter(c, scope) for c in body.components)
            return Function(scope, fields, record=scope, scope=scope)
        by_causality: dict[str, list[Parameter]] = {"input": [], "output": [], "": []}
        for c in body.components:
            by_causality[c.causality].append(self._parameter(c, scope))
        return Function(
            scope,
            tuple(by_causality["input"]),
            tuple(by_causality["output"]),
            tuple(by_causality[""]),
            tuple(s for section in body.sections for s in section.body),
            scope,
            body.external,
            source=definition.source,
            at=definition.at,
        )

    def _parameter(self, c: tree.Component, scope: object) -> Parameter:
        default = c.modification.value if c.modification is not None else None
        typed = self.classes.get(c.type.text)
        record = typed is not None and typed.word == "record"
        fields = None
        if record:
            assert typed is not None
            assert typed.body is not None
            fields = tuple(self._parameter(f, typed.name) for f in typed.body.components)
        literals = self._literals(c.type.text)
        return Parameter(
            c.name,
            tuple(Dimension(d, scope) for d in c.dimensions),
            None if default is None else (default, scope),
            Kind.ENUMERATION if literals else KINDS.get(c.type.text),
            fields,
            c.type.text if record else None,
            function=typed is not None and typed.word == "function",
            literals=literals,
        )

    # --- for tests ---

    evaluator: Evaluator


def evaluator_of(
    text: str = "",
    values: Mapping[str, Any] | None = None,
    twins: Mapping[str, Callable[..., Any]] | None = None,
    variables: Mapping[str, Variable] | None = None,
    bindings: Mapping[str, Expression] | None = None,
) -> Evaluator:
    """An evaluator for classes of a text and values by name."""
    model = SmallModel(
        text, {k: as_value(v) for k, v in (values or {}).items()}, variables, bindings
    )
    model.evaluator = Evaluator(model, twins or {})
    return model.evaluator


def value_of(text: str, evaluator: Evaluator | None = None, frame: Frame | None = None) -> Value:
    """The value of an expression in Modelica."""
    evaluator = evaluator or evaluator_of()
    return evaluator.value(parse_expression(text), "model", frame or {})


def number_of(text: str, evaluator: Evaluator | None = None, frame: Frame | None = None) -> Any:
    """The value of an expression as plain numbers: a float, nested lists, dictionaries, texts."""
    return plain(value_of(text, evaluator, frame))


def plain(value: Value, point: Mapping[str, float] | None = None) -> Any:
    """A value as plain numbers, at a point where it has names."""
    if isinstance(value, Expression):
        return evaluate(value, point or {})
    if isinstance(value, Record):
        return {k: plain(v, point) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(v, point) for v in value)
    if is_array(value):
        flat = np.empty(value.size, dtype=object)
        for k, v in enumerate(value.flat):
            flat[k] = plain(v, point)
        return flat.reshape(value.shape).tolist()
    return value


def as_value(given: Any) -> Value:
    """Plain numbers as a value."""
    if isinstance(given, (int, float)):
        return ex.const(given)
    if isinstance(given, np.ndarray) and given.dtype != object:
        result = np.empty(given.shape, dtype=object)
        for index in np.ndindex(*given.shape):
            result[index] = ex.const(given[index])
        return result
    if isinstance(given, list):
        return make_array([as_value(g) for g in given])
    return given  # type: ignore[no-any-return]
