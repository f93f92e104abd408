"""Study: the pages of one study; the tree on the left says which of them is shown."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from nicegui import ui

from estimica.apps.web.pages import (
    by_hand,
    cases,
    criteria,
    model_browser,
    overview,
    study_file,
    tables,
    tuners,
)
from estimica.apps.web.parts.frame import frame, show_when_loaded, with_error_page
from estimica.apps.web.parts.runs import commands, runs_table
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import WebError

View = Callable[[Workbench, StudySession, str], Awaitable[None] | None]


def show_runs(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """The commands and what they gave."""
    ui.label("Runs and results").classes("est-title")
    commands(workbench, desk)
    with ui.column().classes("est-card"):
        runs_table(workbench, [desk.name], name=desk.path.stem)


VIEWS: dict[str, View] = {
    "": overview.show,
    "model": model_browser.show,
    "columns": cases.show_columns,
    "hand": by_hand.show,
    "starts": cases.show_starts,
    "runs": show_runs,
    "file": study_file.show,
}


def register(workbench: Workbench) -> None:
    """Put the pages in place."""

    @ui.page("/study/{name:path}")
    @with_error_page(workbench)
    async def study(name: str, at: str = "") -> None:
        workbench.folder.existing(name)
        desk = workbench.desk(name)
        head, _, rest = at.partition("/")
        with frame(workbench, rest or head or desk.name, desk, at):
            view = study_file.show if desk.is_broken and head != "" else _view(head, rest)
            shown = view(workbench, desk, at if view is tables.show_table else rest)
            if inspect.isawaitable(shown):
                await show_when_loaded(shown)


def _view(head: str, rest: str) -> View:
    if head in VIEWS:
        return VIEWS[head]
    if head == "tune":
        return tuners.show_tuner if rest else tuners.show
    if head == "case":
        return cases.show_case if rest else cases.show
    if head == "criterion" and not rest:
        return criteria.show
    if head in ("criterion", "indicator"):
        return tables.show_of(head)
    if head in tables.TABLES:
        return tables.show_table
    raise WebError("G008", f"a study has no page '{head}'")
