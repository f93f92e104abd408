"""Joint folds: the fits without each fold, which differ in the samples that count, as one batch.

A fold whose optimum is not proven there is fitted alone, and so is one that cannot be simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    blocks = place.objective.blocks
    counted = [np.stack([~fold.left_out[b.case, b.name] for fold in folds]) for b in blocks]
    starts = np.tile(place.q, (len(folds), 1))
    present = np.array([_present(place, fold) for fold in folds])
    less = fits.information(starts, counted)
    lost = np.zeros_like(present)
    seen = np.isfinite(less).all(axis=(1, 2))
    for k in np.flatnonzero(seen):
        own = [int(j) for j in np.flatnonzero(present[k])]
        lost[k, own] = undetermined(whole, less[k][np.ix_(own, own)], own)
    fitted = fits.fit(starts, counted=counted, held=~present | lost, near=True).finished()
    proven = [int(k) for k in np.flatnonzero(fitted.proven & seen)]
    items = place.objective.unknowns.items
    unknowns = {k: Unknowns([items[j] for j in np.flatnonzero(present[k])]) for k in proven}
    values = {k: np.asarray(fitted.found.values[k][present[k]]) for k in proven}
    simulated = _simulated(place, fits, folds, unknowns, values)
    found: dict[int, dict[str, Any]] = {}
    for k in proven:
        stored: dict[str, Any] = {
            "status": str(Status.CONVERGED),
            "message": SETTLED,
            "values": [float(v) for v in values[k][: len(place.setup.tuners)]],
            "kept": [items[j].label for j in np.flatnonzero(lost[k])],
        }
        scales = place.objective.criterion.scales
        told = predicted(place, folds[k], unknowns[k], values[k], scales, simulated.get(k))
        if isinstance(told, str):
            found[k] = stored | {"status": "failed", "message": told, "predicted": []}
        else:
            found[k] = stored | {"predicted": told}
    return found


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
    place: FitContext,
    fits: BatchFits,
    folds: Sequence[Fold],
    unknowns: dict[int, Unknowns],
    values: dict[int, Vector],
) -> dict[int, list[Vector]]:
    """Outputs of all blocks, for the folds that need them and can be simulated."""
    asked = [k for k in values if has_stretches(place, folds[k])]
    if not asked:
        return {}
    outputs, ok = fits.outputs(
        np.array([values_of_all(place, unknowns[k], values[k]) for k in asked])
    )
    return {k: [own[j] for own in outputs] for j, k in enumerate(asked) if ok[j]}
