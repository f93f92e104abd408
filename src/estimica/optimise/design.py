"""Design: the criteria of a study as functions of its tuners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import Lock
from types import MappingProxyType

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DesignError
from estimica.base.suggest import did_you_mean
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.estimate.setup import parameter_map_of
from estimica.estimate.unknowns import Unknown, Unknowns
from estimica.execute.batches import WorkedBy
from estimica.optimise.criteria.courses import Courses
from estimica.optimise.criteria.experiments import bare_case, experiment_of
from estimica.optimise.criteria.formulas import ValueScorer
from estimica.optimise.criteria.population import PopulationScoring, ScoredDesigns, Scorer
from estimica.optimise.criteria.score import (
    CriterionInCase,
    DesignPoint,
    FailedDesign,
    Measure,
    criteria_in_cases,
    known_least,
)
from estimica.optimise.criteria.trajectory import TrajectoryScorer
from estimica.optimise.criteria.value_only.scores import ValueOnlyScorer, value_only_scorer
from estimica.study.criterion import Criterion
from estimica.study.study import Study

#: of a central difference, in coordinates of size one: the cube root of an error of 1e-12 balances
#: it with the truncation (Gill, Murray and Wright, Practical Optimization, 1981, section 8.6)
STEP = 1e-4
#: why no ensemble simulates many designs
ONE_BY_ONE = "criteria of this kind, or of this model, are taken one by one"
#: of a block of designs that are scored together: steps times states of all its runs, some 0.1 s,
#: after which progress can be told; numbers of one case, 32 MB; and the sizes between which it is
BLOCK_WORK = 1e6
BLOCK_NUMBERS = 4e6
SMALLEST, LARGEST = 8, 512


class Design:
    """All criteria in all cases; those without a gradient of their own are differenced."""

    def __init__(
        self,
        unknowns: Unknowns,
        scorers: Sequence[Scorer],
        places: Sequence[CriterionInCase],
        backend: str = "auto",
    ) -> None:
        self.unknowns = unknowns
        self._backend, self._asked = backend, backend not in ("auto", "scalar")
        self.places = tuple(places)
        self.scorers = tuple(scorers)
        self._quick = self.scorers  # of values without slopes
        self._many: tuple[Scorer, ...] | None = None  # of values of many designs at once
        order = [p for s in scorers for p in s.places]
        self.order = np.array([order.index(p) for p in places], int)
        self.simulations = 0
        self._count = Lock()  # threads score blocks of designs
        self.differenced: set[str] = set()  # labels of criteria without exact gradients

    @property
    def trajectories(self) -> tuple[TrajectoryScorer, ...]:
        """Those of its parts that look at signals over time."""
        return tuple(s for s in self.scorers if isinstance(s, TrajectoryScorer))

    @property
    def formulas(self) -> tuple[ValueScorer, ...]:
        """Those of its parts that are formulas of the tuners."""
        return tuple(s for s in self.scorers if isinstance(s, ValueScorer))

    def make_quick(self) -> None:
        """From now on values without slopes are as exact as the study's own tolerances.

        For many samples: each is one simulation then.
        """
        self._quick = self._many = self.glancing

    @cached_property
    def glancing(self) -> tuple[Scorer, ...]:
        """What scores as exactly as the study's own tolerances say."""
        return self._value_only(tight=False)

    def _value_only(self, *, tight: bool) -> tuple[Scorer, ...]:
        start = self.unknowns.values(self.unknowns.start)
        return tuple(
            value_only_scorer(s, start, self._backend, tight=tight)
            if isinstance(s, TrajectoryScorer)
            else s
            for s in self.scorers
        )

    @property
    def loose(self) -> tuple[Scorer, ...]:
        """The scorers with the tolerances that the study gives."""
        return tuple(s.loosened() if isinstance(s, TrajectoryScorer) else s for s in self.scorers)

    @property
    def many(self) -> tuple[Scorer, ...]:
        """What scores many designs at once, as exactly as `at` scores one."""
        if self._many is None:
            self._many = self._value_only(tight=True)
        return self._many

    @cached_property
    def block(self) -> int:
        """How many designs are scored together; see `block_size`."""
        return block_size(self.many)

    def worked_by(self, alone: int = 0) -> WorkedBy | None:
        """What has simulated many designs, `alone` of them one by one; None where nothing has."""
        runs = [s for s in self._many or () if isinstance(s, ValueOnlyScorer | TrajectoryScorer)]
        if not runs:
            return None
        together = [s for s in runs if isinstance(s, ValueOnlyScorer)]
        vector = any(s.backend == "vector" for s in together)
        why = next((s.reason for s in together if s.reason), "" if together else ONE_BY_ONE)
        return WorkedBy("vector" if vector else "scalar", alone, why if self._asked else "")

    def glance(self, q: Vector) -> DesignPoint | FailedDesign:
        """The scores as exactly as the study's own tolerances say: enough to see what is worse."""
        tuners = self.unknowns.values(q)
        measures = self._measured(tuners, False, self.glancing)
        if isinstance(measures, FailedDesign):
            return measures
        values = np.array([m.value for m in measures], float)
        least = known_least([m.at_least for m in measures])
        return DesignPoint(
            q.copy(), tuners, self.places, values, least, None, ended=self._ended(measures)
        )

    def at(
        self, q: Vector, *, slopes: bool = True, courses: Mapping[str, Courses] | None = None
    ) -> DesignPoint | FailedDesign:
        """The scores at coordinates `q`, or the case that could not be simulated.

        The signals of the runs that are scored go to the `courses` of their cases.
        """
        tuners = self.unknowns.values(q)
        scorers = self.scorers if slopes else self._quick
        measures = self._measured(tuners, slopes, scorers, courses or {})
        if isinstance(measures, FailedDesign):
            return measures
        values = np.array([m.value for m in measures], float)
        least = known_least([m.at_least for m in measures])
        if not slopes:
            return DesignPoint(
                q.copy(), tuners, self.places, values, least, None, ended=self._ended(measures)
            )
        factors = self.unknowns.slopes(q)
        matrix = np.zeros((len(values), len(q)))
        open_ = []
        for k, measure in enumerate(measures):
            if measure.gradient is None:
                open_.append(k)
            else:
                matrix[k] = measure.gradient * factors
        if open_:
            self.differenced |= {self.places[k].label for k in open_}
            matrix[open_] = self._differences(q, values)[open_]
        kept = {k: m.kept for k, m in enumerate(measures) if m.kept is not None}
        return DesignPoint(
            q.copy(),
            tuners,
            self.places,
            values,
            least,
            matrix,
            kept,
            factors,
            ended=self._ended(measures),
        )

    def at_all(self, q: Vector, courses: Sequence[Mapping[str, Courses]] = ()) -> ScoredDesigns:
        """The scores of many designs, (designs, n) coordinates, without slopes.

        Those that cannot be scored together, or lie so close to a demand that it must be the engine
        that decides, are scored one by one. The signals of the runs go to `courses`, one for each
        design where there are any.
        """
        tuners = self.unknowns.values(q)
        scoring = PopulationScoring(tuners, self.unknowns.named, courses)
        values, least = scoring.of_all(self.many, self.order)
        with self._count:
            self.simulations += scoring.simulations
        return ScoredDesigns(
            q,
            tuners,
            self.places,
            values,
            least,
            scoring.failures,
            scoring.ended,
            len(scoring.alone),
        )

    def _ended(self, measures: Sequence[Measure]) -> dict[str, str]:
        """The cases whose runs the model has ended by itself."""
        pairs = zip(self.places, measures, strict=True)
        return {p.case: m.ended for p, m in pairs if m.ended}

    def _measured(
        self,
        tuners: Vector,
        slopes: bool,
        scorers: Sequence[Scorer],
        courses: Mapping[str, Courses] = MappingProxyType({}),
    ) -> list[Measure] | FailedDesign:
        measures: list[Measure] = []
        for scorer in scorers:
            self.simulations += 1
            case = scorer.places[0].case if scorer.places else ""
            own = scorer.at(tuners, slopes=slopes, courses=courses.get(case))
            if isinstance(own, str):
                return FailedDesign(case, own, self.unknowns.named(tuners))
            for place, measure in zip(scorer.places, own, strict=True):
                if not np.isfinite(measure.value):
                    told = f"criterion '{place.criterion.name}' is {measure.value}"
                    return FailedDesign(case, told, self.unknowns.named(tuners))
            measures += own
        return [measures[k] for k in self.order]

    def _differences(self, q: Vector, values: Vector) -> Vector:
        """Slopes by central differences, one-sided at a bound or beside a failure."""
        slopes = np.zeros((len(values), len(q)))
        for j in range(len(q)):
            step = STEP * max(1.0, abs(q[j]))
            ends, widths = [], []
            for sign in (1, -1):
                moved = q.copy()
                moved[j] = np.clip(
                    q[j] + sign * step, self.unknowns.lower[j], self.unknowns.upper[j]
                )
                other = self._measured(self.unknowns.values(moved), False, self.scorers)
                if isinstance(other, FailedDesign):
                    ends.append(values)
                    widths.append(0.0)
                else:
                    ends.append(np.array([m.value for m in other], float))
                    widths.append(float(moved[j] - q[j]))
            width = widths[0] - widths[1]
            if width > 0:
                slopes[:, j] = (ends[0] - ends[1]) / width
        return slopes


def block_size(scorers: Sequence[Scorer]) -> int:
    """How many designs are scored together: always the same number, whoever does the work.

    One where some case is not scored in an ensemble.
    """
    if any(isinstance(s, TrajectoryScorer) for s in scorers):
        return 1
    runs = [s for s in scorers if isinstance(s, ValueOnlyScorer)]
    work = max(1, sum(s.work for s in runs))
    room = max([1, *(s.numbers for s in runs)])
    size = np.clip(min(BLOCK_WORK / work, BLOCK_NUMBERS / room), SMALLEST, LARGEST)
    return int(2 ** np.floor(np.log2(size)))


def require_criteria(study: Study) -> tuple[Criterion, ...]:
    """What is asked of the design, which must be something."""
    if not study.active_criteria:
        raise DesignError(
            "O010",
            f"study '{study.name}' has no criterion; add a [[criterion]] with name, kind and of",
        )
    return study.active_criteria


def prepare_design(study: Study) -> Design:
    """The criteria of a study, ready to be evaluated; every name is looked up."""
    criteria = require_criteria(study)
    cases = [c.name for c in study.active_cases] or [""]
    require_cases(criteria, [c.name for c in study.cases])
    links, tuners, held = parameter_map_of(study)
    places = criteria_in_cases(criteria, cases)
    scorers: list[Scorer] = []
    for case in cases:
        own = [p for p in places if p.case == case]
        scorers += _scorers(study, links, tuners, held, case, own)
    return Design(Unknowns(tuners), scorers, places, study.execute.backend)


def _scorers(
    study: Study,
    links: ParameterMap,
    tuners: Sequence[Unknown],
    held: dict[str, float],
    case: str,
    places: Sequence[CriterionInCase],
) -> list[Scorer]:
    """Formulas and trajectories of one case, each where there is one."""
    own = next((c for c in study.active_cases if c.name == case), bare_case(case))
    scorers: list[Scorer] = []
    links = links.of_case(own)
    plain = [p for p in places if p.criterion.kind == "value"]
    if plain:
        fixed = {**held, **study.fixed_of(own)}
        scorers.append(ValueScorer(study.model_of(own), links, fixed, plain))
    moving = [p for p in places if p.criterion.kind != "value"]
    if moving:
        if not study.model.has_time:
            kind = moving[0].criterion.kind
            raise DesignError(
                "O018",
                f"criterion '{moving[0].criterion.name}': kind '{kind}' needs a model over time; "
                'for a formula write kind = "value"',
            )
        scorers.append(
            TrajectoryScorer(
                study.model_of(own),
                experiment_of(study, own, held),
                links,
                moving,
                study.solver.options,
                study.code_for,
                np.array([t.start for t in tuners], float),
            )
        )
    return scorers


def require_cases(criteria: Sequence[Criterion], cases: Sequence[str]) -> None:
    """Every case that a criterion names is there."""
    for criterion in criteria:
        named = [*criterion.cases]
        for given in (criterion.demand, criterion.weight):
            named += given if isinstance(given, dict) else ()
        for name in named:
            if name not in cases:
                raise DesignError(
                    "O011",
                    f"criterion '{criterion.name}': there is no case '{name}'"
                    f"{did_you_mean(name, cases)}",
                )
