"""Random numbers that do not depend on who draws them."""

from __future__ import annotations

import numpy as np


def seeds(seed: int, n: int) -> list[np.random.SeedSequence]:
    """One independent seed for each of `n` items: `np.random.default_rng(seeds(1, n)[k])`.

    The first k are the same whatever `n` is, so that a run can be taken up again or extended.
    """
    return np.random.SeedSequence(seed).spawn(n)
