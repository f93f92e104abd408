"""Folds: what is left out in turn, and the study without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.data.calendar import Calendar
from estimica.estimate.criteria.block import Block
from estimica.estimate.objective.cost import Objective
from estimica.estimate.setup import Setup
from estimica.estimate.unknowns import Unknown, Unknowns
from estimica.infer.refit import FitContext
from estimica.study.estimation import LIKELIHOODS
from estimica.study.record.samples import MeasuredOutput, Record

Key = tuple[str, str]  # case and output
#: stretches of time, where nobody says how many: customary (Hastie, Tibshirani and Friedman 2009,
#: section 7.10: five or ten), and each costs a fit
BLOCKS = 5


@dataclass(frozen=True, eq=False)
class Fold:
    """Samples that are left out together, by case and output, and what they are called."""

    name: str
    left_out: Mapping[Key, Flags]


def folds_of(setup: Setup, by: str, count: int | None) -> list[Fold]:
    """Groups of cases, or stretches of time of every case; each sample is left out once."""
    cases = cases_of(setup)
    if by == "case":
        return _by_case(cases, count)
    count = BLOCKS if count is None else count
    fewest = min((_samples(c, name) for c in cases for name in _outputs(c)), default=0)
    if fewest < 2 * count:
        raise InferError(
            "I341",
            f"{fewest} samples of an output are too few for {count} stretches of time; use fewer "
            "folds",
        )
    return _by_time(cases, count)


Parts = Sequence[Record]  # a calibrating case: its stretches between gaps, or itself


def cases_of(setup: Setup) -> list[Parts]:
    """The calibrating cases as the study has them, each with its stretches."""
    by_case: dict[str, list[Record]] = {}
    for record in setup.of_role("calibrate"):
        by_case.setdefault(setup.study.partition.case_of(record.case.name), []).append(record)
    return list(by_case.values())


def _outputs(parts: Parts) -> list[str]:
    return list(dict.fromkeys(m.name for r in parts for m in r.outputs))


def _samples(parts: Parts, name: str) -> int:
    return sum(len(m.time) for r in parts for m in r.outputs if m.name == name)


def _by_case(cases: Sequence[Parts], count: int | None) -> list[Fold]:
    if len(cases) < 2:
        raise InferError(
            "I340",
            "there is one case to calibrate with, so none can be left out; use by = 'time'",
        )
    count = len(cases) if count is None else count
    if count > len(cases):
        raise InferError("I342", f"{count} folds of {len(cases)} cases; use {len(cases)} or fewer")
    groups = [cases[k::count] for k in range(count)]
    return [
        Fold(
            ", ".join(parts[0].case.name for parts in group),
            {
                (r.case.name, m.name): np.full(len(m.time), parts in group)
                for parts in cases
                for r in parts
                for m in r.outputs
            },
        )
        for group in groups
    ]


def _by_time(cases: Sequence[Parts], count: int) -> list[Fold]:
    """Stretches with equally many stamps in each case."""
    masks_of_folds: list[dict[Key, Flags]] = [{} for _ in range(count)]
    names = [""] * count
    for parts in cases:
        stamps = np.unique(np.concatenate([m.time for r in parts for m in r.outputs]))
        told = Calendar.of(parts[0].origin).told if parts[0].origin else "{:.5g}".format
        for k, part in enumerate(np.array_split(stamps, count)):
            names[k] = " … ".join(told(t) for t in (part[0], part[-1]))
            for record in parts:
                for m in record.outputs:
                    inside = (m.time >= part[0]) & (m.time <= part[-1])
                    masks_of_folds[k][record.case.name, m.name] = inside
    if len(cases) > 1:
        names = [f"stretch {k} of {count}" for k in range(1, count + 1)]
    return [Fold(name, masks) for name, masks in zip(names, masks_of_folds, strict=True)]


def without(place: FitContext, fold: Fold) -> Setup:
    """The setup in which the samples of a fold do not count; weights stay as they were."""
    weights = {(b.case, b.name): _weight(b, place.objective) for b in place.objective.blocks}
    records = []
    for record in place.setup.of_role("calibrate"):
        outputs = [
            _kept(m, ~fold.left_out[record.case.name, m.name], weights[record.case.name, m.name])
            for m in record.outputs
        ]
        outputs = [m for m in outputs if len(m.time)]
        if outputs:
            records.append(replace(record, outputs=tuple(outputs)))
    return replace(place.setup, records=tuple(records))


def _weight(block: Block, objective: Objective) -> float | None:
    """The weight that gives the block the same weight again."""
    if objective.criterion.name in LIKELIHOODS:
        return block.measured.weight
    return block.weight * (block.sigma if isinstance(block.sigma, float) else 1.0)


def _kept(m: MeasuredOutput, keep: Flags, weight: float | None) -> MeasuredOutput:
    return replace(m.kept(keep), weight=weight)


def carried(of: Unknowns, values: Vector, to: Unknowns) -> Vector:
    """Coordinates of the same unknowns among others."""
    known = {key_of(u): v for u, v in zip(of.items, values, strict=True)}
    found = [known.get(key_of(u), u.start) for u in to.items]
    return to.clipped(to.coordinates(np.array(found, float)))


def key_of(unknown: Unknown) -> tuple[str, str, str]:
    """By which an unknown is found among others."""
    return unknown.kind, unknown.case, unknown.name
