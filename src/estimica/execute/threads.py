"""One thread for linear algebra: the same bits whoever works, and nobody in another's way."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """BLAS uses one thread inside.

    Sums of many terms depend in their last digits on how many threads share them, and on a busy
    machine threads of small problems wait for each other longer than they work.
    """
    with _libraries("scipy.linalg" in sys.modules).limit(limits=1):
        yield


@lru_cache(maxsize=2)
def _libraries(complete: bool) -> Any:
    """The libraries of NumPy and SciPy, which must be loaded to be found.

    SciPy's compiled functions bring the one that its linear algebra uses, and are there at once;
    after all of that is loaded they are looked for again.
    """
    import numpy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    import estimica.base.probability.functions  # noqa: F401

    return ThreadpoolController()
