"""Values as the text that the store keeps: JSON, with NaN, Infinity and -Infinity as such."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import PurePath
from typing import Any

import numpy as np


def written(value: object) -> str:
    """A value of mappings, sequences, texts, numbers, arrays as text; floats keep every digit."""
    return json.dumps(value, default=_plain, separators=(",", ":"))


def clean(text: str) -> str:
    """A text that can be stored: what is no character (in a path, say) becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def read(text: str) -> Any:
    """The value of a text; arrays come back as lists."""
    return json.loads(text)


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"a run cannot store a value of type {type(value).__name__}: {value!r}")
