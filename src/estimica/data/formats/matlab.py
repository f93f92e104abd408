"""MATLAB: vectors, matrices and structs of a .mat file as columns, old files and new ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.base.files.read import open_file
from estimica.data.extras import import_extra
from estimica.data.formats.matlab_results import is_simulation_result, simulation_result_data
from estimica.data.formats.matlab_size import require_small_hdf5, require_small_mat5
from estimica.data.table import Data, time_column_among

Matrix = np.ndarray[Any, Any]


def read_mat(path: Path) -> Data:
    """The table of a .mat file: what has the same number of rows stands side by side.

    A matrix `Y` becomes `Y[1]`, `Y[2]`…, a field `T` of a struct `s` becomes `s.T`.
    """
    with open_file(path) as file:
        head = file.read(1024)  # HDF5 may begin after a block of the user's, as MATLAB's does
        if not head:
            raise DataError("D002", f"cannot read '{path}': the file is empty")
        if head.startswith(b"MATLAB 7.3") or b"\x89HDF\r\n" in head:
            return _table(path, dict(_leaves("", _new(path, file))))
        tree = _old(path, file)
    if is_simulation_result(tree):
        return simulation_result_data(str(path), tree)
    return _table(path, dict(_leaves("", tree)))


def _old(path: Path, file: BinaryIO) -> dict[str, Any]:
    from scipy.io import loadmat

    try:
        require_small_mat5(path, file)
        file.seek(0)
        tree = loadmat(file, chars_as_strings=False, squeeze_me=False)
    except (MemoryError, DataError):
        raise
    except Exception as error:  # a damaged file fails anywhere inside SciPy
        raise _unreadable(path, error) from None
    return {n: v for n, v in tree.items() if not n.startswith("__")}


def _new(path: Path, file: BinaryIO) -> dict[str, Any]:
    """Version 7.3 is HDF5: groups are structs, and matrices are stored transposed."""
    h5py = import_extra("h5py", path)

    def taken(group: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in group:
            if name.startswith("#"):
                continue
            if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
                raise ValueError(f"'{name}' is kept in another file")
            item = group[name]
            if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
                raise ValueError(f"'{name}' is kept in another file")
            if isinstance(item, h5py.Group):
                found[name] = taken(item)
            elif item.attrs.get("MATLAB_class", b"double") not in (b"char", b"cell"):
                found[name] = np.asarray(item[()]).T
        return found

    try:
        with h5py.File(file, "r") as root:
            require_small_hdf5(path, root, h5py)
            return taken(root)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError("D002", f"cannot read '{path}' as a MATLAB file: {error}")


def _leaves(prefix: str, item: Any) -> Iterator[tuple[str, Matrix]]:
    """Numeric arrays under dotted names."""
    if isinstance(item, Mapping):
        for name, part in item.items():
            yield from _leaves(f"{prefix}.{name}" if prefix else name, part)
    elif isinstance(item, np.ndarray) and item.dtype.names:
        cells = item.ravel()
        for k, cell in enumerate(cells, 1):
            name = prefix if len(cells) == 1 else f"{prefix}[{k}]"
            yield from _leaves(name, {field: cell[field] for field in item.dtype.names})
    elif isinstance(item, np.ndarray) and item.dtype.kind in "biuf" and item.ndim <= 2:
        yield prefix, item


def _table(path: Path, arrays: Mapping[str, Matrix]) -> Data:
    constants = {n: float(a.ravel()[0]) for n, a in arrays.items() if a.size == 1}
    arrays = {n: a for n, a in arrays.items() if a.size > 1}
    if not arrays:
        raise DataError("D003", f"'{path}' holds no vectors or matrices of numbers")
    rows = _rows(arrays)
    columns: dict[str, Vector] = {}
    notes = []
    for name, array in arrays.items():
        parts = _columns(array, rows)
        if not parts:
            size = "×".join(map(str, array.shape))
            notes.append(f"'{name}' ({size}) is left out: it has not {rows} rows")
        for k, part in enumerate(parts, 1):
            columns[name if len(parts) == 1 else f"{name}[{k}]"] = part
    return Data(str(path), columns, constants=constants, notes=tuple(notes))


def _rows(arrays: Mapping[str, Matrix]) -> int:
    """The length of the time, or the one that most numbers share."""
    last_parts = {name.rsplit(".", 1)[-1]: name for name in arrays}
    time = time_column_among(last_parts)
    if time is not None:
        return int(max(arrays[last_parts[time]].shape))
    numbers: Counter[int] = Counter()
    for array in arrays.values():
        numbers[int(max(array.shape))] += array.size
    return numbers.most_common(1)[0][0]


def _columns(array: Matrix, rows: int) -> list[Vector]:
    if math.prod(array.shape) == rows:
        return [np.asarray(array.ravel(), np.float64)]
    if array.ndim != 2 or rows not in array.shape:
        return []
    table = array.T if array.shape[0] == rows else array
    return list(np.ascontiguousarray(table, np.float64))
