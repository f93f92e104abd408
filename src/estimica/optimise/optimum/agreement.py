"""Agreement: how many starts have ended at the same optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.estimate.unknowns import Unknowns
from estimica.optimise.methods.explore import Ranges
from estimica.optimise.optimum.one_start import LIMIT, StartEnd
from estimica.optimise.optimum.starts import SearchedStarts

#: of the cost, or of what the searches have gained in the median: nearer, costs are the same. Ten
#: times what a search may leave (`stop.GAIN`), as two of them are compared
SAME_COST = 1e-3
#: of the violation, where limits are missed: as much
SAME_VIOLATION = 1e-3
#: of the ranges of the tuners: nearer, designs are the same. Around a smooth minimum costs within
#: `stop.GAIN` = 1e-4 are found up to √1e-4 away
SAME_DESIGN = 0.02
#: share of starts with an optimum of their own from which on more starts are proposed, and times as
#: many. Chosen: above a third it is no accident of a poor start or two
UNSEEN, MORE = 1 / 3, 4
CUT_SHORT = ("evaluation limit", "time limit", "interrupted", "iteration limit")


@dataclass(frozen=True, eq=False)
class LocalOptimum:
    """One optimum and the starts that have ended there."""

    best: StartEnd
    ends: tuple[StartEnd, ...]


@dataclass(frozen=True, eq=False)
class Agreement:
    """What the starts say about the best design; the counts add up to the starts that were made."""

    asked: int
    made: int
    here: int  # ended at the best design
    elsewhere: int  # at other designs that are as good
    worse: int
    cut_short: int  # by a limit, before they had come to an end that is as good
    failed: int
    optima: tuple[LocalOptimum, ...]  # distinct ones, the best first
    why_fewer: str = ""

    @property
    def single(self) -> int:
        """Starts that have ended where no other has; their share is about the probability that
        one more would find a new optimum (I. J. Good, Biometrika 40, 1953)."""
        return sum(len(optimum.ends) == 1 for optimum in self.optima)

    @property
    def text(self) -> str:
        """All of it in a sentence or two."""
        if self.made == 1:
            alone = "There was one start: a better optimum elsewhere is not excluded"
            return f"{alone}{f' ({self.why_fewer})' if self.why_fewer else ''}."
        parts = [f"{self.here} of {self.made} starts end at this optimum"]
        if self.elsewhere:
            parts.append(f"{self.elsewhere} at designs elsewhere that are as good")
        worse = "worse ones" if self.worse > 1 else "a worse one"
        parts.append(f"{self.worse} at {worse}" if self.worse else "none at a worse one")
        if self.cut_short:
            parts.append(f"{self.cut_short} cut short")
        parts.append(f"{self.failed} failed")
        told = f"{parts[0]}; {', '.join(parts[1:])}."
        if self.single > UNSEEN * self.made:
            told += (
                f" {self.single} ended at optima that no other start has found: others are likely "
                f"to be there; set starts = {MORE * self.asked} to look for them."
            )
        if self.why_fewer:
            told += f" {self.why_fewer[0].upper()}{self.why_fewer[1:]}."
        return told


def agreement(starts: SearchedStarts, unknowns: Unknowns) -> Agreement:
    """What the starts agree on."""
    made, best = starts.made, starts.best
    optima = distinct(made, unknowns)
    here = optima[0].ends if optima else ()
    kinds = {"elsewhere": 0, "worse": 0, "cut_short": 0, "failed": 0}
    near = _same_cost(made)
    for end in made:
        if end.point is None:
            kinds["failed"] += 1
        elif end in here:
            continue
        elif _is_as_good(end, best, near):
            kinds["elsewhere"] += 1
        elif end.status in CUT_SHORT:
            kinds["cut_short"] += 1
        else:
            kinds["worse"] += 1
    return Agreement(
        starts.asked, len(made), len(here), optima=optima, why_fewer=starts.why_fewer, **kinds
    )


def distinct(ends: Sequence[StartEnd], unknowns: Unknowns) -> tuple[LocalOptimum, ...]:
    """The ends with those merged that are the same design, the best first."""
    known = sorted((e for e in ends if e.point is not None), key=lambda e: (e.rank, e.number))
    near, merged = _same_cost(ends), list[tuple[StartEnd, list[StartEnd]]]()
    for end in known:
        for first, others in merged:
            if _is_as_good(end, first, near) and _apart(end, first, unknowns) <= SAME_DESIGN:
                others.append(end)
                break
        else:
            merged.append((end, [end]))
    return tuple(LocalOptimum(first, tuple(others)) for first, others in merged)


def _same_cost(ends: Sequence[StartEnd]) -> float:
    """Costs that differ by less are the same."""
    known = [e for e in ends if e.point is not None]
    if not known:
        return 0.0
    gained = [e.start_cost - e.cost for e in known if np.isfinite(e.start_cost)]
    best = min(known, key=lambda e: e.rank)
    size = max(abs(best.cost), float(np.median(gained)) if gained else 0.0)
    return SAME_COST * size


def _is_as_good(end: StartEnd, best: StartEnd, near: float) -> bool:
    if end.violation > best.violation * (1 + SAME_VIOLATION) + LIMIT:
        return False
    return best.violation > LIMIT or end.cost <= best.cost + near


def _apart(a: StartEnd, b: StartEnd, unknowns: Unknowns) -> float:
    assert a.point is not None
    assert b.point is not None
    return Ranges(unknowns, b.point.q).distance(a.point.q, b.point.q)
