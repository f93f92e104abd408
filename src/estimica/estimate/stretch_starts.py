"""Stretch starts: where the search for the start values of stretches behind gaps begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.compiled.model.interface import Model
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.estimate.objective.predictor import split
from estimica.estimate.unknowns import typical_size
from estimica.study.case import StartValue
from estimica.study.record.samples import Record
from estimica.study.study import Study

#: typical sizes by which a state may be moved for a measured output to agree by all but half. The
#: same as for pieces of multiple shooting, for the same reason: a state that would have to move
#: further is not what the output measures
TRUST = 10.0


@dataclass(frozen=True, eq=False)
class StretchGuess:
    """The tuners at their starts, from which states behind gaps are guessed."""

    study: Study
    links: ParameterMap
    tuners: Vector
    held: Mapping[str, float]  # parameters that inactive tuners set

    def completed(self, records: Sequence[Record]) -> tuple[Record, ...]:
        """The records with a start for each state of a stretch: what a simulation across the gap
        comes to, moved so that the first samples are met. Where that fails it stays open."""
        by_name = {r.case.name: r for r in records}
        return tuple(self._record(r, by_name) for r in records)

    def _record(self, one: Record, by_name: Mapping[str, Record]) -> Record:
        stretch = self.study.partition.stretches.get(one.case.name)
        first = by_name.get(stretch.case) if stretch else None
        given = one.case.start_values
        is_open = any(s.start is None for s in given.values())
        if first is None or first is one or not is_open:
            return one
        try:
            x = self._met(one, self._carried(first, one, list(given)))
        except EstimicaError:  # the search begins at the model's own start values
            return one
        if not np.isfinite(x).all():
            return one
        pairs = zip(given.items(), x, strict=True)
        free: dict[str, float | StartValue] = {
            n: replace(s, start=_within(s, float(v))) if s.start is None else s
            for (n, s), v in pairs
        }
        return replace(one, case=replace(one.case, free_start=free))

    def _setting(self, one: Record) -> tuple[Model, dict[str, float], dict[str, float]]:
        """The model of a record, its parameters, and start values of variables."""
        links = self.links.of_case(one.case)
        values = map(float, links.at(self.tuners)[0])
        fixed = {**dict(zip(links.parameters, values, strict=True)), **self.held}
        model = self.study.model_of(one.case)
        return model, *split(model, {**fixed, **self.study.fixed_of(one.case)})

    def _carried(self, first: Record, one: Record, states: list[str]) -> Vector:
        """States at the begin of a stretch, by a simulation from the begin of its case."""
        model, parameters, starts = self._setting(first)
        own = first.case.start_values
        starts |= {n: s.start for n, s in own.items() if s.start is not None}
        times = [first.begin, one.begin]
        run = model.response(
            times, dict(first.inputs), parameters, starts, outputs=states, begin=first.begin
        ).at(np.zeros(0))
        return run.Y[-1] if run.ok else np.full(len(states), np.nan)

    def _met(self, one: Record, x: Vector) -> Vector:
        """The smallest change of the states, in typical sizes, that meets the first samples."""
        names = list(one.case.start_values)
        known = [m for m in one.outputs if len(m.time) and m.time[0] == one.begin]
        if not known or not np.isfinite(x).all():
            return x
        model, parameters, starts = self._setting(one)
        starts |= dict(zip(names, map(float, x), strict=True))
        outputs = [m.name for m in known]
        run = model.response(
            [one.begin], dict(one.inputs), parameters, starts, outputs=outputs, wrt=names,
            begin=one.begin,
        ).at(x)  # fmt: skip
        nominal = {q.name: q.nominal for q in model.quantities()}
        sizes = np.array(
            [typical_size(v, -np.inf, np.inf, nominal[n]) for n, v in zip(names, x, strict=True)]
        )
        scale = np.array([m.rms for m in known])
        missed = (np.array([m.value[0] for m in known]) - run.Y[0]) / scale
        slopes = run.YS[0] * sizes / scale[:, None]
        if not (run.ok and np.isfinite(slopes).all() and np.isfinite(missed).all()):
            return x
        A = np.vstack([slopes, np.eye(len(x)) / TRUST])
        step = np.linalg.lstsq(A, np.concatenate([missed, np.zeros(len(x))]), rcond=None)[0]
        return np.asarray(x + step * sizes, np.float64)


def _within(given: StartValue, value: float) -> float:
    return min(max(value, given.min), given.max)
