"""Curve files: frames of results over time, as CSV or Parquet."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from estimica.data.writers import write_table

if TYPE_CHECKING:
    import pandas as pd


def write_frame(frame: pd.DataFrame, path: str | PathLike[str]) -> Path:
    """Write a frame, its index as columns too; Parquet where the path ends so."""
    flat = frame.reset_index()
    words = {str(n): flat[n].astype(str).tolist() for n in flat if flat[n].dtype.kind not in "fiu"}
    numbers = {str(n): flat[n].to_numpy(float) for n in flat if str(n) not in words}
    return write_table(path, numbers, texts=words)
