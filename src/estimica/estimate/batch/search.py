"""Search of many members at once: Levenberg-Marquardt steps on normal equations.

Members advance together and leave when their point is proven to be an optimum, by the same measure
as a single search has (`estimate.search.optimality`), or when anything happens that a single search
would look into: a simulation that fails, data that do not determine an unknown, an unknown that
runs away, steps that come to nothing. Those that leave without proof are for the single search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimica.estimate.batch.coordinates import Array, Coordinates
from estimica.estimate.batch.scoring import BatchScoring
from estimica.estimate.batch.step import (
    applied,
    applied_back,
    damped_step,
    inverse_factor,
    restricted,
    times,
)

#: share of Σρ² below which a gain is none, and size of a coordinate that has run away: as in
#: `estimate.search.optimality`
GAIN, RUNAWAY = 1e-6, 1e3
#: relative gain that is rounding of the sum of squares, steps that are over whatever the cost does,
#: and the least size of a coordinate in relative changes: as in `estimate.search.run`
NO_GAIN, TINY_STEP, LEAST_COORDINATE = 1e-15, 1e-3, 1e-3
#: falls of λ after steps whose gain was foreseen: as in `estimate.search.methods`
FORESEEN, FASTEST = 0.02, 4
#: distance from the optimum, in standard errors, at which a member has arrived: far below anything
#: that is read off an estimate. Steps that are smaller relative to the value have arrived too
ARRIVED = 1e-5
#: the same where steps come to nothing, the costs being no more accurate than the simulation; and
#: the relative step that will do. Beyond them a single search has a look
ENDED, ENDED_STEP = 1e-3, 1e-6
#: smallest singular value of J with columns of length one, over the largest, whose square the
#: normal equations still tell from rounding, 1e-16, by four digits
DETERMINED = 1e-6
#: rounds after which those still on their way are left to the single search. Chosen: fits of the
#: examples take four to twelve, and with a million members the last one would keep a device busy
#: for a thousand (measured: 1 of 10⁶ fits of an enzyme, and fifty times the time of all others)
ROUNDS = 100
#: steps in a row that gain nothing. Chosen: λ has grown by 2⁴⁵ then, and the cost is not smooth
REJECTIONS = 9
#: steps that are taken although they gain nothing. Chosen: each is some digits of the unknowns
SETTLING = 3
#: damping of a search that begins near its end, and of one that does not: as in `infer.refit` and
#: `estimate.search.methods`
NEAR, USUAL = 1e-6, 0.1
RUNNING, PROVEN, LEFT = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Sums:
    """Of members: Σ r², Jᵀr and JᵀJ block by block, J by physical values of all unknowns."""

    square: Array  # (L, B)
    gradient: Array  # (L, B, n)
    information: Array  # (L, B, n, n)
    ok: Array  # (L,), whether all its simulations have reached their end


#: the sums at physical values (L, n) of the members with these numbers
Evaluate = Callable[[Array, Array], Sums]


@dataclass(frozen=True, eq=False)
class MemberLimits:
    """What the data of each member say: bounds of its variances, residuals that are nothing."""

    low: Array  # (L, K), of the variances
    high: Array  # (L, K)
    resolution: Array  # (L, B), Σ r² that may be errors of the simulation


@dataclass(frozen=True, eq=False)
class BatchProblem:
    """What all members have in common."""

    coordinates: Coordinates
    scoring: BatchScoring
    threshold: float = 0.0  # relative error of J: a singular value below it counts as zero
    tolerance: float = 1e-8  # relative change of the unknowns that ends a search
    max_iterations: int = 1000

    def on(self, xp: Any) -> BatchProblem:
        """The same with arrays of another module."""
        return BatchProblem(
            self.coordinates.on(xp),
            self.scoring.on(xp),
            self.threshold,
            self.tolerance,
            self.max_iterations,
        )


@dataclass(frozen=True, eq=False)
class BatchResult:
    """Where the members ended; only those that are `proven` are at an optimum."""

    q: Array  # (L, n)
    values: Array  # (L, n)
    cost: Array  # (L,)
    square: Array  # (L,), Σρ²
    variance: Array  # (L, K), of the noise levels that are estimated
    information: Array  # (L, n, n), JᵀJ in coordinates, priors included
    proven: Array  # (L,)
    evaluations: Array  # (L,)
    interrupted: bool = False  # by Ctrl-C, before all had left


#: told of members that have a new point: their numbers, costs, values and relative steps
OnPoint = Callable[[Array, Array, Array, Array], None]


def batch_search(
    problem: BatchProblem,
    evaluate: Evaluate,
    start: Array,
    limits: MemberLimits,
    *,
    held: Array | None = None,
    near: bool = False,
    on_point: OnPoint | None = None,
) -> BatchResult:
    """Minimise from coordinates `start` (L, n); unknowns marked in `held` (L, n) stay there.

    `near` members begin with next to no damping, and again with the usual one where a step of
    theirs comes to nothing. Ctrl-C ends it with what has been reached.
    """
    descent = _Descent(problem, evaluate, start, limits, held, near, on_point)
    try:
        descent.begin()
        for _ in range(min(problem.max_iterations, ROUNDS)):
            running = descent.running()
            if not len(running):
                break
            descent.advance(running)
    except KeyboardInterrupt:
        return replace(descent.result(), interrupted=True)
    return descent.result()


class _Descent:
    """All members and how far they are; every array has a row for each."""

    def __init__(
        self,
        problem: BatchProblem,
        evaluate: Evaluate,
        start: Array,
        limits: MemberLimits,
        held: Array | None,
        near: bool,
        on_point: OnPoint | None,
    ) -> None:
        self.on_point = on_point
        self.problem, self.evaluate, self.limits = problem, evaluate, limits
        self.xp = xp = problem.coordinates.xp
        many, n = start.shape
        self.start = problem.coordinates.clipped(start)
        self.held = xp.zeros((many, n), bool) if held is None else held
        self.q = self.start.copy()
        self.values = problem.coordinates.values(self.q)
        self.cost, self.square = xp.full(many, np.nan), xp.full(many, np.nan)
        self.variance = xp.full(limits.low.shape, np.nan)
        self.g, self.H = xp.zeros((many, n)), xp.zeros((many, n, n))
        self.resolved = xp.zeros(many, bool)
        self.state = xp.full(many, RUNNING)
        self.near = xp.full(many, near)
        self.damping, self.growth = xp.zeros(many), xp.full(many, 2.0)
        self.foreseen, self.rejected = xp.zeros(many, int), xp.zeros(many, int)
        self.settling = xp.zeros(many, int)
        self.evaluations = xp.zeros(many, int)

    def running(self) -> Array:
        """The members that have not left."""
        return self.xp.flatnonzero(self.state == RUNNING)

    def begin(self) -> None:
        """Evaluate the starts; the damping is relative to the largest effect there."""
        every = self.running()
        point = self._at(self.q, every)
        self._put(every, point)
        self.state[every[~point.ok]] = LEFT
        self._tell(every, self.xp.zeros(len(every)))
        self.first = self.xp.maximum(self._effects(self.H).max(axis=1), 1e-300)
        self.damping = self.first * self.xp.where(self.near, NEAR, USUAL)
        self._judge(self.running(), ended=False)

    def advance(self, who: Array) -> None:
        """One step of all members that are still running."""
        xp, problem, at = self.xp, self.problem, self.problem.coordinates
        q, g, H = self.q[who], self.g[who], self.H[who]
        free = self._free(who)
        low, high = at.lower - q, at.upper - q
        step = damped_step(H, g, self.damping[who], free, low, high, xp)
        excess = (xp.abs(step) / at.reach(q)).max(axis=1)
        step = step / xp.maximum(excess, 1.0)[:, None]
        trial = at.clipped(q + xp.clip(step, low, high))
        step = trial - q
        size = relative(step, q, xp)
        predicted = -((2 * g + times(H, step)) * step).sum(axis=1)
        lost = ~(predicted > 0) | (size <= TINY_STEP * problem.tolerance)
        self._judge(who[lost], ended=True)
        going = xp.flatnonzero(~lost)
        if not len(going):
            return
        who, size, predicted = who[going], size[going], predicted[going]
        point = self._at(trial[going], who)
        content = self._content(who)
        gained = xp.where(point.ok, self.cost[who] - point.cost, -np.inf)
        better = gained > 0
        self.state[who[~point.ok]] = LEFT
        done = (size <= problem.tolerance) | (gained <= NO_GAIN * content)
        self._accept(who, better, point, gained, predicted)
        self._tell(who[better], size[better])
        self._judge(who[better & ~done], ended=False)
        self._judge(who[better & done], ended=True)
        worse = point.ok & ~better
        over = worse & (predicted <= GAIN * content)
        level = over & (gained >= -GAIN * content) & (self.settling[who] < SETTLING)
        self._settle(who, level, point)
        self._judge(who[over & ~level], ended=True)
        self._reject(who[worse & ~over])

    def result(self) -> BatchResult:
        """Where all of them are."""
        return BatchResult(
            self.q,
            self.values,
            self.cost,
            self.square,
            self.variance,
            self.H,
            self.state == PROVEN,
            self.evaluations,
        )

    # --- points ----------------------------------------------------------------------------------

    def _at(self, q: Array, who: Array) -> _Points:
        """The objective at coordinates of some members."""
        xp, at, scoring = self.xp, self.problem.coordinates, self.problem.scoring.of(who)
        values = at.values(q)
        slopes = at.slopes(values)
        sums = self.evaluate(values, who)
        self.evaluations[who] += 1
        with np.errstate(all="ignore"):  # members that failed have NaN
            cost, weights, variance = scoring.score(
                sums.square, self.limits.low[who], self.limits.high[who]
            )
            g = (weights[:, :, None] * sums.gradient).sum(axis=1) * slopes
            H = (weights[:, :, None, None] * sums.information).sum(axis=1)
            H = H * slopes[:, :, None] * slopes[:, None, :]
            square = (weights * sums.square).sum(axis=1)
            distance, by_coordinate = at.priors(values, slopes)
            known = (distance**2).sum(axis=1)
            g = g + distance * by_coordinate
            H = H + (by_coordinate**2)[:, :, None] * xp.eye(at.count)
            cost, square = cost + known, square + known
        finite = xp.isfinite(cost) & xp.isfinite(g).all(axis=1) & xp.isfinite(H).all(axis=(1, 2))
        resolved = (sums.square <= self.limits.resolution[who]).all(axis=1)
        return _Points(q, values, cost, square, variance, g, H, resolved, sums.ok & finite)

    def _put(self, who: Array, point: _Points) -> None:
        self.q[who], self.values[who] = point.q, point.values
        self.cost[who], self.square[who], self.variance[who] = (
            point.cost,
            point.square,
            point.variance,
        )
        self.g[who], self.H[who], self.resolved[who] = point.g, point.H, point.resolved

    def _tell(self, who: Array, size: Array) -> None:
        if self.on_point is not None and len(who):
            self.on_point(who, self.cost[who], self.values[who], size)

    def _effects(self, H: Array) -> Array:
        return self.xp.diagonal(H, axis1=1, axis2=2)

    def _content(self, who: Array) -> Array:
        """What the cost is made of, next to which a gain is rounding."""
        samples = self.problem.scoring.of(who).count.sum(axis=-1)
        return self.xp.minimum(self.square[who], self.xp.abs(self.cost[who]) + samples)

    def _free(self, who: Array) -> Array:
        """Unknowns that may move: not held, not pushed against a bound, and with an effect."""
        at, q, g = self.problem.coordinates, self.q[who], self.g[who]
        pushed = ((q <= at.lower) & (g > 0)) | ((q >= at.upper) & (g < 0))
        return ~(pushed | self.held[who]) & (self._effects(self.H[who]) > 0)

    # --- what became of a step -------------------------------------------------------------------

    def _accept(
        self, who: Array, better: Array, point: _Points, gained: Array, predicted: Array
    ) -> None:
        xp = self.xp
        chosen = xp.flatnonzero(better)
        own = who[chosen]
        self._put(own, point.of(chosen))
        gain = gained[chosen] / predicted[chosen]
        self.foreseen[own] = xp.where(xp.abs(gain - 1) < FORESEEN, self.foreseen[own] + 1, 0)
        fall = xp.maximum(1 / 3, 1 - (2 * xp.minimum(gain, 1.0) - 1) ** 3)
        self.damping[own] *= fall ** xp.clip(self.foreseen[own], 1, FASTEST)
        self.growth[own] = 2.0
        self.rejected[own] = 0

    def _settle(self, who: Array, level: Array, point: _Points) -> None:
        """Take steps that gain nothing, where all that is left to gain is lost in the accuracy of
        the simulation: gradients tell the optimum better than costs."""
        chosen = self.xp.flatnonzero(level)
        if not len(chosen):
            return
        own = who[chosen]
        self._put(own, point.of(chosen))
        self.settling[own] += 1
        self._judge(own, ended=False)

    def _reject(self, who: Array) -> None:
        """More damping, faster each time; who was thought to be near begins again."""
        if not len(who):
            return
        again = who[self.near[who]]
        rest = who[~self.near[who]]
        self.damping[rest] *= self.growth[rest]
        self.growth[rest] *= 2.0
        self.rejected[rest] += 1
        self.state[rest[self.rejected[rest] > REJECTIONS]] = LEFT
        if len(again):
            self._put(again, self._at(self.start[again], again))
            self.near[again] = False
            self.damping[again], self.growth[again] = USUAL * self.first[again], 2.0
            self.foreseen[again] = 0

    def _judge(self, who: Array, *, ended: bool) -> None:
        """Let those leave that are at an optimum; where a search has `ended`, all of them."""
        if not len(who):
            return
        proven = self._is_optimal(who, ended=ended)
        self.state[who[proven]] = PROVEN
        if ended:
            self.state[who[~proven]] = LEFT

    def _is_optimal(self, who: Array, *, ended: bool) -> Array:
        """Whether an undamped step promises nothing, among unknowns that are all determined."""
        xp, problem, at = self.xp, self.problem, self.problem.coordinates
        q, g, H, free = self.q[who], self.g[who], self.H[who], self._free(who)
        scale = xp.sqrt(xp.where(free, self._effects(H), 1.0))
        scaled = H / (scale[:, :, None] * scale[:, None, :])
        W, positive = inverse_factor(restricted(scaled, free, xp.zeros_like(g), xp), xp)
        along = applied(W, xp.where(free, g / scale, 0.0))
        gain = (along**2).sum(axis=1)  # of the undamped step, by the linear model
        step = xp.where(free, applied_back(W, along) / scale, 0.0)
        # of J with columns of length one: σ² ≥ 1/tr (JᵀJ)⁻¹, and ≤ n
        least = max(DETERMINED, 10 * problem.threshold)
        determined = positive & ((W**2).sum(axis=(1, 2)) * at.count * least**2 < 1)
        idle = (~free & ~self.held[who] & (self._effects(H) <= 0)).any(axis=1)
        away = (free & at.is_beyond(q, RUNAWAY)).any(axis=1)
        errors = xp.sqrt(gain)
        if not problem.scoring.likelihood:
            independent = problem.scoring.of(who).independent
            left = xp.maximum(independent - free.sum(axis=1), 1.0)
            errors = errors / xp.sqrt(xp.maximum(self.square[who] / left, 1e-300))
        moved = relative(step, q, xp)
        close, short = (ENDED, ENDED_STEP) if ended else (ARRIVED, problem.tolerance)
        arrived = (gain <= GAIN * self.square[who]) & ((errors <= close) | (moved <= short))
        return arrived & determined & ~idle & ~away & ~self.resolved[who]


@dataclass(frozen=True, eq=False)
class _Points:
    """The objective at one point of some members."""

    q: Array
    values: Array
    cost: Array
    square: Array
    variance: Array
    g: Array
    H: Array
    resolved: Array
    ok: Array

    def of(self, chosen: Array) -> _Points:
        """Some of them."""
        return _Points(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def relative(step: Array, q: Array, xp: Any) -> Array:
    """The largest relative change of a coordinate, of every member."""
    return (xp.abs(step) / xp.maximum(xp.abs(q), LEAST_COORDINATE)).max(axis=1)
