"""Fine curves: the fitted model between the samples, for pictures.

What is compared stands at the measured stamps. A line through a few of them cuts corners that the
model does not, and runs straight across gaps: for pictures the model is simulated once more, at
many times between. Where that is not the same model run, or would take long, the line goes through
the stamps as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.estimate.fit.outputs import CaseFit
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.predictor import split
from estimica.estimate.unknowns import Unknown
from estimica.study.record.samples import Record

#: times of a fine curve: about two for each pixel of a wide picture (chosen)
POINTS = 1000
#: ... and of all of them: with many outputs a picture would have to thin its curves, and would say
#: so of a short record
ALL_POINTS = 4000
LEAST = 50  # of one stretch of a case with gaps, however many there are (chosen)
#: a simulation that has taken longer, in seconds, is not repeated for a picture (chosen)
PATIENCE = 1.0
#: share of an output's range by which the fine run may differ at the stamps. It is far below the
#: width of a line, and far above what other output times do to a simulation (chosen)
SAME = 1e-3

Line = tuple[Vector, Vector]  # times and values
Lines = dict[tuple[str, str], Line]  # by case and output

_known: WeakKeyDictionary[Fit, Lines] = WeakKeyDictionary()


def fine_lines(fit: Fit) -> Lines:
    """Times and values of the simulated outputs, as far as they are drawn finely; by stretch."""
    if fit not in _known:
        _known[fit] = _lines(fit) if _is_quick(fit) else {}
    return _known[fit]


def plain_lines(fit: Fit) -> Lines:
    """The outputs simulated from the start on, of a fit whose model is corrected by the data at
    every sample; by stretch."""
    if not _is_quick(fit):
        return {}
    records = {r.case.name: r for r in fit.setup.records}
    found: Lines = {}
    for case in fit.stretches:
        if not case.outputs:
            continue
        time = np.unique(np.concatenate([o.time for o in case.outputs]))
        if len(time) < POINTS:
            time = np.union1d(time, np.linspace(time[0], time[-1], POINTS))
        names = [o.name for o in case.outputs]
        simulated = _simulated(fit, records[case.name], _values_of(fit, case), time, names)
        found |= {(case.name, n): (time, y) for n, y in simulated.items()}
    return found


def _values_of(fit: Fit, case: CaseFit) -> dict[Unknown, float]:
    values = dict(zip(fit.unknowns.items, map(float, fit.values), strict=True))
    return values | dict(zip(case.unknowns, map(float, case.values), strict=True))


def lines_at(fit: Fit, values: Vector) -> Lines:
    """The same of the calibrating cases at other values of the unknowns, of an iteration."""
    finely = fine_lines(fit)
    records = {r.case.name: r for r in fit.setup.records}
    found: Lines = {}
    for case in fit.stretches:
        names = [o.name for o in case.outputs if (case.name, o.name) in finely]
        if names and case.role == "calibrate":
            time = np.unique(np.concatenate([finely[case.name, n][0] for n in names]))
            own = dict(zip(fit.unknowns.items, map(float, values), strict=True))
            simulated = _simulated(fit, records[case.name], own, time, names)
            for n, y in simulated.items():
                inside = np.isin(time, finely[case.name, n][0])
                found[case.name, n] = time[inside], y[inside]
    return found


def through(time: Vector, value: Vector, stamps: Vector, known: Vector) -> Vector:
    """A fine curve with the known values at their stamps, which are among its times."""
    exact = value.copy()
    exact[np.searchsorted(time, stamps)] = known
    return exact


def _is_quick(fit: Fit) -> bool:
    """Whether it was searched for, so that a simulation's cost is known, and takes little time.

    Fits by hand are drawn again and again: they have no iterations, and no fine curves.
    """
    count = fit.evaluations.simulations + fit.evaluations.sensitivities
    return bool(fit.iterations) and fit.study.model.has_time and fit.seconds <= PATIENCE * count


def _lines(fit: Fit) -> Lines:
    records = {r.case.name: r for r in fit.setup.records}
    found: Lines = {}
    lines = sum(len(c.outputs) for c in fit.cases)
    points = min(POINTS, ALL_POINTS // max(lines, 1))
    points = max(points // max(len(fit.stretches) - len(fit.cases) + 1, 1), LEAST)
    for case in fit.stretches:
        found |= _of_case(fit, case, records[case.name], points)
    return found


def joined_lines(fit: Fit, lines: Mapping[tuple[str, str], Line]) -> Lines:
    """Lines of stretches as those of their cases; without those of which a stretch is missing."""
    whole: dict[tuple[str, str], list[Line]] = {}
    missing = set()
    for case in fit.stretches:
        for o in case.outputs:
            key = fit.study.partition.case_of(case.name), o.name
            if (case.name, o.name) in lines:
                whole.setdefault(key, []).append(lines[case.name, o.name])
            else:
                missing.add(key)
    return {key: _behind(own) for key, own in whole.items() if key not in missing}


def _behind(lines: list[Line]) -> Line:
    """One line behind the other."""
    if len(lines) == 1:
        return lines[0]
    return np.concatenate([t for t, _ in lines]), np.concatenate([y for _, y in lines])


def _of_case(fit: Fit, case: CaseFit, one: Record, points: int) -> Lines:
    outputs = [o for o in case.outputs if o.transfer is None and not o.is_input]
    if not outputs or one.is_frequency or one.uncertain:
        return {}
    stamps = np.unique(np.concatenate([o.time for o in outputs]))
    if len(stamps) >= points or stamps[-1] <= stamps[0]:
        return {}
    time = np.union1d(stamps, np.linspace(stamps[0], stamps[-1], points))
    simulated = _simulated(fit, one, _values_of(fit, case), time, [o.name for o in outputs])
    found: Lines = {}
    for o in outputs:
        if o.name not in simulated:
            continue
        fine = simulated[o.name]
        there = fine[np.searchsorted(time, o.time)]
        span = float(np.ptp(o.simulated)) or float(np.abs(o.simulated).max()) or 1.0
        if np.all(np.abs(there - o.simulated) <= SAME * span) and np.isfinite(fine).all():
            # through what was compared: other output times, or no derivatives, round otherwise
            fine = through(time, fine, o.time, o.simulated)
            # the end of a record may lie before that of another output
            own = (time >= o.time.min()) & (time <= o.time.max())
            found[case.name, o.name] = time[own], fine[own]
    return found


def _simulated(
    fit: Fit, one: Record, values: Mapping[Unknown, float], time: Vector, names: list[str]
) -> dict[str, Vector]:
    """Outputs of a case at given times and values of the unknowns; none where that fails."""
    study, case = fit.study, one.case
    links = fit.setup.links.of_case(case)
    tuned = np.array([values[u] for u in fit.setup.tuners], float)
    parameters, _ = links.at(tuned)
    model = study.model_of(case)
    fixed = {**fit.setup.held, **study.fixed_of(case)}
    fixed |= dict(zip(links.parameters, map(float, parameters), strict=True))
    plain, starts = split(model, fixed)
    own = {u: v for u, v in values.items() if u.case == case.name}
    starts |= {u.name: v for u, v in own.items() if u.kind == "start"}
    shifts = {u.name: v for u, v in own.items() if u.kind == "disturbance"}
    try:
        run = model.response(
            time,
            dict(one.inputs),
            plain,
            starts,
            outputs=names,
            begin=one.begin,
            options=study.solver.options,
        ).at(np.zeros(0))
    except EstimicaError:
        return {}
    if not run.ok:
        return {}
    return {n: run.Y[:, k] + shifts.get(n, 0.0) for k, n in enumerate(names)}
