"""ModelOrigin: where a Modelica class was read from, so that a study of it can be written down."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class ModelOrigin:
    """What a class was loaded by; paths are absolute, since the folder of work may change."""

    kind: Literal["file", "class", "text"]
    source: str  # the path of a file or folder, the name of a library's class, or Modelica itself
    class_: str | None = None
    libraries: tuple[str, ...] = ()
    frontend: str = "estimica"


def origin_of(
    source: str | PathLike[str],
    class_: str | None = None,
    libraries: Sequence[str | PathLike[str]] = (),
    frontend: str = "estimica",
) -> ModelOrigin:
    """The origin of what `load_model` takes; a source means the same here as there."""
    from estimica.source.request import is_text, split_modification

    folders = tuple(os.path.abspath(folder) for folder in libraries)
    if isinstance(source, str):
        if is_text(source):
            return ModelOrigin("text", source, class_, folders, frontend)
        is_file = os.path.exists(source) or Path(source).suffix in (".mo", ".bmo")
        if not is_file or (split_modification(source) and not os.path.exists(source)):
            return ModelOrigin("class", source, class_, folders, frontend)
    return ModelOrigin("file", os.path.abspath(source), class_, folders, frontend)
