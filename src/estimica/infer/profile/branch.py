"""Branch: one side of a profile, from the estimate outwards, as far as it has been walked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any


class Ending(StrEnum):
    """How one side of a profile ended."""

    WALKING = "walking"  # not yet
    CROSSED = "crossed"  # it crosses the threshold, which no fit from outside has confirmed yet
    INTERRUPTED = "interrupted"  # nobody knows how it would have gone on
    FOUND = "found"  # it crosses the threshold, and a fit from outside comes to the same
    BOUND = "bound"  # it reaches a bound below the threshold
    FLAT = "flat"  # it stays below the threshold as far as one can go
    FAILED = "failed"  # it cannot be followed any further


@dataclass(frozen=True)
class Stop:
    """One point of a profile: the best fit with the unknown held."""

    q: tuple[float, ...]  # coordinates of all unknowns
    cost: float
    slope: float  # half the derivative of the cost by the unknown's coordinate
    converged: bool
    message: str = ""


@dataclass(frozen=True)
class FailedRefit:
    """A value of the unknown at which no fit was found."""

    q: float
    message: str


@dataclass(frozen=True)
class Branch:
    """The stops of one side in the order they were made, and where it ended."""

    unknown: int
    direction: int  # +1 upwards, −1 downwards
    stops: tuple[Stop, ...] = ()
    front: int = -1  # the stop from which to go on; −1: the estimate
    step: float = 0.0
    ending: Ending = Ending.WALKING
    message: str = ""
    end: float | None = None  # the coordinate at which the threshold is crossed
    again: float | None = None  # where it falls below the threshold once more
    failures: tuple[FailedRefit, ...] = ()
    refits: int = 0  # searches with the unknown held
    reopened: int = 0  # times that a fit from outside came below an end

    @property
    def is_open(self) -> bool:
        """Whether there is more to be done for its end."""
        return self.ending in (Ending.WALKING, Ending.CROSSED)

    def ended(self, ending: Ending, message: str) -> Branch:
        """The same, at its end."""
        return replace(self, ending=ending, message=message)

    def walking(self) -> Branch:
        """The same, to be walked on."""
        return replace(self, ending=Ending.WALKING, message="", end=None, again=None)

    def outwards(self) -> list[Stop]:
        """Stops in order of their distance from the estimate."""
        return sorted(self.stops, key=lambda s: self.direction * s.q[self.unknown])

    def plain(self) -> dict[str, Any]:
        """Plain values that a store can keep."""
        return asdict(self)


def branch_of(plain: Mapping[str, Any]) -> Branch:
    """A branch from its plain values."""
    stops: Sequence[Mapping[str, Any]] = plain["stops"]
    fields = {
        "stops": tuple(Stop(**{**s, "q": tuple(s["q"])}) for s in stops),
        "failures": tuple(FailedRefit(**f) for f in plain["failures"]),
        "ending": Ending(plain["ending"]),
    }
    return Branch(**{**plain, **fields})
