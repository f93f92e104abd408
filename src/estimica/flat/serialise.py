"""FlatSystem to and from compact JSON: a table of nodes, and for each thing its own fields only."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from estimica.flat.expression import Expression
from estimica.flat.node_table import NodeTable, read_nodes
from estimica.flat.system import (
    Action,
    Assertion,
    Branch,
    Equation,
    Experiment,
    FlatSystem,
    Kind,
    Origin,
    StateSelect,
    Variability,
    Variable,
    When,
)

#: raised whenever the format changes
FORMAT = 1

T = TypeVar("T")


def to_json(system: FlatSystem) -> str:
    """`system` as text."""
    writer = _Writer()
    content = {
        "format": FORMAT,
        "name": system.name,
        "variables": [writer.fields(v) for v in system.variables],
        "equations": [writer.fields(e) for e in system.equations],
        "initial_equations": [writer.fields(e) for e in system.initial_equations],
        "whens": [writer.when(w) for w in system.whens],
        "assertions": [writer.fields(a) for a in system.assertions],
        "description": system.description,
        "experiment": dataclasses.asdict(system.experiment),
        "notes": list(system.notes),
        "source": system.source,
        "of_function": system.of_function,
        "modification": system.modification,
        "libraries": list(system.libraries),
        "inflows": [[name, writer.nodes.number(value)] for name, value in system.inflows],
    }
    content["nodes"] = writer.nodes.rows
    content["origins"] = writer.origins
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def from_json(text: str) -> FlatSystem:
    """The system that `to_json` wrote; ValueError or KeyError where the text is none of its own."""
    content = json.loads(text)
    if content["format"] != FORMAT:
        raise ValueError(f"format {content['format']}, not {FORMAT}")
    reader = _Reader(content["nodes"], content["origins"])
    return FlatSystem(
        name=content["name"],
        variables=reader.all(reader.variable, content["variables"]),
        equations=reader.all(reader.equation, content["equations"]),
        initial_equations=reader.all(reader.equation, content["initial_equations"]),
        whens=reader.all(reader.when, content["whens"]),
        assertions=reader.all(reader.assertion, content["assertions"]),
        description=content["description"],
        experiment=Experiment(**content["experiment"]),
        notes=tuple(content["notes"]),
        source=content["source"],
        of_function=content.get("of_function", False),
        modification=content.get("modification", ""),
        libraries=tuple(content.get("libraries", ())),
        inflows=reader.named(content.get("inflows", ())),
    )


class _Writer:
    def __init__(self) -> None:
        self.nodes = NodeTable()
        self.origins: list[list[Any]] = []
        self._origin_numbers: dict[Origin, int] = {}

    def fields(self, thing: Any) -> dict[str, Any]:
        """The fields of a dataclass that differ from their defaults."""
        return {
            f.name: self._value(value)
            for f in dataclasses.fields(thing)
            if (value := getattr(thing, f.name)) != f.default
        }

    def when(self, when: When) -> dict[str, Any]:
        return {
            "branches": [
                [
                    [self.nodes.number(c) for c in branch.conditions],
                    [self.fields(a) for a in branch.actions],
                ]
                for branch in when.branches
            ],
            "origin": self._origin(when.origin),
        }

    def _value(self, value: Any) -> Any:
        if isinstance(value, Expression):
            return self.nodes.number(value)
        if isinstance(value, Origin):
            return self._origin(value)
        if isinstance(value, StrEnum):
            return value.value
        return list(value) if isinstance(value, tuple) else value

    def _origin(self, origin: Origin) -> int:
        if origin not in self._origin_numbers:
            self._origin_numbers[origin] = len(self.origins)
            self.origins.append(
                [
                    origin.text,
                    origin.component,
                    origin.kind,
                    origin.file,
                    origin.line,
                    origin.column,
                ]
            )
        return self._origin_numbers[origin]


_EXPRESSIONS = ("binding", "start", "minimum", "maximum", "nominal")


class _Reader:
    def __init__(self, nodes: list[list[Any]], origins: list[list[Any]]) -> None:
        self._origins = [Origin(*o) for o in origins]
        self._nodes = read_nodes(nodes)

    def all(
        self, read: Callable[[dict[str, Any]], T], raw: Iterable[dict[str, Any]]
    ) -> tuple[T, ...]:
        return tuple(read(r) for r in raw)

    def named(self, raw: Iterable[Sequence[Any]]) -> tuple[tuple[str, Expression], ...]:
        return tuple((name, self._nodes[node]) for name, node in raw)

    def variable(self, raw: dict[str, Any]) -> Variable:
        for key in _EXPRESSIONS:
            if raw.get(key) is not None:
                raw[key] = self._nodes[raw[key]]
        if "kind" in raw:
            raw["kind"] = Kind(raw["kind"])
        if "variability" in raw:
            raw["variability"] = Variability(raw["variability"])
        if "state_select" in raw:
            raw["state_select"] = StateSelect(raw["state_select"])
        if "literals" in raw:
            raw["literals"] = tuple(raw["literals"])
        return Variable(**self._placed(raw))

    def equation(self, raw: dict[str, Any]) -> Equation:
        return Equation(
            self._nodes[raw["lhs"]],
            self._nodes[raw["rhs"]],
            self._placed(raw).get("origin", Origin()),
        )

    def assertion(self, raw: dict[str, Any]) -> Assertion:
        return Assertion(**{**self._placed(raw), "condition": self._nodes[raw["condition"]]})

    def action(self, raw: dict[str, Any]) -> Action:
        return Action(**{**self._placed(raw), "value": self._nodes[raw["value"]]})

    def when(self, raw: dict[str, Any]) -> When:
        branches = tuple(
            Branch(tuple(self._nodes[c] for c in conditions), self.all(self.action, actions))
            for conditions, actions in raw["branches"]
        )
        return When(branches, self._origins[raw["origin"]])

    def _placed(self, raw: dict[str, Any]) -> dict[str, Any]:
        if "origin" in raw:
            raw["origin"] = self._origins[raw["origin"]]
        return raw
