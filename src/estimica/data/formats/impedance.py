"""Files of impedance analysers: ZPlot and ZView, BioLogic EC-Lab, Gamry Framework.

Whatever a file calls them, the columns are `frequency` (Hz), `Re(Z)` and `Im(Z)` (Ohm); the others
keep their names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.base.files.read import open_file, read_text
from estimica.data.headers import column_names
from estimica.data.requirements import cell_limit, require_bytes
from estimica.data.table import Data

SUFFIXES = (".z", ".mpt", ".dta")
FREQUENCY, REAL, IMAGINARY = "frequency", "Re(Z)", "Im(Z)"
_ZPLOT = ("frequency [Hz]", "amplitude [V]", "bias [V]", "time [s]", "Re(Z) [Ohm]", "Im(Z) [Ohm]")
_ZPLOT_MORE = ("group delay", "error", "range")
_END = "End Comments"
_HEADER_LINES = re.compile(r"Nb header lines\s*:\s*(\d+)")
#: what the files call the columns; a minus before the name means that the sign is turned
_CALLED = {
    "freq": FREQUENCY,
    "re(z)": REAL,
    "-im(z)": f"-{IMAGINARY}",
    "im(z)": IMAGINARY,
    "zreal": REAL,
    "zimag": IMAGINARY,
}


def read_impedance_file(path: Path) -> Data | None:
    """The table of an impedance analyser's file; None where it is none of those known."""
    lines = _text(path).splitlines()
    first = next((line.strip() for line in lines if line.strip()), "")
    if any(line.strip() == _END for line in lines):
        return _zplot(path, lines)
    if first.startswith("EC-Lab ASCII FILE"):
        return _biologic(path, lines)
    if first.startswith("EXPLAIN"):
        return _gamry(path, lines)
    return None


def _text(path: Path) -> str:
    with open_file(path) as file:
        # cells are separated by a byte at least, and each becomes an object of 32 bytes
        require_bytes(path, os.fstat(file.fileno()).st_size, 1 / 40)
    return read_text(path, "latin-1", limit=cell_limit())


def _zplot(path: Path, lines: Sequence[str]) -> Data:
    start = next(k for k, line in enumerate(lines) if line.strip() == _END) + 1
    rows = _rows(path, lines, start, r"[\s,;]+")
    width = rows.shape[1]
    if width < len(_ZPLOT):
        raise DataError(
            "D040",
            f"'{path}' has {width} columns below '{_END}', and Z' and Z'' should be the 5th and "
            "6th; save it as CSV with a header, and name the columns in the study",
        )
    headers = [*_ZPLOT, *_ZPLOT_MORE][:width]
    headers += [f"column {k + 1}" for k in range(len(headers), width)]
    return _data(path, headers, rows, f"{start} lines above the table are skipped")


def _biologic(path: Path, lines: Sequence[str]) -> Data:
    found = next((m for line in lines[:5] if (m := _HEADER_LINES.search(line))), None)
    start = int(found[1]) if found else 0
    if not 0 < start <= len(lines):
        raise DataError("D041", f"'{path}': line 2 does not say 'Nb header lines : …'")
    headers = [h.strip() for h in lines[start - 1].rstrip("\t ").split("\t")]
    # freq/Hz, Re(Z)/Ohm, -Im(Z)/Ohm, |Z|/Ohm, Phase(Z)/deg, …
    named = [re.sub(r"^(.+)/([^/()]+)$", r"\1 [\2]", h) for h in headers]
    return _data(path, named, _rows(path, lines, start, "\t"), "its header is skipped")


def _gamry(path: Path, lines: Sequence[str]) -> Data:
    table = next((k for k, line in enumerate(lines) if line.startswith("ZCURVE")), None)
    if table is None or table + 2 >= len(lines):
        raise DataError(
            "D042", f"'{path}' has no table ZCURVE; is it the file of an impedance measurement?"
        )
    headers, units = (lines[table + k].strip().split("\t") for k in (1, 2))
    named = [f"{h} [{u}]" if u.strip("#") else h for h, u in zip(headers, units, strict=False)]
    named += headers[len(named) :]
    end = next((k for k in range(table + 3, len(lines)) if not lines[k].startswith("\t")), None)
    rows = _rows(path, lines[:end], table + 3, "\t")
    return _data(path, named, rows, f"{table + 3} lines above the table are skipped")


def _rows(path: Path, lines: Sequence[str], start: int, separator: str) -> Vector:
    """The numbers below line `start`; a comma may be the decimal sign where tabs separate."""
    rows = []
    for number, line in enumerate(lines[start:], start + 1):
        if not line.strip():
            continue
        cells = re.split(separator, line.strip())
        if separator == "\t":
            cells = [c.replace(",", ".") for c in cells]
        rows.append([_number(path, number, c) for c in cells])
        if len(rows[-1]) != len(rows[0]):
            raise DataError(
                "D043",
                f"'{path}': line {number} has {len(rows[-1])} cells, the first row "
                f"{len(rows[0])}; fix or delete it",
            )
    if not rows:
        raise DataError("D003", f"'{path}' holds no rows below its header")
    return np.array(rows)


def _number(path: Path, line: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        if any(c.isdigit() for c in cell) and not cell[0].isalpha():
            raise DataError("D044", f"'{path}': '{cell}' in line {line} is not a number") from None
        return float("nan")  # a word, as the flags of Gamry's last column


def _data(path: Path, headers: Sequence[str], rows: Vector, note: str) -> Data:
    names, units, notes = column_names(headers[: rows.shape[1]])
    columns: dict[str, Vector] = {}
    for k, name in enumerate(names):
        called = _CALLED.get(name.casefold(), name)
        values = rows[:, k]
        if called.startswith("-"):
            called, values = called[1:], -values
        columns[called] = values
        if name in units:
            units[called] = _unit(units[name])
    missing = [n for n in (FREQUENCY, REAL, IMAGINARY) if n not in columns]
    if missing:
        raise DataError(
            "D045",
            f"'{path}' has no column for {missing[0]} (there are {', '.join(columns)}); is it the "
            "file of an impedance measurement?",
        )
    kept = {n: u for n, u in units.items() if n in columns}
    return Data(str(path), columns, kept, notes=(note, *notes))


def _unit(text: str) -> str:
    return "Ohm" if text.casefold() == "ohm" else "deg" if text == "°" else text
