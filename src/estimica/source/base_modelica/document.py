"""Which sources are Base Modelica; nothing here needs the parser."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from estimica.source.libraries.files import read_text

SUFFIX = ".bmo"
_HEADER = re.compile(r"\ufeff?\s*//!\s*base\b")


@dataclass(frozen=True, slots=True)
class BaseText:
    """A Base Modelica text; `label` is its file, "" where it has none."""

    text: str
    label: str


def base_text(source: str | Path) -> BaseText | None:
    """The text of a source that is Base Modelica; None for any other source."""
    if isinstance(source, str) and "\n" in source:
        return BaseText(source, "") if _HEADER.match(source) else None
    path = Path(source)
    if path.suffix.lower() not in (SUFFIX, ".mo") or not os.path.isfile(path):
        return None
    if path.suffix.lower() == ".mo":
        text = read_text(path)
        return BaseText(text, str(path)) if _HEADER.match(text) else None
    return BaseText(read_text(path), str(path))
