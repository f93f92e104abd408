"""Algorithms that a function may use though they are no formulas: on whole numbers, and sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from estimica.base.code.numeric import PREFIX, numeric_twin
from estimica.flat.random_numbers import xorshift64star, xorshift128plus, xorshift1024star


def fourier(given: Sequence[float]) -> list[float]:
    """n, n real and n imaginary parts to the n real and n imaginary parts of their transform."""
    n = int(given[0])
    lines = np.fft.fft(np.array(given[1 : n + 1]) + 1j * np.array(given[n + 1 :]))
    return [*lines.real.tolist(), *lines.imag.tolist()]


#: by the name that stands in `Foreign.twin`: arguments to results, whole numbers as floats
FOREIGN: Mapping[str, Callable[[Sequence[float]], Sequence[float]]] = {
    "xorshift64star": xorshift64star,
    "xorshift128plus": xorshift128plus,
    "xorshift1024star": xorshift1024star,
    "fourier": fourier,
}
#: those that are linear in all arguments but the first, which is a size; the results of the others
#: are whole numbers, or as good as such: they do not change by a little
LINEAR = frozenset({"fourier"})


def foreign(twin: str) -> Callable[[Sequence[float]], Sequence[float]]:
    """What `Foreign.twin` computes."""
    return numeric_twin(twin) if is_python(twin) else FOREIGN[twin]


def is_python(twin: str) -> bool:
    """Whether it is a function of Python that a model calls."""
    return twin.startswith(PREFIX)
