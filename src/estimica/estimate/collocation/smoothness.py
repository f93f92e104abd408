"""Smoothness: which models can be written down at all times at once."""

from __future__ import annotations

from estimica.base.errors import FitError
from estimica.compiled.equations import Equations


def require_smooth(equations: Equations) -> None:
    """Refuse models whose equations change on the way or remember more than their states."""
    system = equations.system
    reason = ""
    if not system.states:
        reason = "it has no states"
    elif system.delays:
        reason = "it delays a signal"
    elif system.memories or system.reinits:
        name = (*system.memories, *(r.state for r in system.reinits))[0]
        reason = f"'{name}' changes at events"
    elif system.relations or system.logicals:
        reason = "it has events: relations outside noEvent, Booleans or Integers"
    elif system.free_parameters:
        reason = f"'{system.free_parameters[0]}' is found by the initial equations (fixed = false)"
    if reason:
        raise FitError(
            "F040",
            f"collocation cannot write down '{system.flat.name}': {reason}; use transcription = "
            "'shooting', or 'multiple-shooting' where a single simulation runs away",
        )
