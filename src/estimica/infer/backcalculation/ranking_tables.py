"""How ranked laws show themselves: a verdict in words and a table."""

from __future__ import annotations

from estimica.base.text import short
from estimica.base.view import Table
from estimica.infer.backcalculation.law import Law
from estimica.infer.backcalculation.ranking import Laws, exclusions_in_words

MOST = 12  # rows
EXACT = 1e-10  # relative error of points that were computed by the formula that is found


def verdict(found: Laws) -> str:
    """Which law is the likely one, and whether the points can say so."""
    best, tied = found.best, found.tied  # the simplest of them is the first
    if best.rmse <= EXACT * found.scale and len(best.regressors) > 1:
        return (
            f"{_named(best)} meets all points to rounding: {best.short}; {found.target} was "
            "computed from these by just that formula, or the data have no noise; look at it "
            "against something else"
        )
    if len(tied) == 1:
        words = f"{_named(best)} describes {found.target} best: {best.short}"
        rest = [law for law in found.ranked if law is not best]
        if rest:
            words += f"; the next, {_named(rest[0])}, is {rest[0].delta:.3g} worse in AICc"
    else:
        names = [_named(law) for law in tied]
        listed = ", ".join(names[:-1]) + " and " + names[-1]
        words = (
            f"{listed} cannot be told apart by these {found.n_points} points (AICc within 2); the "
            f"first is {_named(best)}, {best.short}; points over a wider range would tell"
        )
    preferred = min(
        (law for law in found.ranked if law.cv_rmse == law.cv_rmse),
        key=lambda law: law.cv_rmse,
        default=best,
    )
    if preferred not in tied:
        words += f"; cross-validation prefers {_named(preferred)}"
    return words


def _named(law: Law) -> str:
    return law.label + (f" in {' and '.join(law.regressors)}" if law.regressors else "")


def table(found: Laws) -> Table:
    """A row for each law, the most likely first."""
    columns = ("law", "formula", "AICc above best", "weight", "RMSE", "left out", "R²")
    rows = tuple(
        (
            law.label,
            law.short,
            short(law.delta),
            round(law.share, 3),
            short(law.rmse),
            short(law.cv_rmse) if law.cv_rmse == law.cv_rmse else None,
            round(law.r_squared, 5),
        )
        for law in found.ranked[:MOST]
    )
    note = found.verdict + "."
    if len(found.ranked) > MOST:
        note += f" {len(found.ranked) - MOST} further laws are worse."
    if found.excluded:
        note += f" Not tried: {exclusions_in_words(found.excluded)}."
    return Table(columns, rows, f"Laws of {found.target}", note)
