"""Repeated stamps: rows of one time stamp, which are samples of their own unless a study says so
otherwise; nobody is to find out late that a logger has written rows twice."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.problems import Problem
from estimica.data.table import Data
from estimica.study.case import Case

#: share of the rows from which on stamps that repeat are rounded ones, not rows that came twice.
#: Chosen: a logger of 2 Hz whose stamps have whole seconds repeats every other one
ROUNDED = 0.4
#: of the smallest distance of two stamps, by which the others may miss its multiples: what digits
#: of a file round off
GRID = 1e-6


def repeated_stamps(case: Case, data: Data, time: Vector) -> Problem | None:
    """A warning where rows repeat a time stamp and the study does not say what they are."""
    if case.reading is not None and case.reading.duplicates is not None:
        return None
    repeats = _repeats(time) & _counted(case, time)
    count = int(np.count_nonzero(repeats))
    if not count:
        return None
    rows = np.flatnonzero(repeats)
    twice = sum(_is_same_row(data, int(k)) for k in rows)
    step = rounding_of(time)
    message = (
        f"{count} of {len(time)} rows {'has' if count == 1 else 'have'} the time stamp of the row "
        f"before, the first is row {rows[0] + 1}; "
        f"{'it counts' if count == 1 else 'they count'} as "
        f"{'a sample of its own' if count == 1 else 'samples of their own'}"
    )
    if twice:
        same = "all" if twice == count > 1 else "it" if count == 1 else str(twice)
        verb = "repeats" if same == "it" else "repeat"
        message += f", and {same} {verb} the whole row"
    known = 'write duplicates = "first", "last" or "mean" in [reading] to have one row for each'
    if step:
        advice = f"the stamps look rounded to {step:g} s: name a column with all digits, or {known}"
    else:
        advice = f'{known}, or duplicates = "replicates" if each was measured'
    return Problem("C114", f"case '{case.name}'", message, advice, warning=True)


def rounding_of(time: Vector) -> float:
    """What stamps seem to be rounded to; 0 where only some rows came twice."""
    steps = np.diff(time)
    forward = steps[steps > 0]
    if len(forward) < 2 or np.count_nonzero(steps == 0) < ROUNDED * len(time):
        return 0.0
    step = float(forward.min())
    multiples = forward / step
    return step if bool((np.abs(multiples - np.round(multiples)) < GRID).all()) else 0.0


def _repeats(time: Vector) -> Flags:
    return np.concatenate([[False], np.diff(time) == 0])


def _counted(case: Case, time: Vector) -> Flags:
    """Rows that the case takes samples from."""
    counted = np.ones(len(time), bool)
    if isinstance(case.from_, (int, float)):
        counted &= time >= case.from_
    if isinstance(case.to, (int, float)):
        counted &= time <= case.to
    return counted


def _is_same_row(data: Data, k: int) -> bool:
    """Whether a row holds what the row before it does."""
    pairs = ((v[k - 1], v[k]) for v in data.columns.values())
    return all(a == b or (a != a and b != b) for a, b in pairs)
