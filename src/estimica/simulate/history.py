"""Delayed signals: the past of their expressions, piecewise polynomials of accepted steps."""

from __future__ import annotations

from typing import Any

from estimica.simulate.calls import engine_function

Vector = Any


@engine_function
def look_up(iw: Vector, rw: Vector, t: float) -> None:
    """The delayed signals at a time."""
