"""Result: what every finished analysis is; Outcome: how it ended; Progress: how far it is.

An analysis has three files: `run` does the work, `result` holds the frozen value, `present` says
what there is to see of it. A result names its presenter as text, so that a program that only
computes never loads what pages need.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from estimica.base import view
from estimica.base.saving.plain import finite as finite
from estimica.base.saving.plain import plain_object as plain_object
from estimica.base.saving.saved import Saved

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How an analysis ended: one word, a sentence, and whether its result can be used.

    `status, message = result.outcome` works too, and so do `outcome()`, `outcome[1]` and
    `outcome == (status, message)`: it was a method of some results once, which returned both.
    """

    status: str
    message: str
    ok: bool = True

    def __iter__(self) -> Iterator[str]:
        yield self.status
        yield self.message

    def __getitem__(self, place: int) -> str:
        return (self.status, self.message)[place]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Outcome):
            return (*self, self.ok) == (*other, other.ok)
        return tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))  # that of the pair it may equal

    def __call__(self) -> Outcome:
        """The outcome itself."""
        return self


DONE = Outcome("done", "done")


@dataclass(frozen=True)
class Progress:
    """How far long work is: pieces done and failed of so many; a text where there is more."""

    done: int
    count: int
    failed: int = 0
    text: str = ""
    pieces: str = field(default="", kw_only=True)  # what is counted: replicates, folds

    @property
    def share(self) -> float | None:
        """The share of the work that is done; None where nobody can tell."""
        return self.done / self.count if self.count else None

    @property
    def words(self) -> str:
        """How far it is, in words."""
        if self.text:
            return self.text
        of = f" of {self.count}" if self.count else ""
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done}{of} {self.pieces}".rstrip() + failed


@dataclass(frozen=True, repr=False)
class Summary:
    """Tables that show themselves: as text where they are printed, as HTML in a notebook."""

    tables: tuple[view.Table, ...]

    def __repr__(self) -> str:
        return "\n\n".join(view.text(table) for table in self.tables)

    def _repr_html_(self) -> str:
        return "".join(view.html(table) for table in self.tables)


class Result(Saved):
    """A finished analysis that shows itself: in notebooks, in terminals, as a page, as JSON.

    Its `presenter` is a module with `tables(result)`, the first of which is *the* table, and, where
    there is more to see, `picture(result, kind, names)`, `page(result)`, `as_object(result)`.
    """

    presenter: ClassVar[str]
    main_kind: ClassVar[str] = ""  # of its pictures, the one that says most

    if TYPE_CHECKING:  # a field of some, a property of others

        @property
        def outcome(self) -> Outcome:
            """How it ended."""

    def tables(self) -> tuple[view.Table, ...]:
        """All there is to read, the main table first."""
        return tuple(self._present().tables(self))

    def table(self) -> view.Table:
        """The main table."""
        return self.tables()[0]

    def to_frame(self) -> pd.DataFrame:
        """The main table as a DataFrame, its numbers as numbers."""
        import pandas as pd

        table = self.tables()[0]
        rows = [[float(c) if isinstance(c, view.Rounded) else c for c in r] for r in table.rows]
        return pd.DataFrame(rows, columns=list(table.columns))

    def summary(self) -> Summary:
        """All there is to read, to be printed or shown: `print(result.summary())`."""
        return Summary(self.tables())

    def picture(self, kind: str = "", *names: str) -> view.ViewElement:
        """What `plot` draws, as plain values; without `kind` what says most."""
        picture: view.ViewElement = self._present().picture(self, kind or self.main_kind, names)
        return picture

    def plot(self, kind: str = "", *names: str) -> Any:
        """A Plotly figure; without `kind` the one that says most."""
        return view.figure(self.picture(kind, *names))

    def page(self) -> view.Page:
        """All of it as a page, for files, the store and the workbench."""
        page: view.Page = self._present().page(self)
        return page

    def report(self, path: str | PathLike[str]) -> Path:
        """Write a self-contained HTML page, or Markdown to an .md file; returns where it is."""
        return view.write(self.page(), path)

    def to_dict(self) -> dict[str, object]:
        """Plain values: what the command of its name prints with --json."""
        plain: dict[str, object] = self._present().as_object(self)
        return plain

    def __repr__(self) -> str:
        return repr(Summary(self.tables()))

    def _repr_html_(self) -> str:
        return Summary(self.tables())._repr_html_()

    def _present(self) -> Any:
        return import_module(self.presenter)
