"""Case: one experiment: its data in a picture, columns and variables, and all other fields."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from estimica.apps.web.parts.columns import ColumnMapping
from estimica.apps.web.parts.figure import Figure
from estimica.apps.web.parts.form import FormView
from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.parts.notifications import notify_error, try_or_notify
from estimica.apps.web.parts.suggestions import model_note, nearby, quantities, suggestions
from estimica.apps.web.parts.trust import trust_card
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError, WebError


async def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """The case of that number."""
    if not rest.isdecimal() or int(rest) >= len(desk.entries(("case",))):
        raise WebError("G009", f"the study has no case number '{rest}'")
    k = int(rest)
    place = ("case", k)
    ui.label(str(desk.value((*place, "name"), f"case {k + 1}"))).classes("est-title")
    data, wrong = await _preview(desk, k)
    with ui.column().classes("est-card"):
        _pick(desk, k, data, wrong)
        if data:
            Figure(data["figure"], label="The data as they are in the file")
    columns = [c["name"] for c in data.get("columns", [])]
    if not await trust_card(workbench, desk):
        await model_note(desk)
    known = await quantities(desk)
    with ui.column().classes("est-card"):
        ColumnMapping(desk, k, known, columns).show()
    with ui.column().classes("est-card"):
        ui.label("All fields").classes("est-h2")
        view = FormView(desk, place, desk.form(("case", "*")), await suggestions(desk, columns))
        view.show(leave_out=("inputs", "outputs", "data"))
    ui.button("Remove this case", icon="delete", on_click=lambda: _remove(desk, k)).props(
        "flat no-caps color=negative"
    )


async def _preview(desk: StudySession, k: int) -> tuple[dict[str, Any], str]:
    data = desk.value(("case", k, "data"))
    if not isinstance(data, str):
        return {}, "" if data is None else "data: write the path of a file"
    try:
        args = {
            "data": data,
            "sheet": desk.value(("case", k, "sheet")),
            "time": desk.value(("case", k, "time")),
        }
        return await desk.ask("preview", **args), ""
    except EstimicaError as error:
        return {}, error.message


def _pick(desk: StudySession, k: int, data: dict[str, Any], wrong: str) -> None:
    near = nearby(desk, [f.name for f in desk.folder.data_files()])
    known = desk.value(("case", k, "data"))
    if isinstance(known, str) and known not in near:
        near.append(known)

    def choose(value: str | None) -> None:
        try:
            desk.set(("case", k, "data"), value)
            ui.navigate.reload()
        except EstimicaError as error:
            notify_error(error)

    with ui.row().classes("w-full items-center"):
        ui.label("Data").classes("est-h2")
        box = (
            ui.select(
                near,
                value=known if isinstance(known, str) else None,
                label="File",
                on_change=lambda e: choose(e.value),
            )
            .props("outlined dense options-dense hide-bottom-space")
            .classes("w-80")
        )
        if wrong:
            box.props["error"] = True
            box.props["error-message"] = wrong
        if data:
            ui.label(f"{data['rows']} rows, {len(data['columns'])} columns").classes("est-soft")
    if not known:
        ui.label("No data: choose a file. A case of a design needs none.").classes("est-soft")


def _remove(desk: StudySession, k: int) -> None:
    if try_or_notify(lambda: desk.remove(("case", k))):
        ui.navigate.to(study_address(desk.name, "case"))
