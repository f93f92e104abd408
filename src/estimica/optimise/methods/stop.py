"""Stop: when a search ends, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from estimica.base.errors import DesignError


@dataclass(frozen=True)
class Stop:
    """When a search ends by itself."""

    tolerance: float = 1e-8
    max_iterations: int = 100
    population: int = 40
    seed: int = 1


@dataclass(frozen=True)
class SearchEnd:
    """How it ended: a status of one word or two, and what happened."""

    status: str
    message: str
    iterations: int = 0


def require_no_limits(method: str, limits: int) -> None:
    """Refuse criteria that are limits where a method cannot keep to them."""
    if limits:
        raise DesignError(
            "O020",
            f"method '{method}' knows bounds but no limits; take method 'sqp', or give the "
            'criteria role = "minimise"',
        )
