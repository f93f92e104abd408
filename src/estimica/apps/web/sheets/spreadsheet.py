"""Sheet: a table of cells that are typed, pasted and filled, written into the study as one edit."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from nicegui import ui
from nicegui.element import Element

from estimica.apps.web.parts.notifications import try_or_notify
from estimica.apps.web.session.study import Place, StudySession
from estimica.base.errors import WebError
from estimica.study.form.fields import value_from_text
from estimica.study.form.tables import Field

#: cells that one paste may fill; chosen: a study of that size is not typed by hand
MOST = 20_000
#: how a sheet is used, in a sentence
HOW = (
    "Type or paste as in a spreadsheet: arrows, Tab and Enter move, F2 edits, Delete clears, "
    "Ctrl+D fills down; the corner of the selection goes on with it: 1, 2 becomes 3, 4 …"
)
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")
_NUMBER = Field("number", "Number", "", "number")


@dataclass(frozen=True)
class Column:
    """A column: its label, what may stand in it, and whether it can be taken away."""

    label: str
    kind: Literal["number", "text", "choice", "truth"] = "number"
    choices: tuple[str, ...] = ()
    about: str = ""
    unit: str = ""
    removable: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell: its text, what holds where it is empty, and what is wrong with it."""

    text: str = ""
    placeholder: str = ""
    wrong: str = ""
    locked: bool = False


@dataclass(frozen=True)
class Row:
    """A row: its name, its cells, and where all its fields are."""

    name: str
    cells: tuple[Cell, ...]
    link: str = ""
    off: bool = False
    removable: bool = True


@dataclass
class Draft:
    """What an edit becomes: values at places in order, and texts that are not what they should be.

    `values` can be read back before they are written: cells of one paste may belong together.
    """

    desk: StudySession
    values: dict[Place, object] = field(default_factory=dict)
    rejected: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)

    def get(self, place: Place) -> Any:
        """What stands at a place now."""
        return self.values[place] if place in self.values else self.desk.value(place)

    def set(self, place: Place, value: object) -> None:
        """Have a value written."""
        self.values.pop(place, None)
        self.values[place] = value


class SheetContent(ABC):
    """What a sheet shows of a study, and what becomes of what is typed."""

    label = "table"
    grows = False  # whether an empty row at its end makes a new one

    def __init__(self, desk: StudySession) -> None:
        self.desk = desk

    @abstractmethod
    def columns(self) -> list[Column]:
        """The columns now."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """The rows now."""

    @abstractmethod
    def write(self, draft: Draft, row: int, cells: Mapping[int, str]) -> None:
        """Take up the texts of one row, by column; a row behind the last is a new one.

        A text that does not fit is a ValueError for its column: use `cell_errors`.
        """

    @abstractmethod
    def remove_row(self, row: int) -> None:
        """Take a row out of the study."""

    def remove_column(self, column: int) -> None:
        """Take a column out of the study, where columns can be."""
        raise WebError("G069", f"column {column + 1} of '{self.label}' cannot be removed")


class Sheet(Element, component="spreadsheet.js"):
    """The table itself: it shows its content anew after every change of the study."""

    def __init__(self, content: SheetContent) -> None:
        super().__init__()
        self.content = content
        self._rejected: dict[tuple[int, int], tuple[str, str]] = {}
        self._props["label"] = content.label
        self._props["extra"] = content.grows
        self.classes("w-full")
        self.on("edit", lambda e: self.edit(e.args["changes"]))
        self.on(
            "removerow",
            lambda e: self._remove(content.remove_row, e.args["row"], len(content.rows())),
        )
        self.on(
            "removecolumn",
            lambda e: self._remove(content.remove_column, e.args["column"], len(content.columns())),
        )
        ui.context.client.on_delete(content.desk.listen(self.show))
        self.show()

    def show(self) -> None:
        """Send columns and rows as they are now."""
        if self.is_deleted:
            return
        columns, rows = self.content.columns(), self.content.rows()
        self._props["columns"] = [asdict(c) for c in columns]
        self._props["rows"] = [asdict(row) for row in self._with_rejected(rows)]
        self.update()

    def _with_rejected(self, rows: Sequence[Row]) -> Iterator[Row]:
        for r, row in enumerate(rows):
            cells = tuple(
                replace(cell, text=self._rejected[r, c][0], wrong=self._rejected[r, c][1])
                if (r, c) in self._rejected
                else cell
                for c, cell in enumerate(row.cells)
            )
            yield replace(row, cells=cells)

    def edit(self, changes: Sequence[Sequence[Any]]) -> None:
        """Write what was typed, pasted or filled, as one step that can be undone."""
        if len(changes) > MOST:
            ui.notify(f"{len(changes)} cells at once are too many; paste at most {MOST}.")
            return
        columns, count = self.content.columns(), len(self.content.rows())
        by_row: dict[int, dict[int, str]] = {}
        left = 0
        for row, column, text in changes:
            if 0 <= column < len(columns) and 0 <= row < (MOST if self.content.grows else count):
                by_row.setdefault(int(row), {})[int(column)] = str(text).strip()
                self._rejected.pop((row, column), None)
            else:
                left += 1
        draft = Draft(self.content.desk)
        end = count
        for row, cells in sorted(by_row.items()):
            if row >= count and not any(cells.values()):
                continue
            self.content.write(draft, min(row, end), cells)
            end += row >= count
        self._rejected |= draft.rejected
        if draft.values:
            try_or_notify(lambda: self.content.desk.set_all(draft.values.items()))
        self.show()
        if left:
            ui.notify(f"{left} cells do not fit into the table and were left out.")

    def _remove(self, remove: Callable[[int], None], number: int, most: int) -> None:
        if 0 <= number < most:  # the page may be older than the study
            self._rejected.clear()
            try_or_notify(lambda: remove(int(number)))
        self.show()


def number_of(text: str) -> object:
    """The number that a text of a cell means, None for an empty one; a comma may be the point."""
    if _THOUSANDS.fullmatch(text):
        raise ValueError(f"'{text}' may mean thousands or a decimal comma; write it with a point")
    if _WITH_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    value = value_from_text(_NUMBER, text)
    if isinstance(value, str):
        raise ValueError(f"'{text}' is not a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"'{text}' is not a finite number")
    return value


def truth_of(text: str) -> bool:
    """Whether a text of a cell means yes."""
    word = text.strip().lower()
    if word in ("true", "yes", "1", "x", "☑"):
        return True
    if word in ("false", "no", "0", "", "☐"):
        return False
    raise ValueError(f"'{text}' is neither true nor false")


def choice_of(text: str, words: Sequence[str], default: str) -> str | None:
    """One of these words, None for the default."""
    word = text.strip().lower()
    if word and word not in words:
        raise ValueError(f"'{text}' is none of {', '.join(words)}")
    return None if word in ("", default) else word
