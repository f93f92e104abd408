"""The kinds of arrays, named once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]  # real numbers, of any number of dimensions
Complex = npt.NDArray[np.complex128]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]  # whole numbers: places in other arrays, counts
