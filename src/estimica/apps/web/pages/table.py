"""Table: the form of one table of a study, such as [estimate]."""

from __future__ import annotations

from nicegui import ui

from estimica.apps.web.parts.form import FormView
from estimica.apps.web.parts.frame import COMMAND_TABLES
from estimica.apps.web.parts.notifications import try_or_notify
from estimica.apps.web.parts.suggestions import suggestions
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench

TABLES = ("estimate", "solver", "static", *COMMAND_TABLES)


async def show(workbench: Workbench, desk: StudySession, name: str) -> None:
    """The fields of the table and what they mean."""
    form = desk.form((name,))
    with ui.row().classes("w-full items-center"):
        ui.label(form.title).classes("est-title")
        ui.label(f"[{name}]").classes("est-soft est-mono")
    if form.description:
        ui.label(form.description).classes("est-lead")
    known = await suggestions(desk)
    with ui.column().classes("est-card"):
        FormView(desk, (name,), form, known).show()
    if name in desk.tables:

        def away() -> None:
            if try_or_notify(lambda: desk.remove((name,))):
                ui.navigate.reload()

        ui.button("Back to the defaults", icon="restart_alt", on_click=away).props(
            "flat no-caps color=primary"
        ).tooltip(f"Takes [{name}] out of the study file")
