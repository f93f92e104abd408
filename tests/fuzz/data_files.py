"""Data files for the fuzz: one table in every format, injured in its cells, its layout, its bytes."""

from __future__ import annotations

import io
import math
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.odd_values import NUMBERS, TEXTS, mangled_bytes

Rows = list[list[Any]]
HEADER = ["time", "u", "y"]
STUDY = """[model]
source = "K/(1 + tau*s)"
[tune]
K = {{ start = 1 }}
tau = {{ start = 1, min = 0.01, max = 100 }}
[[case]]
name = "run"
data = "{data}"
inputs = {{ u = "u" }}
outputs = {{ y = "y" }}
"""
IMPEDANCE = """[model]
source = "R0 + R1/(1 + R1*C1*s)"
[tune]
R0 = 1
R1 = 1
C1 = 1
[[case]]
name = "run"
data = "{data}"
frequency = "frequency"
outputs = {{ y = {{ real = "Re(Z)", imag = "Im(Z)" }} }}
"""


def injured_data(seed: int, place: Path) -> tuple[Path, list[str]]:
    """A folder with a study and its injured data, and the command to try."""
    chance = random.Random(f"data {seed}")
    ending = chance.choice(list(FORMATS))
    rows = _table(chance)
    for _ in range(chance.randrange(3)):
        chance.choice(_INJURIES)(rows, chance)
    content = FORMATS[ending](rows, chance)
    if chance.random() < 0.45:
        injure = _mangled_member if ending == "xlsx" and chance.random() < 0.7 else mangled_bytes
        content = injure(content, chance)
    folder = place / f"data{seed}"
    folder.mkdir()
    name = f"run.{ending.partition('-')[0]}"
    (folder / name).write_bytes(content)
    study = IMPEDANCE if ending == "z" else STUDY
    (folder / "s.toml").write_text(study.format(data=name), encoding="utf-8")
    few = ["--max-iterations", "5", "--no-store", "--quiet"]
    commands = (
        ["check", "s.toml", "--json"], ["check", "s.toml"], ["fit", "s.toml", *few],
        ["fit", "s.toml", "--json", *few], ["new", "K/(1 + tau*s)", name, "--output", "n.toml"],
    )  # fmt: skip
    return folder, chance.choice(commands)


def _table(chance: random.Random) -> Rows:
    count = chance.choice((5, 30, 60))
    return [[k / 10, float(k // 10 % 2 == 0), 2 * math.exp(-k / 20)] for k in range(count)]


# --- cells and layout ----------------------------------------------------------------------------


def _odd_cells(rows: Rows, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 5))):
        chance.choice(rows)[chance.randrange(3)] = _odd_cell(chance)


def _odd_column(rows: Rows, chance: random.Random) -> None:
    k, cell = chance.randrange(3), _odd_cell(chance)
    for row in rows:
        row[k] = cell


def _scaled_column(rows: Rows, chance: random.Random) -> None:
    k, scale = chance.randrange(3), chance.choice((1e300, 1e150, 1e80, 1e-80, 1e-300, -1.0, 0.0))
    for row in rows:
        row[k] = row[k] * scale if isinstance(row[k], float) else row[k]


def _other_order(rows: Rows, chance: random.Random) -> None:
    match chance.randrange(4):
        case 0:
            chance.shuffle(rows)
        case 1:
            rows.reverse()
        case 2:
            rows[:] = [row for row in rows for _ in range(2)]
        case _:
            del rows[chance.randrange(len(rows)) :]
            rows or rows.append([0.0, 0.0, 0.0])


def _ragged(rows: Rows, chance: random.Random) -> None:
    row = chance.choice(rows)
    row += [1.0] * chance.randrange(3)
    del row[chance.randrange(1, 4) :]
    row += [""] * (3 - len(row))


def _odd_cell(chance: random.Random) -> Any:
    if chance.random() < 0.5:
        number = chance.choice(NUMBERS)
        return number if chance.random() < 0.5 else float(number)
    return chance.choice(
        (*TEXTS, "2026-11-15 06:00", "15.11.2026", "1;5", "\n", float("nan"), None)
    )


_INJURIES = (_odd_cells, _odd_cells, _odd_column, _scaled_column, _other_order, _ragged)


# --- formats -------------------------------------------------------------------------------------


def _text(separator: str, decimal: str = ".") -> Callable[[Rows, random.Random], bytes]:
    def written(rows: Rows, chance: random.Random) -> bytes:
        lines = [_header(chance), *rows]
        if chance.random() < 0.2:
            lines.insert(chance.randrange(2), [chance.choice(TEXTS)] * chance.randrange(1, 5))
        cells = [
            separator.join("" if c is None else str(c).replace(".", decimal) for c in row)
            for row in lines
        ]
        return "\n".join(cells).encode(
            chance.choice(("utf-8", "utf-8", "utf-16", "latin-1")), "replace"
        )

    return written


def _header(chance: random.Random) -> list[str]:
    header = list(HEADER)
    if chance.random() < 0.2:
        header[chance.randrange(3)] = chance.choice(
            (*TEXTS, "time", "y", "y [m]", "y (", " " * 3000)
        )
    return header


def _columns(rows: Rows) -> dict[str, Any]:
    import numpy as np

    found = {}
    for k, name in enumerate(HEADER):
        try:
            found[name] = np.array([float(row[k]) for row in rows])
        except (TypeError, ValueError):
            found[name] = np.array([str(row[k]) for row in rows], dtype=object)
    return found


def _parquet(rows: Rows, chance: random.Random) -> bytes:
    import pandas as pd

    buffer = io.BytesIO()
    pd.DataFrame(_columns(rows)).to_parquet(buffer, compression=chance.choice(("snappy", None)))
    return buffer.getvalue()


def _excel(rows: Rows, chance: random.Random) -> bytes:
    import pandas as pd

    buffer = io.BytesIO()
    cells = {n: [_sane(v) for v in values] for n, values in _columns(rows).items()}
    pd.DataFrame(cells).to_excel(buffer, index=False)
    return buffer.getvalue()


def _sane(value: Any) -> Any:
    """What the library that writes Excel files can write."""
    if isinstance(value, str):
        return "".join(c for c in value if c.isprintable())[:300]
    return value if math.isfinite(value) else None


def _mat(form: str, compress: bool = False) -> Callable[[Rows, random.Random], bytes]:
    def written(rows: Rows, chance: random.Random) -> bytes:
        from scipy.io import savemat

        buffer = io.BytesIO()
        plain = {n: v for n, v in _columns(rows).items() if v.dtype != object} or {"y": [1.0, 2.0]}
        tree = {"s": plain} if form == "5" and chance.random() < 0.3 else plain
        savemat(buffer, tree, format=form, do_compression=compress)
        return buffer.getvalue()

    return written


def _hdf5(rows: Rows, chance: random.Random) -> bytes:
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, values in _columns(rows).items():
            if values.dtype != object:
                packed = chance.choice(("gzip", None))
                file.create_dataset(name, data=values.reshape(1, -1), compression=packed)
    return buffer.getvalue()


def _spectrum(rows: Rows, chance: random.Random) -> bytes:
    lines = [f"{k + 1},{1 / (k + 1)},{row[2]}" for k, row in enumerate(rows)]
    return "\n".join(["frequency,Re(Z),Im(Z)", *lines]).encode("utf-8", "replace")


def _mangled_member(content: bytes, chance: random.Random) -> bytes:
    """A zip archive whose checks hold, with one of its files injured."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        chosen = chance.choice(old.namelist())
        for name in old.namelist():
            inner = old.read(name)
            new.writestr(name, mangled_bytes(inner, chance) if name == chosen else inner)
    return buffer.getvalue()


FORMATS: dict[str, Callable[[Rows, random.Random], bytes]] = {
    "csv": _text(","), "csv-german": _text(";", ","), "tsv": _text("\t"), "txt": _text(" "),
    "parquet": _parquet, "xlsx": _excel, "mat-4": _mat("4"), "mat-5": _mat("5"),
    "mat-5c": _mat("5", True), "mat-73": _hdf5, "z": _spectrum,
}  # fmt: skip
