"""Tuner: all fields of one tuner on a page of its own."""

from __future__ import annotations

from nicegui import ui

from estimica.apps.web.parts.form import FormView
from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.parts.notifications import notify_error, try_or_notify
from estimica.apps.web.parts.suggestions import quantity_of, suggestions
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError, WebError


async def show(workbench: Workbench, desk: StudySession, name: str) -> None:
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
