"""BatchEvaluator: designs that are evaluated side by side, and noted so that a run can be taken up.

The search is the same whenever its seed is: taken up again it asks for the same designs, and finds
those that were noted before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.execute.runs.writer import RunWriter
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor
from estimica.execute.workers.threads import in_threads
from estimica.optimise.assess.tuner_distribution import TunerDistribution
from estimica.optimise.criteria.score import DesignPoint, FailedDesign
from estimica.optimise.design import Design
from estimica.optimise.robust import RobustDesign, combined, prepare_any_design
from estimica.study.study import Study
from estimica.study.tables.optimisation import OptimiseTable

AnyDesign = Design | RobustDesign
#: designs of a generation that are scored together, where they can be: two groups of a vector
#: ensemble, so that a usual generation of 40 keeps a few threads busy
TOGETHER = 16
SAME = 1e-12  # between coordinates that are noted and asked for
#: not "generation", under which older runs noted scores without what was not reached
NOTED = "designs of generation "


class BatchEvaluator:
    """Evaluates a generation through an executor; each is a checkpoint of the run."""

    def __init__(
        self,
        design: AnyDesign,
        build: Callable[[], AnyDesign],
        hands: Executor,
        run: RunWriter,
    ) -> None:
        self._design, self._hands, self._run = design, hands, run
        self._context: Context[AnyDesign] = Context(build, design)
        self._noted = run.checkpoints()
        self._number = 0
        self.taken_up = 0  # designs that were noted before

    def __call__(self, generation: Sequence[Vector]) -> list[DesignPoint | FailedDesign]:
        """The designs of the next generation."""
        key = f"{NOTED}{self._number:05d}"
        self._number += 1
        rows = self._known(key, generation)
        if rows is None:
            rows = self._scored(generation)
            self._run.checkpoint(key, {"q": [q.tolist() for q in generation], "scores": rows})
            self._run.flush()
        else:
            self.taken_up += len(rows)
        return [point_from_dict(self._design, q, r) for q, r in zip(generation, rows, strict=True)]

    def _scored(self, generation: Sequence[Vector]) -> list[Mapping[str, Any]]:
        """Designs in blocks, which are the same whoever does the work."""
        q, size = [q.tolist() for q in generation], min(self._design.block, TOGETHER)
        parts = [q[k : k + size] for k in range(0, len(q), size)]
        hands = in_threads(self._hands) if size > 1 else self._hands
        outcomes = hands.map(scored, parts, context=self._context)
        rows: list[Mapping[str, Any]] = []
        for part, outcome in zip(parts, outcomes, strict=True):
            if outcome.done:
                rows += outcome.result()
            else:
                rows += [{"failed": outcome.error, "case": "", "tuners": {}}] * len(part)
        return rows

    def _known(self, key: str, generation: Sequence[Vector]) -> list[Mapping[str, Any]] | None:
        noted = self._noted.get(key)
        if noted is None:
            return None
        old, new = np.array(noted["q"], float), np.array(generation, float)
        if old.shape != new.shape or np.abs(old - new).max(initial=0.0) > SAME:
            return None
        rows: list[Mapping[str, Any]] = noted["scores"]
        return rows


def builder(
    study: Study, table: OptimiseTable, source: TunerDistribution | None
) -> Callable[[], AnyDesign]:
    """What makes the criteria in a worker process."""
    return partial(prepare_any_design, study, table, source)


def scored(design: AnyDesign, part: list[list[float]]) -> list[dict[str, Any]]:
    """The scores of some designs as plain values."""
    q = np.array(part, float)
    if design.block == 1:
        return [point_to_dict(design.at(one, slopes=False)) for one in q]
    if isinstance(design, RobustDesign):
        return [point_to_dict(point) for point in design.at_all(q)]
    together = design.at_all(q)
    return [point_to_dict(together.point(k)) for k in range(len(q))]


def point_to_dict(point: DesignPoint | FailedDesign) -> dict[str, Any]:
    """A design as the store keeps it."""
    if isinstance(point, FailedDesign):
        return {"failed": point.message, "case": point.case, "tuners": dict(point.values)}
    if point.scenarios:
        return {"scenarios": [_scores(p) for p in point.scenarios]}
    return _scores(point)


def _scores(point: DesignPoint) -> dict[str, Any]:
    least = None
    if point.at_least is not None:
        least = [None if s.reached else s.at_least for s in point.scores]
    scores = {"penalised": point.penalised.tolist(), "at_least": least}
    return scores | ({"ended": dict(point.ended)} if point.ended else {})


def point_from_dict(
    design: AnyDesign, q: Vector, row: Mapping[str, Any]
) -> DesignPoint | FailedDesign:
    """A design of plain values."""
    if "failed" in row:
        return FailedDesign(row["case"], row["failed"], row["tuners"])
    tuners = design.unknowns.values(q)

    def of(scores: Mapping[str, Any]) -> DesignPoint:
        least = scores["at_least"]
        return DesignPoint(
            q.copy(),
            tuners,
            design.places,
            np.array(scores["penalised"], float),
            None if least is None else np.array(least, float),
            None,
            ended=scores.get("ended", {}),
        )

    if isinstance(design, RobustDesign):
        return combined([of(v) for v in row["scenarios"]], design.table)
    return of(row)
