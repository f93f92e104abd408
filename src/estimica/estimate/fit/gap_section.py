"""GapSection: what a page says of gaps in the data, and of start values behind them."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from estimica.base.text import axis_unit, duration
from estimica.base.view import Section, Table, without_empty
from estimica.data.calendar import Calendar
from estimica.estimate.fit.result import Fit

COLUMNS = ("unknown", "value", "std. error", "95 % from", "to", "unit", "remark")
MOST_GAPS = 20  # of one case in the table
#: start values behind gaps that stand among the other unknowns; more have a table of their own, so
#: that those that one looks for are not lost among them (chosen)
MOST_STARTS = 12

_TEXT = (
    "Times in which inputs or all rows are missing; they are shaded in the plots. Behind a gap "
    "nothing is known of the states of a model: a case is simulated in stretches, each from start "
    "values of its own, unless gaps are bridged."
)


def gap_section(fit: Fit, row: Callable[[Fit, int], tuple[object, ...]]) -> Section:
    """All gaps, and start values that the table of the unknowns leaves out."""
    shown = [_gaps(fit)]
    if hidden := hidden_starts(fit):
        rows = tuple(row(fit, k) for k in hidden)
        shown.append(without_empty(Table(COLUMNS, rows, "Start values behind gaps"), *COLUMNS[5:]))
    return Section("Gaps in the data", _TEXT, tuple(shown))


def hidden_starts(fit: Fit) -> list[int]:
    """Start values behind gaps, where they are many."""
    later = {n for n, s in fit.study.partition.stretches.items() if s.number > 1}
    own = [k for k, u in enumerate(fit.unknowns.items) if u.kind == "start" and u.case in later]
    return own if len(own) > MOST_STARTS else []


def hidden_note(hidden: Collection[int]) -> str:
    """Where they are."""
    return f"{len(hidden)} start values behind gaps are not listed here"


def _gaps(fit: Fit) -> Table:
    """A row for each gap; of many in one case the longest."""
    divided = fit.study.partition
    rows: list[tuple[object, ...]] = []
    unit, told = _instants(fit)
    for case, gaps in divided.gaps.items():
        shown = sorted(gaps, key=lambda g: -g.seconds)[:MOST_GAPS]
        split = any(s.case == case for s in divided.stretches.values())
        rows += [
            (
                case,
                told(case, g.begin),
                told(case, g.end),
                duration(g.seconds),
                ", ".join(g.missing) or "all columns",
                "split" if split else "bridged",
            )
            for g in sorted(shown, key=lambda g: g.begin)
        ]
    most = max(map(len, divided.gaps.values()))
    note = f"The longest {MOST_GAPS} of each case." if most > MOST_GAPS else ""
    columns = ("case", f"from{unit}", f"to{unit}", "length", "missing", "handling")
    return Table(columns, tuple(rows), "", note)


def _instants(fit: Fit) -> tuple[str, Callable[[str, float], object]]:
    """The unit of instants in a heading, and how one of a case is told: as on the axes of plots.

    Where a case has dates, they stand without a unit, and others beside them with theirs.
    """
    origins = {case: fit.setup.origin_of(case) for case in fit.study.partition.gaps}
    plain = [c for c in fit.cases if not fit.setup.origin_of(c.name)]
    times = [o.time for c in plain for o in c.outputs if o.transfer is None]
    size, unit = axis_unit(max((float(np.ptp(t)) for t in times if len(t)), default=0.0))
    dated = any(origins.values())

    def told(case: str, seconds: float) -> object:
        if origins[case]:
            return Calendar.of(origins[case]).told(seconds)
        value = float(f"{seconds / size:.10g}")
        return f"{value:.10g} {unit}" if dated else value

    return ("" if dated else f" [{unit}]"), told
