"""Reference results as BuildingsPy writes them: a text for each class, all of them in one folder.

The folder belongs to the library: `Resources/ReferenceResults/TOOL` below its package. A line is
`signal=[value, …]`; two values are a constant or a straight line, the others stand at equidistant
times between the two of `time`. What a tool said about itself stands in lines of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

_LINE = re.compile(r"^([^={}\"]+)=\[([^\]]*)\]\s*$", re.MULTILINE)
#: folders between a library and its results: Resources/ReferenceResults/TOOL
_DEPTH = 3


def classes(folder: Path) -> Iterator[str]:
    """The classes that a folder of such texts is about, sorted."""
    library = _library(folder)
    for path in sorted(folder.glob("*.txt")):
        if "_" in path.stem and "\ntime=[" in path.read_text(encoding="utf-8"):
            yield class_name(library, path.stem)


def place(folder: Path, name: str) -> Path:
    """The text of a class; it need not exist."""
    return folder / f"{name.replace('.', '_')}.txt"


def read_rows(path: Path) -> dict[str, Vector]:
    """The curves of a text by name, `time` among them; none where it has none."""
    found = {
        m[1].strip(): np.array([float(v) for v in m[2].split(",")])
        for m in _LINE.finditer(path.read_text(encoding="utf-8"))
        if m[2].strip()
    }
    span = found.pop("time", None)
    if span is None or not found:
        return {}
    samples = max(len(v) for v in found.values())
    # as in the files: a constant and a straight line have their ends only
    place_of = np.linspace(0.0, 1.0, samples)
    rows = {
        n: np.interp(place_of, np.linspace(0.0, 1.0, len(v)), v)
        for n, v in found.items()
        if len(v) in (2, samples)
    }
    return {"time": np.linspace(span[0], span[-1], samples), **rows}


def class_name(library: Path, text: str) -> str:
    """The class of a file: its dots are underscores there, like those of the names themselves.

    Folders and files of the library tell them apart; within a file every underscore is a dot.
    """
    root, _, rest = text.partition("_")
    return ".".join([root, *_parts(library, rest)])


def _parts(folder: Path, rest: str) -> list[str]:
    words = rest.split("_")
    for count in range(len(words), 0, -1):
        name, left = "_".join(words[:count]), "_".join(words[count:])
        if not left and (folder / f"{name}.mo").is_file():
            return [name]
        if left and (folder / name / "package.mo").is_file():
            return [name, *_parts(folder / name, left)]
    return words


def _library(folder: Path) -> Path:
    return folder.resolve().joinpath(*[".."] * _DEPTH).resolve()
