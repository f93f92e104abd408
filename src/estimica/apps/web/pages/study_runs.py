"""Study runs: all runs of one study."""

from __future__ import annotations

from nicegui import ui

from estimica.apps.web.parts.commands import commands
from estimica.apps.web.parts.runs import runs_table
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench


def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """The commands and what they gave."""
    ui.label("Runs and results").classes("est-title")
    commands(workbench, desk)
    with ui.column().classes("est-card"):
        runs_table(workbench, [desk.name], name=desk.path.stem)
