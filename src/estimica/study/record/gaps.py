"""Gaps: times in the record of a case about which its data say nothing.

Outputs that are missing do no harm: nothing is compared there. A simulation goes wrong where its
inputs are not known, because a column or all rows are missing. A model whose inputs are all numbers
has no gaps: what happens between its samples is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import EstimicaError
from estimica.base.signals import Hold
from estimica.study.case import Case, InputColumn
from estimica.study.record.samples import data_of, stamps_of
from estimica.study.stretch import Gap

#: usual steps of a regular record: a longer one is a gap. Chosen: an input that is held for five
#: samples moves a state by little if it is sampled as one should, ten times a time constant or
#: more, while each stretch costs start values of its own
FEW = 5.0
#: share of the steps that is near the usual one, within half of it, where sampling is regular.
#: Chosen: jitter of loggers stays below, and a record with gaps has few other steps
REGULAR, NEAR = 0.8, 0.5
#: times the ninetieth percentile of irregular steps: a longer one is a gap. Of samples at random
#: times, whose steps are exponentially distributed, that is 23 times the mean, which none of a
#: million reaches
RARE, PERCENTILE = 10.0, 90.0
#: largest share of gaps among irregular steps: more of them are how the record is sampled, as by
#: loggers that write changes only (chosen)
MOST_RARE = 0.01
#: neighbouring long steps that differ by less than this factor are another rate, not gaps (chosen)
OTHER_RATE = 2.0
#: steps below which nothing is said of a usual one (chosen)
LEAST = 10


def find_gaps(case: Case) -> tuple[Gap, ...]:
    """The gaps of a case over time, in order; none where the data cannot be read."""
    columns = {n: c for n, c in case.columns_of_inputs.items() if isinstance(c, InputColumn)}
    if case.is_frequency or not columns or case.data is None:
        return ()
    try:
        data, time = data_of(case), stamps_of(case)
        sampled = {n: np.isfinite(data.column(c.column)) for n, c in columns.items()}
        outputs = [np.isfinite(data.column(c.column)) for c in case.columns_of_outputs.values()]
    except EstimicaError:  # told where the record is made
        return ()
    known = np.logical_or.reduce([*sampled.values(), *outputs])
    gaps = [Gap(a, b) for a, b in _holes(time[known])]
    for name, own in sampled.items():
        if not np.array_equal(own, known):
            gaps += _of_input(name, columns[name].hold, time[own])
    return _united(gaps)


def _of_input(name: str, hold: Hold, time: Vector) -> list[Gap]:
    """Where one input is missing; a column that is written now and then has no usual step."""
    if not _is_regular(time):
        return []
    held = float(np.median(np.diff(np.unique(time)))) if hold is Hold.PREVIOUS else 0.0
    return [Gap(a + held, b, (name,)) for a, b in _holes(time)]


def _holes(time: Vector) -> list[tuple[float, float]]:
    """Steps that are much longer than others."""
    time = np.unique(time)
    steps = np.diff(time)
    if len(steps) < LEAST:
        return []
    if _is_regular(time):
        long = steps > FEW * np.median(steps)
    else:
        long = steps > RARE * np.percentile(steps, PERCENTILE)
        if long.sum() > MOST_RARE * len(steps):
            return []
    long &= ~_other_rate(steps, long)
    return [(float(time[k]), float(time[k + 1])) for k in np.flatnonzero(long)]


def _is_regular(time: Vector) -> bool:
    steps = np.diff(np.unique(time))
    if len(steps) < LEAST:
        return False
    usual = np.median(steps)
    return bool(np.mean(np.abs(steps - usual) <= NEAR * usual) >= REGULAR)


def _other_rate(steps: Vector, long: Flags) -> Flags:
    """Long steps beside others of like length: there the record is sampled less often."""
    alike = long[1:] & long[:-1]
    ratio = steps[1:] / steps[:-1]
    alike &= (ratio < OTHER_RATE) & (ratio > 1 / OTHER_RATE)
    other = np.zeros(len(steps), bool)
    other[1:] |= alike
    other[:-1] |= alike
    return other


def _united(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    """Gaps that overlap as one, in order of time."""
    united: list[Gap] = []
    for gap in sorted(gaps, key=lambda g: (g.begin, g.end)):
        if united and gap.begin <= united[-1].end:
            last = united[-1]
            # where rows are missing, every input is
            missing = () if not (last.missing and gap.missing) else (*last.missing, *gap.missing)
            names = tuple(dict.fromkeys(missing))
            united[-1] = Gap(last.begin, max(last.end, gap.end), names)
        else:
            united.append(gap)
    return tuple(united)


def between(gaps: Sequence[Gap], first: float, last: float) -> list[tuple[float, float]]:
    """What of the time from `first` to `last` lies between gaps, ends included."""
    edges = [first, *(e for g in gaps for e in (g.begin, g.end)), last]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(max(a, first), min(b, last)) for a, b in pairs if max(a, first) <= min(b, last)]
