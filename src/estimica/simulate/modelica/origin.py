"""ModelOrigin: where a Modelica class was read from, so that a study of it can be written down."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

from estimica.base.code.numeric import NumericCode
from estimica.simulate.modelica.functions import named_functions


@dataclass(frozen=True)
class ModelOrigin:
    """What a class was loaded by; paths are absolute, since the folder of work may change."""

    kind: Literal["file", "class", "text"]
    source: str  # the path of a file or folder, the name of a library's class, or Modelica itself
    class_: str | None = None
    libraries: tuple[str, ...] = ()
    frontend: str = "estimica"
    #: the functions that Python computes: name, program, perhaps that of derivatives
    functions: tuple[tuple[str, ...], ...] = ()


def origin_of(
    source: str | PathLike[str],
    class_: str | None = None,
    libraries: Sequence[str | PathLike[str]] = (),
    frontend: str = "estimica",
    codes: Mapping[str, NumericCode] | None = None,
) -> ModelOrigin:
    """The origin of what `load_model` takes; a source means the same here as there."""
    from estimica.source.request import is_text, split_modification

    folders = tuple(os.path.abspath(folder) for folder in libraries)
    functions = named_functions(codes or {})
    if isinstance(source, str):
        if is_text(source):
            return ModelOrigin("text", source, class_, folders, frontend, functions)
        is_file = os.path.exists(source) or Path(source).suffix in (".mo", ".bmo", ".mop")
        if not is_file or (split_modification(source) and not os.path.exists(source)):
            return ModelOrigin("class", source, class_, folders, frontend, functions)
    path = os.path.abspath(source)
    return ModelOrigin("file", path, class_, folders, frontend, functions)
