"""Multiple shooting: each case in pieces with states of their own, which the search joins.

Bock (1987): the states at the beginning of every piece are further unknowns, the gaps between the
pieces vanish at the solution only. Started from what was measured, the trajectories stay near the
data even where the model is unstable or chaotic and a single simulation would leave them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Literal

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.estimate.objective.cost import Objective, Point, scored, scored_by
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.optimality import DENIED, GROWN, are_at_resolution, failing_pieces
from estimica.estimate.search.robust_scales import PASSES, UNSETTLED, ScaleIteration
from estimica.estimate.search.run import Iteration, Limits, SearchResult, Status
from estimica.estimate.setup import Setup
from estimica.estimate.shooting.agreement import TranscriptionResult, final_point, unconverged_point
from estimica.estimate.shooting.continuity import Linearised, Step, information, step
from estimica.estimate.shooting.segments import SegmentedCase, equations_of, require_time_cases
from estimica.estimate.shooting.stitching import AllSegments, ScoredSegments, SegmentedStudy
from estimica.simulate.modelica.model import ModelicaModel

Tell = Callable[[Iteration, Point], None]
#: by default; a piece has eight stamps at least, or its states would follow the noise of its
#: samples. Chosen: pieces that part too fast are halved anyway, and each adds states to every step
SEGMENTS = 16
STAMPS = 8
#: of a disturbance within a piece, above which the pieces are halved: a linear step is of use while
#: a piece carries errors of its start no farther than a decade
GROWTH = 10.0
#: share of a step below which it is given up and damped: ten halvings, of which none was better
SHORTEST = 1e-3
#: relative to the largest column of the Jacobian: next to none, so that only unknowns that the data
#: do not determine stay where they are; more after steps that are not good
LEAST_DAMPING, MOST_DAMPING = 1e-18, 1.0
#: growth of the damping after a step of which no share was better, and its fall after a whole one:
#: from the least to the most of it are 18 decades, six tries
HARDER, SOFTER = 1e3, 10
CLOSED = 1e-6  # gaps, in sizes of the states, that count as none: the default tolerance of a run
#: share of the promised fall that a step must keep at least: the usual one of Armijo's condition
#: (Nocedal and Wright 2006, section 3.1)
KEPT = 1e-4


def multiple_shooting(
    setup: Setup, whole: ResidualFunction, start: Vector, limits: Limits, tell: Tell
) -> SearchResult:
    """Search with the cases cut into `segments` pieces."""
    model = setup.study.model
    if not model.has_time:
        raise FitError(
            "F048",
            f"a static study has nothing to cut: '{model.name}' knows no time; "
            "use transcription = 'shooting'",
        )
    if not isinstance(model, ModelicaModel):
        raise FitError(
            "F049",
            f"multiple shooting sets the states of a model, and '{model.name}' does not show them; "
            "use transcription = 'shooting'",
        )
    wanted = setup.study.estimation.segments
    predictors = require_time_cases(whole, "multiple shooting")
    cases = [
        SegmentedCase(equations_of(setup, p), p, wanted or _default(p.times)) for p in predictors
    ]
    noise = GROWN * setup.study.solver.rtol
    stitching = SegmentedStudy(whole, cases)
    begun = perf_counter()
    try:
        first = _first(stitching, whole.unknowns.clipped(start), wanted is None)
    except KeyboardInterrupt:
        return SearchResult(None, Status.INTERRUPTED, "interrupted before the first step", ())
    if not isinstance(first, str):
        objective = scored_by(whole, first.residuals)
        first = stitching.scored(first, objective)
    if isinstance(first, str):
        return SearchResult(
            None,
            Status.FAILED,
            f"even in pieces the simulation fails at the start values: {first}; start "
            "nearer to the truth, or take more segments",
            (),
        )
    return _Search(stitching, objective, limits, tell, noise, begun).run(first)


def _first(stitching: SegmentedStudy, q: Vector, adaptive: bool) -> AllSegments | str:
    """The first trajectories; pieces that spread disturbances too far are halved."""
    values = stitching.whole.unknowns.values(q)
    for case in stitching.cases:
        case.size_states(values)
    flown_pieces = stitching.fly(q, None)
    while adaptive and (isinstance(flown_pieces, str) or _growth(flown_pieces) > GROWTH):
        finer = [case.halve() for case in stitching.cases]
        if not any(finer):
            break
        flown_pieces = stitching.fly(q, None)
    if not isinstance(flown_pieces, str):
        for case, flown in zip(stitching.cases, flown_pieces.flown, strict=True):
            case.size_states(values, flown)
        flown_pieces = stitching.fly(q, flown_pieces.nodes)
    return flown_pieces


def _default(times: Vector) -> int:
    return int(np.clip(len(times) // STAMPS, 2, SEGMENTS))


class _Search:
    def __init__(
        self,
        stitching: SegmentedStudy,
        objective: Objective,
        limits: Limits,
        tell: Tell,
        noise: float,
        begun: float,
    ) -> None:
        self.stitching = stitching
        self.objective = objective
        self.unknowns = objective.unknowns
        self.limits = limits
        self.tell = tell
        self.noise = noise
        self.begun = begun
        self.iterations: list[Iteration] = []
        self.penalty = 0.0
        self.damping = LEAST_DAMPING
        self.failed = ""  # why the last simulation of a piece failed
        self.solved: Step | None = None

    def run(self, first: ScoredSegments) -> SearchResult:
        self.start, self.at = first.q, first
        try:
            self._accept(first, 0.0, 0)
            if not len(self.unknowns) and not len(first.gaps):
                return self._end(Status.CONVERGED, "nothing is free; the cost was evaluated")
            return self._end(*self._passes())
        except KeyboardInterrupt:
            return self._end(Status.INTERRUPTED, "interrupted; these are the best values so far")

    def _passes(self) -> tuple[Status, str]:
        """Searches between which a robust criterion takes its scales anew."""
        settling = ScaleIteration()
        for _ in range(PASSES):
            ended = self._search()
            scales_left = scored_by(self.objective, self.at.residuals).criterion.scales
            scales = settling.after(self.objective.criterion.scales, scales_left)
            if ended[0] is not Status.CONVERGED or scales is None:
                return ended
            again = scored(self.objective, scales)
            rescored = self.stitching.scored(self.at, again)
            assert isinstance(rescored, ScoredSegments), "its residuals are finite"
            self.objective, self.at, self.penalty = again, rescored, 0.0
        return Status.ITERATIONS, UNSETTLED

    def _search(self) -> tuple[Status, str]:
        while len(self.iterations) <= self.limits.max_iterations:
            ended = self._iterate()
            if ended:
                return ended
        return (
            Status.ITERATIONS,
            f"not converged after {self.limits.max_iterations} iterations; raise max_iterations, "
            "look whether the data determine all tuners, or try transcription = 'collocation'",
        )

    def _iterate(self) -> tuple[Status, str] | None:
        """Find a better point, with more damping where the plain step is not good."""
        at = self.at
        linear = self.stitching.linearised(at)
        closed = float(np.max(np.abs(at.gaps), initial=0.0)) <= max(CLOSED, self.noise)
        tries = 0
        self.failed = ""
        while self.damping <= MOST_DAMPING:
            proposed = self._step(linear, at, self.damping)
            if proposed is not None:
                self.solved = proposed
                slope = self._slope(linear, proposed)
                ended, more = self._along(at, proposed, slope, closed, tries)
                tries += more
                if ended is None or isinstance(ended, tuple):
                    return ended
                if closed and -slope <= self.noise * max(at.square, 1e-300):
                    break
            self.damping *= HARDER
        if closed and self._is_settled(linear, at):
            return Status.CONVERGED, "nothing more is gained within the simulation's accuracy"
        return self._stuck()

    def _is_settled(self, linear: Linearised, at: ScoredSegments) -> bool:
        """Whether a step promises next to nothing even if it is not damped.

        A damped one promises little anywhere: that is not a sign of an optimum.
        """
        if are_at_resolution(self.objective, at.residuals):
            return True
        undamped = self._step(linear, at, LEAST_DAMPING)
        return undamped is not None and -self._slope(linear, undamped) <= DENIED * at.square

    def _stuck(self) -> tuple[Status, str]:
        if self.failed:
            return Status.FAILING_REGION, failing_pieces(self.failed)
        return (
            Status.STALLED,
            "no shorter step lowers the cost and closes the gaps; take more segments, start "
            "elsewhere (starts = 20), or try transcription = 'collocation'",
        )

    def _along(
        self, at: ScoredSegments, proposed: Step, slope: float, closed: bool, tries: int
    ) -> tuple[tuple[Status, str] | Literal[False] | None, int]:
        """(how the search ends, None: it goes on, False: no point was better; tries)."""
        share, count = 1.0, 0
        size = _relative(proposed.d[: len(at.q)], at.q)
        moved = float(np.max(np.abs(proposed.d), initial=0.0))
        while share > SHORTEST:
            if perf_counter() - self.begun > self.limits.max_seconds:
                return (Status.TIME, "time is up; these are the best values so far"), count
            trial = self._at(self.stitching.moved(at, share * proposed.d))
            if isinstance(trial, ScoredSegments) and self._lower(trial, at, share * slope):
                self._accept(trial, share * size, tries + count)
                if share == 1.0:
                    self.damping = max(self.damping / SOFTER, LEAST_DAMPING)
                if share == 1.0 and closed and moved <= max(self.limits.tolerance, 1e-12):
                    return self._unchanged(), count
                return None, count
            if isinstance(trial, str):
                self.failed = trial
            if closed and -slope <= self.noise * max(at.square, 1e-300):
                break
            share *= 0.5 if isinstance(trial, ScoredSegments) else 0.25
            count += 1
        return False, count

    def _at(self, place: tuple[Vector, tuple[Vector, ...]]) -> ScoredSegments | str:
        return self.stitching.at(*place, self.objective)

    def _unchanged(self) -> tuple[Status, str]:
        """The end after a step that changed nothing, unless damping made it so short."""
        weak = self.damping <= LEAST_DAMPING
        if weak or self._is_settled(self.stitching.linearised(self.at), self.at):
            return Status.CONVERGED, "neither unknowns nor nodes change any more"
        return self._stuck()

    def _step(self, linear: Linearised, at: ScoredSegments, damping: float) -> Step | None:
        """The step; where unknowns are not determined, the shortest of them."""
        norms = np.sqrt(np.asarray(linear.J.multiply(linear.J).sum(axis=0)).ravel())
        effects = np.asarray(abs(linear.C[:, : linear.n]).sum(axis=0)).ravel()
        dead = (norms[: linear.n] == 0) & (effects == 0)
        low, high = self.unknowns.lower - at.q, self.unknowns.upper - at.q
        damping = damping * float(norms.max(initial=0.0)) ** 2
        return step(linear, damping, low, high, dead)

    def _slope(self, linear: Linearised, proposed: Step) -> float:
        """The slope of the merit along the step, with a penalty that makes it negative."""
        needed = 2 * float(np.max(np.abs(proposed.multipliers), initial=0.0))
        # above the largest multiplier the merit is exact; far above it, steps that follow the
        # curved continuity would be refused: kept between, with room so that it seldom changes
        if self.penalty < 1.1 * needed or self.penalty > 100 * needed:
            self.penalty = 2 * needed
        open_ = float(np.abs(linear.h).sum())
        return 2 * float(linear.rho @ (linear.J @ proposed.d)) - self.penalty * open_

    def _lower(self, trial: ScoredSegments, at: ScoredSegments, slope: float) -> bool:
        before = at.cost + self.penalty * float(np.abs(at.gaps).sum())
        after = trial.cost + self.penalty * float(np.abs(trial.gaps).sum())
        return after <= before + KEPT * min(slope, 0.0) and after < before

    def _accept(self, better: ScoredSegments, size: float, rejected: int) -> None:
        self.at = better
        iteration = Iteration(
            len(self.iterations),
            better.cost,
            better.values,
            size,
            rejected,
            perf_counter() - self.begun,
        )
        self.iterations.append(iteration)
        n = len(better.q)
        light = Point(better.q, better.values, better.cost, np.zeros((n, n)), np.zeros(n), 0.0)
        self.tell(iteration, light)

    def _end(self, status: Status, message: str) -> SearchResult:
        at = self.at
        linear = self.stitching.linearised(at)
        gradient = linear.J.T @ linear.rho
        if self.solved is not None and len(self.solved.multipliers) == linear.C.shape[0]:
            gradient = gradient + linear.C.T @ self.solved.multipliers
        own = TranscriptionResult(
            at.q,
            at.predictions,
            at.scoring,
            at.cost,
            lambda emphases: information(self.stitching.linearised(at, emphases)),
            gradient[: linear.n],
        )
        against = ""
        if status is Status.CONVERGED:
            point, against = final_point(self.objective, own)
        else:
            point = unconverged_point(self.objective, own, self.start)
        if against:
            message += (
                f"; {against}: the model is unstable; cost and curves are those of the pieces"
            )
        return SearchResult(point, status, message, _last_as(tuple(self.iterations), point))


def _last_as(iterations: tuple[Iteration, ...], point: Point) -> tuple[Iteration, ...]:
    """The iterations with the cost of the final point in the last."""
    if not iterations:
        return iterations
    return (*iterations[:-1], replace(iterations[-1], cost=point.cost, values=point.values))


def _growth(pieces: AllSegments) -> float:
    return max(flown.growth for flown in pieces.flown)


def _relative(d: Vector, q: Vector) -> float:
    return float(np.max(np.abs(d) / np.maximum(np.abs(q), 1e-3), initial=0.0))
