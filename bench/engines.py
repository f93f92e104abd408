"""What every engine of the benchmark offers, and how they are timed side by side."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from problems import Vector

BATCH_S = 0.02
#: variants of an engine with a larger error of the Jacobian are out of the contest
ACCEPTED = 1e-2


class Missing(Exception):
    """An engine that cannot take part, with the reason."""


class Engine(ABC):
    """All outputs and the full Jacobian of one problem at one point."""

    name: str
    sees: str  # "before" or "after": what a sample at an input jump sees
    prepare_s: float = 0.0

    @abstractmethod
    def evaluate(self) -> None:
        """One evaluation."""

    @abstractmethod
    def result(self) -> tuple[Vector, Vector]:
        """Samples (N, ny) and Jacobian (N, ny, m) of the last evaluation."""

    @property
    def note(self) -> str:
        """A remark on how it works or what it costs."""
        return ""

    def batch(self, n: int) -> float:
        """Seconds for one evaluation, the mean of n."""
        begun = time.thread_time()
        for _ in range(n):
            self.evaluate()
        return (time.thread_time() - begun) / n

    def close(self) -> None:
        """Let go of what it holds."""
        return


def side_by_side(engines: Sequence[Engine], rounds: int) -> Vector:
    """Seconds for one evaluation, (rounds, engines): each round times every engine in turn."""
    sizes = [max(1, min(100, int(BATCH_S / max(e.batch(2), 1e-9)))) for e in engines]
    return np.array([[e.batch(n) for e, n in zip(engines, sizes, strict=True)]
                     for _ in range(rounds)])  # fmt: skip
