"""A Base Modelica document in the form of the compiler's flat JSON, which `decode` reads."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from estimica.base.errors import SourceError, UnsupportedError
from estimica.source.base_modelica.document import Class, Component, Document, Modification, Node
from estimica.source.base_modelica.types import (
    BOOLEAN,
    ENUMERATION,
    INTEGER,
    REAL,
    STRING,
    Type,
    Types,
    rewrite_references,
)
from estimica.source.base_modelica.variables import (
    element_of,
    flat_functions,
    flat_variable,
    literal_node,
    modification_of_element,
    qualified,
    qualified_node,
)
from estimica.source.decode.sections import FlatSections, add_section
from estimica.source.fixed_values import FixedValue
from estimica.source.interpreter.expressions import Interpreter
from estimica.source.interpreter.values import MOST_ELEMENTS, Value, ValueMismatch, is_array

if TYPE_CHECKING:
    from collections.abc import Iterator

_SETTLED = ("Parameter", "Constant")
_SUBSCRIPTED = re.compile(r"[^\[\]]*(\[\d+(,\s*\d+)*\][^\[\]]*)*")


@dataclass(frozen=True, slots=True)
class DocumentSections:
    """The sections of the model, in the way in which hidden sections are given to `decode`."""

    model: Class
    dropped: frozenset[str]  # variables without a meaning here: texts that change

    def sections(self, interpreter: Interpreter) -> FlatSections:
        """The sections, loops and settled branches dissolved."""
        result = FlatSections()
        for section in self.model.sections:
            nodes = [n for n in section.nodes if not self._is_dropped(n)]
            add_section(
                interpreter, section.kind, [n for n in nodes if not _is_advice(n)], "", result
            )
        return result

    def _is_dropped(self, node: Node) -> bool:
        content = node.get("Equation") or {}
        reference = (content.get("lhs") or {}).get("VarRef")
        return reference is not None and reference["name"]["name"] in self.dropped


def _is_advice(node: Node) -> bool:
    """Whether an initial equation only says which start values come first, or a guess."""
    call = node.get("Call") or {}
    left = (node.get("Equation") or {}).get("lhs") or {}
    guess = (left.get("FunctionCall") or {}).get("name") or {}
    return call.get("name") == "prioritize" or guess.get("name") == "guess"


@dataclass(slots=True)
class FlatModel:
    """The flat model while it is built, and what is to be known beside it."""

    flat: dict[str, Any]
    sections: DocumentSections
    notes: list[str] = field(default_factory=list)
    evaluated: frozenset[str] = frozenset()  # parameters that the writer has built in


def flat_model(
    document: Document, model: Class, label: str, fix: Mapping[str, FixedValue]
) -> FlatModel:
    """`model` of `document` as variables, functions and sections, with the values `fix`."""
    return _Builder(document, model, Types(document, label), label, fix).built()


class _Builder:
    def __init__(
        self,
        document: Document,
        model: Class,
        types: Types,
        label: str,
        fix: Mapping[str, FixedValue],
    ) -> None:
        self._document = document
        self._model = model
        self._types = types
        self._label = label
        self._fix = fix
        self._variables: dict[str, Node] = {}
        self._type_names: dict[str, str] = {}
        self._final: dict[str, bool] = {}
        self._inputs: list[str] = []
        self._evaluated: set[str] = set()
        self._dropped: set[str] = set()
        self._sizing: set[str] = set()
        self._notes: list[str] = []
        self._functions = flat_functions(document, types)
        self._equated = _equated_names(model)
        self._sizes: Interpreter | None = None

    def built(self) -> FlatModel:
        components = [*self._document.constants, *self._model.components]
        self._declared_once(components)
        rewrite_references(self._document.references, self._types, self._array_ranks(components))
        for component in components:
            self._expand(component)
        self._refuse_parts_of_variables()
        self._guess()
        if self._dropped:
            listed = ", ".join(sorted(self._dropped)[:3])
            self._notes.append(f"texts that change during the run are left out: {listed}")
        sections = DocumentSections(self._model, frozenset(self._dropped))
        return FlatModel(self._flat(), sections, self._notes, frozenset(self._evaluated))

    def _flat(self) -> dict[str, Any]:
        return {
            **_empty(),
            "unchecked": True,
            "variables": self._variables,
            "variable_type_names": self._type_names,
            "variable_final_flags": self._final,
            "functions": self._functions,
            "model_description": self._model.description,
            "top_level_input_components": self._inputs,
            "enum_literal_ordinals": self._types.ordinals(),
            "parameter_branch_selections": [
                {"kind": "ArrayDimension", "references": [[n] for n in sorted(self._sizing)]}
            ],
        }

    # --- names ---

    def _declared_once(self, components: Sequence[Component]) -> None:
        seen: set[str] = set()
        for component in components:
            if component.name in seen:
                raise SourceError(
                    "S204",
                    f"{self._label}: '{component.name}' is declared twice; leave one out",
                )
            seen.add(component.name)

    def _refuse_parts_of_variables(self) -> None:
        for name in self._variables:
            whole = name.rpartition(".")[0]
            while whole:
                if whole in self._variables:
                    raise SourceError(
                        "S204",
                        f"{self._label}: '{whole}' is a variable; '{name}' cannot be part of it",
                    )
                whole = whole.rpartition(".")[0]

    def _array_ranks(self, components: Sequence[Component]) -> dict[str, int]:
        """The numbers of dimensions of arrays of records."""
        ranks = {}
        for component in components:
            found = self._types.of(component)
            if found.record is not None and component.subscripts:
                ranks[component.name] = len(component.subscripts)
        return ranks

    # --- sizes ---

    def _shape(self, component: Component, declared: Type, binding: Node | None) -> tuple[int, ...]:
        subscripts = [*component.subscripts, *declared.subscripts]
        shape = tuple(self._size(component, s, binding, k) for k, s in enumerate(subscripts))
        if math.prod(shape) > MOST_ELEMENTS or any(n < 0 for n in shape):
            sizes = " x ".join(str(n) for n in shape)
            raise SourceError(
                "S205",
                f"{self._label}: '{component.name}' has {sizes} elements; between 0 and "
                f"{MOST_ELEMENTS} are possible",
            )
        return shape

    def _size(self, component: Component, node: Node, binding: Node | None, axis: int) -> int:
        literal = _whole_number(node)
        if literal is not None:
            return literal
        expression = (node.get("Expr") or {}).get("expr") or {}
        if "Range" in expression:  # an enumeration counts the elements
            return self._number(expression["Range"]["end"])
        name = (expression.get("VarRef") or {"name": {"name": ""}})["name"]["name"]
        if name == "Boolean":
            return 2
        try:
            if "Colon" in node:
                return _extent(self._value(binding) if binding is not None else None, axis)
            return self._number(node["Expr"]["expr"])
        except (ValueMismatch, SourceError, UnsupportedError) as reason:
            raise SourceError(
                "S205",
                f"{self._label}: a size of '{component.name}' cannot be found ({reason}); "
                "write a number there",
            ) from None

    def _number(self, node: Node) -> int:
        value = self._value(node)
        number = self._interpreter().number(value, "it sets the size of an array")
        self._sizing |= self._interpreter().parameters.evaluated.keys()
        if not -MOST_ELEMENTS <= number <= MOST_ELEMENTS:
            raise ValueMismatch(f"{number:g} is not the size of an array")
        return int(number)

    def _value(self, node: Node) -> Value:
        return self._interpreter().value(node, {})

    def _interpreter(self) -> Interpreter:
        """Of what is declared so far: sizes depend on parameters that stand before them."""
        settled = {n: raw for n, raw in self._variables.items() if raw["variability"] in _SETTLED}
        if self._sizes is None or len(self._sizes.names.declared) < len(settled):
            self._sizes = Interpreter({**self._flat(), "variables": settled})
        return self._sizes

    # --- variables ---

    def _expand(self, component: Component) -> None:
        declared = self._types.of(component)
        if "input" in component.prefixes:
            self._inputs.append(component.name)
        modification = component.modification.over(declared.modification)
        name = self._types.plain(component.name)
        self._declare(component, name, declared, modification, modification.value)

    def _declare(
        self,
        component: Component,
        name: str,
        declared: Type,
        modification: Modification,
        binding: Node | None,
    ) -> None:
        shape = self._shape(component, declared, binding)
        if declared.record is not None:
            self._declare_record(component, name, declared.record, shape, modification, binding)
            return
        if not _SUBSCRIPTED.fullmatch(name):
            raise SourceError(
                "S206", f"{self._label}: the subscripts in the name '{name}' are not numbers"
            )
        if name in self._fix:
            binding = literal_node(self._fix[name])
        raw = flat_variable(component, declared, shape, modification, binding)
        if f"{name}.start" in self._fix:
            raw["start"] = literal_node(self._fix[f"{name}.start"])
        if declared.number == STRING and raw["variability"] not in _SETTLED:
            self._dropped.add(name)
            return
        self._variables[name] = raw
        self._final[name] = "final" in component.prefixes
        if declared.enumeration:
            self._type_names[name] = declared.enumeration
        if component.annotation.at("Evaluate").value == _TRUE:
            self._evaluated.add(name)

    def _declare_record(
        self,
        component: Component,
        name: str,
        record: Class,
        shape: tuple[int, ...],
        modification: Modification,
        binding: Node | None,
    ) -> None:
        for index in itertools.product(*(range(1, n + 1) for n in shape)):
            element = f"{name}[{','.join(map(str, index))}]" if index else name
            whole = element_of(binding, index)
            names = frozenset(f.name for f in record.components)
            for part in record.components:
                own = modification_of_element(modification.at(part.name), index)
                given = own.over(qualified(part.modification, element, names))
                full = f"{element}.{part.name}"
                value = given.value
                if whole is not None:
                    value = {"FieldAccess": {"base": whole, "field": part.name}}
                elif own.value is None and full in self._equated:
                    value = None  # an equation says what the value is
                inner = Component(
                    full,
                    part.type_name,
                    part.prefixes | (component.prefixes - {"input", "output"})
                    if not part.prefixes & {"constant", "parameter"}
                    else part.prefixes,
                    [qualified_node(s, element, names) for s in part.subscripts],
                    given,
                    part.description,
                    component.annotation,
                    component.protected or part.protected,
                    component.span,
                )
                kind = self._types.of(inner)
                self._declare(inner, full, kind, given.over(kind.modification), value)

    def _guess(self) -> None:
        """`guess(p) = value`: where the search for an unknown parameter begins."""
        guesses = [*self._model.guesses]
        for section in self._model.sections:
            for node in section.nodes:
                content = node.get("Equation")
                if content is not None and _is_advice(node):
                    guesses.append((content["lhs"], content["rhs"]))
        for target, value in guesses:
            call = target.get("FunctionCall")
            reference = call["args"][0].get("VarRef") if call and call["args"] else None
            raw = self._variables.get(reference["name"]["name"]) if reference else None
            if raw is None:
                raise SourceError(
                    "S207",
                    f"{self._label}: 'parameter equation' needs guess(name) on its left side, the "
                    "name being one of the model",
                )
            raw["start"] = value


_TRUE: Node = {"Literal": {"value": {"Boolean": True}}}


def _empty() -> dict[str, Any]:
    """The parts of a flat model, with nothing in them."""
    lists = (
        "equations", "structured_equations", "assert_equations", "initial_equations",
        "initial_structured_equations", "initial_assert_equations", "algorithms",
        "initial_algorithms", "when_chains",
    )  # fmt: skip
    return {
        **{key: [] for key in lists},
        "predefined_types": {
            "real": REAL,
            "integer": INTEGER,
            "boolean": BOOLEAN,
            "string": STRING,
        },
        "effective_types": {},
        "enumeration_type_roots": [ENUMERATION],
    }


def _whole_number(node: Node) -> int | None:
    literal = ((node.get("Expr") or {}).get("expr") or {}).get("Literal")
    return literal["value"].get("Integer") if literal else None


def _extent(value: Value, axis: int) -> int:
    if not is_array(value) or value.ndim <= axis:
        raise ValueMismatch("it has no value to take the size from")
    return int(value.shape[axis])


def _equated_names(model: Class) -> frozenset[str]:
    """The names that stand alone on the left side of an equation."""
    return frozenset(
        _left_names(n for s in model.sections if s.kind == "equation" for n in s.nodes)
    )


def _left_names(nodes: Iterator[Node]) -> Iterator[str]:
    for node in nodes:
        left = (node.get("Equation") or {}).get("lhs") or {}
        if "VarRef" in left:
            yield left["VarRef"]["name"]["name"]
