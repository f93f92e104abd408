"""Writers: columns of numbers as text that reads back to the last bit."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.base.files.write import atomic_replacement
from estimica.data.headers import split_unit
from estimica.data.requirements import import_extra

CHUNK = 10_000  # rows that are turned into text at once


def write_csv(
    path: str | os.PathLike[str],
    columns: Mapping[str, npt.ArrayLike],
    *,
    units: Mapping[str, str] | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
) -> Path:
    """A CSV file with one column for each name, headers such as `T [degC]`; NaN is an empty cell.

    Numbers have 17 significant digits, so that `read_data` gives back exactly the same. `texts`
    are columns of words, which come first.
    """
    path = Path(path)
    arrays = {n: np.asarray(v, np.float64) for n, v in columns.items()}
    lengths = {n: a.shape for n, a in arrays.items()}
    if not arrays or len(set(lengths.values())) > 1 or any(a.ndim != 1 for a in arrays.values()):
        told = ", ".join(f"'{n}' {s}" for n, s in lengths.items()) or "none"
        raise DataError("D010", f"'{path}': columns of one length are needed, there are {told}")
    with atomic_replacement(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        words = texts or {}
        names = [_header(n, (units or {}).get(n, "")) for n in arrays]
        writer.writerow([*words, *names])
        for start in range(0, len(next(iter(arrays.values()))), CHUNK):
            rows = slice(start, start + CHUNK)
            parts = [list(w[rows]) for w in words.values()]
            parts += [_cells(a[rows]) for a in arrays.values()]
            writer.writerows(zip(*parts, strict=True))
    return path


def write_table(
    path: str | os.PathLike[str],
    columns: Mapping[str, npt.ArrayLike],
    *,
    units: Mapping[str, str] | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
) -> Path:
    """A Parquet file where the path ends with `.parquet`, otherwise a CSV file."""
    path = Path(path)
    if path.suffix.lower() != ".parquet":
        return write_csv(path, columns, units=units, texts=texts)
    import pandas as pd

    import_extra("pyarrow", path)
    named = {_header(n, (units or {}).get(n, "")): np.asarray(v) for n, v in columns.items()}
    with atomic_replacement(path) as draft:
        pd.DataFrame({**(texts or {}), **named}).to_parquet(draft, engine="pyarrow", index=False)
    return path


def _header(name: str, unit: str) -> str:
    """The name with its unit; an empty unit is said where the name ends like one."""
    if unit:
        return f"{name} [{unit}]"
    return name if split_unit(name) == (name, "") else f"{name} []"


def _cells(values: Vector) -> list[str]:
    return ["" if v != v else f"{v:.17g}" for v in values.tolist()]
