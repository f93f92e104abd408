"""Tuners: the parameters to be found, a line each; a line opens as its own page with all fields."""

from __future__ import annotations

import contextlib
from typing import Any

from nicegui import ui

from estimica.apps.web.parts.form import FormView, parsed_field
from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.parts.notifications import notify_error, try_or_notify
from estimica.apps.web.parts.suggestions import model_note, quantities, quantity_of, suggestions
from estimica.apps.web.parts.trust import trust_card
from estimica.apps.web.session.study import Place, StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError, WebError
from estimica.study.form.fields import text_from_value
from estimica.study.form.tables import Form

MOST = 50  # lines drawn at first
FIELDS = ("start", "min", "max", "scale")  # where the team's forms show them


async def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """The table of tuners, and a way to add one."""
    with ui.row().classes("w-full items-center"):
        ui.label("Tuners").classes("est-title")
        ui.space()
        ui.button(
            "Pick in the model",
            icon="account_tree",
            on_click=lambda: ui.navigate.to(study_address(desk.name, "model")),
        ).props("flat no-caps color=primary")
    ui.label(
        "Parameters that are searched, from their start value and within their bounds. What is not "
        "given is taken from the model."
    ).classes("est-lead")
    if not await trust_card(workbench, desk):
        await model_note(desk)
    known = {q["name"]: q for q in await quantities(desk)}

    shown = {"lines": MOST}

    def more() -> None:
        shown["lines"] += 10 * MOST
        table.refresh()

    @ui.refreshable
    def table() -> None:
        tuners = desk.table(("tune",))
        if not tuners:
            ui.label("No tuners yet: pick parameters in the model, or add one below.").classes(
                "est-empty"
            )
            return
        with ui.element("div").classes("est-wide"), ui.element("table").classes("est"):
            form = desk.form(("tune", "*"))
            labels = {f.name: f"{f.label[:1].lower()}{f.label[1:]}" for f in form.fields}
            fields = [labels[name] for name in FIELDS if name in labels]
            with ui.element("thead"), ui.element("tr"):
                for word in ("active", "tuner", *fields, "unit", ""):
                    with ui.element("th"):
                        ui.label(word)
            with ui.element("tbody"):
                for name in list(tuners)[: shown["lines"]]:
                    _line(desk, name, known.get(name, {}), form, table.refresh)
        if len(tuners) > shown["lines"]:
            ui.button(f"Show {len(tuners) - shown['lines']} more", on_click=more).props(
                "flat no-caps color=primary"
            )

    with ui.column().classes("est-card"):
        table()
        _add(desk, known, table.refresh)


def _line(desk: StudySession, name: str, quantity: dict[str, Any], form: Form, renew: Any) -> None:
    place = ("tune", name)
    value = desk.value(place)
    full = value if isinstance(value, dict) else {}
    with ui.element("tr"):
        with ui.element("td"):
            box = ui.checkbox(
                value=full.get("active", True) is not False,
                on_change=lambda e: _set(desk, (*place, "active"), None if e.value else False),
            )
            box.props("dense").props["aria-label"] = f"{name} is searched"
        with ui.element("td").style("min-width: 120px"):
            ui.link(name, study_address(desk.name, f"tune/{name}")).classes("est-mono")
            if quantity.get("description"):
                ui.label(quantity["description"]).classes("est-soft")
        known = {f.name for f in form.fields}
        for field in (n for n in FIELDS[:3] if n in known):
            with ui.element("td").style("min-width: 92px"):
                number_cell(
                    desk, (*place, field), f"{field} of {name}", _placeholder(field, quantity)
                )
        if "scale" in known:
            with ui.element("td").style("min-width: 96px; max-width: 130px"):
                choice_cell(desk, place, "scale", form, f"scale of {name}")
        with ui.element("td"):
            ui.label(quantity.get("unit") or "").classes("est-soft")
        with ui.element("td"):

            def away() -> None:
                try_or_notify(lambda: desk.remove(place))
                renew()

            button = ui.button(icon="delete", on_click=away).props("flat round dense color=grey-7")
            button.classes("est-quiet").props["aria-label"] = f"Remove {name}"


def _placeholder(field: str, quantity: dict[str, Any]) -> str:
    known = quantity.get("value") if field == "start" else quantity.get(field)
    is_number = isinstance(known, (int, float)) and abs(known) <= 1e30
    return f"{known:.6g}" if is_number else ""


def _set(desk: StudySession, place: tuple[str | int, ...], value: object) -> None:
    try:
        desk.set(place, value)
    except EstimicaError as error:
        notify_error(error)


def _add(desk: StudySession, known: dict[str, dict[str, Any]], renew: Any) -> None:
    tunable = [n for n, q in known.items() if q.get("tunable")]

    def add() -> None:
        name = (box.value or "").strip()
        if name and desk.value(("tune", name)) is None:
            _set(desk, ("tune", name), start_of(known.get(name, {})))
            box.value = None
            renew()

    with ui.row().classes("items-center gap-2"):
        box: Any = (
            ui.select(tunable, with_input=True, new_value_mode="add-unique", label="Add a tuner")
            if tunable
            else ui.input("Add a tuner")
        )
        box.props("outlined dense options-dense").classes("w-72")
        ui.button("Add", icon="add", on_click=add).props("flat no-caps color=primary")


def start_of(quantity: dict[str, Any]) -> object:
    """What a new tuner begins with: the value of the model, or 1."""
    value = quantity.get("value")
    return value if isinstance(value, (int, float)) else 1.0


async def show_tuner(workbench: Workbench, desk: StudySession, name: str) -> None:
    """The tuner of that name."""
    if desk.value(("tune", name)) is None:
        raise WebError("G009", f"the study has no tuner '{name}'")
    ui.label(name).classes("est-title")
    known = await quantity_of(desk, name)
    if known:
        unit = f" [{known['unit']}]" if known.get("unit") else ""
        told_value = known.get("value")
        is_number = isinstance(told_value, (int, float))
        value = f", {told_value:.6g} in the model" if is_number else ""
        ui.label(f"{known.get('description') or 'Parameter'}{unit}{value}").classes("est-lead")
    with ui.column().classes("est-card"):
        FormView(desk, ("tune", name), desk.form(("tune", "*")), await suggestions(desk)).show()
    with ui.row():
        _rename(desk, name)
        ui.button("Remove this tuner", icon="delete", on_click=lambda: _remove(desk, name)).props(
            "flat no-caps color=negative"
        )


def _rename(desk: StudySession, name: str) -> None:
    box = ui.input("Name", value=name).props("outlined dense")

    def rename() -> None:
        new = (box.value or "").strip()
        if new and new != name:
            try:
                desk.rename(("tune", name), new)
                ui.navigate.to(study_address(desk.name, f"tune/{new}"))
            except EstimicaError as error:
                notify_error(error)

    ui.button("Rename", on_click=rename).props("flat no-caps color=primary")


def _remove(desk: StudySession, name: str) -> None:
    if try_or_notify(lambda: desk.remove(("tune", name))):
        ui.navigate.to(study_address(desk.name, "tune"))


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
