"""Free starts: the start values that are found along with the tuners, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.session.study import Place, StudySession
from estimica.apps.web.sheets.spreadsheet import Cell, Column, Draft, Row, SheetContent, number_of
from estimica.study.form.fields import text_from_value

FIRST = 2  # column after case and variable
FIELDS = ("start", "min", "max")


class FreeStarts(SheetContent):
    """A row for each free start value of each case: start, lower and upper bound."""

    label = "Free start values"

    def __init__(self, desk: StudySession, known: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(desk)
        self._known = known

    def states(self) -> list[str]:
        """What may have a free start."""
        return [n for n, q in self._known.items() if q.get("role") == "state"]

    def cases(self) -> list[str]:
        """The cases by name."""
        cases = self.desk.entries(("case",))
        return [str(c.get("name", f"case {k + 1}")) for k, c in enumerate(cases)]

    def columns(self) -> list[Column]:
        """Case, variable, its start and bounds."""
        return [
            Column("case", "text"),
            Column("variable", "text"),
            Column("start", about="Where the search begins"),
            Column("min", about="Lower bound"),
            Column("max", about="Upper bound"),
            Column("unit", "text"),
        ]

    def _entries(self) -> list[tuple[int, str]]:
        return [
            (k, str(name))
            for k, case in enumerate(self.desk.entries(("case",)))
            for name in case.get("free_start", ())
            if isinstance(case.get("free_start"), (dict, list))
        ]

    def rows(self) -> list[Row]:
        """A row for each free start value."""
        return [self._row(k, name) for k, name in self._entries()]

    def _row(self, k: int, name: str) -> Row:
        place: Place = ("case", k, "free_start", name)
        case = self.cases()[k]
        whole = self.desk.wrong_at(place)
        cells = [Cell(case, locked=True), Cell(name, wrong=whole, locked=True)]
        for key in FIELDS:
            text = text_from_value(self.desk.value((*place, key)))
            hint = self._hint(k, name) if key == "start" else ""
            cells.append(Cell(text, hint, self.desk.wrong_at((*place, key))))
        unit = str(self._known.get(name, {}).get("unit") or "")
        cells.append(Cell("" if unit == "1" else unit, locked=True))
        link = study_address(self.desk.name, f"case/{k}")
        return Row(f"{name} in {case}", tuple(cells), link)

    def _hint(self, k: int, name: str) -> str:
        value = self.model_start(k, name)
        return "the model's" if value is None else f"{value:.6g}"

    def model_start(self, k: int, name: str) -> float | None:
        """Where a state starts where nothing else is said: as the case fixes it, or the model."""
        for value in (
            self.desk.value(("case", k, "fix", name)),
            self.desk.value(("model", "fix", name)),
            self._known.get(name, {}).get("value"),
        ):
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return float(value)
        return None

    def write(self, draft: Draft, row: int, cells: Mapping[int, str]) -> None:
        """Start and bounds of one value."""
        k, name = self._entries()[row]
        place: Place = ("case", k, "free_start", name)
        for column, text in cells.items():
            if FIRST <= column < FIRST + len(FIELDS):
                try:
                    draft.set((*place, FIELDS[column - FIRST]), number_of(text))
                except ValueError as error:
                    draft.rejected[row, column] = text, str(error)

    def free(self, draft: Draft, cases: Sequence[int], names: Sequence[str]) -> None:
        """Let start values be found, beginning with the model's own."""
        for k in cases:
            for name in names:
                place: Place = ("case", k, "free_start", name)
                if self.desk.value(place) is None:
                    start = self.model_start(k, name)
                    known = start is not None
                    draft.set((*place, "start") if known else place, start if known else {})

    def add(self, cases: Sequence[int], names: Sequence[str]) -> None:
        """The same, written."""
        draft = Draft(self.desk)
        self.free(draft, cases, names)
        self.desk.set_all(draft.values.items())

    def remove_row(self, row: int) -> None:
        """Let a start value be as the model has it."""
        k, name = self._entries()[row]
        self.desk.set(("case", k, "free_start", name), None, tables={("case", k, "free_start")})
