"""BatchFits: one objective fitted to many sets of data, from many starts, or with unknowns held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.batch.cases import AllSums, CaseSums
from estimica.estimate.batch.coordinates import LOG, LOG10, VALUE, Coordinates
from estimica.estimate.batch.scoring import BatchScoring
from estimica.estimate.batch.search import (
    BatchProblem,
    BatchResult,
    MemberLimits,
    OnPoint,
    batch_search,
)
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.scoring import MaximumLikelihood, variance_bounds
from estimica.estimate.objective.cost import Objective
from estimica.estimate.objective.predictor import CasePredictor
from estimica.estimate.search.optimality import GROWN
from estimica.estimate.search.run import Limits
from estimica.estimate.unknowns import Unknowns
from estimica.simulate.ensemble.members import Measured

PRIORS = {"value": VALUE, "log": LOG, "log10": LOG10}


@dataclass(frozen=True, eq=False)
class MemberFits:
    """What became of every member; those that are not `proven` have to be searched alone."""

    found: BatchResult
    levels: tuple[tuple[str, ...], ...]  # the outputs of each estimated variance

    def finished(self) -> MemberFits:
        """The same, of a search that came to its end; Ctrl-C is raised now where it was not."""
        if self.found.interrupted:
            raise KeyboardInterrupt
        return self

    @property
    def proven(self) -> Flags:
        """Which members are at an optimum."""
        return np.asarray(self.found.proven)

    def variances(self, k: int) -> dict[str, float]:
        """The noise variances of one member that were estimated, by output."""
        pairs = zip(self.levels, self.found.variance[k], strict=True)
        return {name: float(v) for names, v in pairs for name in names}


class BatchFits:
    """The cases of an objective with their ensembles, made once."""

    def __init__(
        self,
        objective: Objective,
        limits: Limits,
        threshold: float,
        backend: str = "auto",
        threads: int = 1,
    ) -> None:
        self.objective = objective
        self.cases, first = list[CaseSums](), 0
        for predictor in objective.predictors:
            assert isinstance(predictor, CasePredictor), "why_alone has looked"
            blocks = objective.blocks[first : first + len(predictor.record.outputs)]
            first += len(blocks)
            self.cases.append(
                CaseSums(predictor, blocks, len(objective.unknowns), backend, threads)
            )
        self._accuracies = [p.accuracy for p in objective.predictors for _ in p.record.outputs]
        self.groups, scoring = _scoring(objective)
        self.problem = BatchProblem(
            coordinates_of(objective.unknowns),
            scoring,
            threshold,
            limits.tolerance,
            limits.max_iterations,
        )

    @property
    def backend(self) -> str:
        """What simulates the cases; the least of them where they differ."""
        used = {c.ensemble.backend for c in self.cases}
        return "scalar" if "scalar" in used else "vector" if "vector" in used else "cuda"

    @property
    def reason(self) -> str:
        """Why it is not the backend that was asked for, in words; empty where it is."""
        return next((c.ensemble.reason for c in self.cases if c.ensemble.reason), "")

    def fit(
        self,
        starts: Vector,
        measured: Sequence[Vector] | None = None,
        *,
        counted: Sequence[Flags] | None = None,
        held: Flags | None = None,
        near: bool = False,
        on_point: OnPoint | None = None,
    ) -> MemberFits:
        """Search from coordinates (L, n); `measured` holds (L, N) samples of every block.

        Without it all members are fitted to the data of the objective. `counted` (L, N) of every
        block tells which of its samples count for a member; without it all do.
        """
        measured = self._data if measured is None else measured
        problem = self.problem
        if counted is not None:
            problem = replace(problem, scoring=_scoring_of(self.objective, problem, counted))
        found = batch_search(
            problem,
            self.sums(measured, counted),
            np.ascontiguousarray(starts, np.float64),
            self._limits(measured, len(starts), counted),
            held=held,
            near=near,
            on_point=on_point,
        )
        return MemberFits(found, tuple(self.groups))

    def information(self, q: Vector, counted: Sequence[Flags]) -> Vector:
        """JᵀJ (L, n, n) in coordinates at `q`, priors included; NaN where there is none."""
        still = np.ones(q.shape, bool)  # who holds all unknowns is evaluated once
        return np.asarray(self.fit(q, counted=counted, held=still).finished().found.information)

    def outputs(self, values: Vector) -> tuple[list[Vector], Flags]:
        """(outputs (L, N) of every block at values of the unknowns, which members have them)."""
        found, ok = list[Vector](), np.ones(len(values), bool)
        for case in self.cases:
            own, good = case.outputs(values)
            found, ok = [*found, *own], ok & good
        return found, ok

    def sums(self, measured: Sequence[Vector], counted: Sequence[Flags] | None = None) -> AllSums:
        """What a search evaluates with these data; see `fit`."""
        data, first = list[Measured](), 0
        for case in self.cases:
            own = slice(first, first + len(case.blocks))
            weight = case.weight if counted is None else case.weights(counted[own])
            data.append(Measured(case.measured(measured[own]), weight))
            first = own.stop
        return AllSums(self.cases, data)

    def limits_at_data(self) -> MemberLimits:
        """Those of the data of the objective itself."""
        return self._limits(self._data, 1)

    def costs(self, q: Vector) -> Vector:
        """Costs of the objective's own data at coordinates (L, n); NaN where there is none."""
        at, limits = self.problem.coordinates, self._limits(self._data, len(q))
        values = at.values(q)
        sums = self.sums(self._data)(values, np.arange(len(q)))
        finite = np.isfinite(sums.gradient).all(axis=(1, 2)) & np.isfinite(sums.square).all(axis=1)
        with np.errstate(all="ignore"):  # members that failed have NaN
            cost, _, _ = self.problem.scoring.score(sums.square, limits.low, limits.high)
            distance, _ = at.priors(values, at.slopes(values))
            cost = cost + (distance**2).sum(axis=1)
        return np.where(sums.ok & finite, cost, np.nan)

    @property
    def _data(self) -> list[Vector]:
        """The data of the objective, as one set for all members."""
        return [b.measured.value[None, :] for b in self.objective.blocks]

    def _limits(
        self, measured: Sequence[Vector], many: int, counted: Sequence[Flags] | None = None
    ) -> MemberLimits:
        """Bounds of the variances, and residuals that may be errors of the simulation."""
        blocks = self.objective.blocks
        resolution = np.zeros((many, len(blocks)))
        variation = np.zeros((many, len(blocks)))
        for k, (block, own) in enumerate(zip(blocks, measured, strict=True)):
            transform = block.measured.transform
            compared = own if transform is None else transform.value(own)
            seen = np.ones((1, compared.shape[1])) if counted is None else counted[k]
            samples = np.maximum(seen.sum(axis=1), 1)
            varying = compared - ((seen * compared).sum(axis=1) / samples)[:, None]
            weighted = np.sum(seen * (block.scaling * varying) ** 2, axis=1)
            resolution[:, k] = (GROWN * self._accuracies[k]) ** 2 * weighted
            spread = np.sqrt((seen * varying**2).sum(axis=1) / samples)
            rms = np.sqrt((seen * compared**2).sum(axis=1) / samples)
            known = np.where(spread > 0, spread, np.where(rms > 0, rms, 1.0))
            variation[:, k] = np.where(seen.any(axis=1), known, 0.0)  # of nothing: no bound
        if any(u.prior for u in self.objective.unknowns.items):
            resolution[:] = -1.0  # priors ask for more than small residuals
        low, high = np.zeros((many, len(self.groups))), np.zeros((many, len(self.groups)))
        for j, names in enumerate(self.groups):
            own_blocks = _estimated(blocks, names)
            low[:, j], high[:, j] = variance_bounds(
                [blocks[k] for k in own_blocks], [variation[:, k] for k in own_blocks]
            )
        return MemberLimits(low, high, resolution)


def coordinates_of(unknowns: Unknowns) -> Coordinates:
    """The unknowns as arrays."""
    items = unknowns.items
    priors = [u.prior for u in items]
    return Coordinates(
        np.array([u.scale for u in items], float),
        np.array([u.log for u in items], bool),
        unknowns.lower,
        unknowns.upper,
        np.array([p.mean if p else 0.0 for p in priors], float),
        np.array([p.sigma if p else np.inf for p in priors], float),
        np.array([PRIORS[p.on] if p else VALUE for p in priors], int),
    )


def _scoring_of(
    objective: Objective, problem: BatchProblem, counted: Sequence[Flags]
) -> BatchScoring:
    """The scoring of members of which some samples count."""
    count = np.stack([own.sum(axis=1) for own in counted], axis=1).astype(float)
    constant = np.zeros(len(count))
    for block, own in zip(objective.blocks, counted, strict=True):
        relative = block.measured.relative
        if problem.scoring.likelihood and relative is not None:
            constant += 2 * own @ np.log(relative)
    # no output has a prefilter or detection limits: every sample tells of the noise
    return replace(problem.scoring, count=count, constant=constant, independent=count.sum(axis=1))


def _estimated(blocks: Sequence[Block], names: tuple[str, ...]) -> list[int]:
    """The blocks of some outputs whose noise level is estimated."""
    return [k for k, b in enumerate(blocks) if b.name in names and not isinstance(b.sigma, float)]


def _scoring(objective: Objective) -> tuple[list[tuple[str, ...]], BatchScoring]:
    """(outputs of every estimated noise level, the scoring)."""
    blocks = objective.blocks
    likelihood = type(objective.criterion) is MaximumLikelihood
    free = [k for k, b in enumerate(blocks) if not isinstance(b.sigma, float)] if likelihood else []
    levels = list(dict.fromkeys(blocks[k].level for k in free))
    table = np.zeros((len(blocks), len(levels)))
    for k in free:
        table[k, levels.index(blocks[k].level)] = 1.0
    groups = [
        tuple(dict.fromkeys(blocks[k].name for k in free if blocks[k].level == level))
        for level in levels
    ]
    known = [b.sigma**2 if likelihood and isinstance(b.sigma, float) else 1.0 for b in blocks]
    scoring = BatchScoring(
        likelihood,
        table,
        np.array(known),
        np.array([b.count for b in blocks], float),
        sum(b.log_relative for b in blocks) if likelihood else 0.0,
        objective.n_independent,
    )
    return groups, scoring
