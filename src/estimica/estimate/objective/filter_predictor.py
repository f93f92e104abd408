"""FilterPredictor: what a filter predicts of each measured value from those before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.signals import Signal
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.interface import Evaluation, Model
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.estimate.objective.predictor import (
    NoiseLevel,
    Prediction,
    Predictor,
    UnknownIndex,
    split,
)
from estimica.simulate.engine.options import Options
from estimica.simulate.filter.differences.model import black_box
from estimica.simulate.filter.differences.response import DifferenceResponse
from estimica.simulate.filter.draws import simulated_series
from estimica.simulate.filter.exact.response import quickest
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise
from estimica.simulate.filter.response import FilterResponse
from estimica.source.formula import parse_formula
from estimica.study.noise.process import output_sigma
from estimica.study.record.samples import MeasuredOutput, Record
from estimica.study.study import Study


def filter_noise(study: Study, record: Record) -> FilterNoise:
    """What the filter of a case is told of the noise."""
    columns = record.case.columns_of_outputs
    spreads = {**_spreads_of_free_starts(study, record), **study.filter.spreads}
    return FilterNoise(
        diffusion=tuple((n, _text(v)) for n, v in study.process_noise.items()),
        spread=tuple((n, _text(v)) for n, v in spreads.items()),
        sigmas=tuple(
            (m.name, _text(output_sigma(m.name, columns[m.name]))) for m in record.outputs
        ),
        stationary=study.filter.start_spread == "stationary",
        kind=study.filter.kind,
    )


def _spreads_of_free_starts(study: Study, record: Record) -> dict[str, str]:
    """Start values that are found are as uncertain as noise makes their state in one step.

    With a start that is known exactly the first value can be met exactly, and its likelihood grows
    without limit as the noise of measuring goes to none. CTSM begins like this, too (Kristensen and
    Madsen, Continuous Time Stochastic Modelling: Mathematics Guide, 2003).
    """
    steps = np.diff(np.unique(np.concatenate([m.time for m in record.outputs])))
    if study.filter.start_spread == "stationary" or not len(steps):
        return {}
    # three digits: cases whose steps are alike share one compiled filter
    root = f"{np.sqrt(float(np.median(steps))):.3g}"
    spreads = {}
    for state in record.case.start_values:
        level = study.process_noise.get(state, 0.0)
        varies = isinstance(level, str) and not record.inputs.keys().isdisjoint(
            parse_formula(level, "process noise").names
        )
        if level != 0 and not varies:
            spreads[state] = f"({_text(level)})*{root}"
    return spreads


def _text(level: float | str) -> str:
    return level if isinstance(level, str) else repr(float(level))


class FilterPredictor(Predictor):
    """A case over time whose model has noise in its states."""

    def __init__(
        self,
        model: Model,
        record: Record,
        links: ParameterMap,
        fixed: Mapping[str, float],
        places: UnknownIndex,
        options: Options,
        noise: FilterNoise,
        starts_of_tuners: Mapping[str, float],
    ) -> None:
        known = {q.name for q in model.quantities()}
        own = [n for n in _names(noise) if n not in known]
        super().__init__(record, links.with_own([n for n in own if n in links.tuners]), places)
        self.accuracy = options.rtol
        # tolerances are in the size of the noise where the search begins
        begun = {n: v for n, v in starts_of_tuners.items() if n in own}
        held = begun | {n: v for n, v in links.fixed.items() if n in own}
        parameters, starts = split(model, dict(fixed))
        if black_box(model) is not None:  # what is found out about it, is where the search begins
            at = np.array([starts_of_tuners.get(n, np.nan) for n in self.links.tuners])
            begins = zip(self.links.parameters, map(float, self.links.at(at)[0]), strict=True)
            held |= {n: v for n, v in begins if np.isfinite(v)}
        wrt = [*self.links.parameters, *places.starts]
        sizes = dict(zip(links.parameters, options.tuner_scales, strict=False)) | begun
        scales = [abs(sizes.get(n, 1.0)) or 1.0 for n in self.links.parameters]
        scales += options.tuner_scales[len(links.parameters) :]
        experiment = Experiment(
            record.outputs[0].time,
            dict(record.inputs),
            {**parameters, **held},
            starts,
            wrt=wrt,
            begin=record.begin,
            options=replace(options, tuner_scales=tuple(scales)),
        )
        self._filtered, self._experiment = filtered(model, noise), experiment
        self._follow(record.outputs)

    def _follow(self, outputs: Sequence[MeasuredOutput]) -> None:
        """Let the filter take in these values."""
        series = {m.name: Series(m.time, m.value, m.relative) for m in outputs}
        before = getattr(self, "filter", None)
        self.filter: FilterResponse | DifferenceResponse = (
            before.with_series(series)  # what it has found out stays
            if isinstance(before, DifferenceResponse)
            else self._filtered.respond(self._experiment, series)
        )
        self.response = quickest(self.filter)
        self.times = self.response.times
        self._measured = [m.value for m in outputs]
        self._rows = [np.searchsorted(self.times, m.time) for m in outputs]

    @property
    def derivatives(self) -> str:  # type: ignore[override]
        """How the filter goes, where that is not exact."""
        return self.filter.derivatives if isinstance(self.filter, DifferenceResponse) else ""

    @property
    def precision(self) -> float | None:  # type: ignore[override]
        """The error of its derivatives then."""
        return self.filter.precision if isinstance(self.filter, DifferenceResponse) else None

    def parameters_at(self, values: Vector) -> tuple[Vector, Vector]:
        """What the filter is run at for values of all unknowns, and the slopes of that by the
        tuners and start values of the case."""
        parameters, chain = self.links.at(values[self._tuners])
        p, m = chain.shape
        slopes = np.zeros((p + len(self._starts), m + len(self._starts)))
        slopes[:p, :m] = chain
        slopes[p:, m:] = np.eye(len(self._starts))
        return np.concatenate([parameters, values[self._starts]]), slopes

    def continued(
        self, inputs: Mapping[str, Signal], stamps: Vector, with_states: bool = True
    ) -> FilterResponse | DifferenceResponse:
        """The filter over the same values and on through stamps without any, with inputs that
        reach so far."""
        series = {}
        for m in self.record.outputs:
            time = np.concatenate([m.time, stamps])
            value = np.concatenate([m.value, np.full(len(stamps), np.nan)])
            relative = m.relative
            if relative is not None:  # as accurate as those so far, on the whole
                typical = float(np.median(relative))
                relative = np.concatenate([relative, np.full(len(stamps), typical)])
            series[m.name] = Series(time, value, relative)
        experiment = replace(self._experiment, inputs=dict(inputs))
        return self._filtered.respond(experiment, series, with_states=with_states)

    def replaced(self, measured: Sequence[Vector]) -> FilterPredictor:
        """The same for other measured values, from which all later predictions follow."""
        pairs = zip(self.record.outputs, measured, strict=True)
        other = copy(self)
        other.record = replace(self.record, outputs=tuple(m.with_values(v) for m, v in pairs))
        other._follow(other.record.outputs)
        return other

    def foretold(self, values: Vector, left_out: Sequence[Flags]) -> list[Vector] | str:
        """What is predicted of each output where samples that are left out are not taken in, or
        why nothing is."""
        pairs = zip(self._measured, left_out, strict=True)
        blind = self.replaced([np.where(out, np.nan, m) for m, out in pairs])
        seeing = blind.filter
        if isinstance(seeing, DifferenceResponse):
            seeing = seeing.without_derivatives()
        run = seeing.at(self.parameters_at(values)[0])
        if not run.ok:
            from estimica.simulate.failure import failure_text

            return failure_text(seeing, run)
        first = 2 * len(self.record.outputs)  # behind innovations and their variances
        return [run.Y[rows, first + k] for k, rows in enumerate(self._rows)]

    def drawn(self, values: Vector, rng: np.random.Generator) -> list[Vector]:
        """Measured values of each output as the filter expects them: what it predicts and an
        innovation drawn at random, which it takes in before the next."""
        series = simulated_series(self.filter, rng, self.parameters_at(values)[0])
        return [series[rows, k] for k, rows in enumerate(self._rows)]

    def picked(self, run: Evaluation, k: int, name: str = "") -> tuple[Vector, Vector]:
        """What was predicted of output `k` at its stamps, and slopes."""
        rows = self._rows[k]
        return self._measured[k] - run.Y[rows, k], -run.YS[rows, k, :]

    def with_levels(
        self, predictions: list[Prediction], values: Vector, run: Evaluation, chain: Vector
    ) -> list[Prediction] | str:
        """The predictions with their standard deviations."""
        ny = len(self.record.outputs)
        levelled = []
        for k, one in enumerate(predictions):
            rows = self._rows[k]
            variance, slope = run.Y[rows, ny + k], run.YS[rows, ny + k, :]
            wrong = np.flatnonzero(~(variance > 0))
            if len(wrong):
                return (
                    f"the variance of a prediction of output '{self.record.outputs[k].name}' is "
                    f"{variance[wrong[0]]:g} at its sample {wrong[0] + 1}; its noise of measuring "
                    "must be above zero, and the tolerances of [solver] may be too loose"
                )
            sigma = np.sqrt(variance)
            own = slope if self._direct else self._chained(slope, chain)
            level = NoiseLevel(sigma, own / (2 * sigma[:, None]), np.zeros(len(rows)))
            levelled.append(replace(one, level=level))
        return levelled


def _names(noise: FilterNoise) -> list[str]:
    """All names in the formulas."""
    texts = [t for group in (noise.diffusion, noise.spread, noise.sigmas) for _, t in group]
    return list(dict.fromkeys(n for t in texts for n in parse_formula(t, "noise").names))
