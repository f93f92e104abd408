"""Optimality: whether no neighbour of a point is better, also where neighbours cannot be simulated.

A search that takes a failed simulation as a rejected step grows careful in front of a region that
fails, and short steps look like the end of all progress. So the end is judged by the point itself:
by what an undamped step promises there, and by trials along it and along single unknowns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.estimate.criteria.block import Block
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.bounded_step import least_squares
from estimica.estimate.unknowns import Unknowns

Evaluate = Callable[[Vector], Point | Failure]
#: share of Σρ² below which a gain is none: it is what a shift by 1e-3·√N standard errors costs, and
#: simulations with the default tolerances show no less
GAIN = 1e-6
#: the same where residuals are as small as errors of the simulation, which make costs of their own
#: alone: chosen, a tenth of the residuals' size, squared
GAIN_AT_RESOLUTION = 1e-2
#: share of Σρ² up to which a promise that no trial keeps is an error of the gradient: derivatives
#: are as accurate as the simulation, or as finite differences (relative 1e-2 at worst, squared)
DENIED = 1e-3
#: the shares of a step that are tried: a quadratic model that holds at all holds for the shortest
SHARES = (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
#: trials along one direction that are simulated and gain nothing, after which its promise is false:
#: one may be too long, one may meet rounding; three that span two decades meet neither
REFUTED = 3
#: share of a step below which what is left of it in front of a failure only creeps up to it: each
#: further step would be a tenth of the last, and its gain as well
CREEPING = 0.1
#: singular values, relative to the largest of columns of length one, that a step leaves alone:
#: those of directions that sensitivities, no more accurate than the simulation, cannot tell from
#: none
RCOND = 1e-10
#: steps of one unknown in a poll, in shares of its coordinate and of its typical size: from a
#: change that a linear model still describes to one that leaves the neighbourhood
OF_VALUE, OF_SIZE = (0.01, 0.1, 0.5, 1.0), (0.1, 1.0)
#: a coordinate is of size one at the start: one that is so large may have run away
RUNAWAY = 1e3
#: errors of a whole run over the tolerance of one step: they add up. Chosen: a decade, as is usual
#: for stable models; of others no factor would do
GROWN = 10.0
#: residuals over the signal that are nothing but rounding of the numbers themselves
ROUNDING = 8 * float(np.finfo(float).eps)
EXTREME = 1e3  # times the typical size, or less than that part of it: as RUNAWAY
NAMED = 3  # unknowns of a step that several take part in: what a sentence can hold
HELP = (
    "keep the tuners where the model works (min, max, scale = 'log'), start elsewhere "
    "(starts = 20), or look at the model there"
)


class PointKind(Enum):
    """What a point is."""

    OPTIMAL = auto()  # nothing is promised around it
    RESOLVED = auto()  # what is promised is within the accuracy of the simulation
    BETTERED = auto()  # a neighbour is better
    BLOCKED = auto()  # a gain is promised where simulations fail
    RUN_AWAY = auto()  # an unknown is so far out that the cost hardly depends on it
    DENIED = auto()  # a gain is promised, all trials deny it


@dataclass(frozen=True, eq=False)
class FailingStep:
    """A step that promises a gain, and whose simulation fails up to all but the last of it."""

    unknown: int | None  # the only one that moves; None: several do
    failure: Failure
    nearer: Point | None = None  # better, but only because it is nearer to the failure


@dataclass(frozen=True, eq=False)
class OptimalityCheck:
    """What a point is, and what that was seen by."""

    finding: PointKind
    promise: float  # share of Σρ² that an undamped step gains by the linear model
    better: Point | None = None
    blocked: tuple[FailingStep, ...] = ()
    run_away: int | None = None  # the unknown

    @property
    def nearer(self) -> Point | None:
        """The best point that is better because it is nearer to a failure."""
        points = [b.nearer for b in self.blocked if b.nearer is not None]
        return min(points, key=lambda p: p.cost, default=None)

    def leading_to_failures(self, count: int) -> Flags:
        """Which of so many unknowns lead to failures by themselves."""
        named = np.zeros(count, bool)
        named[[b.unknown for b in self.blocked if b.unknown is not None]] = True
        return named


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A point and its unknowns, of which those that are not free stay."""

    unknowns: Unknowns
    point: Point
    free: Flags
    evaluate: Evaluate
    resolved: bool = False  # whether residuals are as small as errors of the simulation

    def judged(self, last: Vector | None, *, doubtful: bool, thorough: bool) -> OptimalityCheck:
        """What the point is; `last` is the step that led there.

        Where the way there gives reason to doubt, an optimum is one only if no single unknown leads
        to a better point, whatever the gradient says; a thorough look takes no failure for the end
        either before that is known.
        """
        seen = self._looked_along(last)
        if seen.finding is PointKind.BETTERED:
            return seen
        closely = thorough or seen.finding is not PointKind.BLOCKED
        if closely and not self.resolved and (doubtful or self._far().size):
            better = self._polled()
            if better is not None:
                return replace(seen, finding=PointKind.BETTERED, better=better)
            for k in self._far():
                if self._is_indifferent(int(k)):
                    return replace(seen, finding=PointKind.RUN_AWAY, run_away=int(k))
        return seen

    def _looked_along(self, last: Vector | None) -> OptimalityCheck:
        """By trials along the undamped step, the last one and single unknowns."""
        promise = self.promise(self.free)
        blocked: list[FailingStep] = []
        better: Point | None = None
        for unknown, step in self._promising(promise, last):
            if better is not None and unknown is None:
                continue
            trial = self._along(step, unknown)
            if isinstance(trial, FailingStep):
                blocked.append(trial)
            elif trial is not None and (better is None or trial.cost < better.cost):
                better = trial
        if better is not None:
            return OptimalityCheck(PointKind.BETTERED, promise, better, tuple(blocked))
        if promise <= GAIN:
            return OptimalityCheck(PointKind.OPTIMAL, promise)
        if blocked:
            return OptimalityCheck(PointKind.BLOCKED, promise, blocked=tuple(blocked))
        resolved = self.resolved or promise <= DENIED
        return OptimalityCheck(PointKind.RESOLVED if resolved else PointKind.DENIED, promise)

    def _polled(self) -> Point | None:
        """The best of the neighbours that differ in one unknown, if it is better."""
        best: Point | None = None
        for k in np.flatnonzero(self.free):
            for sign in (1.0, -1.0):
                for q in self._neighbours(int(k), sign):
                    trial = self.evaluate(q)
                    if isinstance(trial, Failure):
                        break  # what lies behind is not reached by steps of this unknown
                    if self._is_better(trial) and (best is None or trial.cost < best.cost):
                        best = trial
        return best

    def _far(self) -> Indices:
        """Free unknowns that may have run away."""
        return np.flatnonzero(self.free & self.unknowns.is_beyond(self.point.q, RUNAWAY))

    def _is_indifferent(self, k: int) -> bool:
        """Whether the cost is the same with twice as much of an unknown."""
        twice = self.point.q.copy()
        twice[k] *= 2
        trial = self.evaluate(self.unknowns.clipped(twice))
        allowed = DENIED * self.point.square
        return isinstance(trial, Point) and abs(trial.cost - self.point.cost) <= allowed

    def promise(self, free: Flags) -> float:
        """The share of Σρ² that the best step of these unknowns gains by the linear model."""
        square = self.point.square
        return max(self._foreseen(self._newton(free)), 0.0) / square if square > 0 else 0.0

    def _newton(self, free: Flags) -> Vector:
        """The undamped step within the bounds; directions that have no effect are left alone."""
        point, unknowns = self.point, self.unknowns
        step = np.zeros(len(free))
        if free.any():
            R = point.R[:, free]
            scale = np.linalg.norm(R, axis=0)
            scale[scale == 0] = 1.0
            low = scale * (unknowns.lower - point.q)[free]
            high = scale * (unknowns.upper - point.q)[free]
            step[free] = least_squares(R / scale, -point.b, low, high, rcond=RCOND) / scale
        return step

    def _promising(
        self, promise: float, last: Vector | None
    ) -> Iterator[tuple[int | None, Vector]]:
        """Steps that are worth a trial: (the only unknown that moves, step)."""
        if promise > GAIN:
            whole = self._newton(self.free)
            yield None, whole
            excess = float(np.max(np.abs(whole) / self.unknowns.reach(self.point.q)))
            if excess > 1:  # as far as a linear model is believed
                yield None, whole / excess
        if last is not None:
            step = np.where(self.free, last, 0.0)
            yield None, step * self._best_length(step)
        for k in np.flatnonzero(self.free):
            step = np.zeros(len(self.free))
            step[k] = 1.0
            yield int(k), step * self._best_length(step)

    def _best_length(self, step: Vector) -> float:
        bend = float(np.sum((self.point.R @ step) ** 2))
        return -float(self.point.gradient @ step) / bend if bend > 0 else 0.0

    def _foreseen(self, step: Vector) -> float:
        """The gain of a step by the linear model."""
        point = self.point
        return -float(2 * point.gradient @ step + np.sum((point.R @ step) ** 2))

    def _along(self, step: Vector, unknown: int | None) -> Point | FailingStep | None:
        """A better point along a step; or what fails there as long as a gain would be seen."""
        failure, refuted = None, 0
        for share in SHARES:
            q = self.unknowns.clipped(self.point.q + share * step)
            if self._foreseen(q - self.point.q) <= GAIN * self.point.square:
                continue
            trial = self.evaluate(q)
            if isinstance(trial, Failure):
                failure = trial
                continue
            if self._is_better(trial):
                return (
                    FailingStep(unknown, failure, trial) if failure and share < CREEPING else trial
                )
            refuted += 1
            if refuted == REFUTED:
                break
        return FailingStep(unknown, failure) if failure and not refuted else None

    def _neighbours(self, k: int, sign: float) -> Iterator[Vector]:
        """Ever farther ones on one side."""
        q = self.point.q
        for length in sorted({*(share * abs(q[k]) for share in OF_VALUE), *OF_SIZE}):
            moved = q.copy()
            moved[k] += sign * length
            moved = self.unknowns.clipped(moved)
            if moved[k] != q[k]:
                yield moved

    def _is_better(self, trial: Point) -> bool:
        least = GAIN_AT_RESOLUTION if self.resolved else GAIN
        return trial.cost < self.point.cost - least * self.point.square


# --- Resolution: residuals so small that they may be errors of the simulation.


def is_rounding(objective: Objective, point: Point) -> bool:
    """Whether the model meets all samples to the last digits, so that no other point is better."""
    predictions = objective.predict(point.values)
    if isinstance(predictions, Failure) or not _is_all_residuals(objective):
        return False
    pairs = zip(objective.blocks, objective.errors(predictions), strict=True)
    return all(bool(np.linalg.norm(e) <= ROUNDING * np.linalg.norm(_signal(b))) for b, e in pairs)


def is_at_resolution(objective: Objective, point: Point) -> bool:
    """Whether all residuals at a point are within the accuracy of the simulation."""
    predictions = objective.predict(point.values)
    if isinstance(predictions, Failure) or not _is_all_residuals(objective):
        return False
    return are_at_resolution(objective, objective.residuals(predictions))


def are_at_resolution(cases: ResidualFunction, residuals: Sequence[Vector]) -> bool:
    """Whether residuals of all blocks are within the accuracy of the simulation."""
    accuracies = [p.accuracy for p in cases.predictors for _ in p.record.outputs]
    for block, residual, accuracy in zip(cases.blocks, residuals, accuracies, strict=True):
        signal = block.filtered(_signal(block))
        # an offset, which a disturbance may be, is not simulated
        varying = signal - np.mean(signal)
        if np.linalg.norm(residual) > GROWN * accuracy * np.linalg.norm(varying):
            return False
    return True


def _is_all_residuals(objective: Objective) -> bool:
    """Whether small residuals make a small cost: priors and criteria of one's own ask for more."""
    criterion = objective.criterion
    own = criterion.may_be_rough or not criterion.has_only_residuals
    return not own and not any(u.prior for u in objective.unknowns.items)


def _signal(block: Block) -> Vector:
    """What was measured, as it is compared."""
    m = block.measured
    return m.value if m.transform is None else m.transform.value(m.value)


# --- Failing region: what is said where the cost falls towards simulations that fail.


def stopped_at(unknowns: Unknowns, point: Point, blocked: Sequence[FailingStep]) -> str:
    """Which unknown leads where which simulation fails, why, and what to do about it."""
    single = [b for b in blocked if b.unknown is not None]
    first = (single or blocked)[0]
    ways = [_way(unknowns, point, b) for b in single] or [_step(unknowns, point, first)]
    return (
        f"stopped at a region where the simulation fails{_extremes(unknowns, point)}: the cost "
        f"still falls with {' and with '.join(ways)}, but the simulation of case "
        f"'{first.failure.case}' fails "
        f"there: {first.failure.message}; this is not an optimum; {HELP}"
    )


def _extremes(unknowns: Unknowns, point: Point) -> str:
    """The unknowns that have left their order of magnitude, which may be why simulations fail."""
    far = unknowns.is_beyond(point.q, EXTREME) | unknowns.is_below(point.q, 1 / EXTREME)
    named = [f"'{unknowns.items[k].label}' = {point.values[k]:.3g}" for k in np.flatnonzero(far)]
    return f", with {' and '.join(named)}" if named else ""


def among_failures(count: int, last: Failure | None) -> str:
    """The same where too many simulations have failed to look for a way around them."""
    assert last is not None
    where = ", ".join(f"{n} = {v:.6g}" for n, v in last.values.items())
    return (
        f"stopped at a region where the simulation fails: {count} simulations failed, the last of "
        f"case '{last.case}' with {where}: {last.message}; this is not an optimum; {HELP}"
    )


def failing_pieces(message: str) -> str:
    """The same where cases are simulated in pieces."""
    return (
        f"stopped at a region where the simulation fails: {message}; this is not an optimum; {HELP}"
    )


def beside(failure: Failure) -> str:
    """The same where no gradient says whether the cost still falls towards what fails."""
    where = ", ".join(f"{n} = {v:.6g}" for n, v in failure.values.items())
    return (
        f"stopped at a region where the simulation fails: no neighbour that can be simulated is "
        f"lower, but the simulation of case '{failure.case}' fails right beside, with {where}: "
        f"{failure.message}; this need not be an optimum; {HELP}"
    )


def _way(unknowns: Unknowns, point: Point, blocked: FailingStep) -> str:
    assert blocked.unknown is not None
    label = unknowns.items[blocked.unknown].label
    here, there = float(point.values[blocked.unknown]), blocked.failure.values[label]
    return f"'{label}' {'above' if there > here else 'below'} {here:.9g} (tried: {there:.9g})"


def _step(unknowns: Unknowns, point: Point, blocked: FailingStep) -> str:
    """The unknowns that a step changes most, relative to their size."""
    there = np.array([blocked.failure.values[u.label] for u in unknowns.items])
    moved = np.abs(unknowns.coordinates(there) - point.q) / np.maximum(np.abs(point.q), 1e-300)
    most = [int(k) for k in np.argsort(-moved)[:NAMED] if moved[k] > 0.1 * moved.max()]
    changed = (
        f"'{unknowns.items[k].label}' from {point.values[k]:.9g} to {there[k]:.9g}" for k in most
    )
    return "a step of " + ", ".join(changed)
