"""Form: the fields of one table of a study, made from their description, each with its message."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nicegui import ui

from estimica.apps.web.parts.landing import at_place
from estimica.apps.web.parts.notifications import notify_error
from estimica.apps.web.parts.ticks import Switch
from estimica.apps.web.session.page_words import in_page_words
from estimica.apps.web.session.study import Place, StudySession
from estimica.base.errors import EstimicaError
from estimica.study.form.fields import text_from_value, value_from_text
from estimica.study.form.tables import Field, Form, Option, option_for

#: names that a page can offer for a kind of field: columns, variables, parameters, paths
Suggestions = Mapping[str, Sequence[str]]
#: a field for a number, whatever it is called
NUMBER = Field("number", "Number", "", "number")
SPAN = "md:col-span-2"  # of the whole width of a form


class FormView:
    """A form on a page: it shows the study, writes what is typed, and tells what is wrong.

    A field writes when it is left or Enter is pressed, so that half a number is never written.
    """

    def __init__(
        self, desk: StudySession, place: Place, form: Form, suggestions: Suggestions
    ) -> None:
        self.desk, self.place, self.form = desk, place, form
        self.suggestions = suggestions
        self._tellers: list[Callable[[], None]] = []
        self._tables: set[Place] = set()  # which go with their last entry
        self._kept: set[Place] = set()  # which stay, since an empty one says something
        end = desk.listen(self._tell)
        ui.context.client.on_delete(end)

    def show(self, *, columns: int = 2, leave_out: Sequence[str] = ()) -> None:
        """All fields, in so many columns where there is room."""
        grid = ui.element("div").classes(
            f"w-full grid gap-x-5 gap-y-3 grid-cols-1 md:grid-cols-{columns}"
        )
        with at_place(grid, self.place):
            for field in self.form.fields:
                if field.name not in leave_out:
                    self.field(field, (*self.place, field.name))
        self._tell()

    # --- one field ----------------------------------------------------------------------------

    def field(self, field: Field, place: Place) -> None:
        """The control of one field, by its kind."""
        if field.options:
            self._union(field, place)
        elif field.kind == "table" and field.fields:
            self._group(field, place)
        elif field.kind == "truth":
            self._truth(field, place)
        elif field.kind == "choice":
            self._choice(field, place)
        elif field.kind == "map":
            self._map(field, place)
        elif field.kind == "list" and field.item and self._offered(field.item):
            self._several(field, place)
        elif self._offered(field):
            self._suggested(field, place)
        else:
            self._text(field, place)

    def _offered(self, field: Field) -> list[str]:
        """Names that fit a field, the narrower ones where they are known."""
        if field.kind in ("number", "truth", "list", "table", "map", "choice"):
            return []
        narrow = self.suggestions.get(field.offers, ()) if field.offers else ()
        return list(narrow or self.suggestions.get(field.kind, ()))

    def _group(self, field: Field, place: Place) -> None:
        """A table within a table."""
        self._goes(place)
        with (
            ui.expansion(field.label, value=self.desk.value(place) is not None)
            .classes(f"w-full {SPAN}")
            .props("dense")
        ):
            _about(field)
            with ui.element("div").classes("w-full grid gap-3 grid-cols-1 md:grid-cols-2 pt-2"):
                for inner in field.fields:
                    self.field(inner, (*place, inner.name))

    def _text(self, field: Field, place: Place) -> ui.input:
        local = {"wrong": "", "shown": text_from_value(self.desk.value(place))}
        box = ui.input(field.label, value=local["shown"]).props(
            "outlined dense stack-label hide-bottom-space"
        )
        _hint(box, field)
        if field.kind == "number":
            box.props("inputmode=decimal")
        if field.default not in (None, (), {}, [], "", math.inf, -math.inf):
            box.props["placeholder"] = text_from_value(field.default)

        def write() -> None:
            text = (box.value or "").strip()
            if text != local["shown"]:  # typed, not changed elsewhere while it stood here
                local["shown"] = text
                try:
                    self._set(place, parsed_field(text, field))
                    local["wrong"] = ""
                except ValueError as error:
                    local["wrong"] = str(error)
            self._tell()

        box.on("blur", write).on("keydown.enter", write)
        at_place(box, place)

        def renew() -> None:
            now = text_from_value(self.desk.value(place))
            if not box.is_deleted and not local["wrong"] and box.value == local["shown"] != now:
                box.value = local["shown"] = now  # changed in another tab, or taken back

        self._tellers.append(renew)
        self._mark(box, place, lambda: local["wrong"])
        return box

    def _truth(self, field: Field, place: Place) -> None:
        known = self.desk.value(place, field.default)
        with ui.column().classes("gap-0"):
            switch = at_place(
                Switch(
                    field.label,
                    value=bool(known),
                    on_change=lambda e: self._set(
                        place, None if e.value == bool(field.default) else bool(e.value)
                    ),
                ),
                place,
            )
            _about(field)

        def tell() -> None:
            wrong = bool(self.desk.wrong_at(place))
            switch.classes(add="est-bad" if wrong else "", remove="" if wrong else "est-bad")

        self._tellers.append(tell)

    def _choice(self, field: Field, place: Place) -> None:
        known = self.desk.value(place, field.default)
        words = list(field.choices)
        if known is not None and known not in words:
            words.append(known)  # it is wrong, and its message says so
        box = ui.select(
            words,
            label=field.label,
            value=known,
            on_change=lambda e: self._set(place, None if e.value == field.default else e.value),
        ).props("outlined dense stack-label hide-bottom-space options-dense")
        _hint(box, field)
        self._mark(box, place)

    def _suggested(self, field: Field, place: Place) -> None:
        known = self.desk.value(place)
        words = self._offered(field)
        if known is not None and known not in words:
            words.append(known)
        box = ui.select(
            words,
            label=field.label,
            value=known,
            with_input=True,
            new_value_mode="add-unique",
            clearable=not field.required,
            on_change=lambda e: self._set(place, e.value or None),
        ).props("outlined dense stack-label hide-bottom-space options-dense")
        _hint(box, field)
        self._mark(box, place)

    def _several(self, field: Field, place: Place) -> None:
        """Names out of those that the study or its model has."""
        assert field.item is not None
        known = [str(n) for n in _names(self.desk.value(place))]
        box = ui.select(
            list(dict.fromkeys([*self._offered(field.item), *known])),
            label=field.label,
            value=known,
            multiple=True,
            with_input=True,
            new_value_mode="add-unique",
            on_change=lambda e: self._set(place, list(e.value) or None),
        ).props("outlined dense stack-label hide-bottom-space options-dense use-chips")
        _hint(box, field)
        self._mark(box, place)

    # --- choices with their own fields --------------------------------------------------------

    def _union(self, field: Field, place: Place) -> None:
        """Which form the entry has, and below it the fields of that form."""

        @ui.refreshable
        def chosen() -> None:
            option = option_of(field, self.desk.value(place))
            wide = option is not None and bool(option.fields or option.kind == "map")
            cell.classes(add=SPAN if wide else "", remove="" if wide else SPAN)
            if option is None:
                return
            if option.fields:
                with ui.element("div").classes("w-full grid gap-3 grid-cols-1 md:grid-cols-2"):
                    for inner in option.fields:
                        self.field(inner, (*place, inner.name))
            else:
                self.field(replace(option.field, label=option.label, description=""), place)
            self._tell()

        self._kept.add(place)

        def turn(event: Any) -> None:
            wanted = next((o for o in field.options if o.label == event.value), None)
            if wanted is not option_of(field, self.desk.value(place)):
                self._set(place, None if wanted is None else turned(self.desk.value(place), wanted))
                chosen.refresh()

        with ui.column().classes("w-full gap-2") as cell:
            now = option_of(field, self.desk.value(place))
            words = [o.label for o in field.options]
            box = ui.select(
                words if field.required else {"": "not given", **{w: w for w in words}},
                label=field.label,
                value=now.label if now else "",
                on_change=turn,
            ).props("outlined dense stack-label hide-bottom-space options-dense")
            _hint(box, field)
            box.classes("w-full")
            self._mark(box, place)
            with ui.element("div").classes("w-full pl-4 empty:hidden"):
                chosen()

    # --- named entries ------------------------------------------------------------------------

    def _map(self, field: Field, place: Place) -> None:
        """Named entries: a line each, one to add, one click to remove."""
        self._goes(place)

        @ui.refreshable
        def lines() -> None:
            for name in _names(self.desk.value(place)):
                self._kept.add((*place, name))
                with ui.row().classes("w-full items-start no-wrap gap-2"):
                    with ui.column().classes("grow gap-2"):
                        self.field(replace(_entry(field), label=name), (*place, name))
                    button = ui.button(icon="close", on_click=lambda n=name: away(n))
                    button.props("flat round dense").props["aria-label"] = f"Remove {name}"

        def away(name: str) -> None:
            self._set((*place, name), None)
            lines.refresh()
            self._tell()

        def add() -> None:
            name = (box.value or "").strip()
            if name:
                if name not in _names(self.desk.value(place)):
                    self._set((*place, name), _first(_entry(field)))
                box.value = None
                lines.refresh()
                self._tell()

        with at_place(ui.column().classes(f"w-full gap-2 {SPAN}"), place):
            ui.label(field.label).classes("est-h2")
            _about(field)
            lines()
            with ui.row().classes("items-center gap-2"):
                words = list(self.suggestions.get(field.names, ()))
                box: Any = (
                    ui.select(words, with_input=True, new_value_mode="add-unique", label="Add")
                    if words
                    else ui.input("Add")
                )
                box.props("outlined dense options-dense").classes("w-64")
                button = ui.button(icon="add", on_click=add)
                button.props("flat round dense color=primary")
                button.props["aria-label"] = f"Add to {field.label}"
                box.props["aria-label"] = f"New name in {field.label}"

    # --- writing and telling ------------------------------------------------------------------

    def _goes(self, place: Place) -> None:
        if place not in self._kept:
            self._tables.add(place)

    def _set(self, place: Place, value: object) -> None:
        try:
            self.desk.set(place, value, tables=self._tables)
        except EstimicaError as error:
            notify_error(error)

    def _mark(self, box: Any, place: Place, local: Callable[[], str] = lambda: "") -> None:
        """Keep the message at a control up to date, as long as it is on the page."""
        at_place(box, place)

        def tell() -> None:
            wrong = local() or self.desk.wrong_at(place)
            if box.is_deleted:
                return
            box.props["error"] = bool(wrong)
            box.props["error-message"] = wrong
            box.update()

        self._tellers.append(tell)

    def _tell(self) -> None:
        for teller in self._tellers:
            teller()


def _names(value: object) -> list[str]:
    """The names of a table, or of a list of names, which stands for a table without details."""
    return [n for n in value if isinstance(n, str)] if isinstance(value, (dict, list)) else []


def _hint(box: Any, field: Field) -> None:
    """The description of a field below it."""
    if field.description:
        box.props["hint"] = in_page_words(field.description)


def _about(field: Field) -> None:
    if field.description:
        ui.label(in_page_words(field.description)).classes("est-soft")


def _entry(field: Field) -> Field:
    """The field of one entry of a map."""
    assert field.item is not None
    return field.item


def _first(field: Field) -> object:
    """What a new entry begins with."""
    kind = field.options[0].kind if field.options else field.kind
    return {"number": 0.0, "truth": True, "table": {}, "list": []}.get(kind, "")


def option_of(field: Field, value: object) -> Option | None:
    """Which option of a union a value is; none where nothing is given."""
    return None if value is None else option_for(field, value)


#: what values of a kind are in the file
KINDS = {
    "column": "text",
    "variable": "text",
    "parameter": "text",
    "path": "text",
    "choice": "text",
    "map": "table",
}


def kind_of(value: object) -> str:
    """What a value of the file is."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else "table" if isinstance(value, dict) else "list"


def turned(value: object, option: Option) -> object:
    """A value as another option of its union; what can be kept is kept."""
    kind = KINDS.get(option.kind, option.kind)
    if option.field.choices:
        return value if value in option.field.choices else option.field.choices[0]
    if kind == "table" and option.fields:
        main = next((f for f in option.fields if KINDS.get(f.kind, f.kind) == kind_of(value)), None)
        first = next((f for f in option.fields if f.required), main or option.fields[0])
        same = KINDS.get(first.kind, first.kind) == kind_of(value)
        return {first.name: value if same else _first(first)}
    if kind == "table":
        return {str(n): 0.0 for n in value} if isinstance(value, list) else {}
    if isinstance(value, dict):
        inner = next((v for v in value.values() if kind_of(v) == kind), None)
        return list(value) if kind == "list" else _plain(kind) if inner is None else inner
    return _plain(kind)


def _plain(kind: str) -> object:
    return {"number": 1.0, "truth": True, "list": [], "table": {}}.get(kind, "")


def parsed_field(text: str, field: Field = NUMBER) -> Any:
    """What a text in a field means; None where it is empty, an error where it is not a number."""
    value = value_from_text(field, text)
    if field.kind == "number" and isinstance(value, str):
        hint = "; decimals have a point" if "," in text else ""
        raise ValueError(f"'{text}' is not a number{hint}")
    return value
