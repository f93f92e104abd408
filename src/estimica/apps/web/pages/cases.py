"""Cases: the experiments of a study, a line each; a line opens as its own page with all fields."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from estimica.apps.web.pages.overview import problems_card
from estimica.apps.web.parts.cells import active_cell, remove_cell
from estimica.apps.web.parts.columns import ColumnMapping, SharedMapping
from estimica.apps.web.parts.figure import Figure
from estimica.apps.web.parts.form import FormView
from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.parts.landing import at_place
from estimica.apps.web.parts.notifications import notify_error, try_or_notify
from estimica.apps.web.parts.runs import run_button
from estimica.apps.web.parts.suggestions import model_note, nearby, quantities, suggestions
from estimica.apps.web.parts.trust import trust_card
from estimica.apps.web.session.page_words import in_page_words
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.apps.web.sheets.cases import CaseValues
from estimica.apps.web.sheets.spreadsheet import HOW, Sheet
from estimica.apps.web.sheets.starts import FreeStarts
from estimica.base.errors import EstimicaError, WebError
from estimica.data.patterns import WILD
from estimica.study.file.located import LocatedProblem
from estimica.study.file.several import CaseFiles

MOST_FILES = 6  # that are named


async def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """The cases with their data, then their values as a table, and ways to add one."""
    with ui.row().classes("w-full items-center"):
        ui.label("Cases").classes("est-title")
        ui.space()
        run_button(workbench, desk)
    ui.label(
        "Each case is one experiment: its data, which column is which variable, and what is "
        "particular about it. Tuners are found from cases to calibrate and tried on those to "
        "validate. A case of a design needs no data: only how long it runs, and its parameters."
    ).classes("est-lead")

    @ui.refreshable
    def table() -> None:
        cases = desk.entries(("case",))
        if not cases:
            ui.label("No cases yet: add the first one, with its data file or without.").classes(
                "est-empty"
            )
            return
        if not any(c.get("data") for c in cases):
            return  # of a design: the table below says all
        with ui.element("div").classes("est-wide"), ui.element("table").classes("est"):
            with ui.element("thead"), ui.element("tr"):
                for word in ("active", "case", "role", "data", "inputs", "outputs", "fixed", ""):
                    with ui.element("th"):
                        ui.label(word)
            with ui.element("tbody"):
                for k, case in enumerate(cases):
                    _line(desk, k, case, table.refresh)

    shown: list[object] = [_listed(desk)]

    def renew() -> None:
        if shown[0] != _listed(desk):
            shown[0] = _listed(desk)
            table.refresh()

    with ui.column().classes("est-card"):
        table()
        shared = list(desk.table(("columns",)))
        if shared:
            ui.label(f"From the columns of all cases: {', '.join(shared)}").classes("est-soft")
        _add(desk)
    ui.context.client.on_delete(desk.listen(renew))
    if not await trust_card(workbench, desk):
        await model_note(desk)
    _values(desk, {q["name"]: q for q in await quantities(desk)})


def _listed(desk: StudySession) -> object:
    """What the list of cases shows."""
    keys = ("name", "data", "inputs", "outputs", "fix")
    return [[repr(c.get(k)) for k in keys] for c in desk.entries(("case",))]


def _values(desk: StudySession, known: dict[str, dict[str, Any]]) -> None:
    """Cases × values, filled like a spreadsheet."""
    content = CaseValues(desk, known)
    names = [n for n, q in known.items() if q["role"] in ("parameter", "constant", "state")]
    with ui.column().classes("est-card"):
        ui.label("Values of each case").classes("est-h2")
        ui.label(f"Grey is what the model has. {HOW} The last row adds a case.").classes("est-soft")
        sheet = Sheet(content)

        def add_case() -> None:
            try_or_notify(content.add_case)
            sheet.show()

        def add_column(name: str | None) -> None:
            if name:
                content.add_parameter(name.strip())
                sheet.show()
                box.value = None

        with ui.row().classes("items-center gap-2"):
            ui.button("Add a case without data", icon="add", on_click=add_case).props(
                "flat no-caps color=primary"
            )
            box: Any = ui.select(
                names,
                with_input=True,
                new_value_mode="add-unique",
                label="Add a parameter as a column",
                on_change=lambda e: add_column(e.value),
            )
            box.props("outlined dense options-dense").classes("w-80")


async def show_starts(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """The free start values of all cases as one table."""
    with ui.row().classes("w-full items-center"):
        ui.label("Free start values").classes("est-title")
        ui.space()
        run_button(workbench, desk)
    ui.label(
        "Start values that are not known and are estimated with the tuners, for each case its "
        "own. They begin with the values that the model has."
    ).classes("est-lead")
    if not await trust_card(workbench, desk):
        await model_note(desk)
    content = FreeStarts(desk, {q["name"]: q for q in await quantities(desk)})
    with ui.column().classes("est-card"):
        if not desk.entries(("case",)):
            ui.label("No cases yet: add the first one.").classes("est-empty")
            return
        ui.label(HOW).classes("est-soft")
        sheet = Sheet(content)

        def add() -> None:
            if not states.value:
                ui.notify("Choose the states whose start is not known.")
                return
            cases = range(len(content.cases())) if where.value == -1 else [where.value]
            try_or_notify(lambda: content.add(cases, list(states.value)))
            states.value = []
            sheet.show()

        with ui.row().classes("items-center gap-2"):
            states: Any = ui.select(
                content.states(),
                value=[],
                multiple=True,
                with_input=True,
                label="States with a free start",
            )
            states.props("outlined dense options-dense use-chips").classes("w-80")
            options = {-1: "all cases", **dict(enumerate(content.cases()))}
            where = ui.select(options, value=-1, label="In").props("outlined dense options-dense")
            where.classes("w-48")
            ui.button("Add", icon="add", on_click=add).props("flat no-caps color=primary")
        if not content.states():
            ui.label("The model has no states that are known here.").classes("est-soft")


def _line(desk: StudySession, k: int, case: dict[str, Any], renew: Any) -> None:
    name = str(case.get("name", f"case {k + 1}"))
    place = ("case", k)

    def write_role(chosen: str) -> None:
        value = None if chosen == "calibrate" else chosen
        try_or_notify(lambda: desk.set((*place, "role"), value))

    with ui.element("tr"):
        active_cell(desk, place, case, f"{name} is used")
        with ui.element("td"):
            ui.link(name, study_address(desk.name, f"case/{k}"))
        with ui.element("td"):
            role = str(case.get("role", "calibrate"))
            choice = ui.select(
                list(dict.fromkeys(["calibrate", "validate", role])),
                value=role,
                on_change=lambda e: write_role(e.value),
            )
            choice.props("dense outlined options-dense").props["aria-label"] = f"Role of {name}"
        for text in (
            _data_text(case.get("data", "")),
            _names(case, "inputs"),
            _names(case, "outputs"),
            _names(case, "fix"),
        ):
            with ui.element("td"):
                ui.label(text).classes("est-mono")
        remove_cell(desk, place, name, renew)


def _data_text(data: object) -> str:
    """A file, or several."""
    return ", ".join(map(str, data)) if isinstance(data, list) else str(data)


def _names(case: dict[str, Any], key: str) -> str:
    entry = case.get(key, {})
    names = list(map(str, entry)) if isinstance(entry, (dict, list)) else []
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _add(desk: StudySession) -> None:
    near = nearby(desk, [f.name for f in desk.folder.data_files()])

    async def add() -> None:
        data = box.value
        if not data:
            ui.notify("Choose the data file of the new case.")
            return
        known = {c.get("name") for c in desk.entries(("case",))}
        stem = data.rpartition("/")[2].rpartition(".")[0] or data
        stem = "*" if WILD.search(stem) else stem  # each is called like its file
        name = next(n for n in (stem, *(f"{stem} {k}" for k in range(2, 999))) if n not in known)
        entry: dict[str, Any] = {"name": name, "data": data}
        try:
            entry |= (await desk.ask("match", data=data))["case"]
        except EstimicaError as error:
            why = in_page_words(error.message)
            ui.notify(f"No proposal for its columns: {why}", multi_line=True)
        try:
            k = desk.append(("case",), entry)
        except EstimicaError as error:
            notify_error(error)
            return
        ui.navigate.to(study_address(desk.name, f"case/{k}"))

    with ui.row().classes("items-center gap-2"):
        box = (
            ui.select(
                near,
                with_input=True,
                new_value_mode="add-unique",
                label="Data file of a new case, or logs/*.csv",
            )
            .props("outlined dense options-dense")
            .classes("w-80")
        )
        ui.button("Add a case", icon="add", on_click=add).props("flat no-caps color=primary")
        if not near:
            ui.label(
                "There is no data file in this folder: upload one on the page of a new study."
            ).classes("est-soft")


async def show_case(workbench: Workbench, desk: StudySession, rest: str) -> None:
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
    units = {c["name"]: c["unit"] for c in data.get("columns", [])}
    columns = list(units)
    if not await trust_card(workbench, desk):
        await model_note(desk)
        problems_card(desk, lambda p: _is_of_case(desk, k, p))
    known = await quantities(desk)
    with ui.column().classes("est-card"):
        ColumnMapping(desk, k, known, units).show()
    with ui.column().classes("est-card"):
        ui.label("All fields").classes("est-h2")
        view = FormView(desk, place, desk.form(("case", "*")), await suggestions(desk, columns))
        view.show(leave_out=("inputs", "outputs", "data"))
    ui.button("Remove this case", icon="delete", on_click=lambda: _remove(desk, k)).props(
        "flat no-caps color=negative"
    )


def _is_of_case(desk: StudySession, k: int, problem: LocatedProblem) -> bool:
    """Whether a problem is one of this case, also where the columns of all cases cause it."""
    if problem.place[:2] == ("case", k):
        return True
    names = CaseFiles(desk.path.parent).names(desk.table(("case", k)))
    return problem.where in [f"case '{n}'" for n in names]


async def show_columns(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """The columns of all cases, with the headers of the first case that has data."""
    ui.label("Columns of all cases").classes("est-title")
    ui.label(
        "Which column each input and output comes from, said once for all cases with data. What a "
        "case says itself goes before, and it can leave one out. “time” is the column with the "
        "time stamps."
    ).classes("est-lead")
    cases = desk.entries(("case",))
    first = next((k for k, c in enumerate(cases) if c.get("data")), None)
    data, wrong = ({}, "") if first is None else await _preview(desk, first)
    if not await trust_card(workbench, desk):
        await model_note(desk)
    units = {c["name"]: c["unit"] for c in data.get("columns", [])}
    with ui.column().classes("est-card"):
        if wrong:
            ui.label(wrong).classes("est-bad")
        elif data:
            named = str(cases[first or 0].get("name", data["files"][0]))
            ui.label(f"Columns and their units are offered as in {named}.").classes("est-soft")
        SharedMapping(desk, await quantities(desk), units).show()


async def _preview(desk: StudySession, k: int) -> tuple[dict[str, Any], str]:
    data = desk.value(("case", k, "data"))
    if not data or not isinstance(data, (str, list)):
        return {}, "" if data is None else "data: write the path of a file"
    try:
        args = {
            "data": data,
            "sheet": desk.value(("case", k, "sheet")),
            "time": desk.value(("case", k, "time")),
        }
        return await desk.ask("preview", **args), ""
    except EstimicaError as error:
        return {}, in_page_words(error.message)


def _pick(desk: StudySession, k: int, data: dict[str, Any], wrong: str) -> None:
    near = nearby(desk, [f.name for f in desk.folder.data_files()])
    known = desk.value(("case", k, "data"))
    if isinstance(known, list):
        known = _data_text(known)
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
                label="File, or logs/*.csv",
                with_input=True,
                new_value_mode="add-unique",
                on_change=lambda e: choose(e.value),
            )
            .props("outlined dense options-dense hide-bottom-space")
            .classes("w-80")
        )
        at_place(box, ("case", k, "data"))
        if wrong:
            box.props["error"] = True
            box.props["error-message"] = wrong
        if data:
            ui.label(f"{data['rows']} rows, {len(data['columns'])} columns").classes("est-soft")
    if len(files := data.get("files", ())) > 1:
        joined = bool(desk.value(("case", k, "join")))
        each = "parts of one record" if joined else "each a case of its own"
        more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
        ui.label(f"{len(files)} files, {each}: {', '.join(files[:MOST_FILES])}{more}; the first is "
                 "drawn below.").classes("est-soft")  # fmt: skip
    if not known:
        ui.label("No data: choose a file. A case of a design needs none.").classes("est-soft")


def _remove(desk: StudySession, k: int) -> None:
    if try_or_notify(lambda: desk.remove(("case", k))):
        ui.navigate.to(study_address(desk.name, "case"))
