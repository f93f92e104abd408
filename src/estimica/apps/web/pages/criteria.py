"""Criteria: what makes a design good, as a table of criteria and cases with demands or weights."""

from __future__ import annotations

from itertools import count

from nicegui import ui

from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.parts.notifications import try_or_notify
from estimica.apps.web.parts.runs import run_button
from estimica.apps.web.parts.suggestions import model_note, quantities
from estimica.apps.web.parts.trust import trust_card
from estimica.apps.web.session.page_words import in_page_words
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.apps.web.sheets.criteria import CriteriaByCase
from estimica.apps.web.sheets.spreadsheet import HOW, Sheet

OFFERED = 500  # variables that a cell proposes; chosen: more are typed sooner than looked through
ABOUT = {
    "demand": "The numbers are demands: what satisfies in each case. A dash leaves a criterion out "
    "of a case; an empty cell demands 1.",
    "weight": "The numbers are weights: how much value/demand counts beside the others that are "
    "made small. What satisfies stays the same; an empty cell weighs 1.",
}


async def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """Criteria × cases."""
    with ui.row().classes("w-full items-center"):
        ui.label("Criteria").classes("est-title")
        ui.space()
        run_button(workbench, desk)
    ui.label(in_page_words(desk.form(("criterion", "*")).description)).classes("est-lead")
    if not await trust_card(workbench, desk):
        await model_note(desk)
    known = [q for q in await quantities(desk) if q["role"] not in ("parameter", "constant")]
    known.sort(key=lambda q: (not q.get("output"), q["role"] != "state"))
    variables = tuple(q["name"] for q in known[:OFFERED])

    @ui.refreshable
    def table(what: str) -> None:
        ui.label(f"{ABOUT[what]} {HOW}").classes("est-soft")
        Sheet(CriteriaByCase(desk, "weight" if what == "weight" else "demand", variables))

    def add() -> None:
        entries = desk.entries(("criterion",))
        taken = {e.get("name") for e in entries}
        name = next(n for k in count(1) if (n := f"criterion {k}") not in taken)
        if try_or_notify(lambda: desk.append(("criterion",), {"name": name})):
            ui.navigate.to(study_address(desk.name, f"criterion/{len(entries)}"))

    with ui.column().classes("est-card"):
        ui.toggle(
            {"demand": "Demands", "weight": "Weights"},
            value="demand",
            on_change=lambda e: table.refresh(e.value),
        ).props("no-caps unelevated toggle-color=primary")
        table("demand")
        ui.button("Add a criterion", icon="add", on_click=add).props("flat no-caps color=primary")
