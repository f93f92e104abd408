"""BackCalculation: what was computed at every point, and the laws that describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.result import Outcome, Result
from estimica.base.suggest import did_you_mean
from estimica.infer.backcalculation.points import CasePoints, FailedPoint
from estimica.infer.backcalculation.ranking import Laws
from estimica.study.study import Study

if TYPE_CHECKING:
    import pandas as pd


class NamedLaws(dict[str, Laws]):
    """The laws of each computed variable; one without them says why, another that it is not there.

    As in any dictionary, `get` and `in` only look.
    """

    def __init__(self, laws: Mapping[str, Laws], without: Mapping[str, str]) -> None:
        super().__init__(laws)
        self.without = dict(without)

    def __missing__(self, name: str) -> Laws:
        if name in self.without:
            raise InferError("I621", f"'{name}' has no laws: {self.without[name]}")
        known = [*self, *self.without]
        hint = did_you_mean(name, known) or f" (there are {', '.join(known)})"
        raise InferError("I620", f"'{name}' was not computed, so that it has no laws{hint}")


@dataclass(frozen=True, eq=False, repr=False)
class BackCalculation(Result):
    """Points of all cases with what was computed, and ranked laws for each computed variable."""

    presenter = "estimica.infer.backcalculation.present"

    study: str  # what the study is called
    compute: tuple[str, ...]  # what was computed
    against: tuple[str, ...]  # what laws depend on
    cases: tuple[CasePoints, ...]  # the points of each case
    laws: Mapping[str, Laws]  # ranked laws by computed variable
    without_laws: Mapping[str, str]  # computed variables without laws, and why
    has_time: bool  # whether the points lie in time
    seconds: float = 0.0  # how long it took
    run: str = ""  # its number in the run store
    origin: Study | None = None  # what was asked

    @property
    def names(self) -> tuple[str, ...]:
        """What was computed, what it is looked at against, and the other inputs."""
        found = dict.fromkeys((*self.compute, *self.against))
        return tuple(found | dict.fromkeys(n for c in self.cases for n in c.values))

    @property
    def units(self) -> dict[str, str]:
        """Units as far as they are known."""
        return {n: u for c in reversed(self.cases) for n, u in c.units.items() if u}

    @property
    def failed(self) -> tuple[FailedPoint, ...]:
        """Points that could not be computed."""
        return tuple(f for c in self.cases for f in c.failed)

    @property
    def n_points(self) -> int:
        """Points of all cases."""
        return sum(len(c.stamps) for c in self.cases)

    def column(self, name: str) -> Vector:
        """One variable at the points of all cases; NaN where it could not be computed."""
        if name not in self.names:
            hint = did_you_mean(name, self.names) or f" (there are {', '.join(self.names)})"
            raise InferError("I617", f"there is no '{name}' among the points{hint}")
        parts = [c.values.get(name, np.full(len(c.stamps), np.nan)) for c in self.cases]
        return np.concatenate(parts)

    def table(self) -> pd.DataFrame:  # there may be many points
        """A row for each point: case, number or time, what was computed, against what, inputs."""
        import pandas as pd

        columns: dict[str, object] = {
            "case": [c.case for c in self.cases for _ in c.stamps],
            self.stamp: np.concatenate([c.stamps for c in self.cases]),
        }
        if not self.has_time:
            columns[self.stamp] = np.asarray(columns[self.stamp]).astype(int)
        return pd.DataFrame(columns | {n: self.column(n) for n in self.names})

    @property
    def stamp(self) -> str:
        """What the points are counted by."""
        return "time" if self.has_time else "point"

    @property
    def outcome(self) -> Outcome:
        """How it went."""
        from estimica.infer.backcalculation.present import outcome

        return outcome(self)

    def picture(  # type: ignore[override]  # one variable against another
        self, name: str | None = None, *, against: str | None = None, axes: str = "linear"
    ) -> show.ViewElement:
        """What `plot` draws, as plain values."""
        picture: show.ViewElement = self._present().picture(self, name, against, axes)
        return picture

    def plot(  # type: ignore[override]  # one variable against another
        self, name: str | None = None, *, against: str | None = None, axes: str = "linear"
    ) -> Any:
        """A Plotly figure of a computed variable against another, with the laws in that one.

        `axes` are "linear", "lin-log" (the vertical one logarithmic), "log-lin" or "log-log".
        """
        return show.figure(self.picture(name, against=against, axes=axes))

    def page(self, *, axes: str | None = None) -> show.Page:
        """All of it as a page, with all axes or only these."""
        page: show.Page = self._present().page(self, axes)
        return page

    def report(self, path: str | PathLike[str], *, axes: str | None = None) -> Path:
        """Write a self-contained HTML page, with all axes or only these; returns where it is."""
        return show.write(self.page(axes=axes), path)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the points as CSV, or as Parquet where the path ends so."""
        from estimica.data.writers import write_table

        columns: dict[str, npt.ArrayLike] = {
            self.stamp: np.concatenate([c.stamps for c in self.cases])
        }
        columns |= {n: self.column(n) for n in self.names}
        texts = {"case": [c.case for c in self.cases for _ in c.stamps]}
        several = len(self.cases) > 1
        return write_table(path, columns, units=self.units, texts=texts if several else {})

    def __repr__(self) -> str:
        return "\n".join(show.text(t) for t in self.tables())
