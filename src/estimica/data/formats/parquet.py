"""Parquet: tables with typed columns, their size known from the end of the file."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from estimica.base.errors import DataError
from estimica.base.files.read import open_file
from estimica.data.frames import data_from_frame
from estimica.data.reading import PLAIN, Reading
from estimica.data.requirements import cell_limit, import_extra, require_cells, too_many_cells_error
from estimica.data.table import Data

#: cells as which a text counts: a string of its own while its column is looked at
_TEXT_WEIGHT = 8
_CELL = 8  # bytes
_BATCH = 65_536  # texts whose lengths are added at a time
#: each text may hold all of the one before it, so that a page grows with the square of its texts
_PREFIXED = "DELTA_BYTE_ARRAY"


def read_parquet(path: Path, reading: Reading = PLAIN) -> Data:
    """The table of a Parquet file; a stored index is the time if no column is."""
    with open_file(path) as file:
        arrow = import_extra("pyarrow", path)
        try:
            return _read(path, file, reading)
        except arrow.lib.ArrowMemoryError:
            raise MemoryError from None
        except (MemoryError, DataError):
            raise
        except Exception as error:  # a damaged file fails anywhere inside the libraries
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError("D002", f"cannot read '{path}' as Parquet: {reason}") from None


def _read(path: Path, file: BinaryIO, reading: Reading) -> Data:
    import pandas as pd

    pq = import_extra("pyarrow.parquet", path)
    stored = pq.ParquetFile(file)
    schema = stored.schema_arrow
    left_out = _nested(schema) | _prefixed(schema, stored.metadata)
    plain = [name for name in schema.names if name not in left_out]
    _require_room(path, stored, plain)
    for name in plain:
        if _is_text(schema.field(name).type):
            _require_short(path, file, name)
    file.seek(0)
    frame = pd.read_parquet(file, engine="pyarrow", columns=plain)
    data = data_from_frame(str(path), frame, reading)
    if not len(frame):
        raise DataError("D003", f"'{path}' holds no rows")
    notes = [f"column '{n}' is left out: {why}" for n, why in left_out.items()]
    return dataclasses.replace(data, notes=(*data.notes, *notes))


def _nested(schema: Any) -> dict[str, str]:
    """Columns of lists, whose length nobody tells, and of tables."""
    kinds = import_module("pyarrow.types")
    return {f.name: "it holds lists or tables" for f in schema if kinds.is_nested(f.type)}


def _prefixed(schema: Any, about: Any) -> dict[str, str]:
    """Columns of texts that hold those before them, so that few bytes unpack to very many."""
    texts = {f.name for f in schema if _is_text(f.type) or _weight(f.type) > 1}
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    parts = [group.column(j) for group in groups for j in range(group.num_columns)]
    prefixed = {p.path_in_schema for p in parts if _PREFIXED in p.encodings}
    why = f"its texts are packed as {_PREFIXED}; write them with a dictionary"
    return {name: why for name in schema.names if name in texts & prefixed}


def _require_room(path: Path, stored: Any, plain: list[str]) -> None:
    about = stored.metadata
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    rows = max(about.num_rows, sum(g.num_rows for g in groups))
    schema = stored.schema_arrow
    weights = sum(_weight(schema.field(name).type) for name in plain)
    require_cells(path, rows, len(plain), weights / max(len(plain), 1))
    packed = sum(g.total_byte_size for g in groups)
    if packed > 2 * _CELL * cell_limit():
        raise too_many_cells_error(path, f"{packed} bytes in its pages", packed / _CELL / 2)


def _weight(kind: Any) -> float:
    kinds = import_module("pyarrow.types")
    if _is_text(kind):
        return _TEXT_WEIGHT
    if kinds.is_decimal(kind):
        return 2 * _TEXT_WEIGHT  # an object of Python
    if kinds.is_fixed_size_binary(kind):
        return max(_TEXT_WEIGHT, float(kind.byte_width) / _CELL)
    return 1.0


def _is_text(kind: Any) -> bool:
    kinds = import_module("pyarrow.types")
    tests = (
        kinds.is_string,
        kinds.is_large_string,
        kinds.is_string_view,
        kinds.is_binary,
        kinds.is_large_binary,
        kinds.is_binary_view,
        kinds.is_dictionary,
    )
    return any(test(kind) for test in tests)


def _require_short(path: Path, file: BinaryIO, name: str) -> None:
    """A dictionary holds a long text once, and the column would hold it in every row."""
    pa, pc, pq = (import_extra(f"pyarrow{part}", path) for part in ("", ".compute", ".parquet"))
    file.seek(0)
    total = 0
    stored = pq.ParquetFile(file, read_dictionary=[name])
    for batch in stored.iter_batches(_BATCH, columns=[name]):
        texts = batch.column(0)
        if not isinstance(texts, pa.DictionaryArray):
            texts = texts.dictionary_encode()
        if not pa.types.is_integer(texts.dictionary.type):
            lengths = pc.binary_length(texts.dictionary.cast(pa.large_binary()))
            total += pc.sum(lengths.cast(pa.int64()).take(texts.indices)).as_py() or 0
        if total > _CELL * cell_limit():
            raise too_many_cells_error(
                path, f"more than {total} bytes of text in column '{name}'", total / 8
            )
