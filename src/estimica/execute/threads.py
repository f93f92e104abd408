"""One thread for linear algebra: the same bits whoever works, and nobody in another's way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """BLAS uses one thread inside.

    Sums of many terms depend in their last digits on how many threads share them, and on a busy
    machine threads of small problems wait for each other longer than they work.
    """
    with _libraries().limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _libraries() -> Any:
    """The libraries of NumPy and SciPy, which must be loaded to be found; that takes a while."""
    import numpy.linalg  # noqa: F401
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
