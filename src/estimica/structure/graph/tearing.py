"""Tearing: which unknowns of a block to guess so that the others follow one by one.

Long chains of solved unknowns may amplify rounding: such a chain is cut and guessed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from estimica.base.arrays import Vector


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
    spread: int | None = None,
) -> Tearing:
    """Solve what can be solved; where nothing can, guess the unknown that frees most equations.

    `incidence[e]` are the unknowns in equation e, `solvable[e]` those that e can safely be solved
    for; `guessed` are guessed in any case, and so is what would depend on more than `spread`
    guesses, where that is given. (After Cellier and Kofman, Continuous System Simulation, 2006,
    section 7.6.)
    """
    return _Tearer(incidence, solvable, spread).run(guessed)


class _Tearer:
    """Open equations, the unknowns still open in each of them, and what has been decided."""

    def __init__(
        self,
        incidence: Sequence[frozenset[int]],
        solvable: Sequence[frozenset[int]],
        spread: int | None,
    ) -> None:
        self.incidence, self.spread = incidence, spread
        self.behind: dict[int, frozenset[int]] = {}  # the guesses that an unknown depends on
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
            self._take(v)
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
        if self.spread is not None:
            behind = frozenset().union(*(self.behind[w] for w in self.incidence[e] if w != v))
            if len(behind) > self.spread:
                self._take(v)
                return
            self.behind[v] = behind
        self.used[e] = True
        self.inner.append((e, v))
        self._settle(v)

    def _guess(self) -> None:
        self._take(max(self.left, key=self._worth))

    def _take(self, v: int) -> None:
        self.torn.append(v)
        self.behind[v] = frozenset((v,))
        self._settle(v)

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


Factors = Sequence[Mapping[int, float]]
#: chains shorter than this are left alone: eleven links would each have to amplify rounding
#: (2e-16) fivefold to miss the tolerance
SHORT = 12
#: the error that solving by guesses may make, relative to the solution; chosen: three digits below
#: the tolerance of a simulation (rtol 1e-6), since the least of it turns switches that are on their
#: edge, and some digits above the rounding of a switch's own factors (1e-5 beside 1e5)
TOLERANCE = 1e-9


#: blocks with more guesses than this are solved as sparse equations: from about here on that is
#: less work in networks of pipes (estimated), as long as few guesses meet in one equation
LARGE, SPREAD = 60, 4


def stable_tearing(
    incidence: Sequence[frozenset[int]],
    solvable: Sequence[frozenset[int]],
    trials: Sequence[Factors],
) -> Tearing:
    """`tear`, with more unknowns guessed where a trial with known solution comes out wrong.

    `factors[e][v]` of a trial are the derivatives of equation e, at some typical point. Unknowns
    that depend on the guesses with a large factor are guessed themselves.
    """
    trials = [_in_own_sizes(factors) for factors in trials]
    plan, spread = tear(incidence, solvable), None
    if len(plan.torn) > LARGE:
        spread = SPREAD
        plan = tear(incidence, solvable, (), spread)
    if len(plan.inner) < SHORT:
        return plan
    # few guesses make small problems: the strictest limit, which makes most of them, comes last
    for limit in (1e5, 1e4, 1e3, 1e2, 1e1):
        bad = [factors for factors in trials if _error(plan, factors) > TOLERANCE]
        if not bad:
            return plan
        growing = {v for factors in bad for v in _growing(plan, factors, limit)}
        guessed = sorted({*plan.torn, *growing})
        plan = tear(incidence, solvable, guessed, spread)
    return plan


def _in_own_sizes(factors: Factors) -> Factors:
    """The factors with larger units for unknowns that are small wherever they stand.

    A force on an area of 1e6 m2 changes by 1e6 with a pressure, and all it does is divided by the
    area again: no rounding grows. An unknown that counts in some equation keeps its unit, so that
    chains of factors above one are seen.
    """
    share: dict[int, float] = {}
    for row in factors:
        largest = max(map(abs, row.values()), default=0.0)
        for v, factor in row.items():
            if largest > 0.0:
                share[v] = max(share.get(v, 0.0), abs(factor) / largest)
    return [{v: factor / (share.get(v) or 1.0) for v, factor in row.items()} for row in factors]


def _growing(plan: Tearing, factors: Factors, limit: float) -> list[int]:
    """Unknowns that change by more than `limit` when the guesses change by about one."""
    n = len(plan.inner) + len(plan.torn)
    # four directions without order, the same in every run, so that nothing cancels in all of them
    directions = np.cos(2.3 * np.arange(4 * n)).reshape(n, 4)
    change = np.zeros((n, 4))
    change[list(plan.torn)] = directions[list(plan.torn)]
    growing = []
    for e, v in plan.inner:
        others, weights = _others(factors[e], v)
        change[v] = -weights @ change[others]
        if np.abs(change[v]).max() > limit:
            growing.append(v)
            change[v] = directions[v]  # from here on it is a guess of its own
    return growing


def _error(plan: Tearing, factors: Factors) -> float:
    """The relative error of solving a linear problem with known solution by the plan."""
    n, n_torn = len(plan.inner) + len(plan.torn), len(plan.torn)
    solution = 1.0 + np.cos(3.7 * np.arange(n))  # without order, and the same in every run
    # every unknown as an affine function of the guesses: n_torn slopes and a constant
    affine = np.zeros((n, n_torn + 1))
    affine[list(plan.torn), range(n_torn)] = 1.0
    for e, v in plan.inner:
        others, weights = _others(factors[e], v)
        affine[v] = -weights @ affine[others]
        affine[v, -1] += solution[v] + weights @ solution[others]
    reduced = np.zeros((n_torn, n_torn + 1))
    for row, e in enumerate(plan.residuals):
        columns = list(factors[e])
        weights = np.array([factors[e][w] for w in columns])
        reduced[row] = weights @ affine[columns]
        reduced[row, -1] -= weights @ solution[columns]
    try:
        guesses = np.linalg.solve(reduced[:, :-1], -reduced[:, -1])
    except np.linalg.LinAlgError:
        # at the trial point itself, whatever is guessed, or by what the chains have amplified
        return 0.0 if _is_singular(factors, n) else np.inf
    computed = affine[:, :-1] @ guesses + affine[:, -1]
    return float(np.abs(computed - solution).max() / np.abs(solution).max())


def reduced_matrix(plan: Tearing, factors: Factors) -> Vector:
    """How the residuals depend on the guesses; not finite where an unknown cannot be solved for."""
    n_torn = len(plan.torn)
    slopes = np.zeros((len(plan.inner) + n_torn, n_torn))
    slopes[list(plan.torn), range(n_torn)] = 1.0
    for e, v in plan.inner:
        others, weights = _others(factors[e], v)
        slopes[v] = -weights @ slopes[others]
    rows = [np.array(list(factors[e].values())) @ slopes[list(factors[e])] for e in plan.residuals]
    return np.array(rows).reshape(n_torn, n_torn)


def _is_singular(factors: Factors, n: int) -> bool:
    """Whether the equations are singular as they stand."""
    matrix = np.zeros((n, n))
    for e, row in enumerate(factors):
        matrix[e, list(row)] = list(row.values())
    size = np.abs(matrix).max(axis=1, keepdims=True, initial=1e-300)
    return bool(np.linalg.matrix_rank(matrix / size) < n)


def _others(row: Mapping[int, float], v: int) -> tuple[list[int], Vector]:
    """The other unknowns of an equation, with their factors relative to that of v."""
    others = [w for w in row if w != v]
    return others, np.array([row[w] for w in others]) / row[v]
