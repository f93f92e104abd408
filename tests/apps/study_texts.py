"""Every place of a study that can hold a text, from the schema; and studies with a text put there."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from estimica.study.tables.schema import study_schema

Place = tuple[str | int, ...]
NAME = "<name>"  # the last step of a place: the name of an entry itself

_PLAIN: dict[str, Any] = {
    "static": {"expression": "a*x"},
    "tune": {"a": 1.0},
    "case": [
        {"name": "points", "data": "points.csv", "inputs": {"x": "x"}, "outputs": {"y": "y"}},
    ],
}


def text_places() -> list[Place]:
    """All of them; a name that the user may choose stands for itself and for what is below."""
    schema = study_schema()
    return list(dict.fromkeys(_places(schema, schema, (), ())))


def _places(
    node: Mapping[str, Any], schema: Mapping[str, Any], place: Place, seen: tuple[str, ...]
) -> Iterator[Place]:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name not in seen:  # a table within itself
            yield from _places(schema["$defs"][name], schema, place, (*seen, name))
        return
    for option in (*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())):
        yield from _places(option, schema, place, seen)
    if node.get("type") == "string" or "enum" in node or "const" in node:
        yield place
    for name, inner in node.get("properties", {}).items():
        yield from _places(inner, schema, (*place, name), seen)
    more = node.get("additionalProperties")
    if isinstance(more, Mapping):
        yield (*place, NAME)
        yield from _places(more, schema, (*place, "entry"), seen)
    for inner in (node["items"],) if isinstance(node.get("items"), Mapping) else ():
        yield from _places(inner, schema, (*place, 0), seen)
    for k, inner in enumerate(node.get("prefixItems", ())):
        yield from _places(inner, schema, (*place, k), seen)


def study_with(place: Place, text: str) -> dict[str, Any]:
    """A study, right but for a text put at a place."""
    tables = copy.deepcopy(_PLAIN)
    if place[0] == "model":
        del tables["static"]
        tables["model"] = {"source": "plain.mo"}
        tables["tune"] = {"k": 1.0}
        tables["case"][0] |= {"inputs": {}, "outputs": {"x": "y"}}
    if place[:2] == ("criterion", 0):
        tables["criterion"] = [{"name": "goal", "of": "x", "kind": "value"}]
        if place[2:] == ("function",):
            tables = {
                "model": {"source": "plain.mo"},
                "tune": {"k": {"start": 1.0, "min": 0.1, "max": 10}},
                "case": [{"name": "run", "stop": 1.0}],
                "criterion": [{"name": "goal", "kind": "function"}],
            }
    if place[0] in ("input_design", "backcalculate"):
        tables.setdefault(str(place[0]), {})
    _put(tables, place, text)
    return tables


def _put(value: Any, place: Place, text: str) -> Any:
    """The value with the text at a place; what is missing on the way is made."""
    if not place:
        return text
    step, *rest = place
    if step == NAME:
        return {**(value if isinstance(value, dict) else {}), text: 1.0}
    if isinstance(step, int):
        entries = list(value) if isinstance(value, list) else []
        entries += [{} if rest and isinstance(rest[0], str) else 1.0] * (step + 1 - len(entries))
        entries[step] = _put(entries[step], tuple(rest), text)
        return entries
    table = value if isinstance(value, dict) else {}
    table[step] = _put(table.get(step), tuple(rest), text)
    return table


def written(tables: Mapping[str, Any]) -> str:
    """The tables as TOML."""
    return "".join(f"{key} = {_toml(value)}\n" for key, value in tables.items())


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
