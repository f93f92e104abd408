"""Twins of functions that read files and folders; nothing is ever written, removed or executed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from estimica.base.files.read import read_bytes
from estimica.flat import expression as ex
from estimica.source.evaluate.values import Array, Value, ValueMismatch, Written
from estimica.source.external.host import Host, Twin, constants, text, whole
from estimica.source.external.matrix_files import read_matlab, read_matrix
from estimica.source.external.resources import file_path

#: a file that a model reads as text is a table or a list; a larger one is a mistake
_MOST_BYTES = 50_000_000
_WHY = "it is a place in a file"


def _stat(host: Host, a: Sequence[Value]) -> Value:
    """1 no file, 2 a file, 3 a folder, 4 something else: the enumeration Types.FileType."""
    path = file_path(host, text(a[0]))
    if not path.exists():
        return ex.const(1)
    return ex.const(2 if path.is_file() else 3 if path.is_dir() else 4)


def _full_path(host: Host, a: Sequence[Value]) -> Value:
    """The absolute path; this is also what a resource of a library ends in."""
    return Path(os.path.abspath(file_path(host, text(a[0])))).as_posix()


def _folder(host: Host, a: Sequence[Value]) -> Value:
    return Path.cwd().as_posix()


def _entries(host: Host, name: Value) -> list[str]:
    folder = file_path(host, text(name))
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise ValueMismatch(f"the folder '{folder}' cannot be read: {error.strerror}") from None


def _number_of_files(host: Host, a: Sequence[Value]) -> Value:
    return ex.const(len(_entries(host, a[0])))


def _files_of_folder(host: Host, a: Sequence[Value]) -> Written:
    """folder, number, names."""
    return Written({2: _texts(_entries(host, a[0]))})


def _lines(host: Host, name: Value) -> list[str]:
    path = file_path(host, text(name))
    try:
        content = read_bytes(path, _MOST_BYTES).decode("utf-8", errors="replace")
    except OSError as error:
        raise ValueMismatch(f"'{path}' cannot be read: {error.strerror}") from None
    lines = content.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _count_lines(host: Host, a: Sequence[Value]) -> Value:
    return ex.const(len(_lines(host, a[0])))


def _read_line(host: Host, a: Sequence[Value]) -> Written:
    """file, number of the line, end of file."""
    lines, at = _lines(host, a[0]), whole(host, a[1], _WHY)
    if at < 1:
        raise ValueMismatch(f"a file has no line {at}; the first is 1")
    there = at <= len(lines)
    return Written({2: ex.ZERO if there else ex.ONE}, lines[at - 1] if there else "")


def _read_file(host: Host, a: Sequence[Value]) -> Written:
    """file, lines, number of lines."""
    lines, count = _lines(host, a[0]), whole(host, a[2], _WHY)
    if count > len(lines):
        raise ValueMismatch(f"'{a[0]}' has {len(lines)} lines and {count} are asked for")
    return Written({1: _texts(lines[:count])})


def _texts(values: Sequence[str]) -> Array:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _matrix_sizes(host: Host, a: Sequence[Value]) -> Written:
    """file, matrix, sizes."""
    return Written({2: constants(read_matlab(file_path(host, text(a[0])), text(a[1])).shape)})


def _matrix(host: Host, a: Sequence[Value]) -> Written:
    """file, matrix, values, rows, columns."""
    values = read_matlab(file_path(host, text(a[0])), text(a[1]))
    asked = whole(host, a[3], _WHY), whole(host, a[4], _WHY)
    if values.shape != asked:
        raise ValueMismatch(
            f"'{a[1]}' of '{a[0]}' has {values.shape[0]}×{values.shape[1]} numbers and "
            f"{asked[0]}×{asked[1]} are asked for"
        )
    return Written({2: constants(values)})


def _time_span(host: Host, a: Sequence[Value]) -> Written:
    """file, table, [its first time, one average step after its last]: the weather of a year."""
    times = read_matrix(file_path(host, text(a[0])), text(a[1]))[:, 0]
    if len(times) < 2:
        raise ValueMismatch(f"'{a[1]}' of '{a[0]}' has one row; a stretch of time needs two")
    step = (times[-1] - times[0]) / (len(times) - 1)
    return Written({2: constants(np.array([times[0], times[-1] + step]))})


def _left_out(what: str, result: Value = None) -> Twin:
    """Something that only leaves a trace outside the model: a note says that it is not done."""

    def twin(host: Host, a: Sequence[Value]) -> Value:
        note = f"{what} is left out: a model changes nothing on this computer"
        if note not in host.notes:
            host.notes.append(note)
        return result

    return twin


def _refused(what: str) -> Twin:
    def twin(host: Host, a: Sequence[Value]) -> Value:
        host.refuse(f"{what} by a model", "do it outside and give the model the result")

    return twin


FILE_TWINS: dict[str, Twin] = {
    "ModelicaInternal_stat": _stat,
    "ModelicaInternal_fullPathName": _full_path,
    "ModelicaInternal_getcwd": _folder,
    "ModelicaInternal_getNumberOfFiles": _number_of_files,
    "ModelicaInternal_readDirectory": _files_of_folder,
    "ModelicaInternal_countLines": _count_lines,
    "ModelicaInternal_readLine": _read_line,
    "ModelicaInternal_readFile": _read_file,
    "ModelicaIO_readMatrixSizes": _matrix_sizes,
    "ModelicaIO_readRealMatrix": _matrix,
    "getTimeSpan": _time_span,
    "ModelicaInternal_print": _left_out("printing"),
    "ModelicaStreams_closeFile": _left_out("closing a file"),
    "ModelicaInternal_removeFile": _left_out("removing a file"),
    "ModelicaIO_writeRealMatrix": _left_out("writing a matrix to a file", ex.ONE),
    "ModelicaInternal_copyFile": _refused("copying a file"),
    "ModelicaInternal_rename": _refused("renaming a file"),
    "ModelicaInternal_mkdir": _refused("making a folder"),
    "ModelicaInternal_rmdir": _refused("removing a folder"),
    "ModelicaInternal_chdir": _refused("changing the folder"),
    "ModelicaInternal_temporaryFileName": _refused("naming a temporary file"),
    "ModelicaInternal_getenv": _refused("reading the environment"),
    "ModelicaInternal_setenv": _refused("changing the environment"),
    "ModelicaInternal_getTime": _refused("reading the clock"),
    "ModelicaInternal_getpid": _refused("asking for the number of the process"),
    "system": _refused("running a command"),
}
