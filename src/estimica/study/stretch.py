"""Stretches: the parts into which gaps divide the record of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from estimica.study.case import Case, StartValue

#: what stands between the name of a case and the number of its stretch
PART = "/"


@dataclass(frozen=True)
class Gap:
    """A time without data in the record of a case."""

    begin: float  # of the last samples before it
    end: float  # of the first ones behind it
    missing: tuple[str, ...] = ()  # inputs without samples; none: there are no rows at all

    @property
    def seconds(self) -> float:
        """How long it is, in the unit of the case's time."""
        return self.end - self.begin


@dataclass(frozen=True)
class Stretch:
    """One part of a case, simulated from a beginning of its own."""

    case: str  # as the study has it
    number: int  # from 1
    begin: float
    end: float


@dataclass(frozen=True)
class Partition:
    """Which cases of a study are stretches of others, and what lies between them.

    The first stretch has the name of its case, the others a number behind it.
    """

    cases: Mapping[str, Case] = field(default_factory=dict)  # those that are divided, as written
    stretches: Mapping[str, Stretch] = field(default_factory=dict)  # by name
    gaps: Mapping[str, tuple[Gap, ...]] = field(default_factory=dict)  # by case, also if bridged
    notes: tuple[str, ...] = ()  # what is said of them

    def case_of(self, name: str) -> str:
        """The case, as the study has it, that a case or a stretch belongs to."""
        return self.stretches[name].case if name in self.stretches else name

    def gaps_of(self, name: str) -> tuple[tuple[float, float], ...]:
        """Where a case has no data."""
        return tuple((g.begin, g.end) for g in self.gaps.get(self.case_of(name), ()))


UNDIVIDED = Partition()


def is_stretch(name: str, case: str) -> bool:
    """Whether it is the name of a stretch behind a gap of a case."""
    return name.startswith(case + PART) and name[len(case + PART) :].isdecimal()


def begun_as(case: Case, name: str) -> Case:
    """A case as one of its stretches or files, which begins at the start values that it has there.

    They only say where a search begins: one outside the bounds is moved to the nearest of them.
    """
    own = case.own_starts.get(name, {})
    further = {n: v for n, v in case.own_starts.items() if n.startswith(f"{name}{PART}")}
    free: dict[str, float | StartValue] = {
        n: replace(s, start=min(max(own[n], s.min), s.max)) if n in own else s
        for n, s in case.start_values.items()
    }
    return replace(case, name=name, free_start=free if own else case.free_start, own_starts=further)
