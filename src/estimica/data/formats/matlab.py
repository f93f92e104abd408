"""MATLAB: vectors, matrices and structs of a .mat file as columns, old files and new ones.

Trajectories as Dymola and OpenModelica store them: the matrix `name` lists the variables,
`dataInfo` says for each the block `data_1` (constants) or `data_2` (trajectories) and the column in
it, negative for an alias with the other sign. `binTrans` files hold all of them transposed. Version
1.0 files have `names` and `data` only.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.base.files.read import open_file
from estimica.data.formats.matlab_size import require_small_hdf5, require_small_mat5
from estimica.data.requirements import import_extra
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
        values: dict[str, Any] = {}
        for name in group:
            if name.startswith("#"):
                continue
            if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
                raise ValueError(f"'{name}' is kept in another file")
            item = group[name]
            if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
                raise ValueError(f"'{name}' is kept in another file")
            if isinstance(item, h5py.Group):
                values[name] = taken(item)
            elif item.attrs.get("MATLAB_class", b"double") not in (b"char", b"cell"):
                values[name] = np.asarray(item[()]).T
        return values

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


def is_simulation_result(matrices: Mapping[str, Matrix]) -> bool:
    """Whether the matrices of a .mat file are a stored simulation."""
    return "Aclass" in matrices and any(n in matrices for n in ("name", "names"))


def simulation_result_data(source: str, matrices: Mapping[str, Matrix]) -> Data:
    """The trajectories as columns and what does not vary as constants."""
    about = _texts(matrices["Aclass"], transposed=False)
    if "names" in matrices:
        names = _texts(matrices["names"], transposed=False)
        table = np.asarray(matrices["data"], np.float64)
        return Data(source, {_time_first(n, j): table[:, j] for j, n in enumerate(names)})
    missing = [n for n in ("dataInfo", "data_1", "data_2") if n not in matrices]
    if missing:
        raise DataError(
            "D019", f"'{source}' looks like a simulation result but lacks '{missing[0]}'"
        )
    transposed = "binTrans" in about
    return _trajectories(source, matrices, transposed)


def _trajectories(source: str, matrices: Mapping[str, Matrix], transposed: bool) -> Data:
    names = _texts(matrices["name"], transposed)
    info = matrices["dataInfo"] if transposed else matrices["dataInfo"].T
    blocks = _Blocks(matrices, transposed)
    columns: dict[str, Vector] = {}
    constants: dict[str, float] = {}
    for name, table, place in zip(names, info[0], info[1], strict=True):
        if int(table) == 1:
            constants[name] = blocks.constant(int(place))
        else:
            columns[name] = blocks.column(int(place))
    named = {n: u for n, u in _units(names, matrices, transposed).items() if n in columns}
    return Data(source, columns, named, constants=constants)


class _Blocks:
    """The two blocks of numbers; aliases share one column."""

    def __init__(self, matrices: Mapping[str, Matrix], transposed: bool) -> None:
        self.constants = matrices["data_1"] if transposed else matrices["data_1"].T
        table = matrices["data_2"] if transposed else matrices["data_2"].T
        self.table = np.ascontiguousarray(table, np.float64)
        self.columns: dict[int, Vector] = {}

    def constant(self, place: int) -> float:
        return float(np.sign(place) * self.constants[abs(place) - 1, 0])

    def column(self, place: int) -> Vector:
        if place not in self.columns:
            row = self.table[abs(place) - 1]
            self.columns[place] = row if place > 0 else -row
        return self.columns[place]


def _units(names: list[str], matrices: Mapping[str, Matrix], transposed: bool) -> dict[str, str]:
    """Units from descriptions such as `Angle of the joint [rad|deg]`."""
    if "description" not in matrices:
        return {}
    described = zip(names, _texts(matrices["description"], transposed), strict=False)
    found = {n: re.search(r"\[([^\]|:]+)[^\]]*\]$", text) for n, text in described}
    return {n: match[1] for n, match in found.items() if match and not match[1].startswith(":#")}


def _texts(characters: Matrix, transposed: bool) -> list[str]:
    rows = characters.T if transposed else characters
    return ["".join(row).rstrip(" \0") for row in rows]


def _time_first(name: str, place: int) -> str:
    return "time" if place == 0 and name.casefold() == "time" else name
