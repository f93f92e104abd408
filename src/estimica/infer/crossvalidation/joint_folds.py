"""Joint folds: the fits without each fold, which differ in the samples that count, as one batch.

A fold whose optimum is not proven there is fitted alone, and so is one that cannot be simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.search.run import Status
from estimica.estimate.unknowns import Unknown, Unknowns
from estimica.infer.crossvalidation.fold_fit import run_fold, undetermined
from estimica.infer.crossvalidation.folds import Fold
from estimica.infer.crossvalidation.predictions import has_stretches, predicted, values_of_all
from estimica.infer.refit import SETTLED, FitContext

if TYPE_CHECKING:
    from estimica.estimate.batch.fits import BatchFits

#: folds from which on they are fitted together without being asked for. Compiling the boiler of the
#: examples for vectors takes 0.2 s, as long as sixteen of its folds one by one
WORTH = 16


@dataclass(frozen=True, eq=False)
class FoldEnd:
    """Where the fit without a fold has ended, at a proven optimum."""

    fold: Fold
    unknowns: Unknowns  # those that it has
    values: Vector  # of these
    kept: list[str]  # labels of those that only the fold determines


def run_folds(
    place: FitContext, fits: BatchFits, folds: Sequence[Fold], whole: Vector | None
) -> list[dict[str, Any]]:
    """What `run_fold` gives, of each fold; those that were fitted alone say so."""
    found: dict[int, dict[str, Any]] = {}
    if whole is not None:
        found = _fitted(place, fits, folds, whole)
    return [
        found[k] if k in found else run_fold(place, fold, whole) | {"alone": True}
        for k, fold in enumerate(folds)
    ]


def _fitted(
    place: FitContext, fits: BatchFits, folds: Sequence[Fold], whole: Vector
) -> dict[int, dict[str, Any]]:
    """The folds, by their numbers, whose fits are proven."""
    blocks, items = place.objective.blocks, place.objective.unknowns.items
    counted = [np.stack([~fold.left_out[b.case, b.name] for fold in folds]) for b in blocks]
    starts = np.tile(place.q, (len(folds), 1))
    present = np.array([_present(place, fold) for fold in folds])
    less = fits.information(starts, counted)
    seen: Flags = np.asarray(np.isfinite(less).all(axis=(1, 2)))
    lost = _lost(whole, less, present, seen)
    fitted = fits.fit(starts, counted=counted, held=~present | lost, near=True).finished()
    ends = {
        number: FoldEnd(
            folds[number],
            Unknowns([u for u, there in zip(items, present[number], strict=True) if there]),
            np.asarray(fitted.found.values[number][present[number]]),
            [u.label for u, kept in zip(items, lost[number], strict=True) if kept],
        )
        for number in np.flatnonzero(fitted.proven & seen).tolist()
    }
    simulated = _simulated(place, fits, ends)
    return {number: _stored(place, end, simulated.get(number)) for number, end in ends.items()}


def _lost(whole: Vector, less: Vector, present: Flags, seen: Flags) -> Flags:
    """Which unknowns only the left-out samples determine, of every fold that can be simulated."""
    lost = np.zeros_like(present)
    for number in np.flatnonzero(seen).tolist():
        own: list[int] = np.flatnonzero(present[number]).tolist()
        lost[number, own] = undetermined(whole, less[number][np.ix_(own, own)], own)
    return lost


def _stored(place: FitContext, end: FoldEnd, simulated: Sequence[Vector] | None) -> dict[str, Any]:
    """The end of a fit as values that can be stored, with what it predicts."""
    stored: dict[str, Any] = {
        "status": str(Status.CONVERGED),
        "message": SETTLED,
        "values": [float(v) for v in end.values[: len(place.setup.tuners)]],
        "kept": end.kept,
        "predicted": [],
    }
    scales = place.objective.criterion.scales
    told = predicted(place, end.fold, end.unknowns, end.values, scales, simulated)
    if isinstance(told, str):
        return stored | {"status": "failed", "message": told}
    return stored | {"predicted": told}


def _present(place: FitContext, fold: Fold) -> Flags:
    """Which unknowns the fit without a fold has: start values of cases and disturbances of outputs
    of which samples are left."""
    left = {key for key, out in fold.left_out.items() if not out.all()}
    cases = {case for case, _ in left}

    def has(unknown: Unknown) -> bool:
        if unknown.kind == "disturbance":
            return (unknown.case, unknown.name) in left
        return not unknown.case or unknown.case in cases

    return np.array([has(u) for u in place.objective.unknowns.items], bool)


def _simulated(
    place: FitContext, fits: BatchFits, ends: Mapping[int, FoldEnd]
) -> dict[int, list[Vector]]:
    """Outputs of all blocks, for the folds that need them and can be simulated."""
    asked = [number for number, end in ends.items() if has_stretches(place, end.fold)]
    if not asked:
        return {}
    values = [values_of_all(place, ends[k].unknowns, ends[k].values) for k in asked]
    outputs, ok = fits.outputs(np.array(values))
    return {k: [own[j] for own in outputs] for j, k in enumerate(asked) if ok[j]}
