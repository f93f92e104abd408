"""Declarations of the flat model as scalar variables with their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimica.base.errors import SourceError
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Origin, StateSelect, Variability, Variable
from estimica.source.decode.origins import SourceFiles
from estimica.source.interpreter.expressions import Interpreter
from estimica.source.interpreter.names import Declaration, split_name
from estimica.source.interpreter.values import Value, broadcast, is_array
from estimica.source.syntax.nodes import Node, span_of


def decode_variables(
    interpreter: Interpreter, flat: Mapping[str, Any], files: SourceFiles, discrete: frozenset[str]
) -> tuple[Variable, ...]:
    """Every scalar of the model; Reals in `discrete` are set by when-clauses."""
    reader = _Reader(interpreter, flat, files, discrete)
    return tuple(
        variable
        for declared in interpreter.names.declared.values()
        for variable in reader.scalars_of(declared)
    )


def declaration_origin(declared: Declaration, files: SourceFiles, kind: str) -> Origin:
    """Where a variable is declared."""
    component = declared.name.rpartition(".")[0]
    return files.origin(declared.raw["source_span"], kind, component)


class _Reader:
    def __init__(
        self,
        interpreter: Interpreter,
        flat: Mapping[str, Any],
        files: SourceFiles,
        discrete: frozenset[str],
    ) -> None:
        self._interpreter = interpreter
        self._files = files
        self._discrete = discrete
        self._final = flat["variable_final_flags"]
        self._types = flat["variable_type_names"]
        self._inputs = set(flat["top_level_input_components"])

    def scalars_of(self, declared: Declaration) -> list[Variable]:
        raw = declared.raw
        origin = declaration_origin(declared, self._files, "declaration")
        with self._interpreter.at(origin):
            given = given_start(raw, declared)
            start = self._attribute(declared, raw["start"] if given else None)
            minimum = self._attribute(declared, raw["min"])
            maximum = self._attribute(declared, raw["max"])
            nominal = self._attribute(declared, raw["nominal"])
            binding = self._binding(declared, start)
        literals = (
            self._interpreter.names.literals_of(self._types.get(declared.name, ""))
            if declared.kind is Kind.ENUMERATION
            else ()
        )
        result = []
        for name, index in declared.elements():
            bound = binding[name]
            result.append(
                Variable(
                    name=name,
                    kind=declared.kind,
                    variability=self._variability(declared, name),
                    causality=self._causality(declared),
                    binding=bound if isinstance(bound, Expression) else None,
                    start=start[name],
                    fixed=_fixed(declared, index),
                    minimum=minimum[name],
                    maximum=maximum[name],
                    nominal=nominal[name],
                    unit=raw["unit"] or "",
                    display_unit=raw["display_unit"] or "",
                    quantity=raw["quantity"] or "",
                    description=raw["description"] or "",
                    state_select=StateSelect(raw["state_select"].lower()),
                    literals=literals,
                    text=bound if isinstance(bound, str) else "",
                    protected=bool(raw["is_protected"]),
                    final=bool(self._final.get(declared.name, False)),
                    flow=bool(raw["flow"]),
                    evaluated=self._interpreter.parameters.evaluated.get(name, ""),
                    origin=origin,
                )
            )
        return result

    def _attribute(self, declared: Declaration, node: Node | None) -> dict[str, Expression | None]:
        """An attribute of every element; None where it is not given or is not a number."""
        value = self._interpreter.declared_value(declared, node) if node is not None else None
        spread = self._spread(declared, value)
        return {n: v if isinstance(v, Expression) else None for n, v in spread.items()}

    def _binding(
        self, declared: Declaration, start: dict[str, Expression | None]
    ) -> dict[str, Expression | str | None]:
        if not declared.is_parameter:
            return {n: None for n, _ in declared.elements()}
        value = self._interpreter.parameters.binding(declared)
        if value is None and declared.raw["fixed"] != [False] and declared.kind is not Kind.STRING:
            if any(s is not None for s in start.values()):
                self._interpreter.notes.append(
                    f"parameter '{declared.name}' has no value; its start value is used"
                )
            return dict(start)
        return self._spread(declared, value)

    def _spread(self, declared: Declaration, value: Value) -> dict[str, Expression | str | None]:
        if not declared.dims:
            scalar = value.flat[0] if is_array(value) and value.size == 1 else value
            if scalar is not None and not isinstance(scalar, (Expression, str)):
                raise SourceError("S011", f"the value of '{declared.name}' is not a single number")
            return {declared.name: scalar}
        spread = broadcast(value, declared.dims)
        return {name: spread[index] for name, index in declared.elements()}

    def _variability(self, declared: Declaration, name: str) -> Variability:
        if declared.variability is Variability.CONTINUOUS and name in self._discrete:
            return Variability.DISCRETE
        return declared.variability

    def _causality(self, declared: Declaration) -> str:
        causality = declared.raw["causality"]
        word = next(iter(causality)).lower() if isinstance(causality, dict) else ""
        if declared.is_parameter or (declared.raw["binding"] is not None and word == "input"):
            return "local"
        top = "." not in declared.name
        if word == "input" and (top or split_name(declared.name)[0][0] in self._inputs):
            return "input"
        return "output" if word == "output" and top else "local"


def given_start(raw: Node, declared: Declaration) -> bool:
    """Whether a start value was written: the compiler puts in zeros, which point at the name."""
    if raw["start"] is None:
        return False
    if declared.is_parameter and raw["binding"] is not None:
        return False
    return "Literal" not in raw["start"] or span_of(raw["start"]) != raw["source_span"]


def _fixed(declared: Declaration, index: tuple[int, ...]) -> bool:
    fixed: list[bool] | None = declared.raw["fixed"]
    if not fixed:
        return declared.is_parameter
    if len(fixed) == 1 or not index:
        return bool(fixed[0])
    position = 0
    for size, i in zip(declared.dims, index, strict=True):
        position = position * size + i
    return bool(fixed[position])
