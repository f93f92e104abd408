"""Runs of a program for many members: in chunks that fit the memory, first by the explicit method,
then by the stiff one for those that it hands on. Needs NumPy and a launcher only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimica.simulate.engine.status import DONE, NEEDS_STIFF
from estimica.simulate.ensemble.cuda.launcher import OUTPUTS, ROWS, SUMS, Launcher, pointer
from estimica.simulate.ensemble.cuda.program import Program

#: members of one launch: their places are whole numbers of 32 bits (chosen well below)
_MOST_MEMBERS = 1 << 24


@dataclass(frozen=True, eq=False)
class Data:
    """What outputs are compared with, on the device: the values of a member begin `stride` numbers
    after those of the one before, or at its pick, and its weights `apart` numbers."""

    values: Any
    stride: int
    picks: Any
    weight: Any
    apart: int


NO_DATA = Data(None, 0, None, None, 0)


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
    program: Program,
    thetas: Any,
    value: Any,
    weight: Any,
    launcher: Launcher,
    *,
    host: bool = True,
    which: Any = None,
) -> NormalSums:
    """Normal equations at tuners (L, m), for measured values and weights (1 or L, N, ny).

    Weights of all members may be (N, ny), too. With `which` (L,) the values of member l are
    value[which[l]], and its weights likewise, which stay where they are then. All arrays may be on
    the host or on the device; results are on the host, unless they shall stay.
    """
    one = _Runs(program, launcher, ROWS if program.rows else SUMS)
    n, ny, m, many = len(program.times), program.ny, program.m, len(thetas)
    data = value, weight if weight.ndim == 3 else weight[None]
    own = [which is None and len(a) > 1 for a in data]
    steps = [n * ny if len(a) > 1 else 0 for a in data]
    shared = [None if mine else _placed(a, launcher) for a, mine in zip(data, own, strict=True)]
    size = m + ny * (1 + m + m * m) + n * ny * sum(own)
    size += ny * n * (m + 1) if program.rows else 0
    parts = []
    for chunk in _chunks(many, 8 * size, launcher.room(), host or program.rows):
        values, weights = (
            _placed(a[chunk], launcher) if there is None else there
            for a, there in zip(data, shared, strict=True)
        )
        picks = None if which is None else launcher.xp.asarray(which[chunk]).astype(np.int32)
        compared = Data(values, steps[0], picks, weights, steps[1])
        results, outcome = one.normal(thetas[chunk], compared)
        failed = outcome[0] != DONE
        for array in results:
            array[failed] = np.nan
        parts.append(_handed([*results, *outcome], launcher, host))
    square, gradient, information, *ends = _joined(parts, launcher, host)
    return NormalSums(square, gradient, information, Outcome(*ends))


def run_samples(program: Program, thetas: Any, launcher: Launcher, host: bool = True) -> Samples:
    """Outputs and their derivatives at tuners (L, m)."""
    one = _Runs(program, launcher, OUTPUTS)
    n, ny, m = len(program.times), program.ny, program.m
    parts = []
    for chunk in _chunks(len(thetas), 8 * (m + n * ny * (1 + m)), launcher.room(), host):
        many = len(thetas[chunk])
        results = [one.xp.full((many, n, ny), np.nan), one.xp.full((many, n, ny, m), np.nan)]
        outcome = one(thetas[chunk], [*results, None], NO_DATA)
        parts.append(_handed([*results, *outcome], launcher, host))
    Y, YS, *ends = _joined(parts, launcher, host)
    return Samples(Y, YS, Outcome(*ends))


class _Runs:
    """The arrays of a program on the device, and the launches of its texts."""

    def __init__(self, program: Program, launcher: Launcher, mode: int) -> None:
        self.program, self.launcher, self.mode = program, launcher, mode
        self.xp = launcher.xp
        arrays = (program.starts, program.values, program.slopes, program.times)
        self.experiment = tuple(self.xp.asarray(a) for a in arrays)

    def normal(self, thetas: Any, data: Data) -> tuple[list[Any], tuple[Any, Any, Any]]:
        """Σ r², Jᵀr, JᵀJ of some members, and how they ended."""
        xp, many, ny, m = self.xp, len(thetas), self.program.ny, self.program.m
        if self.mode == SUMS:
            results = [xp.zeros((many, *shape)) for shape in ((ny,), (ny, m), (ny, m, m))]
            return results, self(thetas, results, data)
        rows = xp.zeros((many, ny, len(self.program.times), m + 1))
        outcome = self(thetas, [rows, None, None], data)
        products = xp.matmul(xp.swapaxes(rows, 2, 3), rows)
        parts = (products[..., m, m], products[..., m, :m], products[..., :m, :m])
        return [xp.ascontiguousarray(part) for part in parts], outcome

    def __call__(self, thetas: Any, results: list[Any], data: Data) -> tuple[Any, Any, Any]:
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
                np.int32(len(self.program.times)), pointer(data.values),
                np.int64(data.stride), np.int32(data.picks is not None), pointer(data.picks),
                pointer(data.weight), np.int64(data.apart), *(pointer(r) for r in results),
                status, place, stopped,
            )  # fmt: skip
            self.launcher.run(text, self.mode, count, self.program.block, arguments)
        return status, place, stopped


def _placed(array: Any, launcher: Launcher) -> Any:
    """An array of the device."""
    xp = launcher.xp
    return xp.ascontiguousarray(xp.asarray(array, np.float64))


def _chunks(many: int, size: int, room: int, cut: bool) -> list[slice]:
    """Stretches of members whose arrays fit, of so many bytes each where these are to be cut."""
    longest = _MOST_MEMBERS
    if cut:
        longest = max(1, min(longest, room // max(1, size)))
    return [slice(k, min(k + longest, many)) for k in range(0, many, longest)]


def _handed(arrays: list[Any], launcher: Launcher, host: bool) -> list[Any]:
    """Results of a chunk, on the host where they shall be there: their room is free then."""
    return [launcher.to_host(a) for a in arrays] if host else arrays


def _joined(parts: list[list[Any]], launcher: Launcher, host: bool) -> list[Any]:
    """The results of all chunks as one array each."""
    if len(parts) == 1:
        return parts[0]
    xp = np if host else launcher.xp
    return [xp.concatenate(arrays) for arrays in zip(*parts, strict=True)]
