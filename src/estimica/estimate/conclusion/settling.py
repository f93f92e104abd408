"""Settling: whether cases that begin long before their data have come to rest by then."""

from __future__ import annotations

import math
from dataclasses import replace

from estimica.estimate.objective.cost import Point, scored
from estimica.estimate.setup import Setup, prepare
from estimica.study.record.samples import Record
from estimica.study.stages import SETTLING

#: change of the cost, in that of one standard error, that is worth a word: 0.2 standard errors,
#: as of the simulation's tolerances
WORTH = 0.2**2


def unsettled(setup: Setup, point: Point, n_samples: int) -> str:
    """A word where cases that were left alone before their data would be elsewhere after longer.

    They are begun once more as early again; what that does to the cost is what counts, since a
    quantity that drifts and that nothing depends on does no harm.
    """
    early = {r.case.name for r in setup.records if _is_left_alone(r)}
    if not early or point.predictions is not None:
        return ""
    study = setup.study
    begins = {r.case.name: r.begin - SETTLING for r in setup.records}
    cases = [replace(c, begin=begins[c.name]) if c.name in early else c for c in study.active_cases]
    again = scored(prepare(study.with_(cases=cases)).calibration(), point.scales).at(point.q)
    change = abs(again.cost - point.cost) if isinstance(again, Point) else math.inf
    if change <= WORTH * point.square / n_samples:
        return ""
    names = ", ".join(f"'{n}'" for n in sorted(early)[:3]) + (", …" if len(early) > 3 else "")
    told = f"the cost changes by {change:.3g}" if change < math.inf else "they cannot be simulated"
    return (
        f"; not every model state is steady before the data of {names}: begun {SETTLING:g} units "
        f"of time earlier {told}; give these cases an earlier begin in "
        "the study that 'estimica new' writes"
    )


def _is_left_alone(record: Record) -> bool:
    """Whether a case begins so early that it is meant to be steady when its data begin."""
    times = [float(m.time.min()) for m in record.outputs if len(m.time)]
    calibrates = record.case.role == "calibrate" and record.case.begin_time is not None
    return calibrates and bool(times) and min(times) - record.begin >= SETTLING
