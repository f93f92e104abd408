"""Cells: fields of a study in the lines of a table, each with its message beside it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from nicegui import ui

from estimica.apps.web.parts.form import parsed_field
from estimica.apps.web.parts.notifications import notify_error, try_or_notify
from estimica.apps.web.parts.ticks import Tick
from estimica.apps.web.session.study import Place, StudySession
from estimica.base.errors import EstimicaError
from estimica.study.form.fields import text_from_value
from estimica.study.form.tables import Form


def active_cell(desk: StudySession, place: Place, entry: dict[str, object], label: str) -> None:
    """Whether an entry is used; that it is used needs no word in the study file."""

    def write(active: bool) -> None:
        try_or_notify(lambda: desk.set((*place, "active"), None if active else False))

    with ui.element("td"):
        box = Tick(value=entry.get("active", True) is not False, on_change=lambda e: write(e.value))
        box.props("dense").props["aria-label"] = label


def remove_cell(desk: StudySession, place: Place, name: str, renew: Callable[[], object]) -> None:
    """A button that takes the entry of the line out of the study."""

    def away() -> None:
        try_or_notify(lambda: desk.remove(place) if place[0] == "case" else desk.set_aside(place))
        renew()

    with ui.element("td"):
        button = ui.button(icon="delete", on_click=away).props("flat round dense color=grey-7")
        button.classes("est-quiet").props["aria-label"] = f"Remove {name}"


def number_cell(desk: StudySession, place: Place, label: str, placeholder: str = "") -> None:
    """A number that is written when the cell is left; a short entry is its start value."""

    def known() -> object:
        whole = desk.value(place[:-1])
        if not isinstance(whole, dict):
            return whole if place[-1] == "start" else None
        return whole.get(place[-1])

    local = {"wrong": "", "shown": text_from_value(known())}
    box = ui.input(value=local["shown"]).props("outlined dense hide-bottom-space inputmode=decimal")
    box.props["placeholder"], box.props["aria-label"] = placeholder, label

    def write() -> None:
        text = (box.value or "").strip()
        if text != local["shown"]:  # typed, not changed elsewhere while it stood here
            local["shown"], local["wrong"] = text, ""
            try:
                desk.set(place, parsed_field(text))
            except ValueError as error:
                local["wrong"] = str(error)
            except EstimicaError as error:
                notify_error(error)
        tell()

    def tell() -> None:
        if box.is_deleted:
            return
        now = text_from_value(known())
        if not local["wrong"] and box.value == local["shown"] != now:
            box.value = local["shown"] = now  # changed in another tab, or taken back
        wrong = local["wrong"] or desk.wrong_at(place)
        if not wrong and place[-1] == "start":
            wrong = desk.wrong_at(place[:-1])  # of the entry as a whole
        box.props["error"] = bool(wrong)
        box.props["error-message"] = wrong
        box.update()

    box.on("blur", write).on("keydown.enter", write)
    ui.context.client.on_delete(desk.listen(tell))
    tell()


def choice_cell(desk: StudySession, place: Place, name: str, form: Form, label: str) -> None:
    """A choice out of the words that its form allows; a number too, where one may stand there."""
    field = form.field(name)
    inner = [field, *(o.field for o in field.options)]
    words = [w for f in inner for w in f.choices]
    known = desk.value((*place, name), field.default)
    if known is not None and str(known) not in words:
        words.append(str(known))

    def write(word: str | None) -> None:
        value: object = None if word in (field.default, "", None) else word
        if any(f.kind == "number" for f in inner):
            with contextlib.suppress(ValueError, TypeError):
                value = parsed_field(str(value))
        try:
            desk.set((*place, name), value)
        except EstimicaError as error:
            notify_error(error)

    box = ui.select(
        words,
        value=None if known is None else str(known),
        with_input=True,
        new_value_mode="add-unique",
        on_change=lambda e: write(e.value),
    ).props("outlined dense options-dense hide-bottom-space")
    box.props["aria-label"] = label

    def tell() -> None:
        if not box.is_deleted:
            wrong = desk.wrong_at((*place, name))
            box.props["error"] = bool(wrong)
            box.props["error-message"] = wrong
            box.update()

    ui.context.client.on_delete(desk.listen(tell))
    tell()
