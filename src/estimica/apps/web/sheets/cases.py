"""Cases × values: every case with its end and the parameters that tell it from the others."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.session.study import Place, StudySession
from estimica.apps.web.sheets.spreadsheet import (
    Cell,
    Column,
    Draft,
    Row,
    SheetContent,
    number_of,
    truth_of,
)
from estimica.study.form.fields import text_from_value

ACTIVE, NAME, STOP, FIRST = 0, 1, 2, 3  # columns; parameters follow


class CaseValues(SheetContent):
    """A row for each case: whether it is used, its name, its stop time, its fixed parameters."""

    label = "Cases and their values"
    grows = True

    def __init__(self, desk: StudySession, known: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(desk)
        self._known = known  # what the model says of its quantities
        self._shown: list[str] = []  # a column stays when its last value is cleared

    def parameters(self) -> list[str]:
        """The parameters that some case fixes or has fixed, and those added to be filled."""
        fixed = [n for c in self.desk.entries(("case",)) for n in _table(c, "fix")]
        self._shown = list(dict.fromkeys([*self._shown, *fixed]))
        return list(self._shown)

    def add_parameter(self, name: str) -> None:
        """One more column."""
        if name not in self.parameters():
            self._shown.append(name)

    def columns(self) -> list[Column]:
        """Active, name, stop, parameters."""
        return [
            Column("active", "truth", about="Whether the case is used"),
            Column("case", "text"),
            Column("stop", about="Where the simulation of a design ends", unit="s"),
            *(
                Column(
                    n,
                    about=str(self._known.get(n, {}).get("description") or ""),
                    unit=str(self._known.get(n, {}).get("unit") or ""),
                    removable=True,
                )
                for n in self.parameters()
            ),
        ]

    def rows(self) -> list[Row]:
        """A row for each case."""
        cases = self.desk.entries(("case",))
        return [self._row(k, case) for k, case in enumerate(cases)]

    def _row(self, k: int, case: Mapping[str, Any]) -> Row:
        place, name = ("case", k), str(case.get("name", f"case {k + 1}"))
        active = case.get("active", True) is not False
        cells = [
            Cell(str(active).lower()),
            Cell(str(case.get("name", "")), wrong=self.desk.wrong_at((*place, "name"))),
            Cell(
                text_from_value(case.get("stop")),
                "data" if case.get("data") else "",
                self.desk.wrong_at((*place, "stop")),
            ),
        ]
        fix = _table(case, "fix")
        for n in self.parameters():
            wrong = self.desk.wrong_at((*place, "fix", n))
            cells.append(Cell(text_from_value(fix.get(n)), self._model_value(n), wrong))
        link = study_address(self.desk.name, f"case/{k}")
        return Row(name, tuple(cells), link, off=not active)

    def _model_value(self, name: str) -> str:
        """What holds where a case fixes nothing."""
        for value in (
            self.desk.value(("model", "fix", name)),
            self._known.get(name, {}).get("value"),
        ):
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return f"{value:.6g}"
        return ""

    def write(self, draft: Draft, row: int, cells: Mapping[int, str]) -> None:
        """Values of one case; a row behind the last is a new case."""
        place: Place = ("case", row)
        if draft.get(place) is None:
            draft.set(place, {"name": self._free_name(draft, cells.get(NAME, "")), **self._end()})
            cells = {c: t for c, t in cells.items() if c != NAME and t}
        parameters = self.parameters()
        for column, text in cells.items():
            try:
                if column == ACTIVE:
                    draft.set((*place, "active"), None if truth_of(text) else False)
                elif column == NAME:
                    self._rename(draft, row, text)
                elif column == STOP:
                    draft.set((*place, "stop"), number_of(text))
                else:
                    name = parameters[column - FIRST]
                    draft.set((*place, "fix", name), number_or_formula(text))
            except ValueError as error:
                draft.rejected[row, column] = text, str(error)

    def _end(self) -> dict[str, object]:
        """A new case ends when the one before it does."""
        before = self.desk.entries(("case",))
        stop = before[-1].get("stop") if before else None
        return {} if stop is None else {"stop": stop}

    def _names(self, draft: Draft) -> list[str]:
        written = [self.desk.value(("case", k, "name")) for k in range(len(self.rows()))]
        new = [v["name"] for p, v in draft.values.items() if len(p) == 2 and isinstance(v, dict)]
        named = [v for p, v in draft.values.items() if p[2:] == ("name",)]
        return [str(n) for n in (*written, *new, *named)]

    def _free_name(self, draft: Draft, wanted: str) -> str:
        taken = self._names(draft)
        if wanted and wanted not in taken:
            return wanted
        stem = wanted or "case"
        return next(n for k in count(2 if wanted else 1) if (n := f"{stem} {k}") not in taken)

    def _rename(self, draft: Draft, row: int, new: str) -> None:
        """Another name, also where criteria and indicators speak of the case."""
        old = draft.get(("case", row, "name"))
        if not new:
            raise ValueError("a case needs a name; the × behind the row removes it")
        if new == old:
            return
        if new in self._names(draft):
            raise ValueError(f"there is a case '{new}' already")
        draft.set(("case", row, "name"), new)
        for table in ("criterion", "indicator"):
            for k in range(len(self.desk.entries((table,)))):
                for key in ("cases", "demand", "weight"):
                    place: Place = (table, k, key)
                    value = draft.get(place)
                    if isinstance(value, list) and old in value:
                        draft.set(place, [new if n == old else n for n in value])
                    elif isinstance(value, dict) and old in value:
                        draft.set(place, {new if n == old else n: v for n, v in value.items()})

    def add_case(self) -> None:
        """One more case, without data."""
        draft = Draft(self.desk)
        self.write(draft, len(self.rows()), {})
        self.desk.set_all(draft.values.items())

    def remove_row(self, row: int) -> None:
        """Take a case out."""
        self.desk.remove(("case", row))

    def remove_column(self, column: int) -> None:
        """Let no case fix a parameter."""
        if column < FIRST:
            return super().remove_column(column)
        name = self.parameters()[column - FIRST]
        places = [("case", k, "fix", name) for k in range(len(self.desk.entries(("case",))))]
        self.desk.set_all([(p, None) for p in places if self.desk.value(p) is not None])
        self._shown = [n for n in self._shown if n != name]


def number_or_formula(text: str) -> object:
    """A number, or an expression in tuners."""
    try:
        return number_of(text)
    except ValueError:
        if any(c.isalpha() or c == "_" for c in text):
            return text
        raise


def _table(case: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = case.get(key)
    return value if isinstance(value, dict) else {}
