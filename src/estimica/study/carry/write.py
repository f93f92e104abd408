"""Values written into the text of a study file: comments, order and layout stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimica.base.files.toml import load_toml
from estimica.study.carry.apply import within
from estimica.study.file.edit import value_at, with_value
from estimica.study.file.several import CaseFiles
from estimica.study.noise.process import PREDICTION
from estimica.study.origin import ValueChange
from estimica.study.stretch import is_stretch
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


def text_with_values(
    text: str, changes: Sequence[ValueChange], folder: Path | None = None
) -> WrittenValues:
    """Starts of tuners go to [tune], those of cases to their case, other values to [model] fix.

    Start values of a stretch behind a gap, or of one of several files, go to `own_starts` of the
    case that it belongs to; names of files are looked for from `folder`.
    """
    tables = load_toml(text)
    places = _CasePlaces(tables, CaseFiles(folder or Path()))
    done, remarks = [], []
    for change in changes:
        place = _place(tables, change, places)
        if place is None:
            remarks.append(f"{change.label} is not written: {_why_not(change)}")
            continue
        text = _with_own_entry(text, place)
        value = _written(change, text, place)
        if value_at(text, place) == value:
            continue
        text = with_value(text, place, value)
        done.append(change)
    return WrittenValues(text, tuple(done), tuple(remarks))


class _CasePlaces:
    """Which entry of a study file a case, one of several files, or a stretch belongs to."""

    def __init__(self, tables: Mapping[str, Any], files: CaseFiles) -> None:
        entries = tables.get("case")
        self._single: dict[str, int] = {}
        self._several: dict[str, int] = {}
        for k, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict):
                several = files.means_several(entry.get("data")) and entry.get("join") is not True
                own = self._several if several else self._single
                own |= dict.fromkeys(files.names(entry), k)

    def start(self, case: str, name: str) -> Place | None:
        """Where the start value of a state stands."""
        if case in self._single:
            return ("case", self._single[case], "free_start", name, "start")
        every = {**self._several, **self._single}
        for known, k in every.items():
            if case == known or is_stretch(case, known):
                return ("case", k, "own_starts", case, name)
        return None

    def disturbance(self, case: str, name: str) -> Place | None:
        """Where the start of a disturbance stands."""
        if case not in self._single:
            return None
        return ("case", self._single[case], "outputs", name, "disturbance", "start")


def _place(tables: Mapping[str, Any], change: ValueChange, places: _CasePlaces) -> Place | None:
    """Where the value belongs; None where the file has no such entry."""
    if change.kind == "tuner":
        known = isinstance(tables.get("tune"), dict) and change.name in tables["tune"]
        return ("tune", change.name, "start") if known or _predicts(tables) else None
    if change.kind == "parameter":
        return ("model", "fix", change.name) if isinstance(tables.get("model"), dict) else None
    if change.kind == "start":
        return places.start(change.case, change.name)
    return places.disturbance(change.case, change.name)


def _predicts(tables: Mapping[str, Any]) -> bool:
    """Whether noise levels are tuners without an entry of their own."""
    estimate = tables.get("estimate")
    return isinstance(estimate, dict) and estimate.get("criterion") == PREDICTION


def _with_own_entry(text: str, place: Place) -> str:
    """The text in which a case has an output of its own that it had from [columns] before.

    A value of one case is not one of all.
    """
    if place[-2:] != ("disturbance", "start") or value_at(text, place[:-2]) is not None:
        return text
    shared = value_at(text, ("columns", place[-3]))
    if not isinstance(shared, dict):
        return text
    return with_value(text, place[:-2], _roleless(shared))


def _roleless(entry: object) -> object:
    """An entry of [columns] as a case writes it."""
    return {k: v for k, v in entry.items() if k != "role"} if isinstance(entry, dict) else entry


def _why_not(change: ValueChange) -> str:
    if change.kind == "tuner":
        return f"[tune] has no entry '{change.name}'"
    if change.kind == "parameter":
        return "there is no [model] whose fix could hold it"
    return f"the file has no case '{change.case}' of its own; the next fit finds it anew"


def _written(change: ValueChange, text: str, place: Place) -> float:
    """The number with few digits, still within the bounds that stand beside it."""
    short = float(f"{change.new:.{DIGITS}g}")
    if change.kind == "parameter":
        return short
    if "own_starts" in place[2:3]:  # the bounds stand with the start values of the whole case
        place = (*place[:2], "free_start", change.name, "start")
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
    shared = _without_disturbances(tables.get("columns"))
    cases = tables.get("case")
    for case in cases if isinstance(cases, list) else ():
        if not isinstance(case, dict):
            continue
        case["free_start"] = _startless(case.get("free_start"))
        case.pop("own_starts", None)
        outputs = _without_disturbances(case.pop("outputs", None))
        # an entry that only repeats the one of all cases is there for its start
        own = {n: c for n, c in outputs.items() if n not in shared or _roleless(shared[n]) != c}
        case |= {"outputs": own} if own else {}
    return tables


def _without_disturbances(columns: object) -> dict[str, Any]:
    """Columns, in which free constants begin nowhere."""
    known = columns if isinstance(columns, dict) else {}
    for column in known.values():
        if isinstance(column, dict) and column.get("disturbance"):
            column["disturbance"] = _startless({"": column["disturbance"]})
    return known


def _startless(entries: object) -> object:
    """Entries by name, each without its start; names alone are entries without one."""
    if isinstance(entries, list):
        return {str(n): {} for n in entries}
    if not isinstance(entries, dict):
        return entries
    plain = {n: e if isinstance(e, dict) else {} for n, e in entries.items()}
    return {n: {k: v for k, v in e.items() if k != "start"} for n, e in plain.items()}
