"""Numbers and lists as texts, for tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from estimica.base.view import Rounded


def short(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}")


def percent(value: float) -> float:
    """Two decimals."""
    return Rounded(value, 2)


def aligned(value: float, error: float) -> float:
    """A value with as many decimals as its standard error has."""
    return Rounded(value, decimals) if 0 <= (decimals := _decimals(error)) <= 9 else value


def rounded(value: float, error: float) -> float:
    """A value with three digits of its standard error; a smaller one keeps three of its own."""
    if not (math.isfinite(value) and math.isfinite(error) and error > 0):
        return value
    decimals = _decimals(min(error, abs(value)) or error)
    return Rounded(value, decimals) if 0 <= decimals <= 9 and abs(value) < 1e9 else value


def with_error(value: float, error: float, digits: int = 2) -> str:
    """`285.9 ± 1.4`: an error of so many digits, and no digit of the value beyond them."""
    if not (math.isfinite(value) and math.isfinite(error) and error > 0):
        return f"{value:.6g} ± {error:.6g}"
    told = float(f"{error:.{digits}g}")
    decimals = digits - 1 - math.floor(math.log10(told))
    return f"{round(value, decimals) + 0.0:.12g} ± {told:.6g}"  # no −0


def _decimals(value: float) -> int:
    """Those that show three digits; none where it is not a positive number."""
    return 2 - math.floor(math.log10(value)) if math.isfinite(value) and value > 0 else -1


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


#: seconds of a unit, and from how many seconds on a duration is told in it: two and a half days
#: are 60 h, an hour and a half 90 min (chosen)
_UNITS = ((86400.0, 172800.0, "days"), (3600.0, 7200.0, "h"), (60.0, 300.0, "min"))


#: the same for axes, later: five of a unit are enough for marks at whole numbers, and of minutes
#: thirty, since who looks at less mostly thinks in seconds (chosen)
_AXIS_UNITS = ((86400.0, 432000.0, "d"), (3600.0, 18000.0, "h"), (60.0, 1800.0, "min"))


def axis_unit(seconds: float) -> tuple[float, str]:
    """The unit in which an axis of so many seconds is shown: its size in seconds, and its name."""
    for size, least, unit in _AXIS_UNITS:
        if seconds >= least:
            return size, unit
    return 1.0, "s"


def duration(seconds: float) -> str:
    """A length of time in a unit that suits it, as "10 h"."""
    for size, least, unit in _UNITS:
        if seconds >= least:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
