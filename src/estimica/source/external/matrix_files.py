"""Matrices on file, as the Modelica Standard Library reads them: text, CSV and MATLAB."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimica.base.files.read import read_bytes
from estimica.source.evaluate.values import ValueMismatch

Matrix = NDArray[np.float64]

_HEADER = re.compile(
    r"[\s,(]*(?:double|float)[\s,()]+([^\s,()]+)[\s,(]+(\d+)[\s,]+(\d+)(?=[\s,)]|$)"
)
_BETWEEN_NUMBERS = re.compile(r"[ \t,;\r\n]+")
#: what a file may hold: a table of this many numbers is a mistake, not a model
_MOST_NUMBERS = 20_000_000
#: bytes of a file of matrices: some ten million numbers, a gigabyte of memory while they are read
_MOST_BYTES = 200_000_000


def read_matrix(path: Path, name: str, delimiter: str = ",", header_lines: int = 0) -> Matrix:
    """The matrix `name` of a file; a CSV file is one matrix, whatever it is called."""
    if not path.is_file():
        raise ValueMismatch(f"there is no file '{path}' to read the matrix '{name}' from")
    try:
        match path.suffix.lower():
            case ".mat":
                return _from_matlab(path, name)
            case ".csv":
                return _from_csv(path, delimiter, header_lines)
            case _:
                return _from_text(path, name)
    except (OSError, UnicodeDecodeError) as error:
        raise ValueMismatch(f"'{path}' cannot be read: {error}") from None


def read_matlab(path: Path, name: str) -> Matrix:
    """The matrix `name` of a MATLAB file, whatever the file is called."""
    if not path.is_file():
        raise ValueMismatch(f"there is no file '{path}' to read the matrix '{name}' from")
    return _from_matlab(path, name)


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path, _MOST_BYTES)
    except OSError as error:
        raise ValueMismatch(f"'{path}' cannot be read: {error.strerror}") from None


def _text_of(path: Path) -> str:
    return _content(path).decode("utf-8-sig", errors="replace")


# --- text: "#1", then "double name(rows, columns)" and the numbers, "#" begins a comment ---


def _from_text(path: Path, name: str) -> Matrix:
    lines = _text_of(path).splitlines()
    if not lines or not lines[0].startswith("#1"):
        raise ValueMismatch(f"'{path}' is no file of tables: its first line must begin with '#1'")
    for at, line in enumerate(lines[1:], 2):
        found = _HEADER.match(line)
        if found is not None and found[1] == name:
            shape = int(found[2]), int(found[3])
            return _numbers_of_text(path, name, lines, at, shape)
    known = [m[1] for line in lines if (m := _HEADER.match(line))]
    raise ValueMismatch(f"'{path}' has no matrix '{name}'; it has {_listed(known)}")


def _numbers_of_text(
    path: Path, name: str, lines: list[str], at: int, shape: tuple[int, int]
) -> Matrix:
    wanted = shape[0] * shape[1]
    if wanted > _MOST_NUMBERS:
        raise ValueMismatch(f"{path}:{at}: a matrix of {shape[0]}×{shape[1]} numbers is too large")
    quickly = _plain_rows(lines[at : at + shape[0]], shape)
    if quickly is not None:
        return quickly
    numbers: list[float] = []
    for number, line in enumerate(lines[at:], at + 1):
        if len(numbers) >= wanted:
            break
        row = list(_floats(path, number, _BETWEEN_NUMBERS.split(line.split("#", 1)[0])))
        numbers.extend(row)
        if len(numbers) > wanted:
            raise ValueMismatch(
                f"{path}:{number}: '{name}' has more numbers than its {shape[0]}×{shape[1]}"
            )
    if len(numbers) < wanted:
        raise ValueMismatch(
            f"{path}: '{name}' should have {shape[0]}×{shape[1]} numbers and has {len(numbers)}"
        )
    return np.array(numbers, dtype=float).reshape(shape)


def _plain_rows(lines: list[str], shape: tuple[int, int]) -> Matrix | None:
    """A row on each line and nothing but numbers, as programs write tables; None for others."""
    words = [line.split() for line in lines]
    if any(len(row) != shape[1] for row in words) or any("_" in line for line in lines):
        return None
    try:
        return np.array(words, dtype=float).reshape(shape)
    except ValueError:
        return None


def _floats(path: Path, line: int, words: Iterable[str]) -> Iterator[float]:
    for word in words:
        if word:
            try:
                # 1_000 is a number for Python only
                yield float(word.replace("_", "?"))
            except ValueError:
                raise ValueMismatch(f"{path}:{line}: '{word}' is not a number") from None


# --- CSV ---


def _from_csv(path: Path, delimiter: str, header_lines: int) -> Matrix:
    if len(delimiter) != 1:
        raise ValueMismatch(f"the delimiter of a CSV file is one character, not '{delimiter}'")
    between = re.compile(f"[ \t\r{re.escape(delimiter)}]+")
    rows: list[list[float]] = []
    lines = _text_of(path).splitlines()
    for number, line in enumerate(lines[header_lines:], header_lines + 1):
        row = list(_floats(path, number, between.split(line)))
        if not row and number == len(lines):
            continue
        if rows and len(row) != len(rows[0]):
            raise ValueMismatch(
                f"{path}:{number}: {len(row)} numbers where the rows before have {len(rows[0])}"
            )
        rows.append(row)
    if not rows or not rows[0]:
        raise ValueMismatch(f"'{path}' holds no numbers below its {header_lines} lines of header")
    return np.array(rows, dtype=float)


# --- MATLAB ---


def _from_matlab(path: Path, name: str) -> Matrix:
    content = _hdf5(path) if _is_hdf5(path) else _matlab(path)
    value: Any = content
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            known = [k for k in content if not k.startswith("__")]
            raise ValueMismatch(f"'{path}' has no matrix '{name}'; it has {_listed(known)}")
        value = value[part]
    matrix = np.atleast_2d(np.asarray(value))
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise ValueMismatch(f"'{name}' of '{path}' is not a matrix of real numbers")
    return matrix.astype(float)


def _matlab(path: Path) -> dict[str, Any]:
    # a heavy import, needed by few models
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        raw = loadmat(io.BytesIO(_content(path)), squeeze_me=False, struct_as_record=True)
    except (MatReadError, ValueError, TypeError, NotImplementedError) as error:
        raise ValueMismatch(f"'{path}' cannot be read as a MATLAB file: {error}") from None
    return {k: _unstructured(v) for k, v in raw.items() if not k.startswith("__")}


def _unstructured(value: Any) -> Any:
    """A MATLAB structure as a dictionary, anything else as it is."""
    if isinstance(value, np.ndarray) and value.dtype.names and value.size == 1:
        only = value.reshape(-1)[0]
        return {k: _unstructured(only[k]) for k in value.dtype.names}
    return value


def _is_hdf5(path: Path) -> bool:
    """Version 7.3 of MATLAB files is HDF5, whose mark stands behind MATLAB's own header."""
    start = _content(path)[:520]
    return start[:8] == b"\x89HDF\r\n\x1a\n" or start[512:] == b"\x89HDF\r\n\x1a\n"


def _hdf5(path: Path) -> dict[str, Any]:
    try:
        import h5py  # type: ignore[import-untyped]
    except ImportError:
        raise ValueMismatch(
            f"'{path}' is a MATLAB file of version 7.3, which needs the package h5py; install it "
            "or save the file with the option -v7"
        ) from None
    with h5py.File(io.BytesIO(_content(path)), "r") as file:
        return _group(file)


def _group(group: Any) -> dict[str, Any]:
    import h5py

    found: dict[str, Any] = {}
    for key, item in group.items():
        if isinstance(item, h5py.Group):
            found[key] = _group(item)
        else:
            found[key] = np.asarray(item[()]).T  # HDF5 counts the last index first
    return found


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{n}'" for n in names[:12]) or "none"
