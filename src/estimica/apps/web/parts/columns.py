"""ColumnMapping: which column of the data is which input or output of the model, in a case or in
all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

from nicegui import ui

from estimica.apps.web.parts.form import FormView
from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.parts.landing import at_place
from estimica.apps.web.parts.notifications import notify_error, try_or_notify
from estimica.apps.web.session.study import Place, StudySession
from estimica.base.errors import EstimicaError
from estimica.study.units import UnknownUnit, conversion

ABOUT = {
    "inputs": "What drives the model: a column of the data, or one number for the whole case.",
    "outputs": "What was measured: each of these variables is compared with its column.",
}
TIME = "time"


def entry_with_column(before: object, chosen: object, units: Mapping[str, str]) -> object:
    """The entry of an input or output with another column, and the unit that its header tells.

    `units` are those of the headers, by column. A unit that was typed stays where the header tells
    none, and so does what was said of scaling: the numbers are then in the unit of that.
    """
    if not isinstance(chosen, str):
        return chosen  # a number for the whole case
    entry = dict(before) if isinstance(before, dict) else {}
    was = entry.get("column") if isinstance(before, dict) else before
    entry = {**entry, "column": chosen}
    header = units.get(chosen, "")
    if "scale" not in entry and "offset" not in entry:
        if header:
            entry["unit"] = header
        elif isinstance(was, str) and entry.get("unit") == units.get(was, ""):
            entry.pop("unit", None)  # it was that of the other column
    return entry if set(entry) != {"column"} else chosen


def conversion_hint(entry: object, units: Mapping[str, str], quantity: Mapping[str, Any]) -> str:
    """What becomes of the numbers of a column, as far as units tell; "" where they do not."""
    full = entry if isinstance(entry, dict) else {"column": entry}
    scaled = "scale" in full or "offset" in full
    unit = full.get("unit") or ("" if scaled else units.get(str(full.get("column")), ""))
    wanted = str(quantity.get("unit") or "")
    if not isinstance(unit, str) or not unit:
        return ""
    if not wanted:
        return f"in {unit}; the model gives no unit, and takes the numbers as they are"
    try:
        change = conversion(unit, wanted, difference=bool(quantity.get("difference")))
    except UnknownUnit:
        return f"in {unit}, which is not a unit known here; the model wants {wanted}"
    if change is None:
        return f"in {unit}; the model wants {wanted}, which measures something else"
    if change.is_nothing:
        return f"in {unit}, as the model wants it"
    return f"in {unit}, converted to {wanted}: {change.text}"


def likely_column(
    name: str, quantity: Mapping[str, Any], units: Mapping[str, str], used: Collection[str]
) -> str | None:
    """The column to begin with for a variable: one of its name, else an unused one whose unit
    fits; None where neither is there."""
    short = name.rpartition(".")[2].lower()
    for column in units:
        if column.lower() == short:
            return column
    wanted = str(quantity.get("unit") or "")
    return next((c for c, u in units.items() if c not in used and _fits(u, wanted)), None)


def _column_of(entry: object) -> str:
    return str(entry.get("column") if isinstance(entry, dict) else entry)


def _fits(unit: str, wanted: str) -> bool:
    if not unit or not wanted:
        return False
    try:
        return conversion(unit, wanted) is not None
    except UnknownUnit:
        return False


class _Mapping(ABC):
    """Entries of inputs and outputs with their columns; `columns` have the units of headers."""

    def __init__(
        self, desk: StudySession, quantities: list[dict[str, Any]], columns: Mapping[str, str]
    ) -> None:
        self.desk, self.columns = desk, columns
        self.known = {q["name"]: q for q in quantities}
        self._unfolded: set[Place] = set()  # details that stay open when the tables are drawn anew

    @ui.refreshable_method
    def _tables(self) -> None:
        self._content()

    @abstractmethod
    def _content(self) -> None:
        """Draw the tables of all entries."""

    def _inputs(self) -> list[str]:
        return [n for n, q in self.known.items() if q["role"] == "input"]

    def _outputs(self) -> list[str]:
        first = [n for n, q in self.known.items() if q.get("output")]
        rest = [
            n
            for n, q in self.known.items()
            if q["role"] not in ("parameter", "constant", "input") and n not in first
        ]
        return [*first, *rest]

    def _adder(self, place: Place, word: str, left: list[str]) -> None:
        box = ui.select(
            left,
            with_input=True,
            new_value_mode="add-unique",
            label=f"Add an {word}",
            on_change=lambda e: self._add(place, e.value),
        ).props("outlined dense options-dense")
        box.classes("w-72")

    def _named(self, name: str) -> None:
        """The cell of the variable."""
        quantity = self.known.get(name, {})
        with ui.element("td").style("min-width: 170px; padding-top: 10px"):
            unit = f" [{quantity['unit']}]" if quantity.get("unit") else ""
            ui.label(f"{name}{unit}").classes("est-mono")
            if quantity.get("description"):
                ui.label(quantity["description"]).classes("est-soft")

    def _line(self, place: Place) -> None:
        name, value = str(place[-1]), self.desk.value(place)
        with ui.element("tr"):
            self._named(name)
            with ui.element("td").style("min-width: 220px"):
                self._column(place, value)
                hint = conversion_hint(value, self.columns, self.known.get(name, {}))
                if hint:
                    ui.label(hint).classes("est-soft")
            with (
                ui.element("td").style("width: 60%"),
                ui.expansion(
                    "Details",
                    value=place in self._unfolded,
                    on_value_change=lambda e: self._fold(place, not e.value),
                )
                .classes("w-full")
                .props("dense"),
            ):
                if isinstance(value, (dict, str)):
                    self._details(place)
                else:
                    ui.label("A number holds for the whole case.").classes("est-soft")
            with ui.element("td"):
                button = ui.button(icon="delete", on_click=lambda: self._remove(place))
                button.props("flat round dense color=grey-7").classes("est-quiet")
                button.props["aria-label"] = f"Remove {name}"

    def _fold(self, place: Place, folded: bool) -> None:
        if folded:
            self._unfolded.discard(place)
        else:
            self._unfolded.add(place)

    def _details(self, place: Place) -> None:
        """All fields of the long form; the first one set makes the entry a table."""
        pattern = tuple("*" if isinstance(s, int) else str(s) for s in place[:-1])
        columns = {"column": list(self.columns)}
        FormView(self.desk, place, self.desk.form((*pattern, "*")), columns).show(
            leave_out=("column",)
        )

    def _column(self, place: Place, value: object) -> None:
        column = value.get("column") if isinstance(value, dict) else value
        words = list(self.columns)
        shown = "" if column is None else str(column)
        if shown and shown not in words:
            words.append(shown)

        def choose(text: str | None) -> None:
            chosen: object = text
            if text is not None and text not in self.columns:
                try:
                    chosen = float(text)  # a number for the whole case
                except ValueError:
                    chosen = text
            if text is not None:
                chosen = entry_with_column(self.desk.value(place), chosen, self.columns)
            try:
                self.desk.set(place, chosen)
            except EstimicaError as error:
                notify_error(error)
            self._tables.refresh()

        box = ui.select(
            words,
            value=shown or None,
            with_input=True,
            new_value_mode="add-unique",
            on_change=lambda e: choose(e.value),
        ).props("outlined dense options-dense hide-bottom-space")
        box.props["aria-label"] = f"Column of {place[-1]}"
        at_place(box, place)
        wrong = self.desk.wrong_at(place) or self.desk.wrong_at((*place, "column"))
        if not wrong and self.columns and isinstance(column, str) and column not in self.columns:
            wrong = f"there is no column '{column}' in the data"
        box.props["error"] = bool(wrong)
        box.props["error-message"] = wrong

    def _add(self, place: Place, name: str | None) -> None:
        if not name:
            return
        tables = place, *((*place[:-1], kind) for kind in ABOUT)
        used = {_column_of(e) for table in tables for e in self.desk.table(table).values()}
        column = likely_column(name, self.known.get(name, {}), self.columns, used)
        number = place[-1] == "inputs" and not self.columns
        default = 0.0 if number else ([*self.columns] or [""])[-1]
        entry = default if column is None else entry_with_column(None, column, self.columns)
        try:
            self.desk.set((*place, name), entry)
        except EstimicaError as error:
            notify_error(error)
        self._tables.refresh()

    def _remove(self, place: Place) -> None:
        try_or_notify(lambda: self.desk.remove(place))
        self._tables.refresh()


class ColumnMapping(_Mapping):
    """The two tables of a case: inputs and outputs with their columns, and proposals for them."""

    def __init__(
        self,
        desk: StudySession,
        case: int,
        quantities: list[dict[str, Any]],
        columns: Mapping[str, str],
    ) -> None:
        super().__init__(desk, quantities, columns)
        self.case = case

    def show(self) -> None:
        """Both tables."""
        with ui.row().classes("w-full items-center"):
            ui.label("Columns and variables").classes("est-h2")
            ui.space()
            ui.button("Propose", icon="auto_fix_high", on_click=self._propose).props(
                "flat no-caps color=primary"
            ).tooltip("Fills in columns whose names fit; what is there stays")
        self._tables()

    def _content(self) -> None:
        for kind in ("inputs", "outputs"):
            self._table(kind)

    def _table(self, kind: str) -> None:
        place = ("case", self.case, kind)
        entries = self.desk.table(place)
        shared = self._shared(kind)
        ui.label(kind.capitalize()).classes("text-weight-medium")
        ui.label(ABOUT[kind]).classes("est-soft")
        candidates = self._inputs() if kind == "inputs" else self._outputs()
        wide, table = (
            at_place(ui.element("div").classes("est-wide"), place),
            ui.element("table").classes("est"),
        )
        table.move(wide)
        with table, ui.element("tbody"):
            for name in entries:
                self._line((*place, name))
            for name in shared:
                self._shared_line(kind, name)
        wrong = self.desk.wrong_at(place)
        if wrong:
            ui.label(wrong).classes("est-bad")
        left = [n for n in candidates if n not in entries and n not in shared]
        self._adder(place, kind.removesuffix("s"), left)

    # --- what all cases have ------------------------------------------------------------------

    def _shared(self, kind: str) -> list[str]:
        """Names of the columns of all cases that this one does not give itself."""
        case = self.desk.table(("case", self.case))
        if not case.get("data"):
            return []
        own = {*self.desk.table(("case", self.case, "inputs"))}
        own |= {*self.desk.table(("case", self.case, "outputs")), TIME}
        names = [n for n in self.desk.table(("columns",)) if n not in own]
        return [n for n in names if (self._role(n) == "input") == (kind == "inputs")]

    def _role(self, name: str) -> str:
        entry = self.desk.value(("columns", name))
        said = entry.get("role") if isinstance(entry, dict) else None
        inputs = name in self.known and self.known[name]["role"] == "input"
        return str(said or ("input" if inputs else "output"))

    def _shared_line(self, kind: str, name: str) -> None:
        """A line of what all cases have, with ways to have it otherwise here."""
        place: Place = ("case", self.case)
        left = self.desk.value((*place, "without"), [])
        left = left if isinstance(left, list) else []
        entry = self.desk.value(("columns", name))
        column = entry.get("column") if isinstance(entry, dict) else entry

        def own() -> None:
            plain = {k: v for k, v in entry.items() if k != "role"} if isinstance(
                entry, dict
            ) else entry  # fmt: skip
            if try_or_notify(lambda: self.desk.set((*place, kind, name), plain)):
                self._tables.refresh()

        def leave_out() -> None:
            kept = [n for n in left if n != name]
            value = kept if name in left else [*left, name]
            if try_or_notify(lambda: self.desk.set((*place, "without"), value or None)):
                self._tables.refresh()

        with ui.element("tr"):
            self._named(name)
            with ui.element("td"):
                ui.label("left out here" if name in left else str(column)).classes("est-mono")
                hint = conversion_hint(entry, self.columns, self.known.get(name, {}))
                if hint and name not in left:
                    ui.label(hint).classes("est-soft")
                missing = isinstance(column, str) and bool(self.columns)
                if missing and name not in left and column not in self.columns:
                    ui.label(f"there is no column '{column}' in the data").classes("est-bad")
            with ui.element("td"), ui.row().classes("items-center gap-2"):
                ui.link("as in all cases", study_address(self.desk.name, "columns")).classes(
                    "est-soft"
                )
                if name not in left:
                    _small("Otherwise in this case", own, f"Own column of {name}")
                word = "Take it again" if name in left else "Leave it out"
                _small(word, leave_out, f"{word}: {name}")
            ui.element("td")

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


def _small(word: str, action: Any, label: str) -> None:
    button = ui.button(word, on_click=action).props("flat dense no-caps size=sm color=primary")
    button.props["aria-label"] = label


class SharedMapping(_Mapping):
    """The columns of all cases in one table."""

    def _content(self) -> None:
        place = ("columns",)
        entries = self.desk.table(place)
        wide, table = (
            at_place(ui.element("div").classes("est-wide"), place),
            ui.element("table").classes("est"),
        )
        table.move(wide)
        with table, ui.element("tbody"):
            for name in entries:
                self._line((*place, name))
        if not entries:
            ui.label("None yet: each case says for itself which column is what.").classes(
                "est-empty"
            )
        left = [n for n in [*self._inputs(), *self._outputs(), TIME] if n not in entries]
        self._adder(place, "input, output or time", left)

    def show(self) -> None:
        """The table."""
        self._tables()
