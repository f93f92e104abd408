"""Practical: whether the error of an unknown leaves anything of its value, whatever the rank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from estimica.estimate.unknowns import Unknown

Z95 = 1.96  # the normal quantile of a 95 % interval


class Significance(StrEnum):
    """What an error says of the value that it belongs to."""

    DETERMINED = "determined"
    NEAR_ZERO = "not told from zero"
    LOST = "practically not determined"
    UNSAID = ""  # there is no error to judge by


@dataclass(frozen=True)
class Practical:
    """The standing of one unknown, and why."""

    standing: Significance
    reason: str = ""

    @property
    def remark(self) -> str:
        """A few words for a table; none where all is well."""
        if self.standing in (Significance.DETERMINED, Significance.UNSAID):
            return ""
        return f"{self.standing}: {self.reason}"


def practical(unknown: Unknown, value: float, stderr: float) -> Practical:
    """Judge a value by its standard error.

    An error above the value says no more than the order of magnitude, if that: on a logarithmic
    scale the 95 % interval spans a factor of 50 or more, on a linear one it includes zero. The
    latter is not a lack where zero is allowed and the error is small beside the typical size of the
    unknown: an offset of 0.01 ± 0.05 mV that might have been 10 mV is known well, and is zero as
    far as the data tell. An interval that is wider than the bounds says nothing that was not known.
    """
    if math.isnan(stderr):
        return Practical(Significance.UNSAID)
    if math.isinf(stderr):
        return Practical(Significance.LOST, "no finite error")
    size = abs(value)
    share = stderr / size if size else math.inf
    if _spans_bounds(unknown, share, stderr):
        return Practical(Significance.LOST, "its 95 % interval is wider than its bounds")
    if share <= 1:
        return Practical(Significance.DETERMINED)
    reason = f"its standard error is {_percent(share)} of its value" if size else "its value is 0"
    allows_zero = not unknown.log and unknown.min <= 0 <= unknown.max
    if allows_zero and stderr <= max(size, unknown.scale):
        return Practical(Significance.NEAR_ZERO, reason)
    return Practical(Significance.LOST, reason)


def _spans_bounds(unknown: Unknown, share: float, stderr: float) -> bool:
    low, high = unknown.min, unknown.max
    if not math.isfinite(high - low):
        return False
    if unknown.log:
        return low > 0 and 2 * Z95 * share > math.log(high / low)
    return 2 * Z95 * stderr > high - low


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share < 1e4 else f"{100 * share:.1e} %"
