"""Advice: what to try where a search has ended in a poor place."""

from __future__ import annotations

import math
from collections.abc import Sequence

from estimica.estimate.fit.result import CaseFit, OutputComparison
from estimica.estimate.search.run import SearchResult, Status
from estimica.estimate.setup import Setup
from estimica.simulate.engine import status

POOR = 30.0  # per cent of a signal's variation, below which a fit explains too little
OTHERS = "'multiple-shooting' or 'collocation'"


def advice(setup: Setup, searched: SearchResult, cases: Sequence[CaseFit]) -> str:
    """A sentence to append to the outcome; empty where all is well."""
    if searched.status is Status.FAILING_REGION:
        return _at_failures(setup)
    study = setup.study
    if not study.model.has_time or study.estimation.transcription != "shooting":
        return ""
    if status.TEXTS[status.CHATTERING] in searched.message:
        return ""  # its own advice is the way out: the model chatters wherever one starts
    if searched.status is Status.FAILED:
        return (
            "; start nearer to the truth, or, if the model is unstable, use "
            f"transcription = {OTHERS}"
        )
    point = searched.point
    if searched.status is Status.STALLED and point is not None and point.R.any():
        return f"; or use transcription = {OTHERS}"
    if searched.status is Status.INTERRUPTED or point is None or not point.R.any():
        return ""
    for case in cases:
        for output in case.outputs:
            if case.role == "calibrate" and _is_poor(output):
                return (
                    f"; little of '{output.name}' in '{case.name}' is explained: if that is not "
                    "noise, start elsewhere (starts = 20), or, if the model is unstable or "
                    f"chaotic, use transcription = {OTHERS}"
                )
    return ""


def _is_poor(output: OutputComparison) -> bool:
    """Whether the model leaves most of the variation; one sample, or a constant, has none."""
    explained = output.explained_percent
    return math.isfinite(explained) and explained < POOR


def _at_failures(setup: Setup) -> str:
    """A way without simulations, where there is one; and why there are no standard errors."""
    left_out = "; there are no standard errors: they hold at an optimum only"
    study = setup.study
    if not study.model.has_time or study.estimation.transcription != "shooting":
        return left_out
    return f"; transcription = 'collocation' simulates nothing on the way{left_out}"
