"""Parquet: tables with typed columns."""

from __future__ import annotations

from pathlib import Path

from estimica.base.errors import DataError
from estimica.data.extras import needed
from estimica.data.frames import data_from_frame
from estimica.data.table import Data


def read_parquet(path: Path) -> Data:
    """The table of a Parquet file; a stored index is the time if no column is."""
    import pandas as pd

    path.open("rb").close()
    needed("pyarrow", path)
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except (MemoryError, OSError):
        raise
    except Exception as error:  # a damaged file fails anywhere inside the libraries
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError("D002", f"cannot read '{path}' as Parquet: {reason}") from None
    data = data_from_frame(str(path), frame)
    if not len(frame):
        raise DataError("D003", f"'{path}' holds no rows")
    return data
