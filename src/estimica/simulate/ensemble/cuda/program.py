"""Program: a model and experiment as CUDA C text with its arrays, to be run wherever a GPU is.

It needs nothing but NumPy, and goes to a file and back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from estimica.base.arrays import Vector

_WORDS = ("explicit", "stiff", "m", "ny", "block", "rows")
_ARRAYS = ("starts", "values", "slopes", "times")


@dataclass(frozen=True, eq=False)
class Program:
    """The text of one method or of both, and the experiment.

    A member goes through the explicit text first, where there is one; one that comes back as too
    stiff for it goes through the other.
    """

    explicit: str  # empty: the stiff method takes all members
    stiff: str  # empty: no member changes its method
    m: int
    ny: int
    block: int  # threads that a GPU keeps together
    rows: bool  # normal equations are products of rows that are written, not sums of a thread
    starts: Vector  # (nq,)
    values: Vector  # (nq, nu)
    slopes: Vector  # (nq, nu)
    times: Vector  # (N,)

    @property
    def methods(self) -> tuple[str, ...]:
        """The texts in the order in which members go through them."""
        return tuple(text for text in (self.explicit, self.stiff) if text)

    def save(self, path: Path) -> None:
        """Writes it to a file of NumPy's."""
        words = json.dumps({name: getattr(self, name) for name in _WORDS})
        with path.open("wb") as file:
            np.savez(file, words=np.array(words), **{n: getattr(self, n) for n in _ARRAYS})

    @staticmethod
    def load(path: Path) -> Program:
        """Reads what `save` has written."""
        with np.load(path, allow_pickle=False) as stored:
            words = json.loads(str(stored["words"]))
            return Program(**words, **{n: stored[n] for n in _ARRAYS})
