"""Companions: inputs, columns and states that go with what an equation lacks.

Both series have a memory, so neighbours count less than independent samples would: a correlation r
of N samples has about the variance Σ ρ₁(k) ρ₂(k) / N (Bartlett), with the autocorrelations of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.base.probability.functions import stdtr
from estimica.base.signals import Signal
from estimica.estimate.fit.result import Fit
from estimica.infer.states.result import Companion, StateCourse
from estimica.study.case import InputColumn
from estimica.study.record.samples import Record, data_of
from estimica.study.record.stamps import stamps

#: share of the samples up to which autocorrelations are summed: those of longer lags are noise
#: (Pyper and Peterman 1998)
LAGS = 0.2
FEWEST = 10  # samples below which a correlation says nothing (chosen)

INPUT, COLUMN, STATE = "input", "column", "state"


def companions_of(
    fit: Fit, courses: Sequence[StateCourse], states: Sequence[str]
) -> tuple[Companion, ...]:
    """For these states the signals of the calibrating cases, the strongest first."""
    own = [c for c in courses if c.role == "calibrate"]
    signals = {case: dict(_signals(fit, case, own)) for case in dict.fromkeys(c.case for c in own)}
    found = []
    for state in states:
        known = [c for c in own if c.state == state and c.is_noisy]
        found += _of_state(state, known, signals)
    count = max(len(found), 1)
    # the least of so many chances is small by accident: Šidák's correction
    found = [Companion(*_plain(c)[:-1], -math.expm1(count * math.log1p(-c.p))) for c in found]
    return tuple(found)


def _plain(c: Companion) -> tuple[str, str, str, float, float, float]:
    return c.state, c.signal, c.kind, c.correlation, c.samples, c.p


def _of_state(
    state: str,
    courses: Sequence[StateCourse],
    signals: Mapping[str, Mapping[tuple[str, str], Signal]],
) -> list[Companion]:
    names = dict.fromkeys(k for c in courses for k in signals[c.case])
    found = []
    for name, kind in names:
        lacking, beside = [], []
        for c in courses:
            signal = signals[c.case].get((name, kind))
            if signal is None:
                continue
            middle = c.time - (c.step if kind == STATE else c.step / 2)
            known = np.isfinite(c.rate)
            lacking.append(_centred(c.rate[known]))
            beside.append(_centred(signal.at(middle[known])))
        if lacking:
            one = correlation(np.concatenate(lacking), np.concatenate(beside))
            if one is not None:
                found.append(Companion(state, name, kind, *one))
    return sorted(found, key=lambda c: (c.p, -abs(c.correlation)))


def _signals(
    fit: Fit, case: str, courses: Sequence[StateCourse]
) -> Iterator[tuple[tuple[str, str], Signal]]:
    """What might go with a disturbance: inputs, columns that the study does not use, states."""
    record = next(r for r in fit.setup.records if fit.study.partition.case_of(r.case.name) == case)
    for name, signal in record.inputs.items():
        yield (name, INPUT), signal
    yield from _columns(record)
    for c in courses:
        if c.case == case:
            yield (c.state, STATE), Signal(c.time, c.smoothed)


def _columns(record: Record) -> Iterator[tuple[tuple[str, str], Signal]]:
    case = record.case
    try:
        data = data_of(case)
        time = stamps(case, data)
    except EstimicaError:  # of a case that was made by hand
        return
    used = {c.column for c in case.columns_of_outputs.values()}
    used |= {c.column for c in case.columns_of_inputs.values() if isinstance(c, InputColumn)}
    used.add(data.time_name(case.time))
    for name in data.names:
        if name in used or name not in data.columns:
            continue
        value = np.asarray(data.columns[name], float)
        known = np.isfinite(value)
        if known.sum() >= FEWEST:
            yield (name, COLUMN), Signal(time[known], value[known])


def correlation(one: Vector, other: Vector) -> tuple[float, float, float] | None:
    """(r, independent samples that it counts as, chance of it by accident) of centred series."""
    n = len(one)
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    if n < FEWEST or not size > 0:
        return None
    r = float(one @ other) / size
    lags = max(int(LAGS * n), 1)
    a, b = (_autocorrelation(v, lags) for v in (one, other))
    weight = 1 - np.arange(1, lags + 1) / n
    samples = n / max(1 + 2 * float(np.sum(weight * a * b)), 1.0)
    if samples <= 3:
        return r, samples, 1.0
    freedom = samples - 2
    t = abs(r) * math.sqrt(freedom / max(1 - r * r, 1e-300))
    return r, samples, float(2 * stdtr(freedom, -t))


def _autocorrelation(v: Vector, lags: int) -> Vector:
    n = len(v)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(v, size)
    found = np.fft.irfft(spectrum * spectrum.conj(), size)[: lags + 1]
    return np.asarray(found[1:] / found[0])


def _centred(v: Vector) -> Vector:
    return v - v.mean() if len(v) else v
