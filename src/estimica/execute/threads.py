"""One thread for linear algebra: the same bits whoever works, and nobody in another's way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """BLAS and OpenMP use one thread inside.

    Sums of many terms depend in their last digits on how many threads share them, and on a busy
    machine threads of small problems wait for each other longer than they work.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
