"""Criteria × cases: what is demanded of every criterion in every case, and what it weighs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, Literal

from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.session.study import Place, StudySession
from estimica.apps.web.sheets.spreadsheet import (
    Cell,
    Column,
    Draft,
    Row,
    SheetContent,
    choice_of,
    number_of,
    truth_of,
)
from estimica.study.form.fields import text_from_value

OUT = ("–", "-", "off", "none")  # how one writes that a criterion is not taken in a case
DESIGN = "design"  # the column of a study without cases
#: columns before those of the cases: key, kind, what it is
HEAD = (
    ("active", "truth", "Whether the criterion counts"),
    ("name", "text", ""),
    ("kind", "choice", "Which measure of the trajectory"),
    ("of", "text", "The variable, or an expression"),
    ("reference", "text", "What it should follow: a variable, an expression or a number"),
    ("role", "choice", "Made small, kept at most or equal to its demand, or only watched"),
)


class CriteriaByCase(SheetContent):
    """A row for each criterion, a column for each case with its demand, or with its weight."""

    grows = True

    def __init__(
        self, desk: StudySession, what: Literal["demand", "weight"], variables: tuple[str, ...] = ()
    ) -> None:
        super().__init__(desk)
        self.what = what
        self.label = "Criteria, cases and demands" if what == "demand" else "Criteria and weights"
        self.grows = what == "demand"
        form = desk.form(("criterion", "*"))
        known = {f.name: f for f in form.fields}
        self._defaults = {n: known[n].default if n in known else "" for n in ("kind", "role")}
        self._choices = {n: known[n].choices if n in known else () for n in ("kind", "role")}
        self._choices |= {"of": variables, "reference": variables}
        self._head = (
            HEAD if what == "demand" else tuple(h for h in HEAD if h[0] in ("name", "role"))
        )

    def cases(self) -> list[str]:
        """The names of the cases; those of a study without cases are one column."""
        return [str(c.get("name", "")) for c in self.desk.entries(("case",))] or [DESIGN]

    def columns(self) -> list[Column]:
        """What a criterion is, then the cases."""
        head = [
            Column(key, kind, self._choices.get(key, ()), about)  # type: ignore[arg-type]
            for key, kind, about in self._head
        ]
        word = "demand" if self.what == "demand" else "weight"
        return [*head, *(Column(name, about=f"The {word} in {name}") for name in self.cases())]

    def rows(self) -> list[Row]:
        """A row for each criterion."""
        return [self._row(k, c) for k, c in enumerate(self.desk.entries(("criterion",)))]

    def _row(self, k: int, criterion: Mapping[str, Any]) -> Row:
        place: Place = ("criterion", k)
        active = criterion.get("active", True) is not False
        cells = []
        for key, kind, _ in self._head:
            text = text_from_value(criterion.get(key, self._defaults.get(key)))
            if kind == "truth":
                text = str(active).lower()
            wrong = self.desk.wrong_at((*place, key))
            cells.append(Cell(text, wrong=wrong, locked=self.what == "weight"))
        given, left_out = _given(criterion, self.what, self.cases()), _left_out(criterion)
        idle = self.what == "weight" and criterion.get("role", "minimise") != "minimise"
        for case in self.cases():
            wrong = self.desk.wrong_at((*place, self.what)) if case in given else ""
            if idle or (left_out and case in left_out(self.cases())):
                cells.append(Cell("–", locked=idle))
            else:
                cells.append(Cell(text_from_value(given.get(case)), "1", wrong))
        link = study_address(self.desk.name, f"criterion/{k}")
        name = str(criterion.get("name", f"criterion {k + 1}"))
        return Row(name, tuple(cells), link, off=not active, removable=self.what == "demand")

    def write(self, draft: Draft, row: int, cells: Mapping[int, str]) -> None:
        """Fields of one criterion; a row behind the last is a new one."""
        place: Place = ("criterion", row)
        if draft.get(place) is None:
            name = self._column("name")
            new = {"name": self._free_name(draft, cells.get(name, ""))}
            draft.set(place, new)
            cells = {c: t for c, t in cells.items() if c != name and t}
        numbers: dict[str, str] = {}
        for column, text in cells.items():
            if column >= len(self._head):
                numbers[self.cases()[column - len(self._head)]] = text
                continue
            try:
                self._field(draft, place, self._head[column][0], text)
            except ValueError as error:
                draft.rejected[row, column] = text, str(error)
        if numbers:
            self._numbers(draft, row, numbers)

    def _field(self, draft: Draft, place: Place, key: str, text: str) -> None:
        if key == "active":
            draft.set((*place, key), None if truth_of(text) else False)
        elif key in self._defaults:
            words = self._choices[key]
            draft.set((*place, key), choice_of(text, words, str(self._defaults[key])))
        elif key == "name":
            if not text:
                raise ValueError("a criterion needs a name; the × behind the row removes it")
            if text in self._names(draft) and text != draft.get((*place, key)):
                raise ValueError(f"there is a criterion '{text}' already")
            draft.set((*place, key), text)
        elif key == "reference":
            try:
                draft.set((*place, key), number_of(text))
            except ValueError:
                draft.set((*place, key), text)
        else:
            draft.set((*place, key), text or None)

    def _numbers(self, draft: Draft, row: int, texts: Mapping[str, str]) -> None:
        """Demands or weights of some cases: one number where they are all alike, else a table."""
        place: Place = ("criterion", row)
        criterion = {key: draft.get((*place, key)) for key in (self.what, "cases")}
        cases, outside = self.cases(), _left_out(criterion)
        given = _given(criterion, self.what, cases)
        out = set(outside(cases)) if outside else set()
        for case, text in texts.items():
            if text.lower() in OUT and case != DESIGN and self.what == "demand":
                out.add(case)
                given.pop(case, None)
                continue
            try:
                value = number_of(text)
                if value is not None and not float(str(value)) > 0:
                    raise ValueError(f"a {self.what} is positive, not {text}")
            except ValueError as error:
                column = len(self._head) + cases.index(case)
                draft.rejected[row, column] = text, str(error)
                continue
            out.discard(case)
            given.pop(case, None)
            if value is not None:
                given[case] = value
        taken = [c for c in cases if c not in out]
        values = {c: given[c] for c in taken if c in given}
        if not taken:
            last = len(self._head) + cases.index(next(iter(texts)))
            why = "it would be taken in no case; take the tick of active away instead"
            draft.rejected[row, last] = texts[cases[last - len(self._head)]], why
            return
        draft.set((*place, "cases"), taken if out else None)
        alike = len(set(values.values())) == 1 and len(values) == len(taken)
        draft.set((*place, self.what), next(iter(values.values())) if alike else values or None)

    def _column(self, key: str) -> int:
        return [h[0] for h in self._head].index(key)

    def _names(self, draft: Draft) -> list[str]:
        written = [str(c.get("name", "")) for c in self.desk.entries(("criterion",))]
        new = [v["name"] for p, v in draft.values.items() if len(p) == 2 and isinstance(v, dict)]
        return [*written, *(v for p, v in draft.values.items() if p[2:] == ("name",)), *new]

    def _free_name(self, draft: Draft, wanted: str) -> str:
        taken = self._names(draft)
        if wanted and wanted not in taken:
            return wanted
        stem = wanted or "criterion"
        return next(n for k in count(2 if wanted else 1) if (n := f"{stem} {k}") not in taken)

    def remove_row(self, row: int) -> None:
        """Take a criterion out."""
        self.desk.remove(("criterion", row))


def _given(criterion: Mapping[str, Any], what: str, cases: list[str]) -> dict[str, Any]:
    """What is said for each case; nothing for those that have the default."""
    value = criterion.get(what)
    if isinstance(value, Mapping):
        return {c: value[c] for c in cases if c in value}
    return {} if value is None else dict.fromkeys(cases, value)


def _left_out(criterion: Mapping[str, Any]) -> Any:
    """Which of the cases the criterion is not taken in; None where it is in all of them."""
    named = criterion.get("cases")
    if not isinstance(named, list) or not named:
        return None
    return lambda cases: [c for c in cases if c not in named]
