"""Short forms of a study file: `A4 = 0.5` for `A4 = { start = 0.5 }`, and their like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimica.study.toml.layout import Place

START, COLUMN, TRANSFER = "start", "column", "transfer"
#: what a number or a text alone means, by the place where it stands
SHORT: Mapping[tuple[str, ...], str] = {
    ("tune", "*"): START,
    ("columns", "*"): COLUMN,
    ("columns", "*", "prefilter"): TRANSFER,
    ("case", "*", "inputs", "*"): COLUMN,
    ("case", "*", "outputs", "*"): COLUMN,
    ("case", "*", "free_start", "*"): START,
    ("case", "*", "prefilter"): TRANSFER,
    ("case", "*", "outputs", "*", "prefilter"): TRANSFER,
}
KINDS = ("number", "text", "column")
NAMES = ("case", "*", "free_start")
DRIVES = ("tune", "*", "drives")
SWITCHES = (("case", "*", "outputs", "*", "disturbance"), ("columns", "*", "disturbance"))


def matches(pattern: tuple[str, ...], place: Place) -> bool:
    """Whether a place is one that a pattern means; `*` stands for any name or index."""
    return len(pattern) == len(place) and all(
        p == "*" or p == s for p, s in zip(pattern, place, strict=True)
    )


def short_key(place: Place) -> str | None:
    """The key that a number or text alone stands for."""
    return next((key for pattern, key in SHORT.items() if matches(pattern, place)), None)


def to_full_form(place: Place, value: object, case: Mapping[str, Any]) -> dict[str, Any] | None:
    """The table that a short form means; `case` is the case it stands in."""
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        if matches(NAMES, place):
            return {name: {} for name in value}
        return dict.fromkeys(value, place[1]) if matches(DRIVES, place) else None
    if isinstance(value, bool):
        return {} if any(matches(s, place) for s in SWITCHES) else None
    key = short_key(place)
    if key is None or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, str) is (key == START):
        return None
    if place[2:3] == ("outputs",) and key == COLUMN and _is_frequency(case):
        return {"real": f"Re({value})", "imag": f"Im({value})"}
    return {key: value}


def to_short_form(place: Place, value: object) -> object:
    """The short form of a table that has one."""
    if not isinstance(value, Mapping):
        return value
    if matches(NAMES, place) and value and all(v == {} for v in value.values()):
        return list(value)
    if any(matches(s, place) for s in SWITCHES) and not value:
        return True
    key = short_key(place)
    if key is not None and list(value) == [key]:
        alone = value[key]
        kinds = (int, float) if key == START else (str,)
        return alone if isinstance(alone, kinds) and not isinstance(alone, bool) else value
    return value


def _is_frequency(case: Mapping[str, Any]) -> bool:
    return "frequency" in case or "angular_frequency" in case


def is_short(pattern: Place, kind: str) -> bool:
    """Whether a number, text or list at a place only is the short form of a table."""
    if matches(NAMES, pattern):
        return kind == "list"
    key = short_key(pattern)
    return key is not None and (kind == "number") is (key == START) and kind in KINDS
