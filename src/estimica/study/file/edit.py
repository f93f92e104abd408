"""Text of a study file, changed one value at a time: comments, order and style stay.

Each function takes a text and gives a text. A place is a tuple of names and indices, as
`("tune", "T_D", "min")` or `("case", 0, "outputs", "E", "weight")`. Short forms are looked through:
`("tune", "A4", "start")` is where `A4 = 0.5` has its number, and a second field makes it a table.
A Revision is a text with what it was before and what was undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from estimica.base.errors import StudyError
from estimica.study.fields.messages import short_value
from estimica.study.toml.edit import with_node, with_replaced_range
from estimica.study.toml.layout import Place, locate, parse_toml, sections_of
from estimica.study.toml.put import (
    NOTHING,
    entry_moved,
    item_moved,
    missing_error,
    place_text,
    put,
    removed,
    value_at_place,
)
from estimica.study.toml.short_forms import to_full_form, to_short_form
from estimica.study.toml.write import toml_key


def value_at(text: str, place: Place) -> Any:
    """The value at a place, also inside a short form; None where there is none."""
    data = parse_toml(text)
    value: Any = data
    for n, step in enumerate(place):
        inner = value_at_place(value, (step,))
        if inner is NOTHING:
            inner = (to_full_form(place[:n], value, _case(data, place)) or {}).get(str(step))
        if inner is None:
            return None
        value = inner
    return deepcopy(value)


def with_value(text: str, place: Place, value: object) -> str:
    """The text with another value; None removes it, an equal one changes nothing."""
    if value is None:
        return without(text, place)
    data = parse_toml(text)
    for n in range(1, len(place)):
        outer = value_at_place(data, place[:n])
        if outer is NOTHING:
            break
        if value_at_place(data, place[: n + 1]) is NOTHING and not _is_inside(outer, place[n]):
            wide = to_full_form(place[:n], outer, _case(data, place))
            if wide is None:
                raise _no_room(place, n, outer)
            _set(wide, place[:n], place[n:], value)
            return put(text, place[:n], to_short_form(place[:n], wide))
    return put(text, place, value)


def without(text: str, place: Place) -> str:
    """The text without what stands at a place; a table that can be written shortly then is."""
    data = parse_toml(text)
    if value_at_place(data, place) is NOTHING:
        outer, name = place[:-1], str(place[-1])
        wide = to_full_form(outer, value_at_place(data, outer), _case(data, place))
        if wide is None or name not in wide:
            return text
        del wide[name]
        return put(text, outer, to_short_form(outer, wide))
    text = removed(text, place)
    location = locate(sections_of(text), place[:-1])
    if location is not None and location.node is not None:
        left = value_at_place(parse_toml(text), place[:-1])
        short = to_short_form(place[:-1], left)
        return text if short is left else with_node(text, location.node, short)
    return text


def renamed(text: str, place: Place, new: str) -> str:
    """The text with another name for the last step of a place, wherever the key is written."""
    data = parse_toml(text)
    outer, old = place[:-1], place[-1]
    holder = value_at_place(data, outer)
    if isinstance(holder, list) and isinstance(old, str) and old in holder:
        _require_free(new, old, holder)
        return put(text, (*outer, holder.index(old)), new)
    if not isinstance(holder, dict) or old not in holder:
        raise missing_error(place)
    _require_free(new, str(old), holder)
    sections = sections_of(text)
    location = locate(sections, place)
    spots = []
    if location is not None and location.entry is not None:
        spots = [location.entry.spots[-1]]
    elif location is not None:
        spots = [entry.spots[location.depth - 1] for entry in location.dotted]
    named = sum(isinstance(step, str) for step in place)
    spots += [s.spots[named - 1] for s in sections if s.place[: len(place)] == place]
    for begin, end in sorted(spots, reverse=True):
        text = with_replaced_range(text, begin, end, toml_key(new))
    return text


def appended(text: str, place: Place, value: object) -> str:
    """The text with one more item of a list, or one more `[[table]]` behind the last."""
    data = parse_toml(text)
    current = value_at_place(data, place)
    if current is NOTHING or current == []:
        return put(text, place, [value])
    if not isinstance(current, list):
        raise StudyError(
            "Q072", f"{place_text(place)} is not a list, so that nothing can be added to it"
        )
    return put(text, (*place, len(current)), value)


def moved(text: str, place: Place, to: int) -> str:
    """The text with a case, another item of a list, or a key such as a tuner at another position.

    A table moves with its comment lines right above it.
    """
    data = parse_toml(text)
    if value_at_place(data, place) is NOTHING:
        raise missing_error(place)
    outer, last = place[:-1], place[-1]
    holder = value_at_place(data, outer)
    if not 0 <= to < len(holder):
        raise StudyError("Q073", f"{place_text(outer)} has no position {to + 1}")
    if isinstance(last, str):
        return entry_moved(text, outer, last, to)
    location = locate(sections_of(text), outer)
    if location is None or location.node is None:
        return item_moved(text, outer, last, to)
    items = [v for k, v in enumerate(holder) if k != last]
    return put(text, outer, [*items[:to], holder[last], *items[to:]])


# --- short forms ---------------------------------------------------------------------------------


def _case(data: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """The case that a place lies in."""
    case = value_at_place(data, place[:2])
    return case if isinstance(case, dict) else {}


def _is_inside(outer: object, step: str | int) -> bool:
    """Whether a value can hold such a step, so that it only has to be added."""
    return isinstance(outer, list if isinstance(step, int) else dict)


def _set(table: dict[str, Any], place: Place, rest: Place, value: object) -> None:
    """Set a value some steps below a table, short where it can be."""
    key = str(rest[0])
    if len(rest) == 1:
        table[key] = value
        return
    here = (*place, key)
    given = table.get(key, {})
    inner = given if isinstance(given, dict) else to_full_form(here, given, {}) or {}
    _set(inner, here, rest[1:], value)
    table[key] = to_short_form(here, inner)


def _no_room(place: Place, n: int, outer: object) -> StudyError:
    where, key = place_text(place[:n]), place_text(place[n:])
    return StudyError(
        "Q072", f"{where} is {short_value(outer)}, which has no '{key}'; write a table there first"
    )


def _require_free(new: str, old: str, names: Any) -> None:
    if new != old and new in names:
        raise StudyError("Q074", f"there is a '{new}' already; choose another name")


# --- history -------------------------------------------------------------------------------------


MOST = 200  # steps that can be undone: with texts of 10 kB, 2 MB for each open study


@dataclass(frozen=True, slots=True)
class Revision:
    """A text and its history; every step gives a new one."""

    text: str
    past: tuple[str, ...] = ()
    future: tuple[str, ...] = ()

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier text."""
        return bool(self.past)

    @property
    def can_redo(self) -> bool:
        """Whether something was undone since the last edit."""
        return bool(self.future)

    def edit(self, text: str) -> Revision:
        """Another text; what was undone before cannot be redone. The same text is not a step."""
        if text == self.text:
            return self
        return Revision(text, (*self.past, self.text)[-MOST:])

    def undo(self) -> Revision:
        """The text before the last edit; the same where there was none."""
        if not self.past:
            return self
        return Revision(self.past[-1], self.past[:-1], (self.text, *self.future))

    def redo(self) -> Revision:
        """The text before the last undo; the same where nothing was undone."""
        if not self.future:
            return self
        return Revision(self.future[0], (*self.past, self.text), self.future[1:])
