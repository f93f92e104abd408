"""Tearing: which unknowns of a block to guess so that the others follow one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush


@dataclass(frozen=True, slots=True)
class Tearing:
    """Unknowns to guess, (equation, unknown) pairs in solving order, equations left over."""

    torn: tuple[int, ...]
    inner: tuple[tuple[int, int], ...]
    residuals: tuple[int, ...]


def tear(
    incidence: Sequence[frozenset[int]],
    solvable: Sequence[frozenset[int]],
    guessed: Sequence[int] = (),
) -> Tearing:
    """Solve what can be solved; where nothing can, guess the unknown that frees most equations.

    `incidence[e]` are the unknowns in equation e, `solvable[e]` those that e can safely be solved
    for; `guessed` are guessed in any case. (After Cellier and Kofman, Continuous System Simulation,
    2006, section 7.6.)
    """
    return _Tearer(incidence, solvable).run(guessed)


class _Tearer:
    """Open equations, the unknowns still open in each of them, and what has been decided."""

    def __init__(
        self, incidence: Sequence[frozenset[int]], solvable: Sequence[frozenset[int]]
    ) -> None:
        self.open = [set(row) for row in incidence]
        self.solvable = solvable
        self.holders: dict[int, list[int]] = {}
        for e, row in enumerate(incidence):
            for v in sorted(row):
                self.holders.setdefault(v, []).append(e)
        self.used = [False] * len(incidence)
        self.ready: list[int] = []
        self.inner: list[tuple[int, int]] = []
        self.torn: list[int] = []
        self.left = dict.fromkeys(sorted(self.holders))

    def run(self, guessed: Sequence[int]) -> Tearing:
        for e in range(len(self.open)):
            self._look(e)
        for v in guessed:
            self.torn.append(v)
            self._settle(v)
        while self.left:
            if self.ready:
                self._solve(heappop(self.ready))
            else:
                self._guess()
        residuals = tuple(e for e, used in enumerate(self.used) if not used)
        return Tearing(tuple(self.torn), tuple(self.inner), residuals)

    def _look(self, e: int) -> None:
        if not self.used[e] and len(self.open[e]) == 1 and self.open[e] <= self.solvable[e]:
            heappush(self.ready, e)

    def _solve(self, e: int) -> None:
        if self.used[e] or len(self.open[e]) != 1:
            return
        (v,) = self.open[e]
        self.used[e] = True
        self.inner.append((e, v))
        self._settle(v)

    def _guess(self) -> None:
        best = max(self.left, key=self._worth)
        self.torn.append(best)
        self._settle(best)

    def _worth(self, v: int) -> tuple[int, int, int]:
        """How many equations become solvable by guessing v; then how many others it stands in."""
        frees = reach = own = 0
        for e in self.holders[v]:
            if self.used[e]:
                continue
            reach += 1
            own += v in self.solvable[e]
            if len(self.open[e]) == 2 and (self.open[e] - {v}) <= self.solvable[e]:
                frees += 1
        return frees, reach - own, reach

    def _settle(self, v: int) -> None:
        del self.left[v]
        for e in self.holders[v]:
            self.open[e].discard(v)
            self._look(e)
