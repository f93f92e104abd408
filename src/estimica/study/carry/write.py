"""Values written into the text of a study file: comments, order and layout stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from estimica.base.files.toml import load_toml
from estimica.study.carry.apply import within
from estimica.study.file.edit import value_at, with_value
from estimica.study.origin import ValueChange
from estimica.study.toml.layout import Place

#: significant digits of a number in a file: far below the tolerances of simulations, 1e-6, and
#: still short to read
DIGITS = 9


@dataclass(frozen=True)
class WrittenValues:
    """The text with the values, what was changed in it, and what could not be."""

    text: str
    changes: tuple[ValueChange, ...]
    remarks: tuple[str, ...]


def text_with_values(text: str, changes: Sequence[ValueChange]) -> WrittenValues:
    """Starts of tuners go to [tune], those of cases to their case, other values to [model] fix."""
    tables = load_toml(text)
    done, remarks = [], []
    for change in changes:
        place = _place(tables, change)
        if place is None:
            remarks.append(f"{change.label} is not written: {_why_not(change)}")
            continue
        value = _written(change, text, place)
        if value_at(text, place) == value:
            continue
        text = with_value(text, place, value)
        done.append(change)
    return WrittenValues(text, tuple(done), tuple(remarks))


def _place(tables: Mapping[str, Any], change: ValueChange) -> Place | None:
    """Where the value belongs; None where the file has no such entry."""
    if change.kind == "tuner":
        known = isinstance(tables.get("tune"), dict) and change.name in tables["tune"]
        return ("tune", change.name, "start") if known else None
    if change.kind == "parameter":
        return ("model", "fix", change.name) if isinstance(tables.get("model"), dict) else None
    cases = tables.get("case")
    for k, case in enumerate(cases if isinstance(cases, list) else ()):
        if isinstance(case, dict) and case.get("name") == change.case:
            if change.kind == "start":
                return ("case", k, "free_start", change.name, "start")
            return ("case", k, "outputs", change.name, "disturbance", "start")
    return None


def _why_not(change: ValueChange) -> str:
    if change.kind == "tuner":
        return f"[tune] has no entry '{change.name}'"
    if change.kind == "parameter":
        return "there is no [model] whose fix could hold it"
    return f"the file has no case '{change.case}' of its own"


def _written(change: ValueChange, text: str, place: Place) -> float:
    """The number with few digits, still within the bounds that stand beside it."""
    short = float(f"{change.new:.{DIGITS}g}")
    if change.kind == "parameter":
        return short
    return within(short, *(_bound(text, place, key) for key in ("min", "max")))


def _bound(text: str, place: Place, key: str) -> float:
    value = value_at(text, (*place[:-1], key))
    open_end = float("-inf") if key == "min" else float("inf")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else open_end


def without_starts(text: object) -> object:
    """The tables of a study file without where searches begin: what a result depends on.

    A text that is not TOML stays as it is.
    """
    if not isinstance(text, str):
        return text
    try:
        tables = load_toml(text)
    except (ValueError, RecursionError):
        return text
    tables["tune"] = _startless(tables.get("tune"))
    cases = tables.get("case")
    for case in cases if isinstance(cases, list) else ():
        if not isinstance(case, dict):
            continue
        case["free_start"] = _startless(case.get("free_start"))
        outputs = case.get("outputs")
        for column in outputs.values() if isinstance(outputs, dict) else ():
            if isinstance(column, dict) and isinstance(column.get("disturbance"), dict):
                column["disturbance"] = _startless({"": column["disturbance"]})
    return tables


def _startless(entries: object) -> object:
    """Entries by name, each without its start; names alone are entries without one."""
    if isinstance(entries, list):
        return {str(n): {} for n in entries}
    if not isinstance(entries, dict):
        return entries
    plain = {n: e if isinstance(e, dict) else {} for n, e in entries.items()}
    return {n: {k: v for k, v in e.items() if k != "start"} for n, e in plain.items()}
