"""First guesses: gain, time constant and delay read off a data file of the folder."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from estimica.apps.web.parts.figure import Figure
from estimica.apps.web.parts.frame import frame, with_error_page
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError
from estimica.base.visible import visible
from estimica.report.text import printed

RESPONSE = "the frequency response of the file"


def register(workbench: Workbench) -> None:
    """Put the page in place."""

    @ui.page("/guess")
    @with_error_page(workbench)
    def guess(data: str = "") -> None:
        with frame(workbench, "First guesses"):
            ui.label("First guesses").classes("est-title")
            ui.label(
                "A step response shows gain, time constant and delay at sight, and so does a Bode "
                "plot. Choose a file: the lines are drawn as one would with ruler and pencil, and "
                "the numbers are where a fit may start."
            ).classes("est-lead")
            FirstGuesses(workbench).show(data)


class FirstGuesses:
    """What was chosen, and what it shows."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        self.data = ""
        self.columns: dict[str, Any] = {}
        self.seen: dict[str, Any] = {}

    def show(self, data: str) -> None:
        """The file, its columns, and the answer."""
        names = [f.name for f in self.workbench.folder.data_files()]
        with ui.column().classes("est-card"):
            if not names:
                ui.label(
                    "There are no data files in this folder: send some on the page of a new study."
                ).classes("est-soft")
                return
            ui.select(
                names,
                value=data if data in names else None,
                with_input=True,
                label="Data file",
                on_change=lambda e: self._chose(str(e.value or "")),
            ).props("outlined dense options-dense").classes("w-full")
            self.fields = ui.row().classes("items-start w-full")
        self.answer = ui.column().classes("w-full")
        if data in names:
            ui.timer(0.01, lambda: self._chose(data), once=True)

    async def _chose(self, data: str) -> None:
        self.data, self.columns = data, {}
        self.fields.clear()
        self.answer.clear()
        if not data:
            return
        try:
            self.seen = await self._ask("columns")
        except EstimicaError as error:
            self._say(error.message)
            return
        with self.fields:
            self._fields()
        if self.seen["response"] or self.seen["output"]:
            await self._read()

    def _fields(self) -> None:
        if self.seen["response"]:
            named = ", ".join(f"{key} in {column}" for key, column in self.seen["response"].items())
            ui.label(visible(f"This is a frequency response: {named}.")).classes("est-soft")
            return
        for key, label in (("input", "Column that steps"), ("output", "Column that answers")):
            self._choice(key, label)
        for key, label in (
            ("at", "Step at (time)"),
            ("size", "Step by"),
            ("until", "Answer until (time)"),
        ):
            self._number(key, label)
        ui.button("Read off", icon="straighten", on_click=self._read).props("unelevated no-caps")

    def _choice(self, key: str, label: str) -> None:
        names = list(self.seen["names"])
        value = self.seen[key] if self.seen[key] in names else None
        self.columns[key] = value
        ui.select(
            names,
            value=value,
            with_input=True,
            clearable=True,
            label=label,
            on_change=lambda e: self.columns.__setitem__(key, e.value or None),
        ).props("outlined dense options-dense").classes("w-56")

    def _number(self, key: str, label: str) -> None:
        ui.number(
            label,
            on_change=lambda e: self.columns.__setitem__(
                key, None if e.value is None else float(e.value)
            ),
        ).props('outlined dense hint="optional"').classes("w-44")

    async def _read(self) -> None:
        self.answer.clear()
        with self.answer, ui.row().classes("items-center no-wrap"):
            ui.spinner(size="sm")
            ui.label("The lines are drawn …").classes("est-soft")
        given = {n: v for n, v in self.columns.items() if v is not None}
        try:
            found = await self._ask("guess", columns=given)
        except EstimicaError as error:
            self._say(error.message)
            return
        self.answer.clear()
        with self.answer, ui.column().classes("est-card w-full"):
            ui.label(visible(found["sentence"])).classes("est-h2")
            if found["note"]:
                ui.label(visible(found["note"])).classes("est-soft")
            _table(found["columns"], found["rows"])
            Figure(found["figure"], label="The data with their construction lines").classes(
                "w-full"
            )

    async def _ask(self, task: str, **more: Any) -> dict[str, Any]:
        """Ask a process of the file's own folder; the data may be from anybody."""
        path = self.workbench.folder.existing(self.data)
        bench = self.workbench.benches.of(path.parent / "first guesses")
        return await bench.ask(task, data=path.name, **more)

    def _say(self, message: str) -> None:
        self.answer.clear()
        with self.answer:
            ui.label(visible(message)).classes("est-bad").style("white-space: pre-wrap")


def _table(columns: list[str], rows: list[list[Any]]) -> None:
    heads = [{"name": str(k), "label": c, "field": str(k)} for k, c in enumerate(columns)]
    cells = [
        {str(k): "" if v is None else visible(printed(v)) for k, v in enumerate(row)}
        for row in rows
    ]
    ui.table(columns=heads, rows=cells).props("flat dense hide-bottom").classes("w-full")
