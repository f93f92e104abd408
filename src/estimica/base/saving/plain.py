"""Values as JSON knows them: None for numbers that are not finite, lists for arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np


def finite(value: object) -> object:
    """The same with None for numbers that are not finite, which JSON does not know."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.ndarray):  # many numbers at once
        known = np.isfinite(value)
        plain = value.astype(object)
        plain[~known] = None
        return value.tolist() if known.all() else plain.tolist()
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    return value


def plain_object(values: Mapping[str, object]) -> dict[str, object]:
    """An object for JSON, with None for numbers that are not finite."""
    return {name: finite(value) for name, value in values.items()}
