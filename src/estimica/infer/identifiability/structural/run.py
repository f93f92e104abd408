"""Structural identifiability: what the best imaginable data could say about the unknowns.

Local and generic: unknowns are drawn at random, inputs are as lively as can be, outputs are exact
and dense. What is not determined then, no data of these inputs and outputs will ever determine:
for certain where it was decided by power series, numerically near these values otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.base.text import listed
from estimica.estimate.conclusion.identifiability import NUMERICAL as HERE
from estimica.estimate.conclusion.identifiability import sizes, step_along_null_space
from estimica.estimate.fit.result import Fit
from estimica.estimate.identify.invariants import SHARE, Group, NullSpaceSample, groups
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.setup import Setup, prepare
from estimica.infer.identifiability.structural.probe import (
    Probe,
    ProbeResult,
    SeriesProbe,
    TooLongError,
)
from estimica.infer.identifiability.structural.simulation_probe import SimulationProbe
from estimica.infer.identifiability.structural.taylor import NoSeriesError
from estimica.simulate.modelica.model import ModelicaModel
from estimica.study.study import Study

#: random points of each spread; the largest rank is the generic one. Chosen: almost every point has
#: it, the others are against one where an effect happens to be saturated
POINTS = 3
PLACES = 5  # along the null directions; chosen: a formula that holds at all of them is the law
#: Of the random points, relative; doubled after every three that leave something open numerically:
#: where an effect is saturated at the estimate, it is seen elsewhere.
SPREAD = 0.25
TRIES = 12  # points, up to a spread of two: a factor of seven either way
MOST_CANDIDATES = 12  # further variables that are tried as outputs; chosen: each is one more probe
TRACE = 1e-15  # relative share below which no measurement would show what is determined
#: seconds for trying them, and for points that leave something open. Chosen: what one waits for
PATIENCE = 20.0
EXACT_SHARE = 1e-5  # of an unknown in an exact null direction; float rounding is far below
NUMERICAL = "numerically, near these values"
#: error of null directions, relative: that of a float where they are exact, else as measured
BEST_DIRECTION, WORST_DIRECTION = 1e-6, 1e-3


@dataclass(frozen=True)
class Structural:
    """Whether better data could determine all unknowns, and which combinations if not."""

    rank: int
    n: int
    identifiable: Mapping[str, bool]  # by the labels of the unknowns
    groups: tuple[Group, ...]
    method: str
    because: str  # why power series were not used, where they were not
    points: int
    kept: float  # the smallest relative number that was taken as not zero
    dropped: float  # the largest that was taken as zero
    helpful: Mapping[str, int]  # variables that would raise the rank if measured, and to what
    #: relative changes at one of the points that leave every output as it is, whatever the data
    null_directions: tuple[Mapping[str, float], ...] = ()

    @property
    def exact(self) -> bool:
        """Whether what is not determined is so for certain, and not just numerically."""
        return self.method == SeriesProbe.method

    @property
    def ok(self) -> bool:
        """Whether all unknowns are determined locally."""
        return self.rank == self.n

    @property
    def text(self) -> str:
        """The verdict in words."""
        if self.ok:
            return (
                f"with rich enough inputs and little enough noise, the measured outputs determine "
                f"{_all(self.n)} (locally)"
                + (", though some by traces only" if self.kept < TRACE else "")
            )
        said = "; ".join(lost_in_words(g) for g in self.groups)
        return ("" if self.exact else f"{NUMERICAL}: ") + said + self._help()

    def open_among(self, names: Collection[str]) -> int:
        """Independent directions of these unknowns alone that no data would determine."""
        others = [n for n in self.identifiable if n not in names]
        if not others or not self.null_directions:
            return len(self.null_directions)
        outside = np.array([[d.get(n, 0.0) for n in others] for d in self.null_directions])
        return len(outside) - int(np.linalg.matrix_rank(outside, tol=SHARE))

    def _help(self) -> str:
        whole = [f"'{n}'" for n, rank in self.helpful.items() if rank == self.n]
        part = [f"'{n}'" for n, rank in self.helpful.items() if rank < self.n]
        if whole:
            return f"; measuring {' or '.join(whole)} too would determine all"
        if part:
            return f"; measuring {' or '.join(part)} too would determine more"
        return ""

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {
            "rank": self.rank,
            "n": self.n,
            "identifiable": dict(self.identifiable),
            "determined": [i.text for g in self.groups for i in g.invariants],
            "groups": [list(g.names) for g in self.groups],
            "verdict": self.text,
            "method": self.method,
            "because": self.because,
            "points": self.points,
            "kept": self.kept,
            "dropped": self.dropped,
            "helpful": dict(self.helpful),
            "exact": self.exact,
            "null_directions": [dict(d) for d in self.null_directions],
        }


def structural(study: Study | Fit, *, seed: int = 0) -> Structural:
    """Local structural identifiability of all unknowns of a study; its data are not used.

    Only the range of the inputs and the length of the cases are taken from them. Start values are
    known or unknown as the study says.
    """
    setup = study.setup if isinstance(study, Fit) else prepare(study)
    objective = setup.calibration()
    unknowns = objective.unknowns
    values = study.values if isinstance(study, Fit) else unknowns.values(unknowns.start)
    if not len(values):
        raise FitError("F060", f"study '{setup.study.name}' has no unknowns; add a tuner")
    return judge(setup, objective, values, seed)


def judge(setup: Setup, objective: ResidualFunction, values: Vector, seed: int = 0) -> Structural:
    """The verdict near values of the unknowns."""
    random = np.random.default_rng(seed)
    probe, because = probe_of(setup, objective)
    try:
        points = _points(probe, objective, values, random)
    except TooLongError:
        probe, because = SimulationProbe(setup, objective), "its power series take too long"
        points = _points(probe, objective, values, random)
    best = max(points, key=lambda p: (p.rank, p.kept))
    labels = [u.label for u in objective.unknowns.items]
    places = [NullSpaceSample(best.values, best.null), *_along(probe, objective, best, random)]
    exact = best.method == SeriesProbe.method
    # a null direction is off by about dropped/kept; thirty times as much is chosen, to be safe
    error = BEST_DIRECTION if exact else 30 * best.dropped / best.kept
    tolerance = float(np.clip(error, BEST_DIRECTION, WORST_DIRECTION))
    starts = tuple(u.kind == "start" for u in objective.unknowns.items)
    open_groups = groups(labels, places, tolerance, EXACT_SHARE if exact else SHARE, starts)
    lost = {n for g in open_groups for n in g.names}
    return Structural(
        rank=best.rank,
        n=len(labels),
        identifiable={n: n not in lost for n in labels},
        groups=open_groups,
        method=best.method,
        because=best.because or because,
        points=len(points),
        kept=best.kept,
        dropped=best.dropped,
        helpful=_helpful(probe, best) if best.rank < len(labels) else {},
        null_directions=_relative(labels, best.null / sizes(objective.unknowns, best.values)),
    )


def _relative(labels: Sequence[str], null: Vector) -> tuple[dict[str, float], ...]:
    """Null directions by the names of the unknowns, the largest change 1."""
    rows = null / np.abs(null).max(axis=1, keepdims=True)
    return tuple(
        {n: float(x) for n, x in zip(labels, row, strict=True) if abs(x) > BEST_DIRECTION}
        for row in rows
    )


def _points(
    probe: Probe, objective: ResidualFunction, values: Vector, random: np.random.Generator
) -> list[ProbeResult]:
    """Random points at which the model can be evaluated."""
    unknowns, begun = objective.unknowns, perf_counter()
    size = sizes(unknowns, values)
    results: list[ProbeResult] = []
    for k in range(TRIES):
        away = SPREAD * 2 ** (k // POINTS) * random.standard_normal(len(values))
        point = np.where(values != 0, values * np.exp(away), size * away)
        inside = unknowns.values(unknowns.clipped(unknowns.coordinates(point)))
        seen = probe.at(inside, random)
        if seen is not None:
            results.append(seen)
        if results and (_is_enough(results, len(values)) or perf_counter() - begun > PATIENCE):
            return results
    if not results:
        raise FitError(
            "F061",
            "the model cannot be evaluated near these values of the unknowns; start from values "
            "at which it can be simulated",
        )
    return results


def _is_enough(results: Sequence[ProbeResult], n: int) -> bool:
    """A rank cannot be too large; one that is exact is too small at a few points only."""
    exact = sum(s.method == SeriesProbe.method for s in results)
    return max(s.rank for s in results) == n or exact >= POINTS


def _along(
    probe: Probe, objective: ResidualFunction, best: ProbeResult, random: np.random.Generator
) -> list[NullSpaceSample]:
    """Places along the null directions, with as many of them as before."""
    if not len(best.null):
        return []
    unknowns = objective.unknowns
    size = sizes(unknowns, best.values)
    samples = []
    for _ in range(PLACES):
        values = step_along_null_space(best.values, size, best.null, random)
        inside = unknowns.values(unknowns.clipped(unknowns.coordinates(values)))
        try:
            seen = probe.at(inside, random)
        except TooLongError:
            break
        if seen is not None and seen.rank == best.rank:
            samples.append(NullSpaceSample(seen.values, seen.null))
    return samples


def _helpful(probe: Probe, best: ProbeResult) -> dict[str, int]:
    """Variables that would tell more if they were measured too."""
    begun, ranks = perf_counter(), {}
    for name in _candidates(probe.setup, probe.objective):
        if perf_counter() - begun > PATIENCE:
            break
        try:
            seen = probe.with_outputs((name,)).at(best.values, np.random.default_rng(1))
        except TooLongError:
            break
        if seen is not None and seen.rank > best.rank:
            ranks[name] = seen.rank
    return ranks


def _candidates(setup: Setup, objective: ResidualFunction) -> list[str]:
    model = setup.study.model
    measured = {b.name for b in objective.blocks}
    wanted = [q.name for q in model.quantities() if q.role == "state"]
    wanted += [n for n in model.output_names() if n not in wanted]
    return [n for n in wanted if n not in measured and model.has_time][:MOST_CANDIDATES]


def _all(n: int) -> str:
    return "the unknown" if n == 1 else f"all {n} unknowns"


def lost_in_words(group: Group) -> str:
    """What of a group no data would determine."""
    names: Sequence[str] = [f"'{n}'" for n in group.names]
    if group.determined == 0:
        return f"{listed(names)} cannot be seen in the measured outputs, whatever the data"
    if group.complete:
        be = "is" if len(group.invariants) == 1 else "are"
        hedge = f" ({HERE})" if group.numerical else ""
        return f"whatever the data, only {group.text} {be} determined of {listed(names)}{hedge}"
    combinations = "combination" if group.determined == 1 else "combinations"
    told = f", among them {group.text}" if group.invariants else ""
    told += f" ({HERE})" if group.numerical else ""
    return (
        f"whatever the data, only {group.determined} {combinations} of {listed(names)} "
        f"{'is' if group.determined == 1 else 'are'} determined{told}"
    )


# --- probe choice --------------------------------------------------------------------------------
# The probe for a study: by power series as far as they tell, by simulation for the rest.


class JointProbe(Probe):
    """By power series; only directions that these leave open are left to simulations.

    What a series tells is exact, and what is not determined by a series of the whole solution is
    not determined at all. A series that ends with the first event, or that does not exist at some
    start, leaves the question to the simulation.
    """

    def __init__(self, series: SeriesProbe) -> None:
        super().__init__(series.setup, series.objective, series.more)
        self._series = series
        self._simulation = SimulationProbe(series.setup, series.objective, series.more)

    def with_outputs(self, more: tuple[str, ...]) -> JointProbe:
        """The same with further variables taken as measured."""
        return JointProbe(self._series.with_outputs(more))

    def at(self, values: Vector, random: np.random.Generator) -> ProbeResult | None:
        """The rank at values of all unknowns; none where the model cannot be evaluated."""
        exact = self._series.at(values, random)
        if exact is None:
            found = self._simulation.at(values, random)
            return found and replace(found, because="it has no power series at its start")
        if exact.rank == self.n or not self._series.ends_early:
            return exact
        found = self._simulation.at(values, random, exact.null)
        return found and replace(found, because=self._series.ends_early)


def probe_of(setup: Setup, objective: ResidualFunction) -> tuple[Probe, str]:
    """The probe for a study, and why it is not the exact one where it is not."""
    model = setup.study.model
    if not model.has_time:
        return SimulationProbe(setup, objective), ""
    if not isinstance(model, ModelicaModel):
        return SimulationProbe(setup, objective), "the model has no equations to look at"
    if any(p.record.is_frequency for p in objective.predictors):
        return SimulationProbe(setup, objective), "frequency responses have no power series"
    if any(p.record.case.staging for p in objective.predictors):
        return SimulationProbe(setup, objective), "a case begins at rest or has changes"
    if any(setup.study.model_of(p.record.case) is not model for p in objective.predictors):
        return SimulationProbe(setup, objective), "the cases have different inputs"
    try:
        return JointProbe(SeriesProbe(setup, objective, model)), ""
    except NoSeriesError as error:
        return SimulationProbe(setup, objective), str(error)
