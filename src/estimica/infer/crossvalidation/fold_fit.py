"""The fit without a fold: from the estimate of all data, with what only the fold tells kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.objective.cost import (
    Objective,
    Point,
    accuracy_objective,
    scored,
    with_curvature_of,
)
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.search.run import Status
from estimica.infer.covariance.linearisation import pseudo_inverse
from estimica.infer.crossvalidation.folds import Fold, carried, key_of, without
from estimica.infer.crossvalidation.predictions import predicted
from estimica.infer.refit import FitContext, refit

#: growth of a standard error from which on an unknown is kept where it was. Chosen: a hundredth of
#: the information on it is left
LOST = 10.0
#: of all information, so that what remains can be inverted: an error grows a hundredfold at most,
#: ten times LOST
FAINT = 1e-4


def run_fold(place: FitContext, fold: Fold, whole: Vector | None) -> dict[str, Any]:
    """The fit without a fold, and the outputs it predicts there, as values that can be stored.

    `whole` is the information of all data, in the coordinates of the fit.
    """
    setup = without(place, fold)
    cases = setup.calibration()
    unknowns = cases.unknowns
    start = carried(place.objective.unknowns, place.objective.unknowns.values(place.q), unknowns)
    kept = _undetermined(place, scored(cases, place.objective.criterion.scales), start, whole)
    searched = refit(setup, cases, start, kept if kept.any() else None)
    if searched.status is Status.INTERRUPTED:  # half a search is not noted
        raise KeyboardInterrupt
    stored: dict[str, Any] = {
        "status": str(searched.status),
        "message": searched.message,
        "values": None,
        "kept": [u.label for u, k in zip(unknowns.items, kept, strict=True) if k],
        "predicted": [],
    }
    if searched.point is None:
        return stored
    point = searched.point
    stored["values"] = [float(v) for v in point.values[: len(place.setup.tuners)]]
    told = predicted(place, fold, unknowns, point.values, point.scales)
    if isinstance(told, str):
        return stored | {"status": "failed", "message": told}
    return stored | {"predicted": told}


def information(objective: Objective, q: Vector) -> Vector | None:
    """JᵀJ at a point, in coordinates; none where derivatives have none."""
    point = objective.at(q)
    if isinstance(point, Failure):
        return None
    judge = accuracy_objective(objective, point)
    if isinstance(judge, str):
        return None
    seen: Point = with_curvature_of(judge, point)
    return seen.R.T @ seen.R


def _undetermined(
    place: FitContext, objective: Objective, start: Vector, whole: Vector | None
) -> Flags:
    """Unknowns of the fit without a fold that only the fold determines."""
    less = information(objective, start)
    if less is None or whole is None:
        return np.zeros(len(objective.unknowns), bool)
    every = place.objective.unknowns
    places = {key_of(u): k for k, u in enumerate(every.items)}
    own = [places[key_of(u)] for u in objective.unknowns.items]
    # the size of a disturbance is that of the samples: in the coordinates of all data
    size = every.slopes(place.q)[own] / objective.unknowns.slopes(start)
    return undetermined(whole, size[:, None] * less * size, own)


def undetermined(whole: Vector, less: Vector, own: list[int]) -> Flags:
    """Unknowns that only the left-out samples determine: without them they are kept.

    `whole` is what all data say of all unknowns, `less` what is left on those in `own`. A start
    value says little beyond the first stretch. Such unknowns are found one by one, as those whose
    standard error grows most without the fold.
    """
    kept = np.zeros(len(own), bool)
    # what all data say of these unknowns when the others follow
    everything = np.linalg.pinv(np.linalg.pinv(whole)[np.ix_(own, own)])
    remaining = less + FAINT * everything
    while not kept.all():
        free = ~kept
        # 1e-7: its square is the rounding of squares
        before = np.diag(pseudo_inverse(everything, free, 1e-7))
        after = np.diag(pseudo_inverse(remaining, free, 1e-7))
        growth = np.divide(after, before, out=np.ones(len(free)), where=before > 0)
        worst = int(np.argmax(growth))
        if growth[worst] <= LOST**2:
            break
        kept[worst] = True
    return kept
