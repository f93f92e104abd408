"""Held inputs: signals as pieces with jumps, each as late as its delay, over the times of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.signals import Hold, Signal

_SAME = 16 * np.finfo(float).eps  # times that differ by rounding only, relative to the largest


@dataclass(frozen=True, eq=False)
class HeldInput:
    """From stamp k on u(t) = value[k] + slope[k]·(t - stamp[k]); before the first one, `before`."""

    stamps: Vector
    values: Vector
    slopes: Vector
    before: float

    @classmethod
    def of(cls, signal: Signal, begin: float, *, at_rest: bool) -> HeldInput:
        """The pieces of a signal; at rest it was zero before its first sample or `begin`."""
        one = signal.refined()
        stamps = np.unique(one.time)
        if len(one.time) == 1 or stamps[0] > begin:
            stamps = np.concatenate([[begin], stamps[stamps > begin]])
        values, slopes = one.at(stamps), _slopes(one, stamps)
        before = 0.0 if at_rest else float(values[0])
        reached = values[:-1] + slopes[:-1] * np.diff(stamps)
        rounding = 1e-14 * np.maximum(np.abs(values[1:]), np.abs(reached))
        changed = (np.abs(values[1:] - reached) > rounding) | (slopes[1:] != slopes[:-1])
        keep = np.concatenate([[True], changed])
        return cls(stamps[keep], values[keep], slopes[keep], before)

    @property
    def jumps(self) -> Vector:
        """Value after minus value before each stamp."""
        reached = self.values[:-1] + self.slopes[:-1] * np.diff(self.stamps)
        return self.values - np.concatenate([[self.before], reached])


@dataclass(frozen=True, eq=False)
class Timeline:
    """Nodes at which something is sampled or an input changes, and the inputs just after them."""

    nodes: Vector  # (K,)
    rows: Indices  # the node of each sample
    values: Vector  # (K, nu)
    slopes: Vector  # (K, nu)
    jumps: Vector  # (K, nu)
    lengths: Vector  # the different distances between nodes
    which: Indices  # (K - 1,) which of them follows each node


def timeline(inputs: Sequence[HeldInput], delays: Vector, times: Vector, begin: float) -> Timeline:
    """The nodes of a run from `begin` over the samples `times`, every input late by its delay."""
    end = float(times[-1])
    near = _SAME * max(abs(begin), abs(end), float(np.max(delays, initial=0.0)))
    fixed = np.unique(np.concatenate([[begin], times]))
    shifted = [_snapped(one.stamps + T, fixed, near) for one, T in zip(inputs, delays, strict=True)]
    inside = [s[(s >= begin) & (s <= end)] for s in shifted]
    nodes = np.unique(np.concatenate([fixed, *inside]))
    values, slopes, jumps = (np.zeros((len(nodes), len(inputs))) for _ in range(3))
    for j, (one, stamps) in enumerate(zip(inputs, shifted, strict=True)):
        k = np.searchsorted(stamps, nodes, side="right") - 1
        begun = k >= 0
        last = np.maximum(k, 0)
        slopes[:, j] = np.where(begun, one.slopes[last], 0.0)
        values[:, j] = np.where(
            begun, one.values[last] + slopes[:, j] * (nodes - stamps[last]), one.before
        )
        seen = (stamps >= begin) & (stamps <= end)
        np.add.at(jumps[:, j], np.searchsorted(nodes, stamps[seen]), one.jumps[seen])
    lengths, which = _different(np.diff(nodes), near)
    return Timeline(nodes, np.searchsorted(nodes, times), values, slopes, jumps, lengths, which)


def _snapped(stamps: Vector, fixed: Vector, near: float) -> Vector:
    """Stamps that are next to one of `fixed` but for rounding become it."""
    right = np.clip(np.searchsorted(fixed, stamps), 0, len(fixed) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(
        np.abs(fixed[right] - stamps) <= np.abs(fixed[left] - stamps), fixed[right], fixed[left]
    )
    return np.where(np.abs(nearest - stamps) <= near, nearest, stamps)


def _different(widths: Vector, near: float) -> tuple[Vector, Indices]:
    """The different widths, and which of them each is; what differs by rounding is one."""
    if not len(widths):
        return np.zeros(0), np.zeros(0, np.int64)
    order = np.argsort(widths, kind="stable")
    groups = np.concatenate([[0], np.cumsum(np.diff(widths[order]) > 2 * near)])
    which = np.empty(len(widths), np.int64)
    which[order] = groups
    return np.bincount(which, widths) / np.bincount(which), which


def _slopes(signal: Signal, stamps: Vector) -> Vector:
    """The signal's slope just after each stamp."""
    if signal.hold is Hold.PREVIOUS or len(signal.time) == 1:
        return np.zeros(len(stamps))
    width = np.diff(signal.time)
    rise = np.divide(np.diff(signal.value), width, out=np.zeros_like(width), where=width > 0)
    k = np.searchsorted(signal.time, stamps, side="right") - 1
    inside = (k >= 0) & (k < len(rise))
    return np.where(inside, rise[np.clip(k, 0, len(rise) - 1)], 0.0)
