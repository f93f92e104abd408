"""ColumnMapping: which column of the data is which input or output of the model."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from estimica.apps.web.parts.form import FormView
from estimica.apps.web.parts.landing import at_place
from estimica.apps.web.parts.notifications import notify_error, try_or_notify
from estimica.apps.web.session.study import StudySession
from estimica.base.errors import EstimicaError

ABOUT = {
    "inputs": "What drives the model: a column of the data, or one number for the whole case.",
    "outputs": "What was measured: each of these variables is compared with its column.",
}


class ColumnMapping:
    """The two tables of a case: inputs and outputs with their columns, and proposals for them."""

    def __init__(
        self, desk: StudySession, case: int, quantities: list[dict[str, Any]], columns: list[str]
    ) -> None:
        self.desk, self.case, self.columns = desk, case, columns
        self.known = {q["name"]: q for q in quantities}

    def show(self) -> None:
        """Both tables."""
        with ui.row().classes("w-full items-center"):
            ui.label("Columns and variables").classes("est-h2")
            ui.space()
            ui.button("Propose", icon="auto_fix_high", on_click=self._propose).props(
                "flat no-caps color=primary"
            ).tooltip("Fills in columns whose names fit; what is there stays")
        self._tables()

    @ui.refreshable_method
    def _tables(self) -> None:
        for kind in ("inputs", "outputs"):
            self._table(kind)

    def _table(self, kind: str) -> None:
        place = ("case", self.case, kind)
        entries = self.desk.table(place)
        ui.label(kind.capitalize()).classes("text-weight-medium")
        ui.label(ABOUT[kind]).classes("est-soft")
        left = [n for n in self._candidates(kind) if n not in entries]
        wide, table = (
            at_place(ui.element("div").classes("est-wide"), place),
            ui.element("table").classes("est"),
        )
        table.move(wide)
        with table, ui.element("tbody"):
            for name in entries:
                self._line(kind, name)
        wrong = self.desk.wrong_at(place)
        if wrong:
            ui.label(wrong).classes("est-bad")
        word = kind.removesuffix("s")
        box = ui.select(
            left,
            with_input=True,
            new_value_mode="add-unique",
            label=f"Add an {word}",
            on_change=lambda e: self._add(kind, e.value),
        ).props("outlined dense options-dense")
        box.classes("w-72")

    def _candidates(self, kind: str) -> list[str]:
        if kind == "inputs":
            inputs = [n for n, q in self.known.items() if q["role"] == "input"]
            return inputs
        first = [n for n, q in self.known.items() if q.get("output")]
        rest = [
            n
            for n, q in self.known.items()
            if q["role"] not in ("parameter", "constant", "input") and n not in first
        ]
        return [*first, *rest]

    def _line(self, kind: str, name: str) -> None:
        place = ("case", self.case, kind, name)
        value = self.desk.value(place)
        full = value if isinstance(value, dict) else {}
        column = full.get("column") if isinstance(value, dict) else value
        quantity = self.known.get(name, {})
        with ui.element("tr"):
            with ui.element("td").style("min-width: 170px; padding-top: 10px"):
                unit = f" [{quantity['unit']}]" if quantity.get("unit") else ""
                ui.label(f"{name}{unit}").classes("est-mono")
                if quantity.get("description"):
                    ui.label(quantity["description"]).classes("est-soft")
            with ui.element("td").style("min-width: 220px"):
                self._column(place, column, isinstance(value, dict))
            with ui.element("td").style("width: 60%"):
                pattern = ("case", "*", kind, "*")
                with ui.expansion("Details", value=False).classes("w-full").props("dense"):
                    if isinstance(value, (dict, str)):
                        self._details(pattern, place)
                    else:
                        ui.label("A number holds for the whole case.").classes("est-soft")
            with ui.element("td"):
                button = ui.button(icon="delete", on_click=lambda: self._remove(place))
                button.props("flat round dense color=grey-7").classes("est-quiet")
                button.props["aria-label"] = f"Remove {name}"

    def _details(self, pattern: tuple[str, ...], place: tuple[str | int, ...]) -> None:
        """All fields of the long form; the first one set makes the entry a table."""
        FormView(self.desk, place, self.desk.form(pattern), {"column": self.columns}).show(
            leave_out=("column",)
        )

    def _column(self, place: tuple[str | int, ...], column: object, table: bool) -> None:
        words = list(self.columns)
        shown = "" if column is None else str(column)
        if shown and shown not in words:
            words.append(shown)

        def choose(text: str | None) -> None:
            value: object = text
            if text is not None and text not in self.columns:
                try:
                    value = float(text)  # a number for the whole case
                except ValueError:
                    value = text
            try:
                self.desk.set((*place, "column") if table else place, value)
            except EstimicaError as error:
                notify_error(error)
            tell()

        box = ui.select(
            words,
            value=shown or None,
            with_input=True,
            new_value_mode="add-unique",
            on_change=lambda e: choose(e.value),
        ).props("outlined dense options-dense hide-bottom-space")
        box.props["aria-label"] = f"Column of {place[-1]}"
        at_place(box, place)

        def tell() -> None:
            wrong = self.desk.wrong_at(place) or self.desk.wrong_at((*place, "column"))
            if not wrong and shown and self.columns and isinstance(column, str):
                now = self.desk.value((*place, "column") if table else place)
                if isinstance(now, str) and now not in self.columns:
                    wrong = f"there is no column '{now}' in the data"
            box.props["error"] = bool(wrong)
            box.props["error-message"] = wrong
            box.update()

        tell()

    def _add(self, kind: str, name: str | None) -> None:
        if not name:
            return
        column = next(
            (c for c in self.columns if c.lower() == name.rpartition(".")[2].lower()), None
        )
        default = 0.0 if kind == "inputs" and not self.columns else (self.columns or [""])[-1]
        try:
            self.desk.set(("case", self.case, kind, name), column or default)
        except EstimicaError as error:
            notify_error(error)
        self._tables.refresh()

    def _remove(self, place: tuple[str | int, ...]) -> None:
        try_or_notify(lambda: self.desk.remove(place))
        self._tables.refresh()

    async def _propose(self) -> None:
        try:
            proposal = (
                await self.desk.ask("match", data=self.desk.value(("case", self.case, "data")))
            )["case"]
        except EstimicaError as error:
            notify_error(error)
            return
        count = 0
        for key in ("time", "time_scale", "frequency"):
            if key in proposal and self.desk.value(("case", self.case, key)) is None:
                self.desk.set(("case", self.case, key), proposal[key])
        for kind in ("inputs", "outputs"):
            for name, entry in proposal.get(kind, {}).items():
                if self.desk.value(("case", self.case, kind, name)) is None:
                    self.desk.set(("case", self.case, kind, name), entry)
                    count += 1
        ui.notify(f"{count} columns filled in" if count else "No further column fits by its name")
        self._tables.refresh()
