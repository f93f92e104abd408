"""Stretches of [x; S] that a group adds up: what can differ from zero, and not much more."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Flags

#: doubles that one turn of a vectorised loop takes; what is left over is done one by one
TURN = 16


def stretches(alive: Flags, lanes: int) -> list[int]:
    """(begin, length) one after the other, in doubles, of all states and of the living entries of S
    (nx, m); a gap that is shorter than a turn of a loop is not worth another loop."""
    whole = np.concatenate([np.ones(alive.shape[0], bool), alive.ravel()])
    runs = _runs(whole, max(1, TURN // lanes))
    return [lanes * n for begin, end in runs for n in (begin, end - begin)]


def row_stretches(alive: Flags, lanes: int) -> list[int]:
    """(begin, length, column) one after the other, in doubles, of the living entries of S, none
    longer than its row; from the beginning of S and of its row."""
    m = alive.shape[1]
    return [
        lanes * n
        for i, row in enumerate(alive)
        for begin, end in _runs(row, 1)
        for n in (i * m + begin, end - begin, begin)
    ]


def _runs(flags: Flags, turn: int) -> list[tuple[int, int]]:
    """Stretches (begin, end) that hold all that are set, whole turns of so many where they can."""
    runs: list[tuple[int, int]] = []
    for k in np.flatnonzero(flags).tolist():
        if runs and k < runs[-1][1]:
            continue
        begin = runs.pop()[0] if runs and k - runs[-1][1] < turn else k
        end = begin + turn * -(-(k + 1 - begin) // turn)
        runs.append((begin, min(end, len(flags))))
    return runs
