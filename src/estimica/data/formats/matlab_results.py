"""Results: trajectories as Dymola and OpenModelica store them in .mat files.

The matrix `name` lists the variables, `dataInfo` says for each the block `data_1` (constants) or
`data_2` (trajectories) and the column in it, negative for an alias with the other sign. `binTrans`
files hold all of them transposed. Version 1.0 files have `names` and `data` only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.data.table import Data

Matrix = np.ndarray[Any, Any]


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
