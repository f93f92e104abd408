"""The result of a second model check: directions, what they change there, and words about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from estimica.base import view as show
from estimica.base.result import finite
from estimica.base.text import short
from estimica.base.view import without_empty
from estimica.estimate.fit.result import Fit
from estimica.estimate.page_frame import study_summary, with_reproduction


@dataclass(frozen=True)
class Effect:
    """How much one output of the second model changes, relative to its RMS."""

    case: str
    output: str
    change: float


@dataclass(frozen=True, eq=False)
class Direction:
    """An undetermined direction: relative changes of the tuners, the largest 1."""

    changes: Mapping[str, float]
    here: float  # largest relative change of an output of the fitted study along it
    effects: tuple[Effect, ...]
    matters: bool
    failure: str = ""  # why the second model could not be evaluated along it

    @property
    def largest(self) -> Effect | None:
        """The output that changes most."""
        return max(self.effects, key=lambda e: e.change, default=None)


@dataclass(frozen=True, eq=False)
class SecondModel:
    """What the undetermined directions of a fit do to another model."""

    fit: Fit = field(repr=False)
    other: str
    change: float
    threshold: float
    directions: tuple[Direction, ...]
    missing: tuple[str, ...] = ()  # tuners that the second model does not have

    @property
    def ok(self) -> bool:
        """Whether nothing that is left open matters."""
        return not any(d.matters for d in self.directions)

    @property
    def text(self) -> str:
        """The verdict in a sentence."""
        count, bad = len(self.directions), sum(d.matters for d in self.directions)
        if not count:
            return f"the data determine all tuners: nothing is left open for '{self.other}'"
        what = "the undetermined direction" if count == 1 else f"the {count} undetermined ones"
        if not bad:
            none = "does not change" if count == 1 else "do not change"
            return f"{what} {none} the outputs of '{self.other}': what was left open may stay so"
        if count == 1:
            return f"the undetermined direction changes the outputs of '{self.other}'"
        return f"{bad} of {count} undetermined directions change the outputs of '{self.other}'"

    @property
    def advice(self) -> tuple[str, ...]:
        """A sentence about every direction, and about tuners that the second model lacks."""
        said = [self._about(d) for d in self.directions]
        if self.missing:
            names = ", ".join(f"'{n}'" for n in self.missing)
            verb = "is" if len(self.missing) == 1 else "are"
            said.append(f"{names} {verb} not in '{self.other}' and cannot change it")
        return tuple(said)

    def _about(self, direction: Direction) -> str:
        moved = _in_words(direction, self.change)
        if direction.failure:
            return f"{moved} makes '{self.other}' fail: {direction.failure}"
        largest = direction.largest
        assert largest is not None
        where = f"'{largest.output}' of case '{largest.case}' in '{self.other}'"
        if direction.matters:
            return (
                f"{moved} goes unnoticed in '{self.fit.study.name}' but changes {where} by "
                f"{_percent(largest.change)} (RMS): fit it to data of '{self.other}' too"
            )
        return (
            f"{moved} goes unnoticed in '{self.fit.study.name}' and changes no output of "
            f"'{self.other}' by more than {_percent(max(largest.change, 1e-8))}: any value will do"
        )

    def table(self) -> show.Table:
        """A row for each direction and output of the second model."""
        rows: list[tuple[object, ...]] = []
        for k, d in enumerate(self.directions, start=1):
            moved = ", ".join(f"{n} {_signed(c * self.change)}" for n, c in d.changes.items())
            if d.failure:
                rows.append((k, moved, None, None, None, "fails"))
            for e in () if d.failure else d.effects:
                share = short(100 * e.change)
                remark = "matters" if e.change > self.threshold and d.matters else ""
                rows.append((k, moved, e.case, e.output, share, remark))
        columns = ("direction", "tuners move by", "case", "output", "changes by %", "remark")
        title = f"{self.fit.study.name}: {self.text}"
        return without_empty(show.Table(columns, tuple(rows), title), "remark")

    def bars(self) -> show.Bars:
        """How much each output changes, direction by direction."""
        groups = tuple(
            (
                ", ".join(f"{n} {_signed(c * self.change)}" for n, c in d.changes.items()),
                tuple(
                    show.Bar(f"{e.output} ({e.case})", 100 * e.change, strong=d.matters)
                    for e in d.effects
                ),
            )
            for d in self.directions
        )
        label = "largest change of the output, % of its RMS"
        return show.Bars(groups, label, f"What is left open, in '{self.other}'")

    def plot(self) -> Any:
        """A Plotly figure of the changes."""
        return show.figure(self.bars())

    def sections(self) -> tuple[show.Section, ...]:
        """What a page says of it."""
        said = [self.text, *self.advice]
        words = "\n\n".join(s[:1].upper() + s[1:] + "." for s in said)
        shown = (self.table(), self.bars()) if self.directions else ()
        return (show.Section(f"Second model: {self.other}", words, shown),)

    def page(self) -> show.Page:
        """All of it as a page, for files, the store and the workbench."""
        title = f"Second model: {self.fit.study.name} and {self.other}"
        study = self.fit.study
        first = (study_summary(study, "identifiability"),)
        return with_reproduction(
            show.Page(title, self.sections()), "second_model", study, first=first
        )

    def report(self, path: str | PathLike[str]) -> Path:
        """Write a self-contained HTML page; returns where it is."""
        return show.write(self.page(), path)

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        found = finite(
            {
                "study": self.fit.study.name,
                "second": self.other,
                "ok": self.ok,
                "verdict": self.text,
                "advice": list(self.advice),
                "change": self.change,
                "threshold": self.threshold,
                "missing": list(self.missing),
                "directions": [
                    {
                        "changes": dict(d.changes),
                        "matters": d.matters,
                        "here": d.here,
                        "failure": d.failure,
                        "effects": [
                            {"case": e.case, "output": e.output, "change": e.change}
                            for e in d.effects
                        ],
                    }
                    for d in self.directions
                ],
            }
        )
        assert isinstance(found, dict)
        return found

    def _repr_html_(self) -> str:
        return show.html(self.table())

    def __repr__(self) -> str:
        if not self.directions:
            return self.text
        return "\n".join([show.text(self.table()), *self.advice])


def _signed(share: float) -> str:
    return f"{100 * share:+.3g} %".replace("-", "−")


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _in_words(direction: Direction, change: float) -> str:
    moved = [f"'{n}' by {_signed(c * change)}" for n, c in direction.changes.items()]
    if len(moved) == 1:
        return f"moving {moved[0]}"
    return f"moving {', '.join(moved[:-1])} and {moved[-1]} together"
