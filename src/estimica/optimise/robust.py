"""Robust design: the same tuners in many scenarios of uncertain parameters.

Each criterion in each case has a value in every scenario, w_1 … w_S (over its demand). What counts
of them is

    worst      all of them: every scenario enters the maximum and the limits by itself
    mean       (w_1 + … + w_S)/S
    quantile   the mean of the worst share 1 - quantile (conditional value at risk,
               Rockafellar and Uryasev 2000), which is never below the quantile:
               min_t  t + Σ max(0, w_s - t)/((1 - quantile)·S),
               with the corner of max rounded so that it has a gradient
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from estimica.base.arrays import Vector
from estimica.base.errors import DesignError
from estimica.execute.batches import WorkedBy
from estimica.optimise.assess.run import require_parameters
from estimica.optimise.assess.samples import Samples, drawn, drawn_jointly, grid
from estimica.optimise.assess.tuner_distribution import TunerDistribution
from estimica.optimise.criteria.population import PopulationScoring, ScoredDesigns
from estimica.optimise.criteria.score import CriterionInCase, DesignPoint, FailedDesign
from estimica.optimise.design import Design, block_size, prepare_design
from estimica.optimise.scenarios import SingleScenarios, in_scenarios, joined
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tables.optimisation import Distribution, OptimiseTable, RobustTable

#: width over which the corner of a tail is rounded, in units of the demand: too little to be read,
#: and ten times what a search must gain, so that it sees a slope
CORNER = 1e-3
MOST = 1000  # scenarios of one design. Chosen: each is simulated for each design of a search


class RobustDesign:
    """A design in scenarios; each is a design of the same tuners."""

    def __init__(
        self,
        designs: Sequence[Design],
        names: Sequence[Mapping[str, float]],
        table: RobustTable,
    ) -> None:
        self.designs = tuple(designs)
        self.scenarios = tuple(dict(n) for n in names)
        self.table = table
        self.unknowns = designs[0].unknowns
        self.places = designs[0].places

        self._together = 0  # simulations of scenarios that were run together
        self._count = Lock()  # threads score blocks of designs

    @property
    def simulations(self) -> int:
        """Of single cases in single scenarios."""
        return self._together + sum(d.simulations for d in self.designs)

    @property
    def differenced(self) -> set[str]:
        """Labels of criteria without exact gradients."""
        return set().union(*(d.differenced for d in self.designs))

    def at(self, q: Vector, *, slopes: bool = True) -> DesignPoint | FailedDesign:
        """What counts of the scores in all scenarios; the first scenario that fails is told."""
        if not slopes and self.designs[0].block > 1:
            return self._scored(q[None], self._many)[0]
        return self._combined(design.at(q, slopes=slopes) for design in self.designs)

    def glance(self, q: Vector) -> DesignPoint | FailedDesign:
        """The same, as exactly as the study's own tolerances say."""
        if block_size(self.designs[0].glancing) > 1:
            return self._scored(q[None], self._glancing)[0]
        return self._combined(design.glance(q) for design in self.designs)

    @cached_property
    def block(self) -> int:
        """How many designs are scored together; one where some case is not in an ensemble."""
        block = self.designs[0].block
        return 1 if block == 1 else max(2, block // len(self.designs))

    def worked_by(self) -> WorkedBy | None:
        """What has simulated scenarios together; None where nothing has."""
        return self.designs[0].worked_by()

    def at_all(self, q: Vector) -> list[DesignPoint | FailedDesign]:
        """Many designs, (designs, n) coordinates, in all scenarios, without slopes."""
        return self._scored(q, self._many)

    @cached_property
    def _many(self) -> tuple[SingleScenarios, ...]:
        return joined([d.scorers for d in self.designs], self.designs[0].many, self._start)

    @cached_property
    def _glancing(self) -> tuple[SingleScenarios, ...]:
        return joined([d.loose for d in self.designs], self.designs[0].glancing, self._start)

    @property
    def _start(self) -> Vector:
        return self.unknowns.values(self.unknowns.start)

    def _scored(
        self, q: Vector, scorers: Sequence[SingleScenarios]
    ) -> list[DesignPoint | FailedDesign]:
        """All designs in all scenarios: those that can as members of one ensemble a case."""
        tuners, count = self.unknowns.values(q), len(self.designs)
        rows = in_scenarios(tuners, count)
        scoring = PopulationScoring(rows, lambda row: self.unknowns.named(row[:-1]))
        values, least = scoring.of_all(scorers, self.designs[0].order)
        with self._count:
            self._together += scoring.simulations
        scored = ScoredDesigns(
            np.repeat(q, count, axis=0),
            rows[:, :-1],
            self.places,
            values,
            least,
            scoring.failures,
            scoring.ended,
        )
        return [
            self._combined(scored.point(k * count + s) for s in range(count)) for k in range(len(q))
        ]

    def _combined(self, scored: Iterable[DesignPoint | FailedDesign]) -> DesignPoint | FailedDesign:
        points = []
        for point, scenario in zip(scored, self.scenarios, strict=False):
            if isinstance(point, FailedDesign):
                where = ", ".join(f"{n} = {v:.6g}" for n, v in scenario.items())
                message = f"{point.message} (scenario {where})"
                return FailedDesign(point.case, message, point.values)
            points.append(point)
        return combined(points, self.table)


def _first_ended(points: Sequence[DesignPoint]) -> dict[str, str]:
    """Of each case that the model has ended in some scenarios the first, and in how many."""
    found = {}
    for case in dict.fromkeys(c for p in points for c in p.ended):
        texts = [p.ended[case] for p in points if case in p.ended]
        found[case] = f"{texts[0]} (the first of {len(texts)} of {len(points)} scenarios)"
    return found


def combined(points: Sequence[DesignPoint], table: RobustTable) -> DesignPoint:
    """One design of its scenarios, and where the worst counts all of their scores."""
    first = points[0]
    demands = np.array([p.demand for p in first.places], float)
    weighted = np.array([p.weighted for p in points])  # (S, K)
    shares = np.empty_like(weighted)
    for k, place in enumerate(first.places):
        shares[:, k] = scenario_weights(weighted[:, k], place, table)
    values = np.array([p.penalised for p in points])
    total = (shares * values).sum(axis=0)
    if table.measure == "quantile":
        tails = [
            tail(weighted[:, k], table.quantile)
            if p.role != "equal"
            else float(weighted[:, k].mean())
            for k, p in enumerate(first.places)
        ]
        total = np.array(tails) * demands
    slopes = None
    if first.slopes is not None:
        slopes = np.einsum("sk,skn->kn", shares, np.array([p.slopes for p in points]))
    one = DesignPoint(
        first.q,
        first.tuners,
        first.places,
        total,
        _known_least(points, table),
        slopes,
        factors=first.factors,
        scenarios=tuple(points),
        ended=_first_ended(points),
    )
    return one if table.measure != "worst" else replace(one, worst=_stacked(one, points))


def _known_least(points: Sequence[DesignPoint], table: RobustTable) -> Vector | None:
    """What counts of the scenarios at least, of criteria that are not reached in all of them.

    The largest, a mean and the mean of a tail grow with each of their terms: taken of what the
    terms are at least, they are at most what they are.
    """
    reached = np.logical_and.reduce([p.reached for p in points])
    if reached.all():
        return None
    least = np.array([p.least for p in points])
    known = np.full(len(reached), np.nan)
    for k in np.flatnonzero(~reached):
        if table.measure == "mean" or points[0].places[k].role == "equal":
            known[k] = least[:, k].mean()
        elif table.measure == "worst":
            known[k] = least[:, k].max()
        else:
            known[k] = _sharp_tail(least[:, k], table.quantile)
    return known


def _sharp_tail(w: Vector, quantile: float) -> float:
    """The mean of the worst share 1 - quantile, without a rounded corner."""
    t = np.sort(w)[min(int(quantile * len(w)), len(w) - 1)]
    return float(t + np.maximum(w - t, 0.0).sum() / ((1 - quantile) * len(w)))


def _stacked(one: DesignPoint, points: Sequence[DesignPoint]) -> DesignPoint:
    """All scores of all scenarios; what must equal its demand does so in the mean."""
    mean = one.of_role("equal")
    rest = [k for k in range(len(one.places)) if k not in mean]
    places = [one.places[k] for k in mean] + [one.places[k] for k in rest] * len(points)
    values = np.concatenate([one.penalised[mean], *(p.penalised[rest] for p in points)])
    least = None
    if one.at_least is not None:
        first, *others = (np.where(p.reached, np.nan, p.least) for p in (one, *points))
        least = np.concatenate([first[mean], *(row[rest] for row in others)])
    slopes, kept = None, {}
    if one.slopes is not None:
        parts = [p.slopes[rest] for p in points if p.slopes is not None]
        slopes = np.vstack([one.slopes[mean], *parts])
        for s, point in enumerate(points):
            for j, k in enumerate(rest):
                if k in point.kept:
                    kept[len(mean) + s * len(rest) + j] = point.kept[k]
    return DesignPoint(one.q, one.tuners, tuple(places), values, least, slopes, kept, one.factors)


def scenario_weights(w: Vector, place: CriterionInCase, table: RobustTable) -> Vector:
    """By how much each scenario moves what counts; they sum up to 1."""
    if table.measure == "mean" or place.role == "equal":
        return np.full(len(w), 1 / len(w))
    if table.measure == "worst":
        largest: Vector = np.eye(len(w))[int(w.argmax())]
        return largest
    t = _threshold(w, table.quantile)
    weights: Vector = expit((w - t) / CORNER)
    return np.asarray(weights / weights.sum())


def tail(w: Vector, quantile: float) -> float:
    """The mean of the worst share 1 - quantile, with a rounded corner."""
    t = _threshold(w, quantile)
    over = CORNER * np.logaddexp(0.0, (w - t) / CORNER)
    return float(t + over.sum() / ((1 - quantile) * len(w)))


def _threshold(w: Vector, quantile: float) -> float:
    """The t at which the tail is least: a share 1 - quantile lies above it."""
    share = (1 - quantile) * len(w)

    def missing(t: float) -> float:
        return float(expit((w - t) / CORNER).sum()) - share

    width = CORNER * (50 + np.log(len(w)) - np.log(min(share, 1.0)))
    low, high = float(w.min()) - width, float(w.max()) + width
    return float(brentq(missing, low, high, xtol=1e-14))


def prepare_any_design(
    study: Study, table: OptimiseTable, source: TunerDistribution | None = None
) -> Design | RobustDesign:
    """The criteria of a study, in all scenarios where its parameters are uncertain."""
    if table.robust is None:
        return prepare_design(study)
    scenarios = scenarios_of(study, table.robust, table.seed, source)
    designs = [prepare_design(in_scenario(study, s)) for s in scenarios]
    return RobustDesign(designs, scenarios, table.robust)


def scenarios_of(
    study: Study, table: RobustTable, seed: int, source: TunerDistribution | None = None
) -> list[dict[str, float]]:
    """All combinations of lists, each with the draws from distributions or from a fit."""
    names = list(table.uncertain)
    _require_free(study, names)
    lists = {n: u for n, u in table.uncertain.items() if not isinstance(u, Distribution)}
    for name, values in lists.items():
        if not values:
            raise DesignError("O081", f"robust: the list of '{name}' is empty; give its values")
    spread = {n: u for n, u in table.uncertain.items() if isinstance(u, Distribution)}
    parts: list[Samples] = []
    if spread:
        parts.append(drawn(spread, table.scenarios, "latin-hypercube", seed))
    if table.covariance:
        parts.append(_of_fit(study, table, seed, source, names))
    if not parts and not lists:
        raise DesignError(
            "O082",
            "robust: nothing is uncertain; give uncertain = { parameter = [1, 2, 3] }, or a "
            "distribution",
        )
    rows = [dict(zip(c.names, r, strict=True)) for c in [grid(lists)] for r in c.values.tolist()]
    rows = rows or [{}]
    draws: list[dict[str, float]] = [{}]
    if parts:
        draws = [
            {n: float(v) for p in parts for n, v in zip(p.names, p.values[k], strict=True)}
            for k in range(table.scenarios)
        ]
    if len(rows) * len(draws) > MOST:
        raise DesignError(
            "O083",
            f"robust: {len(rows) * len(draws)} scenarios are more than {MOST}; give fewer values",
        )
    return [{**a, **b} for a in rows for b in draws]


def _of_fit(
    study: Study,
    table: RobustTable,
    seed: int,
    source: TunerDistribution | None,
    taken: Sequence[str],
) -> Samples:
    """Fitted values that are not tuned here, as uncertain as their fit has them."""
    if source is None or (source.covariance is None and source.sample is None):
        raise DesignError(
            "O084", "robust: covariance = true needs a fit to start from; give start, or --fit RUN"
        )
    tuned = {t.name for t in study.active_tuners}
    chosen = [k for k, n in enumerate(source.names) if n not in tuned and n not in taken]
    names = [source.names[k] for k in chosen]
    if not names:
        raise DesignError(
            "O085", f"robust: {source.about} has no value that is not tuned in this study"
        )
    if source.sample is not None:
        rows = np.random.default_rng(seed).integers(0, len(source.sample), table.scenarios)
        return Samples(tuple(names), source.sample[rows][:, chosen])
    assert source.covariance is not None
    spread = source.covariance[np.ix_(chosen, chosen)]
    mean = source.values[chosen]
    return drawn_jointly(names, mean, spread, table.scenarios, "latin-hypercube", seed)


def _require_free(study: Study, names: Sequence[str]) -> None:
    """An uncertain parameter is not tuned at the same time."""
    require_parameters(study, names)
    for tuner in study.active_tuners:
        if tuner.name in names:
            raise DesignError(
                "O080", f"robust: '{tuner.name}' is tuned, so that it cannot be uncertain too"
            )


def in_scenario(study: Study, values: Mapping[str, float]) -> Study:
    """The study with these values in every case; they stand before what a case fixes."""
    own = {t.name for t in study.tuners}
    tuners = [
        replace(t, start=values[t.name], min=-np.inf, max=np.inf) if t.name in values else t
        for t in study.tuners
    ]
    fixed: dict[str, float | str] = {n: v for n, v in values.items() if n not in own}
    cases = [replace(c, fix={**c.fix, **fixed}) for c in study.cases]
    if not study.active_cases and fixed:
        cases.append(Case("design", fix=fixed))
    return study.with_(tuners=tuners, cases=cases)
