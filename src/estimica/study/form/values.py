"""Typed: what a person types into a field as the value that it means, and back."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from estimica.base.files.toml import load_toml
from estimica.study.form.fields import TEXTS, Field
from estimica.study.toml.write import toml_value

_WHOLE = re.compile(r"[+-]?\d+")


def value_from_text(field: Field, text: str) -> Any:
    """The value of a text that was typed; None where nothing was.

    What does not fit is kept as a text, so that the study file's own check tells what is wrong.
    """
    plain = text.strip()
    if not plain:
        return None
    if field.kind in TEXTS:
        return plain
    if field.kind == "number":
        return _number(plain)
    if field.kind == "truth":
        return {"true": True, "false": False}.get(plain.lower(), plain)
    if field.kind == "list" and field.item is not None:
        return _list(field.item, plain)
    number = _number(plain)
    return _as_toml(plain, plain) if number == plain else number


def text_from_value(value: object) -> str:
    """A value as it stands in a field: a text without its quotes, a list without brackets."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    text = toml_value(value)
    if isinstance(value, (list, tuple)) and not any(isinstance(v, (list, dict)) for v in value):
        plain = all(isinstance(v, str) and v.strip(" ,[]\"'") == v and "," not in v for v in value)
        return ", ".join(map(str, value)) if plain else text[1:-1]
    return text


def _number(text: str) -> Any:
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def _list(item: Field, text: str) -> Any:
    found = _as_toml(text, None) if text.startswith("[") else None
    found = _as_toml(f"[{text}]", None) if found is None else found
    if found is None:
        return [
            value_from_text(item, part)
            for part in text.removeprefix("[").removesuffix("]").split(",")
        ]
    lone = item.kind == "list" and not any(isinstance(v, list) for v in found)
    return [found] if lone else found


def _as_toml(text: str, default: Any) -> Any:
    if "\n" in text:
        return default
    try:
        return load_toml(f"v = {text}")["v"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return default
