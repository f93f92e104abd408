"""Noted fit: an estimate as a run keeps it, and the fit made from it without a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from estimica.base.errors import InferError
from estimica.estimate.conclusion.run import conclude
from estimica.estimate.criteria.roughness import Rough
from estimica.estimate.fit.result import Fit, fit_outcome
from estimica.estimate.identify.twins import Twin
from estimica.estimate.objective.cost import Point, scored
from estimica.estimate.search.run import SearchResult, Status
from estimica.estimate.setup import prepare
from estimica.execute.threads import one_thread
from estimica.study.study import Study


def checkpoint_of(fit: Fit) -> dict[str, Any] | None:
    """What to keep; None where a fit is more than its values and has to be searched again.

    That is so where no single simulation gives the outputs.
    """
    if fit.study.estimation.transcription != "shooting" or not np.isfinite(fit.cost):
        return None
    return {
        "values": fit.values.tolist(),
        "scales": dict(fit.scales),
        "rough": {"reason": fit.rough.reason, "unknowns": list(fit.rough.unknowns)},
        "status": str(fit.outcome.status),
        "message": fit.outcome.message,
        "seconds": fit.seconds,
        "twins": [asdict(t) for t in fit.twins],
    }


def fit_from_checkpoint(study: Study, note: Mapping[str, Any]) -> Fit:
    """The fit at noted values; the same bits each time."""
    with one_thread():
        setup = prepare(study)
        objective = scored(setup.calibration(), note.get("scales", {}))
        values = np.array(note["values"], float)
        point = objective.at(objective.unknowns.coordinates(values))
        if not isinstance(point, Point):
            raise InferError(
                "I409", f"case '{point.case}' cannot be simulated at the estimate: {point.message}"
            )
        status = Status(note["status"])
        searched = SearchResult(point, status, note["message"], (), rough=_rough(note))
        found = conclude(setup, objective, searched, (), float(note["seconds"]))
    # what a conclusion adds to the message stands there already
    twins = tuple(Twin(**t) for t in note.get("twins", ()))
    return replace(found, values=values, outcome=fit_outcome(status, note["message"]), twins=twins)


def _rough(note: Mapping[str, Any]) -> Rough | None:
    told = note.get("rough") or {}
    return Rough(told["reason"], tuple(told["unknowns"])) if told.get("reason") else None
