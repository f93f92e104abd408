"""How a likelihood ratio shows itself: a table, JSON."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.base import view as show
from estimica.base.errors import InferError
from estimica.infer.likelihood_ratio.mixture import mixture_words
from estimica.infer.likelihood_ratio.result import LikelihoodRatio


def tables(ratio: LikelihoodRatio) -> tuple[show.Table, ...]:
    """The numbers of the test."""
    law = f"χ² with {ratio.freedom} degrees of freedom"
    if ratio.distribution == "F":
        law = f"F with {ratio.freedom} and {ratio.residual_freedom:.4g} degrees of freedom"
    elif ratio.distribution == "mixture":
        law = mixture_words(ratio.freedom + 1 - len(ratio.weights), ratio.weights)
    rows: tuple[tuple[object, ...], ...] = (
        ("released", ", ".join(ratio.released)),
        ("cost of the null model", ratio.null_cost),
        ("cost", ratio.other_cost),
        ("cost reduction", ratio.cost_reduction),
        ("statistic", ratio.statistic),
        ("its distribution", law),
        ("risk", show.Rounded(ratio.risk, 4)),
    )
    return (show.Table(("likelihood ratio", ""), rows, "", ratio.verdict()),)


def picture(ratio: LikelihoodRatio, kind: str = "", names: Sequence[str] = ()) -> show.ViewElement:
    """Nothing: a test is a handful of numbers."""
    raise InferError(
        "I007",
        "a likelihood ratio has no plot; print it, or plot the fits that it compares, or a release",
    )


def as_object(ratio: LikelihoodRatio) -> dict[str, object]:
    """As plain values."""
    return {
        "released": list(ratio.released),
        "distribution": ratio.distribution,
        "statistic": ratio.statistic,
        "freedom": ratio.freedom,
        "weights": list(ratio.weights),
        "residual_freedom": ratio.residual_freedom,
        "risk": ratio.risk,
        "cost_reduction": ratio.cost_reduction,
        "null_cost": ratio.null_cost,
        "cost": ratio.other_cost,
        "verdict": ratio.verdict(),
    }
