"""Study: the pages of one study; the tree on the left says which of them is shown."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from nicegui import ui

from estimica.apps.web.pages import by_hand as hand
from estimica.apps.web.pages import (
    case,
    cases,
    entries,
    model_browser,
    overview,
    study_file,
    study_runs,
    table,
    tuner,
    tuners,
)
from estimica.apps.web.parts.error_page import show_when_loaded, with_error_page
from estimica.apps.web.parts.frame import frame
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import WebError

View = Callable[[Workbench, StudySession, str], Awaitable[None] | None]

VIEWS: dict[str, View] = {
    "": overview.show,
    "model": model_browser.show,
    "hand": hand.show,
    "runs": study_runs.show,
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
            shown = view(workbench, desk, at if view is table.show else rest)
            if inspect.isawaitable(shown):
                await show_when_loaded(shown)


def _view(head: str, rest: str) -> View:
    if head in VIEWS:
        return VIEWS[head]
    if head == "tune":
        return tuner.show if rest else tuners.show
    if head == "case":
        return case.show if rest else cases.show
    if head in ("criterion", "indicator"):
        return entries.show_of(head)
    if head in table.TABLES:
        return table.show
    raise WebError("G008", f"a study has no page '{head}'")
