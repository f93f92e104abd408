"""A measured frequency response and a case of it, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

import estimica as es

FREQUENCY = np.array([100.0, 1.0, 10.0])
G = 1 / (1 + 1j * FREQUENCY)
DATA = {"f": FREQUENCY, "G": G, "t": [1.0, 2.0, 3.0], "minus": [1.0, -1.0, 1.0]}
PARTS = {"real": "Re(G)", "imag": "Im(G)"}


def case(**given: Any) -> es.Case:
    return es.Case("a", DATA, **({"frequency": "f", "outputs": {"y": PARTS}} | given))
