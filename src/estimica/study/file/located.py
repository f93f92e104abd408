"""LocatedProblem: what is wrong with a study, at the place of the text where it is fixed.

What the checks say of a case, a tuner or a table is brought to the field that their words name, so
that a form can show each message beside its field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from estimica.base.errors import StudyError
from estimica.base.problems import Fix, Problem
from estimica.study.file.read import examine_tables
from estimica.study.form.tables import form_of
from estimica.study.toml.layout import Place, parse_toml
from estimica.study.toml.put import NOTHING, value_at_place
from estimica.study.toml.short_forms import to_full_form

_NAMED = re.compile(r"(?:\[tune\] (.+)|(tuner|case|criterion|indicator) '(.+)')$", re.DOTALL)
_SHARED = re.compile(r"\[columns\] (.+)$", re.DOTALL)
_NUMBERED = re.compile(r"\[\[case\]\] (\d+)$")
_TABLE = re.compile(r"\[+(\w+)\]+")
_SIGNAL = re.compile(r"(?:.*? no |)(input|output|variable)s? '([^']*)'(: )?")
_WORD = re.compile(r"(\w+)\b(?!:)")
_MISSING = re.compile(r"'(\w+)' is missing|has no (\w+)(?:$|,)")
_QUOTED = re.compile(r"'([^']*)'")
_ADVICE = re.compile(r"give an? (\w+)$")


@dataclass(frozen=True, slots=True)
class LocatedProblem:
    """One thing to fix, and where: the steps to a table or a field of the text."""

    place: Place
    code: str
    message: str  # without the words that only name the place
    suggestion: str = ""
    warning: bool = False
    note: bool = False  # a warning that asks for nothing
    where: str = field(default="", compare=False)  # as the problem names it
    fixes: tuple[Fix, ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        """The whole sentence."""
        return f"{self.message}; {self.suggestion}" if self.suggestion else self.message


def located_problems(text: str) -> tuple[LocatedProblem, ...]:
    """Everything that is wrong with a text by itself, without its model and data."""
    try:
        data = parse_toml(text)
    except StudyError as error:
        return (LocatedProblem((), error.code, error.message),)
    return tuple(dict.fromkeys(_placed(p, data) for p in examine_tables(data)))


def place_of_problem(problem: Problem, text: str) -> Place:
    """Where in the text a problem of `check_file` is fixed."""
    return located_problem(problem, text).place


def located_problem(problem: Problem, text: str) -> LocatedProblem:
    """A problem of `check_file` at its place, without the words that only name the place."""
    try:
        data = parse_toml(text)
    except StudyError:
        data = {}
    return _placed(problem, data)


def _placed(problem: Problem, data: Mapping[str, Any]) -> LocatedProblem:
    place = problem.place[: _depth(problem.place)] or _owner(problem, data)
    message = problem.message
    if not place:
        place = _mentioned(f"{message} {problem.suggestion}")
    else:
        place, message = _followed(place, message, data)
        place = (*place, *_last_step(place, message, problem, data))
    return LocatedProblem(
        place,
        problem.code,
        message,
        problem.suggestion,
        problem.warning,
        problem.note,
        problem.where,
        problem.fixes,
    )


# --- the table that a problem is of --------------------------------------------------------------


def _depth(place: Place) -> int:
    return 2 if place[:1] in (("tune",), ("case",), ("columns",)) else 1


def _owner(problem: Problem, data: Mapping[str, Any]) -> Place:
    """The tuner, case or table that a problem names as its place."""
    shared = _SHARED.match(problem.where)
    if shared:
        return ("columns", shared[1])
    named = _NAMED.match(problem.where)
    if named and (named[1] or named[2] == "tuner"):
        return ("tune", named[1] or named[3])
    if named:
        items = data.get(named[2])
        items = items if isinstance(items, list) else []
        names = [c.get("name") if isinstance(c, dict) else None for c in items]
        indices = [k for k, name in enumerate(names) if name == named[3]]
        which = -1 if "times" in problem.message else 0
        return (named[2], indices[which]) if indices else (named[2],)
    numbered = _NUMBERED.match(problem.where)
    if numbered:
        return ("case", int(numbered[1]) - 1)
    table = _TABLE.fullmatch(problem.where)
    return (table[1],) if table else ()


def _mentioned(words: str) -> Place:
    """The first table that the words write in brackets."""
    known = {f.name for f in form_of(()).fields}
    return next(((name,) for name in _TABLE.findall(words) if name in known), ())


# --- the field within it -------------------------------------------------------------------------


def _followed(place: Place, message: str, data: Mapping[str, Any]) -> tuple[Place, str]:
    """The place that the words before the message lead to, and the message without them."""
    while True:
        step = _prefix(place, message, data)
        if step is None:
            return place, message
        steps, size = step
        place, message = (*place, *steps), message[size:]
        if not size:
            return place, message


def _prefix(place: Place, message: str, data: Mapping[str, Any]) -> tuple[Place, int] | None:
    """Steps at the front of a message, and how many letters they take."""
    for name in sorted(_names(place, data), key=len, reverse=True):
        if message.startswith(f"{name}: "):
            return (name,), len(name) + 2
    index = re.match(r"(\d+): ", message)
    if index and isinstance(value_at_place(data, place), list):
        return (int(index[1]) - 1,), index.end()
    signal = _SIGNAL.match(message)
    if signal and signal[3] and place == ("columns", signal[2]):
        return (), signal.end()
    if signal and place[:1] == ("case",) and len(place) == 2:
        table = "inputs" if signal[1] == "input" else "outputs"
        if signal[2] in _names((*place, table), data):
            return (table, signal[2]), signal.end() if signal[3] else 0
        return ((table,), 0) if signal[1] == "input" else None
    return None


def _last_step(place: Place, message: str, problem: Problem, data: Mapping[str, Any]) -> Place:
    """The field that the sentence itself speaks of."""
    names = _names(place, data)
    missing = _MISSING.search(message)
    if missing and (missing[1] or missing[2]) in names:
        return (missing[1] or missing[2],)
    if message.startswith("no column") and "column" in names:
        return ("column",)
    if message.startswith("is given") and "name" in names:
        return ("name",)
    if problem.code[0] == "D" and place[:1] == ("case",) and len(place) == 2:
        return _of_data(place, message, data)
    if place == ("model",):
        return _of_model(message, data)
    word = _WORD.match(message)
    if word and word[1] in names:
        return (word[1],)
    advice = _ADVICE.match(problem.suggestion)
    if advice and advice[1] in names:
        return (advice[1],)
    if place == ("static",) and "unknown key" not in message:
        return ("expression",)
    return _quoted(place, message, data) if len(place) > 2 else ()


def _of_model(message: str, data: Mapping[str, Any]) -> Place:
    """The key of the model whose value is named; its source if there is none."""
    if message.startswith("fix, "):
        return ("fix", *_quoted(("model", "fix"), message, data))
    if message.startswith("leave_out: "):
        return ("leave_out", *_quoted(("model", "leave_out"), message, data))
    if "unknown key" in message:
        return ()
    model = value_at_place(data, ("model",))
    written = {str(v): k for k, v in model.items()} if isinstance(model, dict) else {}
    return (next((written[q] for q in _QUOTED.findall(message) if q in written), "source"),)


def _of_data(place: Place, message: str, data: Mapping[str, Any]) -> Place:
    """The time column of a case, or its file."""
    quoted = _QUOTED.search(message)
    case = value_at_place(data, place)
    for key in ("time", "frequency", "angular_frequency", "sheet"):
        if quoted and isinstance(case, dict) and case.get(key) == quoted[1]:
            return (key,)
    return ("data",)


def _quoted(place: Place, message: str, data: Mapping[str, Any]) -> Place:
    """A name of the user's own that the message has in quotes."""
    own = _own_names(place, data)
    return next(((name,) for name in _QUOTED.findall(message) if name in own), ())


def _names(place: Place, data: Mapping[str, Any]) -> set[str]:
    """Fields of the table at a place, and names that the user wrote there."""
    try:
        form = form_of(place)
    except StudyError:
        return set()
    fields = {f.name for f in form.fields} | {f.name for o in form.options for f in o.fields}
    return fields | _own_names(place, data)


def _own_names(place: Place, data: Mapping[str, Any]) -> set[str]:
    value = value_at_place(data, place)
    if value is NOTHING:
        return set()
    table = value if isinstance(value, dict) else to_full_form(place, value, {})
    return set(table or {})
