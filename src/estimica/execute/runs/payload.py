"""Values as the text that the store keeps: JSON, with NaN, Infinity and -Infinity as such."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import PurePath
from typing import Any

import numpy as np

from estimica.base.errors import StoreError

#: what to do about a run that cannot be read
NEXT = "delete the run with `estimica runs delete`, or move the store of runs away"


def to_text(value: object) -> str:
    """A value of mappings, sequences, texts, numbers, arrays as text; floats keep every digit."""
    return json.dumps(value, default=_plain, separators=(",", ":"))


def storable_text(text: str) -> str:
    """A text that can be stored: what is not a character (in a path) becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def from_text(text: str) -> Any:
    """The value of a text; arrays come back as lists. StoreError where it is not one of ours."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise StoreError("B033", f"a value is damaged ({why.splitlines()[0]}); {NEXT}") from None


def object_from_text(text: str) -> dict[str, Any]:
    """The value of a text that must be an object."""
    value = from_text(text)
    if not isinstance(value, dict):
        raise StoreError("B033", f"a value is damaged (it is not an object); {NEXT}")
    return value


@contextlib.contextmanager
def reading_part(run_id: str, what: str) -> Iterator[None]:
    """Which part of which run is read; a damaged one is told with its place."""
    try:
        yield
    except StoreError as error:
        if error.code != "B033":
            raise
        raise StoreError("B033", f"{what} of run '{run_id}': {error.message}") from None


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
