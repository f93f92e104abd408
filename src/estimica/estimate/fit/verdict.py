"""ResidualVerdict: what the residuals of a fit say of its standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

#: a corrected error is shown where it differs by more from the plain one. Chosen: less changes
#: nobody's mind, and is within what the colour of residuals is known to
NOTICED = 1.2


@dataclass(frozen=True)
class ResidualVerdict:
    """Whether residuals are white, as standard errors take them, and what it means if not."""

    text: str = ""  # nothing where there is nothing to judge by
    coloured: bool = False
    too_small: bool = False  # the standard errors, for coloured residuals
    #: of each unknown: its standard error for coloured residuals over the plain one
    factors: Mapping[str, float] = field(default_factory=dict)

    @property
    def corrects(self) -> bool:
        """Whether any error is worth showing in a corrected form."""
        known = [f for f in self.factors.values() if math.isfinite(f) and f > 0]
        return any(max(f, 1 / f) > NOTICED for f in known)
