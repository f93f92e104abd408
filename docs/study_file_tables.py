"""Writes the tables of keys into study-file.md, from the definition that reads study files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from estimica.study.tables.schema import study_schema

PAGE = Path(__file__).with_name("study-file.md")
MARK = re.compile(r"(<!-- keys of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """The page with every table as it should be."""
    schema = study_schema()
    definitions = {"StudyFile": schema, **schema["$defs"]}
    return MARK.sub(lambda m: m[1] + table(definitions[m[2]], definitions) + "\n" + m[3], page)


def table(definition: dict[str, Any], definitions: dict[str, Any]) -> str:
    """One row for each key: what it takes, what it is without it, what it says."""
    rows = ["| key | value | default | |", "|---|---|---|---|"]
    required = definition.get("required", [])
    for key, field in definition["properties"].items():
        default = "**needed**" if key in required else _default(field)
        rows.append(
            f"| `{key}` | {_kind(field, definitions)} | {default} | {field['description']} |"
        )
    return "\n".join(rows)


def _kind(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        inner = definitions[name]
        return _kind(inner, definitions) if "enum" in inner else "a table"
    if "enum" in field:
        return ", ".join(f'`"{v}"`' for v in field["enum"])
    for word in ("oneOf", "anyOf"):
        if word in field:
            kinds = [_kind(f, definitions) for f in field[word]]
            return " or ".join(dict.fromkeys(kinds))
    match field.get("type"):
        case "object":
            return "a table"
        case "array":
            inner = field.get("items", {})
            return (
                "a list of tables" if "$ref" in inner or inner.get("type") == "object" else "a list"
            )
        case "string":
            return "a text"
        case "boolean":
            return "true or false"
        case kind:
            return _number("a whole number" if kind == "integer" else "a number", field)


def _number(word: str, field: dict[str, Any]) -> str:
    limits = [
        f"{sign} {field[key]:g}"
        for key, sign in (
            ("exclusiveMinimum", ">"),
            ("minimum", "≥"),
            ("exclusiveMaximum", "<"),
            ("maximum", "≤"),
        )
        if key in field
    ]
    return f"{word} {', '.join(limits)}" if limits else word


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    if default is None or default in ("", []) or isinstance(default, dict):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
