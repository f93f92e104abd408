"""Weighing of candidates: cost reduction, risk, and which one is proposed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.setup import Setup
from estimica.infer.likelihood_ratio.distribution import ratio_distribution
from estimica.infer.likelihood_ratio.partial_fit import FreeState, fit_of, with_noise
from estimica.infer.likelihood_ratio.run import chi2_risk, f_risk
from estimica.infer.release.noise import noise_law
from estimica.infer.release.order import Group
from estimica.infer.release.result import Candidate, SearchEnd, Step
from estimica.infer.release.search import SearchEnding, alike, best
from estimica.study.estimation import LIKELIHOODS
from estimica.study.tables.inference import ReleaseTable

#: relative size below which a direction counts as without effect: √2.2e-16, as its square is used
RANK = 1e-8
#: smallest over largest singular value from which on the rank is looked at closely. Chosen: well
#: above any threshold of a rank; a needless look costs one analysis
SUSPECT = 1e-4


class Weighing:
    """Makes a step from the ends of its searches."""

    def __init__(self, setup: Setup, objective: Objective, table: ReleaseTable) -> None:
        self.setup = setup
        self.objective = objective
        self.table = table
        self.criterion = objective.criterion.name

    def step(
        self,
        number: int,
        state: FreeState,
        null: SearchEnding,
        groups: Sequence[Group],
        searched: Mapping[tuple[int, int], SearchEnding],
    ) -> Step:
        """The step with the proposed candidate; nothing is chosen yet."""
        candidates = tuple(
            self._candidate(state, group, self._ends(c, searched), len(groups))
            for c, group in enumerate(groups)
        )
        return Step(
            number=number,
            criterion=self.criterion,
            free=state.labels(self.objective),
            cost=state.cost,
            aic=null.aic,
            aicc=null.aicc,
            bic=null.bic,
            values=self._named(state.q),
            noise=dict(null.noise),
            candidates=candidates,
            proposed=self._proposed(candidates, state.cost),
            chosen=None,
            state=state,
        )

    def _proposed(self, candidates: Sequence[Candidate], null_cost: float) -> int | None:
        """The acceptable candidate that gains most; among like ones the first."""
        most = max((c.cost_reduction for c in candidates if c.acceptable), default=math.nan)
        enough = most - alike(self.criterion, null_cost)
        good = (k for k, c in enumerate(candidates) if c.acceptable and c.cost_reduction >= enough)
        return next(good, None)

    def end(
        self, step: Step, candidate: int, searched: Mapping[tuple[int, int], SearchEnding]
    ) -> SearchEnding:
        """The end of the search that counts for a candidate."""
        ends = self._ends(candidate, searched)
        return ends[best(ends, self.criterion, step.cost)]

    def _ends(
        self, candidate: int, searched: Mapping[tuple[int, int], SearchEnding]
    ) -> list[SearchEnding]:
        return [searched[key] for key in sorted(searched) if key[0] == candidate]

    def _candidate(
        self, null: FreeState, group: Group, ends: list[SearchEnding], count: int
    ) -> Candidate:
        end = ends[best(ends, self.criterion, null.cost)]
        state = self._released(null, group, end)
        reduction = null.cost - end.cost
        point = self._point(state) if end.found else None
        law = noise_law(self.setup, self.objective, null, state, group) if point else None
        risk = self._risk(null, state, group, point) if law is None else law.risk
        multiple = risk_of_best(risk, count)
        return Candidate(
            released=group.labels(self.objective.unknowns.items),
            freedom=len(group),
            cost=end.cost,
            cost_reduction=reduction,
            risk=risk,
            risk_multiple=multiple,
            aic=end.aic,
            aicc=end.aicc,
            bic=end.bic,
            outcome=SearchEnd(end.cost, end.status, end.message),
            acceptable=self._acceptable(reduction, null.cost, multiple),
            values=self._named(state.q) if end.found else {},
            noise=dict(end.noise),
            starts=tuple(SearchEnd(e.cost, e.status, e.message) for e in ends),
            advice=self._advice(state, point),
            law=law.words if law else "",
            state=state if end.found else None,
        )

    def _released(self, null: FreeState, group: Group, end: SearchEnding) -> FreeState:
        return FreeState(
            null.free | set(group.unknowns),
            null.noise | set(group.noise),
            {n: v for n, v in null.held_noise.items() if n not in group.noise},
            np.array(end.q, float) if end.found else null.q,
            end.cost,
        )

    def _risk(self, null: FreeState, state: FreeState, group: Group, point: Point | None) -> float:
        """The risk by the law of the likelihood ratio; a noise level itself is tested by χ²."""
        if point is None:
            return 1.0
        if not group.noise:
            objective = with_noise(self.objective, state.held_noise)
            free = ~state.held(len(state.q))
            law = ratio_distribution(objective, point, null.q, free, group.unknowns, RANK)
            if law is not None:
                return law.risk
        if self.criterion in LIKELIHOODS:
            return chi2_risk(null.cost - state.cost, len(group))
        residual = int(self.objective.n_independent) - len(state.free)
        return f_risk(null.cost, state.cost, len(group), residual)[1]

    def _acceptable(self, reduction: float, null_cost: float, risk: float) -> bool:
        if not math.isfinite(reduction) or risk > self.table.risk:
            return False
        return self.criterion in LIKELIHOODS or reduction > self.table.reduction * null_cost

    def _point(self, state: FreeState) -> Point | None:
        point = with_noise(self.objective, state.held_noise).at(state.q)
        return point if isinstance(point, Point) else None

    def _advice(self, state: FreeState, point: Point | None) -> tuple[str, ...]:
        """What the data do not tell apart; only suspects are looked at closely."""
        if point is None or _well_conditioned(point.R[:, sorted(state.free)]):
            return ()
        fit = fit_of(self.setup, self.objective, state)
        return fit.identifiability.advice if fit.accuracy.rank < fit.n_free else ()

    def _named(self, q: Vector) -> dict[str, float]:
        unknowns = self.objective.unknowns
        return unknowns.named(unknowns.values(q))


def risk_of_best(risk: float, count: int) -> float:
    """1 − (1 − α)ⁿ: the risk that one of n candidates looks so good by chance."""
    return 1.0 if risk >= 1 else -math.expm1(count * math.log1p(-risk))


def _well_conditioned(R: Vector) -> bool:
    if not R.size:
        return True
    norms = np.linalg.norm(R, axis=0)
    if not norms.all():
        return False
    s = np.linalg.svd(R / norms, compute_uv=False)
    return bool(s[-1] > SUSPECT * s[0])
