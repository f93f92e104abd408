"""Collocation: the equations of all cases at the points of a grid, solved along with the fit.

Nothing is simulated during the search: states are unknowns like the tuners, the equations of the
model are met at the solution only. IPOPT solves the whole, with the Gauss-Newton Hessian 2 JᵀWJ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError, SimulationError
from estimica.estimate.collocation.case import CollocatedCase
from estimica.estimate.collocation.elements import Radau
from estimica.estimate.collocation.program import Damping, IpoptResult, Program
from estimica.estimate.criteria.scoring import Criterion
from estimica.estimate.objective.cost import Objective, Point, scored, scored_by
from estimica.estimate.objective.predictor import Prediction
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.robust_scales import PASSES, UNSETTLED, ScaleIteration
from estimica.estimate.search.run import Iteration, Limits, SearchResult, Status
from estimica.estimate.setup import Setup
from estimica.estimate.shooting.agreement import TranscriptionResult, final_point, unconverged_point
from estimica.estimate.shooting.segments import SegmentedCase, equations_of, require_time_cases
from estimica.simulate.modelica.model import ModelicaModel
from estimica.study.estimation import Estimation

Tell = Callable[[Iteration, Point], None]
#: of the grid. Chosen: each cuts an element into as many parts as its order asks for, up to 16, so
#: that a course which needs more than five of them is not smooth
REFINEMENTS = 5
#: of one attempt after the other, until one does not stall. Chosen: none, since that converges
#: fastest; a tenth of the curvature of a relative change of all outputs; and thrice it, which is
#: nearly a gradient step that IPOPT can always take
DAMPING = (0.0, 0.1, 3.0)
#: how IPOPT ends, and what that means
ENDS = {
    "Solve_Succeeded": (Status.CONVERGED, "the conditions of the optimum are met"),
    "Solved_To_Acceptable_Level": (
        Status.CONVERGED,
        "the conditions of the optimum are all but met",
    ),
    "Feasible_Point_Found": (Status.CONVERGED, "the equations are met; nothing is free"),
    "Maximum_Iterations_Exceeded": (
        Status.ITERATIONS,
        "not converged within max_iterations; raise it, or look whether the data determine all "
        "tuners",
    ),
    "Maximum_WallTime_Exceeded": (Status.TIME, "time is up; these are the last values"),
    "Maximum_CpuTime_Exceeded": (Status.TIME, "time is up; these are the last values"),
    "User_Requested_Stop": (Status.INTERRUPTED, "interrupted; these are the last values"),
    "Infeasible_Problem_Detected": (
        Status.STALLED,
        "the equations of the model cannot be met near these values; start nearer to the truth, "
        "widen the bounds, or take more elements",
    ),
    "Invalid_Number_Detected": (
        Status.STALLED,
        "the model gives numbers that are not finite; set bounds that keep the tuners where it "
        "works",
    ),
    "Insufficient_Memory": (
        Status.STALLED,
        "there is not enough memory; use transcription = 'multiple-shooting' or fewer elements",
    ),
}
OTHER = (
    Status.STALLED,
    "no shorter step leads on; start elsewhere (starts = 20), or use transcription = 'shooting'",
)

#: of a disturbance within a piece, above which the pieces are halved. Less than in multiple
#: shooting: these pieces only give the states to begin with, and cost no unknowns
GROWTH = 2.0
#: pieces of a record, of four stamps at least: likewise
SEGMENTS, STAMPS = 100, 4
#: that an element is cut into at once. The order holds where the grid resolves the course already;
#: a guess of more parts than this is one of a grid that does not
MOST_PARTS = 16


def collocation(
    setup: Setup, whole: ResidualFunction, start: Vector, limits: Limits, tell: Tell
) -> SearchResult:
    """Search with the model's equations collocated at `degree` Radau points an element."""
    model = setup.study.model
    if not model.has_time:
        raise FitError(
            "F041",
            f"a static study has nothing to collocate: '{model.name}' knows no time; "
            "use transcription = 'shooting'",
        )
    if not isinstance(model, ModelicaModel):
        raise FitError(
            "F042",
            f"collocation needs the equations of a model, and '{model.name}' does not show them; "
            "use transcription = 'shooting'",
        )
    estimation = setup.study.estimation
    scheme = Radau.of(estimation.degree)
    cases = [
        CollocatedCase(
            equations_of(setup, p),
            p,
            whole.unknowns,
            scheme,
            estimation.elements,
        )
        for p in require_time_cases(whole, "collocation")
    ]
    accuracy = setup.study.solver.rtol if _is_refined(estimation) else math.inf
    run = _Search(whole, cases, limits, tell, accuracy)
    return run.run(whole.unknowns.clipped(start))


def _is_refined(estimation: Estimation) -> bool:
    """A given number of elements is kept, and so is the implicit Euler method."""
    return estimation.elements is None and estimation.degree > 1


class _Search:
    def __init__(
        self,
        whole: ResidualFunction,
        cases: list[CollocatedCase],
        limits: Limits,
        tell: Tell,
        accuracy: float,
    ) -> None:
        self.whole = whole
        self.trajectories = [Trajectories(case) for case in cases]
        self.limits = limits
        self.tell = tell
        self.accuracy = accuracy
        self.begun = perf_counter()
        self.iterations: list[Iteration] = []
        self.start = whole.unknowns.start

    def run(self, q: Vector) -> SearchResult:
        self.start = q
        values = self.whole.unknowns.values(q)
        try:
            first = [t.first(values) for t in self.trajectories]
        except KeyboardInterrupt:
            return SearchResult(None, Status.INTERRUPTED, "interrupted before the first step", ())
        except SimulationError as error:
            first = [error.message]
        for text in first:
            if isinstance(text, str):
                return SearchResult(
                    None,
                    Status.FAILED,
                    f"no trajectories to begin with: {text}; start nearer to the truth",
                    (),
                )
        program, w = self._program(q, first)
        objective = scored_by(self.whole, self.whole.residuals(program.predictions(w)))
        solved, objective, ended = self._passes(program, objective, w)
        for _ in range(REFINEMENTS):
            finer = self._refined(solved)
            if finer is None:
                break
            program, w = self._program(solved.q, finer)
            solved, objective, ended = self._passes(program, objective, w)
        return self._end(program, objective, solved, ended)

    def _program(self, q: Vector, own: Sequence[Vector | str]) -> tuple[Program, Vector]:
        """The problem on the present grids, and where it begins."""
        first = len(q)
        cases = [t.case for t in self.trajectories]
        for case in cases:
            case.first = first
            first += case.size
        return Program(self.whole, cases, self.limits.tolerance), np.concatenate([q, *own])

    def _refined(self, solved: IpoptResult) -> list[Vector] | None:
        """Unknowns on grids that are finer where that is needed."""
        if self.accuracy == math.inf or ENDS.get(solved.ended, OTHER)[0] is not Status.CONVERGED:
            return None
        values = self.whole.unknowns.values(solved.q)
        refined = [t.refined(values, solved.w, self.accuracy) for t in self.trajectories]
        if all(w is None for w in refined):
            return None
        return [
            t.kept(solved.w) if w is None else w
            for t, w in zip(self.trajectories, refined, strict=True)
        ]

    def _passes(
        self, program: Program, objective: Objective, w: Vector
    ) -> tuple[IpoptResult, Objective, tuple[Status, str]]:
        """Solutions between which a robust criterion takes its scales anew; how the last ended."""
        settling = ScaleIteration()
        for _ in range(PASSES):
            solved = self._solved(program, objective.criterion, w)
            ended = ENDS.get(solved.ended, OTHER)
            w = solved.w
            found = scored_by(self.whole, self.whole.residuals(program.predictions(w)))
            scales = settling.after(objective.criterion.scales, found.criterion.scales)
            if ended[0] is not Status.CONVERGED or scales is None:
                return solved, objective, ended
            last, objective = objective, scored(self.whole, scales)
        return solved, last, (Status.ITERATIONS, UNSETTLED)

    def _solved(self, program: Program, criterion: Criterion, w: Vector) -> IpoptResult:
        """Try Gauss-Newton steps as they are; where they lead astray, damped ones."""
        for share in DAMPING:
            solved = program.solve(w, criterion, self._left(), self._note, Damping(share))
            if ENDS.get(solved.ended, OTHER)[0] is not Status.STALLED:
                break
        return solved

    def _left(self) -> Limits:
        seconds = self.limits.max_seconds - (perf_counter() - self.begun)
        count = self.limits.max_iterations - max(len(self.iterations) - 1, 0)
        return replace(self.limits, max_seconds=max(seconds, 1e-3), max_iterations=max(count, 1))

    def _note(self, q: Vector, cost: float) -> None:
        """One more iteration."""
        n = len(q)
        values = self.whole.unknowns.values(q)
        size = 0.0
        if self.iterations:
            before = self.whole.unknowns.coordinates(self.iterations[-1].values)
            size = float(np.max(np.abs(q - before) / np.maximum(np.abs(before), 1e-3), initial=0.0))
        iteration = Iteration(
            len(self.iterations), cost, values, size, 0, perf_counter() - self.begun
        )
        self.iterations.append(iteration)
        self.tell(iteration, Point(q, values, cost, np.zeros((n, n)), np.zeros(n), 0.0))

    def _end(
        self, program: Program, objective: Objective, solved: IpoptResult, ended: tuple[Status, str]
    ) -> SearchResult:
        status, message = ended
        predictions: list[Prediction] = program.predictions(solved.w)
        criterion = objective.criterion
        scoring = criterion.score(objective.residuals(predictions))
        own = TranscriptionResult(
            solved.q,
            predictions,
            scoring,
            solved.cost,
            lambda emphases: program.information(solved.w, criterion, emphases),
            solved.gradient,
        )
        against = ""
        if status is Status.CONVERGED:
            point, against = final_point(objective, own)
        else:
            point = unconverged_point(objective, own, self.start)
        if against:
            message += (
                f"; {against}: the grid is coarse (raise degree or elements), or the model is "
                "unstable; cost and curves are those of the grid"
            )
        iterations = tuple(self.iterations)
        if iterations:
            last = replace(iterations[-1], cost=point.cost, values=point.values)
            iterations = (*iterations[:-1], last)
        return SearchResult(point, status, message, iterations)


# --- Trajectories: where the states of a collocated fit begin, and how fine its grid must be.
#
# They begin with a simulation that is put back to what was measured again and again, so that an
# unstable model cannot run away.


class Trajectories:
    """The states of one case before and between the searches."""

    def __init__(self, case: CollocatedCase) -> None:
        self.case = case
        stamps = len(case.predictor.times)
        count = max(1, min(stamps // STAMPS, SEGMENTS))
        self._pieces = SegmentedCase(case.model, case.predictor, count)

    def first(self, values: Vector) -> Vector | str:
        """The case's own unknowns to begin with; a text where no simulation works."""
        pieces = self._pieces
        pieces.size_states(values)
        flown = pieces.fly(values, None)
        while isinstance(flown, str) or flown.growth > GROWTH:
            if not pieces.halve():
                break
            flown = pieces.fly(values, None)
        if isinstance(flown, str):
            return flown
        return self._along(values, flown.nodes[1:])

    def refined(self, values: Vector, w: Vector, tolerance: float) -> Vector | None:
        """The case's own unknowns on a finer grid; None where every element is accurate.

        Each element is simulated from the states at its beginning. Where the end differs by more
        than `tolerance`, in sizes of the states, it is cut into as many as the order asks for.
        """
        case = self.case
        states, bounds = case.states(w), case.grid.bounds
        self._pieces.cut_at(bounds[:-1])
        ways = self._pieces.trajectories(values, states[1:-1], bounds)
        if isinstance(ways, str):
            return None
        error = np.max(np.abs(ways.ends - states[1:]) / case.x_scale, axis=1, initial=0.0)
        if not (error > tolerance).any():
            return None
        order = 2 * case.degree
        parts = np.ceil((error / tolerance) ** (1 / order)).clip(1, MOST_PARTS).astype(int)
        case.refine(np.where(error > tolerance, np.maximum(parts, 2), 1))
        unknowns = self._along(values, states[1:-1])
        return None if isinstance(unknowns, str) else unknowns

    def kept(self, w: Vector) -> Vector:
        """The case's own unknowns as they are."""
        return w[self.case.first : self.case.first + self.case.size]

    def _along(self, values: Vector, nodes: Vector) -> Vector | str:
        case, grid = self.case, self.case.grid
        times = np.unique(np.concatenate([grid.times.ravel(), grid.bounds]))
        ways = self._pieces.trajectories(values, nodes, times)
        if isinstance(ways, str):
            return ways
        size = np.sqrt(np.mean(ways.found**2, axis=0))
        scale = np.where(case.nominal > 0, case.nominal, size)
        scale[scale == 0] = 1.0
        case.built(scale[: case.nx], scale[case.nx :])
        points = ways.found[np.searchsorted(times, grid.times)]
        stamps = ways.found[np.searchsorted(times, grid.stamps)]
        return case.start(ways.found[0], points, stamps[:, case.nx :])
