"""Complex numbers in a table: one column of them becomes `Re(name)` and `Im(name)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Vector

if TYPE_CHECKING:
    import pandas as pd

_IMAGINARY = re.compile(r"[ij]$", re.IGNORECASE)


def real_and_imaginary_names(name: str) -> tuple[str, str]:
    """What the two halves of a complex column are called."""
    return f"Re({name})", f"Im({name})"


def real_and_imaginary(series: pd.Series) -> tuple[Vector, Vector] | None:
    """Real and imaginary parts of a column of complex numbers; None where it holds others."""
    from pandas.api import types

    if types.is_complex_dtype(series.dtype):
        values = series.to_numpy(np.complex128)
        return np.ascontiguousarray(values.real), np.ascontiguousarray(values.imag)
    cells = [_complex(c) for c in series.tolist()]
    if not cells or any(c is None for c in cells):
        return None
    found = np.array(cells, np.complex128)
    return np.ascontiguousarray(found.real), np.ascontiguousarray(found.imag)


def _complex(cell: Any) -> complex | None:
    """A text such as `1.5-2j`, `(1.5-2j)` or `1.5 - 2i`; an empty cell is not sampled."""
    if isinstance(cell, complex):
        return cell
    if not isinstance(cell, str):
        return complex("nan") if cell is None or cell != cell else None
    text = re.sub(r"\s", "", cell).strip("()")
    if not _IMAGINARY.search(text):
        return None
    try:
        return complex(_IMAGINARY.sub("j", text))
    except ValueError:
        return None
