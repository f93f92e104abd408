"""Tuners: the parameters to be found, a line each; a line opens as its own page with all fields."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from estimica.apps.web.parts.cells import active_cell, choice_cell, number_cell, remove_cell
from estimica.apps.web.parts.form import FormView
from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.parts.notifications import notify_error, try_or_notify
from estimica.apps.web.parts.runs import run_button
from estimica.apps.web.parts.suggestions import model_note, quantities, quantity_of, suggestions
from estimica.apps.web.parts.trust import trust_card
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError, WebError
from estimica.study.form.tables import Form

MOST = 50  # lines drawn at first; chosen: each has several fields to be built
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
        run_button(workbench, desk)
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
        active_cell(desk, place, full, f"{name} is searched")
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
        remove_cell(desk, place, name, renew)


def _placeholder(field: str, quantity: dict[str, Any]) -> str:
    known = quantity.get("value") if field == "start" else quantity.get(field)
    is_number = isinstance(known, (int, float)) and abs(known) <= 1e30
    return f"{known:.6g}" if is_number else ""


def _add(desk: StudySession, known: dict[str, dict[str, Any]], renew: Any) -> None:
    tunable = [n for n, q in known.items() if q.get("tunable")]

    def add() -> None:
        name = (box.value or "").strip()
        if name and desk.value(("tune", name)) is None:
            start = start_of(known.get(name, {}))
            try_or_notify(lambda: desk.bring_back(("tune", name), start))
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
