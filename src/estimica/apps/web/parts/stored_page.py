"""Page view: the sections of a stored page with the texts, tables and figures of its report."""

from __future__ import annotations

from nicegui import ui

from estimica.apps.web.parts.figure import Figure
from estimica.apps.web.parts.markup import fragment
from estimica.base.view import Bars, Curves, Heat, Page, Parallel, Section


def page_view(page: Page, figures: str) -> None:
    """All sections; figures are fetched from `figures`/section/number when they come near."""
    if page.lead:
        ui.label(page.lead).classes("est-lead")
    for k, section in enumerate(page.sections):
        _section(section, f"{figures}/{k}")


#: what whoever asked knows already; a report has it in full
FOLDED = ("What was asked", "Settings of the search", "To repeat this")


def _section(section: Section, figures: str) -> None:
    if section.heading in FOLDED:
        with ui.expansion(section.heading).classes("est-card est-fold").props("dense"):
            _content(section, figures)
        return
    with ui.column().classes("est-card"):
        ui.label(section.heading).classes("est-h2").props("role=heading aria-level=2")
        _content(section, figures)


def _content(section: Section, figures: str) -> None:
    with ui.column().classes("w-full gap-2"):
        for paragraph in filter(str.strip, section.text.split("\n\n")):
            ui.label(paragraph).style("white-space: pre-line; max-width: 70em")
        for k, shown in enumerate(section.shown):
            if isinstance(shown, (Curves, Heat, Bars, Parallel)):
                Figure(src=f"{figures}/{k}.json", label=section.heading)
            else:
                fragment(shown)
