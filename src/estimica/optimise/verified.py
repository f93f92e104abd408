"""Verified: a search goes on until a poll finds nothing better; only then it has converged.

    method → poll → (where criteria jump, or limits are missed) further starts → poll …

A method that says it is done may stand before a kink, on a ledge of a settling time or beside a
design that cannot be simulated. The poll asks the criteria themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.optimise.explore import promising, score
from estimica.optimise.poll import CLOSE, GAIN, LIGHT, Poll, Polling, gain
from estimica.optimise.programme import FEASIBLE, Programme, Settled, Terms
from estimica.optimise.runaway import runaway
from estimica.optimise.score import Place
from estimica.optimise.stop import Ended, Stop

Vector = npt.NDArray[np.float64]
Search = Callable[[Programme, Vector, Stop], Ended]

#: kinds whose gradient tells all there is to know nearby; a formula may hide a kink
SMOOTH_KINDS = frozenset(
    {"value", "final", "rms", "iae", "ise", "itae", "mean", "integral", "energy"}
)
#: kinds that jump: each swing or crossing has a valley of its own
JUMPING_KINDS = frozenset({"settling-time", "function"})
ROUNDS = 12  # of method and poll; more than 7 were not needed in 120 random problems
LOOKS = 3  # for further starts
FAR_GAIN = 0.01  # relative, for which it is worth looking farther once more
NEAR = 1.5  # times the best: what the method goes on from after the poll of a further start
ROUGH = Poll((0.2, 0.05), 1, most=20)  # of a further start
DONE = ("converged", "stalled", "rested")


@dataclass(frozen=True)
class Nature:
    """What is known of the criteria that count."""

    kinked: bool
    jumping: bool


def nature_of(places: Sequence[Place]) -> Nature:
    """By the kinds of what is made small or limited."""
    kinds = {p.criterion.kind for p in places if p.role != "watch"}
    return Nature(bool(kinds - SMOOTH_KINDS), bool(kinds & JUMPING_KINDS))


def ran(search: Search, programme: Programme, start: Vector, stop: Stop) -> Ended:
    """One search from one start; patience that ends is a rest."""
    programme.begin()
    try:
        return search(programme, start, stop)
    except Settled as rested:
        return Ended("rested", rested.message)


@dataclass(eq=False)
class Verification:
    """Goes on from the best design until the poll agrees; `far` looks for further starts too."""

    search: Search
    programme: Programme
    stop: Stop
    nature: Nature
    far: bool = True
    starts: int = 1
    iterations: int = 0

    def confirmed(self, ended: Ended) -> Ended:
        """How the search really ended."""
        looks = LOOKS
        for attempt in range(ROUNDS):
            if ended.status not in DONE or self.programme.best is None:
                return self._told(ended.status, ended.message)
            away = runaway(self.programme)
            if away is not None:
                return self._told("unbounded", away)
            how = self._poll_after(ended)
            if Polling(self.programme, self._best, how, self.stop.seed + attempt).gains():
                ended = self._ran(self._best.point.q)
                continue
            share = self._looked(attempt) if looks and self._wants_more else 0.0
            if share <= GAIN:
                return self._concluded(ended, how)
            looks = looks - 1 if share > FAR_GAIN else 0
        told = f"the criteria still gained in the last of {ROUNDS} rounds; begin at this design"
        return self._told("iteration limit", told)

    @property
    def _best(self) -> Terms:
        assert self.programme.best is not None
        return self.programme.best

    @property
    def _missed(self) -> bool:
        return self._best.violation > FEASIBLE

    @property
    def _wants_more(self) -> bool:
        return self._missed or (self.far and self.nature.jumping)

    def _poll_after(self, ended: Ended) -> Poll:
        close = self._missed or self.nature.jumping
        return CLOSE if close or (self.nature.kinked and ended.status != "converged") else LIGHT

    def _looked(self, attempt: int) -> float:
        """What searches gain that begin at promising designs, which are polled first."""
        programme, seed = self.programme, self.stop.seed + attempt
        before = self._best.violation, programme.best_cost
        for terms in promising(programme, seed):
            polling = Polling(programme, terms, ROUGH, seed)
            polling.descend()
            self.starts += 1
            if score(programme, polling.terms) < NEAR * score(programme, self._best):
                self._ran(polling.terms.point.q)
        return gain(*before, self._best.violation, programme.best_cost)

    def _ran(self, q: Vector) -> Ended:
        ended = ran(self.search, self.programme, q, self.stop)
        self.iterations += ended.iterations
        return ended

    def _concluded(self, ended: Ended, how: Poll) -> Ended:
        if self._missed:
            return self._told("infeasible", missed(self._best, self.starts))
        if ended.status == "stalled" and not self.nature.kinked:
            return self._told("stalled", ended.message)
        long, short = 100 * how.lengths[0], 100 * how.lengths[-1]
        told = f"no design around it is better, steps of {long:g} % to {short:g} % were tried"
        return self._told("converged", told)

    def _told(self, status: str, message: str) -> Ended:
        return Ended(status, message, self.iterations)


def missed(best: Terms, starts: int) -> str:
    """Which limit is missed most, by how much, and what was tried."""
    counted = best.counted
    chosen = counted.of_role("at-most", "equal")
    roles = np.array([counted.places[k].role == "equal" for k in chosen])
    over = counted.weighted[chosen] - 1
    worst = int(np.argmax(np.where(roles, np.abs(over), over)))
    place = counted.places[chosen[worst]]
    from_ = "1 start" if starts == 1 else f"{starts} starts"
    return (
        f"the limits were not met from {from_}: '{place.label}' is missed by "
        f"{best.violation:.2g} of its demand; ease a demand, or start elsewhere"
    )
