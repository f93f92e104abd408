"""What must hold before a file is read: a table that is not too large, and an installed library.

Small files hold large tables, so sizes are asked before anything is unpacked.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from estimica.base.errors import DataError
from estimica.base.files.read import size_text

#: what the user may set: cells of the tables of a study, rows times columns
SETTING = "ESTIMICA_MAX_CELLS"
#: 0.4 GB as numbers, and up to four times as much while they are read: below 2 GB
_DEFAULT = 50_000_000
#: rows as which a column counts at least: it has names, units and objects of its own
_LEAST_ROWS = 1_000
#: bytes of a file for each cell that may be read: no writer needs more for a number
_BYTES = 40


def cell_limit() -> int:
    """Cells that are read, at most: ESTIMICA_MAX_CELLS, or 50 million."""
    given = os.environ.get(SETTING, "").strip()
    if not given:
        return _DEFAULT
    try:
        limit = float(given)
    except ValueError:
        limit = 0.0
    if not 1 <= limit < 1e18:
        raise DataError(
            "D022", f"{SETTING}={given}: give a number of cells, as in {SETTING}={_DEFAULT}"
        )
    return int(limit)


def require_cells(path: Path | str, rows: int, columns: float, weight: float = 1.0) -> None:
    """Refuse a table that is too large; `weight` is how many cells one of its own counts as."""
    cells = max(rows, _LEAST_ROWS) * columns * weight
    if cells > cell_limit():
        shape = f"{rows} rows of {columns:.10g} columns"
        raise too_many_cells_error(path, shape, cells)


def require_total_cells(path: Path | str, sizes: Sequence[float], what: str) -> None:
    """Refuse a file whose parts have more cells together than one table may have."""
    if sum(sizes) > cell_limit():
        raise too_many_cells_error(path, f"{sum(sizes):.10g} {what}", sum(sizes))


def too_many_cells_error(path: Path | str, shape: str, cells: float) -> DataError:
    """The error about a table that is too large."""
    return DataError(
        "D021",
        f"'{path}' has {shape}, and tables of at most {cell_limit()} cells are read; "
        f"keep only the rows and columns that the study needs, or set {SETTING}={_above(cells)}",
    )


def require_bytes(path: Path, size: int, share: float = 1.0) -> None:
    """Refuse a file that is longer than a table of the largest size could need."""
    limit = share * _BYTES * cell_limit()
    if size > limit:
        raise DataError(
            "D021",
            f"'{path}' has {size_text(size)}, and at most {size_text(limit)} are read; keep only "
            f"what the study needs, or set {SETTING}={_above(size / share / _BYTES)}",
        )


def _above(cells: float) -> str:
    """A round number that is surely not below."""
    return f"{1.1 * cells:.2g}"


def import_extra(module: str, path: Path) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise DataError(
            "D017",
            f"reading '{path}' needs {module}; install it with: pip install 'estimica[data]'",
        ) from None
