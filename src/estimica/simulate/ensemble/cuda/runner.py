"""Runs of a program for many members: in chunks that fit the memory, first by the explicit method,
then by the stiff one for those that it hands on. Needs NumPy and a launcher only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimica.simulate.engine.status import DONE, NEEDS_STIFF
from estimica.simulate.ensemble.cuda.launcher import Launcher, pointer
from estimica.simulate.ensemble.cuda.program import Program

#: members of one launch: their places are whole numbers of 32 bits (chosen well below)
_MOST_MEMBERS = 1 << 24


@dataclass(frozen=True, eq=False)
class Outcome:
    """How the runs of all members ended: status of the engine, place to blame, time."""

    status: Any  # (L,)
    place: Any  # (L,)
    stopped: Any  # (L,)


@dataclass(frozen=True, eq=False)
class NormalSums:
    """Σ r², Jᵀr and JᵀJ of every member, output by output; NaN where it failed."""

    square: Any  # (L, ny)
    gradient: Any  # (L, ny, m)
    information: Any  # (L, ny, m, m)
    outcome: Outcome


@dataclass(frozen=True, eq=False)
class Samples:
    """Outputs of every member and their derivatives; NaN behind a failure."""

    Y: Any  # (L, N, ny)
    YS: Any  # (L, N, ny, m)
    outcome: Outcome


def run_normal(
    program: Program, thetas: Any, value: Any, weight: Any, launcher: Launcher, host: bool = True
) -> NormalSums:
    """Normal equations at tuners (L, m), for measured values (1 or L, N, ny) and weights (N, ny).

    All arrays may be on the host or on the device; results are on the host, unless they shall stay.
    """
    one = _Runs(program, launcher, write=False)
    ny, m, many = program.ny, program.m, len(thetas)
    shapes = ((ny,), (ny, m), (ny, m, m))
    own = len(value) > 1 and len(value) == many
    data = one.xp.ascontiguousarray(one.xp.asarray(weight, np.float64))
    shared = None if own else one.xp.ascontiguousarray(one.xp.asarray(value, np.float64))
    size = 8 * (m + ny * (1 + m + m * m) + (len(program.times) * ny if own else 0))
    parts = []
    for chunk in _chunks(many, size, launcher.room(), host):
        values = one.xp.ascontiguousarray(one.xp.asarray(value[chunk])) if own else shared
        results = [one.xp.zeros((len(thetas[chunk]), *shape)) for shape in shapes]
        stride = len(program.times) * ny if own else 0
        outcome = one(thetas[chunk], results, values, stride, data)
        failed = outcome[0] != DONE
        for array in results:
            array[failed] = np.nan
        parts.append([*results, *outcome])
    square, gradient, information, *ends = _joined(parts, launcher, host)
    return NormalSums(square, gradient, information, Outcome(*ends))


def run_samples(program: Program, thetas: Any, launcher: Launcher, host: bool = True) -> Samples:
    """Outputs and their derivatives at tuners (L, m)."""
    one = _Runs(program, launcher, write=True)
    n, ny, m = len(program.times), program.ny, program.m
    parts = []
    for chunk in _chunks(len(thetas), 8 * (m + n * ny * (1 + m)), launcher.room(), host):
        many = len(thetas[chunk])
        results = [one.xp.full((many, n, ny), np.nan), one.xp.full((many, n, ny, m), np.nan)]
        outcome = one(thetas[chunk], [*results, None], None, 0, None)
        parts.append([*results, *outcome])
    Y, YS, *ends = _joined(parts, launcher, host)
    return Samples(Y, YS, Outcome(*ends))


class _Runs:
    """The arrays of a program on the device, and the launches of its texts."""

    def __init__(self, program: Program, launcher: Launcher, write: bool) -> None:
        self.program, self.launcher, self.write = program, launcher, write
        self.xp = launcher.xp
        arrays = (program.starts, program.values, program.slopes, program.times)
        self.experiment = tuple(self.xp.asarray(a) for a in arrays)

    def __call__(
        self, thetas: Any, results: list[Any], values: Any, stride: int, weight: Any
    ) -> tuple[Any, Any, Any]:
        """Status, place and time of every member; results are filled."""
        xp, many = self.xp, len(thetas)
        given = xp.ascontiguousarray(xp.asarray(thetas, np.float64))
        status, place = xp.zeros(many, np.int32), xp.zeros(many, np.int32)
        stopped = xp.zeros(many)
        members = None
        for number, text in enumerate(self.program.methods):
            if number:
                members = xp.flatnonzero(status == NEEDS_STIFF).astype(np.int32)
            count = many if members is None else len(members)
            if not count:
                break
            arguments = (
                np.int32(count), np.int32(members is not None), pointer(members), given,
                *self.experiment, np.int32(len(self.program.starts)),
                np.int32(len(self.program.times)), pointer(values), np.int64(stride),
                pointer(weight), *(pointer(r) for r in results), status, place, stopped,
            )  # fmt: skip
            self.launcher.run(text, self.write, count, arguments)
        return status, place, stopped


def _chunks(many: int, size: int, room: int, host: bool) -> list[slice]:
    """Stretches of members whose arrays fit; results that stay on the device are not cut by room."""
    longest = _MOST_MEMBERS
    if host:
        longest = max(1, min(longest, room // max(1, size)))
    return [slice(k, min(k + longest, many)) for k in range(0, many, longest)]


def _joined(parts: list[list[Any]], launcher: Launcher, host: bool) -> list[Any]:
    """The results of all chunks as one array each."""
    xp = np if host else launcher.xp
    if host:
        parts = [[launcher.to_host(a) for a in part] for part in parts]
    if len(parts) == 1:
        return parts[0]
    return [xp.concatenate(arrays) for arrays in zip(*parts, strict=True)]
