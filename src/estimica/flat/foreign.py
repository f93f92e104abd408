"""Algorithms on whole numbers that a function may use though they are no formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

#: by the name that stands in `Foreign.twin`: arguments to results, whole numbers as floats
FOREIGN: Mapping[str, Callable[[Sequence[float]], Sequence[float]]] = {}
