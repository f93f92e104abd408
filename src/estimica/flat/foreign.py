"""Algorithms on whole numbers that a function may use though they are no formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from estimica.flat.random_numbers import xorshift64star, xorshift128plus, xorshift1024star

#: by the name that stands in `Foreign.twin`: arguments to results, whole numbers as floats
FOREIGN: Mapping[str, Callable[[Sequence[float]], Sequence[float]]] = {
    "xorshift64star": xorshift64star,
    "xorshift128plus": xorshift128plus,
    "xorshift1024star": xorshift1024star,
}
