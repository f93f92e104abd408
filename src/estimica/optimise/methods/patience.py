"""Patience: when a search has gained so little for so long that it ends.

Criteria of simulated trajectories are not worth more digits than an engineer reads; formulas are.
"""

from __future__ import annotations

from collections.abc import Sequence

from estimica.optimise.criteria.score import CriterionInCase
from estimica.study.tables.optimise import OptimiseTable

FINE, COARSE = 1e-8, 1e-6  # tolerances of formulas, and of what is simulated
GAIN = 1e-4  # relative, that simulated criteria must gain
PATIENCE = 12  # designs within which they must


def patience(places: Sequence[CriterionInCase], table: OptimiseTable) -> tuple[int | None, float]:
    """(designs, relative gain): not for formulas, nor where a tolerance is asked for."""
    simulated = any(p.criterion.kind != "value" for p in places)
    if table.tolerance is not None or not simulated or table.method not in ("sqp", "quasi-newton"):
        return None, 0.0
    return PATIENCE, GAIN


def tolerance(designs: int | None, table: OptimiseTable) -> float:
    """Relative change that ends a method by itself."""
    if table.tolerance is not None:
        return table.tolerance
    return FINE if designs is None else COARSE
