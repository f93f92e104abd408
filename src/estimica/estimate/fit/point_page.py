"""What the page of a fit to points has besides: point by point, the last iterations, parity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from estimica.base.view import Section
from estimica.estimate.fit.pictures import fit_curves, picture, residual_curves
from estimica.estimate.fit.point_pictures import chosen_axes
from estimica.estimate.fit.result import Fit

#: iterations whose residuals are drawn; chosen: with more the first ones hide the last
LAST = 5

_POINTS = "The same over the numbers of the points, in the order of the data."
_LAST = (
    "Residuals of the last iterations, the paler the earlier: a point that stays away while the "
    "others come to rest is an outlier, or the formula does not suit it."
)
_PARITY = "Where the model is right, points lie about the line of equal values all along it."


def point_sections(fit: Fit, against: str | None, by: str | None) -> Iterator[Section]:
    """Sections of a fit without time."""
    if chosen_axes(fit, against, by)[0] is not None:
        numbered = replace(fit_curves(fit), title="")
        if numbered.time_label == "point":
            yield Section("Point by point", _POINTS, (numbered,))
    if len(fit.iterations) > 2:
        last = replace(residual_curves(fit, LAST), title="")
        yield Section("Residuals of the last iterations", _LAST, (last,))
    parity = replace(picture(fit, "parity", None, None, by), title="")
    yield Section("Simulated against measured", _PARITY, (parity,))
