"""Epsilon-constraints: one criterion is minimised while the others are limited, step by step.

The ends of the front come first: each criterion alone, then the others as small as they can be
beside it; then all at once. Between them the limits are spread evenly, and every search starts at
the nearest design that is known (Y. Y. Haimes, L. S. Lasdon and D. A. Wismer, IEEE Trans. Systems,
Man and Cybernetics 1, 1971).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from time import perf_counter, process_time
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.execute.runs.writer import RunWriter
from estimica.optimise.batch import AnyDesign, point_from_dict, point_to_dict
from estimica.optimise.criteria.score import DesignPoint, FailedDesign
from estimica.optimise.methods.box import start_points
from estimica.optimise.methods.sqp import sqp
from estimica.optimise.methods.stop import Stop, patience, tolerance
from estimica.optimise.methods.verification import Verification, criteria_kinds, run_search
from estimica.optimise.optimum.starts import DEFAULT, LONG
from estimica.optimise.pareto.role_view import RoleView, known_by_criterion, largest_by_criterion
from estimica.optimise.problem import OptimisationProblem, SearchStopped
from estimica.optimise.robust import RobustDesign, combined
from estimica.study.tables.optimisation import OptimiseTable

MISSED = 1e-4  # of a limit: such designs are not on the front; as in `optimum.run.LIMIT`
#: of its range, that a criterion may give away at its end of the front: ten times what a search
#: leaves, so that the others have some room, and too little to be seen in a picture
BESIDE = 1e-3
LEAST = 1e-9  # a limit in units of its demand must be positive, also where a range begins at zero
#: not "design of front", under which older runs numbered further starts among all designs
NOTED = "design of the front "


class EpsilonSearch:
    """Searches the designs of a front one after the other; each is a checkpoint of the run."""

    def __init__(
        self, design: AnyDesign, names: Sequence[str], table: OptimiseTable, run: RunWriter
    ) -> None:
        self._design, self._names, self._table, self._run = design, tuple(names), table, run
        self._noted = run.checkpoints()
        self._solved = 0
        self._numbered = (
            0  # designs with a number for a name; further starts have names of their own
        )
        self._spent = 0.0  # s of processor, on further starts
        self.starts = 0  # that the ends of the front were searched from, all of them
        self._begun = perf_counter()
        self.points: list[DesignPoint] = []
        self.failures: list[FailedDesign] = []
        self.evaluations = 0

    def go(self, tell: Callable[[float], None]) -> None:
        """All designs of the front, the ends first."""
        assert self._table.pareto is not None
        names, count = self._names, self._table.pareto.points
        inner = max(count - len(names) - 1, 1)
        per_axis = inner if len(names) == 2 else max(round(inner ** (1 / (len(names) - 1))), 1)
        asked = self._asked
        planned = (1 + asked) * len(names) + 1 + per_axis ** (len(names) - 1)
        starts = start_points(self._design.unknowns, asked, self._table.seed)
        alone = []
        for name in names:
            alone.append(self._alone(name, starts))
            tell(self._solved / planned)
        if all(point is None for point in alone):
            return  # there is no design within the limits to go on from
        ends = self._ends(alone, tell, planned)
        middle = self._solve(names, {}, starts[0])  # all at once
        self.points = [*ends, *([middle] if middle is not None else [])]
        low, high = _range(ends, names)
        shares = np.arange(1, per_axis + 1) / (per_axis + 1)
        for share in product(shares, repeat=len(names) - 1):
            levels = low[1:] + np.array(share) * (high - low)[1:]
            limits = {n: max(float(v), LEAST) for n, v in zip(names[1:], levels, strict=True)}
            point = self._solve(names[:1], limits, self._nearest(levels, high - low))
            if point is not None:
                self.points.append(point)
            tell(min(self._solved / planned, 1.0))

    @property
    def _asked(self) -> int:
        """Starts of each end; designs that are numbered are for the front where nobody asks."""
        table = self._table
        if table.starts is not None:
            return table.starts
        return 1 if table.max_evaluations is not None else DEFAULT

    def _alone(self, name: str, starts: Sequence[Vector]) -> DesignPoint | None:
        """Where one criterion is least, of all starts; nobody waits for those not asked for."""
        points: list[DesignPoint] = []
        made, each = 0, 0.0
        for k, q in enumerate(starts):
            begun = process_time()
            key = f"{name}, start {k + 1}" if k else ""
            unasked = k and self._table.starts is None and NOTED + key not in self._noted
            if unasked and self._spent + each > LONG:
                break
            if k and isinstance(self._design.at(q, slopes=False), FailedDesign):
                continue
            point = self._solve([name], {}, q, far=not k, key=key)
            points += [point] if point is not None else []
            made += 1
            each = each or process_time() - begun
            self._spent += process_time() - begun if k else 0.0
        self.starts = min(self.starts or made, made)
        return min(points, key=lambda p: float(largest_by_criterion(p, [name])[0]), default=None)

    def _ends(
        self, alone: Sequence[DesignPoint | None], tell: Callable[[float], None], planned: int
    ) -> list[DesignPoint]:
        """Where one criterion is least, the others as small as they can be beside it."""
        known = [p for p in alone if p is not None]
        low, high = _range(known, self._names)
        ends = []
        for k, (name, point) in enumerate(zip(self._names, alone, strict=True)):
            if point is None:
                continue
            own = float(largest_by_criterion(point, self._names)[k])
            width = float(high[k] - low[k]) or abs(own)
            limit = {name: max(own + BESIDE * width, LEAST)}
            others = [n for n in self._names if n != name]
            ends.append(self._solve(others, limit, point.q) or point)
            tell(self._solved / planned)
        return ends

    def _nearest(self, limits: Vector, width: Vector) -> Vector:
        """The known design whose values are nearest to the limits."""
        size = np.where(width > 0, width, 1.0)[1:]

        def distance(point: DesignPoint) -> float:
            own = largest_by_criterion(point, self._names)[1:]
            return float(np.linalg.norm((own - limits) / size))

        return min(self.points, key=distance).q

    def _solve(
        self,
        small: Sequence[str],
        limits: Mapping[str, float],
        start: Vector,
        *,
        far: bool = False,
        key: str = "",
    ) -> DesignPoint | None:
        """One design; `far` looks for further starts, which between the ends of a front its
        neighbours are. Without a `key` it is noted by its number."""
        if not key:
            key = f"{self._numbered:05d}"
            self._numbered += 1
        key = NOTED + key
        self._solved += 1
        noted = self._noted.get(key)
        if noted is not None:
            return self._known(noted)
        table = self._table
        most = table.max_evaluations
        designs, gain = patience(self._design.places, replace(table, method="sqp"))
        problem = OptimisationProblem(
            RoleView(self._design, small, limits, self._names),
            max_evaluations=None if most is None else most - self.evaluations,
            max_seconds=table.max_seconds - (perf_counter() - self._begun),
            patience=designs,
            gain=gain,
        )
        try:
            stop = Stop(tolerance(designs, table), table.max_iterations, seed=table.seed)
            ended = run_search(sqp, problem, start, stop)
            nature = criteria_kinds(self._design.places)
            if nature.kinked or ended.status != "converged":
                Verification(sqp, problem, stop, nature, far=far).confirmed(ended)
        except SearchStopped as enough:
            message = enough.message
            if most is not None and enough.status == "evaluation limit":
                message = f"{self.evaluations + problem.evaluations} designs were simulated"
            raise SearchStopped(enough.status, message) from None
        finally:
            self.evaluations += problem.evaluations
            self.failures += problem.failures
        best = problem.best
        good = best is not None and best.violation <= MISSED
        point = self._original(best.point) if best is not None and good else None
        note = {"evaluations": problem.evaluations}
        if point is not None:
            note |= {"q": point.q.tolist(), "scores": point_to_dict(point)}  # type: ignore[dict-item]
        self._run.checkpoint(key, note)
        self._run.flush()
        return point

    def _known(self, noted: Mapping[str, Any]) -> DesignPoint | None:
        self.evaluations += int(noted["evaluations"])
        if "q" not in noted:
            return None
        point = point_from_dict(self._design, np.array(noted["q"], float), noted["scores"])
        return None if isinstance(point, FailedDesign) else point

    def _original(self, point: DesignPoint) -> DesignPoint:
        """With the roles and demands of the study."""
        if isinstance(self._design, RobustDesign):
            return combined(point.scenarios, self._design.table)
        return replace(point, places=self._design.places)


def _range(points: Sequence[DesignPoint], names: Sequence[str]) -> tuple[Vector, Vector]:
    """The least and the largest value of each criterion; penalties of runs that do not settle would
    make a range that no design has. Where none has a value, what the search follows stands in."""
    known = np.array([known_by_criterion(p, names) for p in points])
    follows = np.array([largest_by_criterion(p, names) for p in points])
    values = np.where(np.isnan(known).all(axis=0), follows, known)
    return np.nanmin(values, axis=0), np.nanmax(values, axis=0)
