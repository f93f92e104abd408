"""Indicators: the trajectories that a person looks at to compare designs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DesignError, SimulationError
from estimica.base.suggest import did_you_mean
from estimica.base.view import Curve, Curves, Panel
from estimica.compiled.model.interface import Model
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.estimate.setup import parameter_map_of
from estimica.optimise.criteria.experiments import bare_case, experiment_of
from estimica.optimise.criteria.signals import SignalFormula, numbers, sampled
from estimica.optimise.criteria.trajectory import Experiment
from estimica.simulate.engine.options import Options
from estimica.simulate.termination import termination_of
from estimica.study.criterion import Criterion, Indicator
from estimica.study.study import Study

SAMPLES = 601  # of a curve
#: that are drawn where a study names none; chosen: a screen or two
UNNAMED = 6


@dataclass(frozen=True, eq=False)
class IndicatorCurves:
    """One indicator in one case: a row of values for each of its expressions."""

    indicator: Indicator
    case: str
    time: Vector
    values: Vector  # (expressions, samples)

    @property
    def panel(self) -> Panel:
        """Its curves in one panel."""
        return compared([("", self)])


def indicators_of(study: Study) -> tuple[Indicator, ...]:
    """The indicators of a study; where it names none, what its criteria are taken of."""
    if study.indicators:
        return study.indicators
    moving = [c for c in study.active_criteria if c.kind not in ("value", "function")]
    shown = {}
    for c in moving:
        one = criterion_indicator(c)
        shown[one.show + c.cases] = Indicator(c.of, one.show, c.cases)
    return tuple(shown.values())[:UNNAMED]


def criterion_indicator(criterion: Criterion) -> Indicator:
    """What a criterion is taken of, and what that follows, in all cases."""
    follows = (criterion.reference,) if isinstance(criterion.reference, str) else ()
    name = " and ".join([criterion.of, *follows])
    if isinstance(criterion.reference, (int, float)):
        name += f" towards {criterion.reference!r}"
    return Indicator(name, (criterion.of, *follows))


class Indicators:
    """All indicators of a study in all their cases."""

    def __init__(self, study: Study, shown: Sequence[Indicator] | None = None) -> None:
        self._drawn: list[DrawnIndicators] = []
        links, _, held = parameter_map_of(study)
        cases = list(study.active_cases) or [bare_case()]
        shown = indicators_of(study) if shown is None else shown
        for indicator in shown:
            require_indicator_cases(indicator, [c.name for c in study.cases])
        for case in cases if study.model.has_time else ():
            own = [i for i in shown if not i.cases or case.name in i.cases]
            if own:
                experiment = experiment_of(study, case, held)
                model = study.model_of(case)
                self._drawn.append(
                    DrawnIndicators(
                        model, experiment, links.of_case(case), own, study.solver.options
                    )
                )

    def __bool__(self) -> bool:
        return bool(self._drawn)

    def at(self, tuners: Vector) -> list[IndicatorCurves]:
        """The curves of a design; cases that cannot be simulated have none."""
        return [one for drawn in self._drawn for one in drawn.at(tuners)]


class DrawnIndicators:
    """The indicators of one case."""

    def __init__(
        self,
        model: Model,
        experiment: Experiment,
        links: ParameterMap,
        indicators: Sequence[Indicator],
        options: Options,
    ) -> None:
        self._model, self._experiment, self._links = model, experiment, links
        self._indicators, self._options = tuple(indicators), options
        known = {q.name: q for q in model.quantities()}
        self._fixed = numbers(known, {**experiment.parameters, **experiment.start})
        self._formulas = {
            text: SignalFormula(text, f"indicator '{i.name}'", known, links)
            for i in indicators
            for text in i.show
        }
        wanted = [n for f in self._formulas.values() for n in f.variables]
        self._outputs = tuple(dict.fromkeys(wanted))

    def at(self, tuners: Vector) -> list[IndicatorCurves]:
        """The curves of this case; none where it cannot be simulated."""
        e = self._experiment
        times = np.unique(np.append(np.linspace(e.begin, e.end, SAMPLES), e.breaks))
        parameters, _ = self._links.at(tuners)
        own = dict(zip(self._links.parameters, map(float, parameters), strict=True))
        try:
            run = self._model.response(
                times,
                dict(e.inputs),
                {**e.parameters, **own},
                dict(e.start),
                outputs=list(self._outputs),
                wrt=[],
                begin=e.begin,
                options=self._options,
            ).at()
        except SimulationError:
            return []
        Y, end = run.Y, termination_of(run)
        if end is not None and end.time > e.begin:
            before = times < end.time
            times, Y = np.append(times[before], end.time), np.vstack([Y[before], end.y])
        elif not run.ok:
            return []
        none = np.zeros((*Y.shape, 0))
        samples = sampled(times, self._outputs, Y, none, self._links, tuners, self._fixed)
        curves = []
        for indicator in self._indicators:
            low = e.begin if indicator.from_ is None else indicator.from_
            high = e.end if indicator.to is None else indicator.to
            shown = (times >= low) & (times <= high)
            values = np.array([self._formulas[t].value(samples)[shown] for t in indicator.show])
            curves.append(IndicatorCurves(indicator, e.case, times[shown], values))
        return curves


def compared(parts: Sequence[tuple[str, IndicatorCurves]]) -> Panel:
    """One indicator of one case for several designs; those before the last are dashed."""
    curves = []
    for place, (name, one) in enumerate(parts):
        for k, text in enumerate(one.indicator.show):
            label = f"{text}, {name}" if name else text
            last = place == len(parts) - 1
            curves.append(
                Curve(
                    label,
                    one.time,
                    one.values[k],
                    dashed=not last,
                    colour=k,
                    strength=1.0 if last else 0.6,
                )
            )
    own = parts[0][1]
    group = f"{own.indicator.name} in {own.case}" if own.case else own.indicator.name
    label = own.indicator.show[0] if len(own.indicator.show) == 1 else own.indicator.name
    return Panel(label, tuple(curves), group=group)


def comparison_figures(designs: Sequence[tuple[str, Sequence[IndicatorCurves]]]) -> list[Curves]:
    """A figure for each indicator, with a panel for each case and the designs in it."""
    figures: dict[str, list[Panel]] = {}
    for one in designs[-1][1]:
        parts = []
        for name, curves in designs:
            same = [
                c for c in curves if c.indicator.name == one.indicator.name and c.case == one.case
            ]
            parts += [(name, c) for c in same]
        figures.setdefault(one.indicator.name, []).append(compared(parts))
    return [Curves(tuple(panels), name) for name, panels in figures.items()]


def require_indicator_cases(indicator: Indicator, cases: Sequence[str]) -> None:
    """Every case that an indicator names is there."""
    for name in indicator.cases:
        if name not in cases:
            raise DesignError(
                "O086",
                f"indicator '{indicator.name}': there is no case '{name}'"
                f"{did_you_mean(name, cases)}",
            )
