"""Saved: results as files, to go on with another day: one form for all of them.

A file is one JSON object. `result` is what `to_dict` says, for every program that reads JSON;
`state` is the value itself, as `packing` packs it.
"""

from __future__ import annotations

import base64
import binascii
import json
import pickle
import zlib
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, Self

from estimica.base.errors import EstimicaError, StoreError
from estimica.base.files.read import open_file
from estimica.base.files.write import write_text
from estimica.base.saving.packing import packed, unpacked
from estimica.base.saving.plain import finite
from estimica.base.suggest import did_you_mean_file

FORMAT = "estimica result"
#: raised when a file of the new form cannot be read by the programs before
FORMAT_VERSION = 1


class Saved:
    """What can be written to a file and read again."""

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        raise NotImplementedError

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it to a file, to be read again with `load`; returns where it is.

        The file is JSON: `result` in it is what `to_dict` returns, for other programs.
        """
        return _save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """What was written with `save`; an error where the file holds another kind of result.

        `estimica.load_result` reads all kinds.
        """
        result = _load(Path(path))
        if not isinstance(result, cls):
            kind = type(result).__name__
            raise StoreError(
                "B052",
                f"'{path}' holds a {kind}, not a {cls.__name__}; read it with "
                "estimica.load_result, which knows all kinds",
            )
        return result


def load_result(path: str | PathLike[str]) -> Any:
    """The result of any kind that `save` has written to a file.

    What its model needs must lie where it lay: an FMU, a Python file. A function that was defined
    in a notebook or a script must be defined there again; without it the result can be read and
    drawn, but not gone on with.
    """
    return _load(Path(path))


# --- to a file -----------------------------------------------------------------------------------


def _save(result: Saved, path: str | PathLike[str]) -> Path:
    repr(result)  # what is worked out on looking goes along, and needs no model there
    try:
        state = packed(result)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise StoreError(
            "B050", f"this {type(result).__name__} cannot be saved: {error}"
        ) from error
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "estimica": _version(),
        "kind": type(result).__name__,
        "result": finite(result.to_dict()),
        "state": base64.b64encode(state).decode("ascii"),
    }
    return write_text(path, json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version("estimica")
    except PackageNotFoundError:  # a source tree that was not installed
        return "0"


# --- from a file ---------------------------------------------------------------------------------


def _load(path: Path) -> Saved:
    content = _content(path)
    if content.get("format_version") != FORMAT_VERSION:
        raise StoreError(
            "B053",
            f"'{path}' was saved by Estimica {content.get('estimica', 'of another version')}, in a "
            f"form that this version ({_version()}) does not know; update Estimica "
            "(pip install --upgrade estimica). Its numbers stand under 'result', as JSON",
        )
    try:
        result = unpacked(base64.b64decode(content["state"], validate=True))
    except EstimicaError as error:
        raise StoreError("B054", f"'{path}' cannot be made a result again: {error.message}") from (
            error
        )
    except (binascii.Error, zlib.error, KeyError, TypeError, ValueError, EOFError) as error:
        _broken(path, content, error)
    except (pickle.UnpicklingError, AttributeError, ImportError, IndexError) as error:
        _broken(path, content, error)
    if not isinstance(result, Saved):
        _broken(path, content, TypeError(f"it holds a {type(result).__name__}"))
    return result


def _content(path: Path) -> dict[str, Any]:
    try:
        with open_file(path) as file:
            raw = file.read()
    except FileNotFoundError:
        hint = did_you_mean_file(path)
        raise StoreError("B051", f"there is no file '{path}'{hint}") from None
    except OSError as error:
        raise StoreError("B051", f"cannot read '{path}': {error.strerror}") from None
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        printed = isinstance(content, dict) and "command" in content
        why = "; it is what a command prints with --json, which has the numbers only"
        raise StoreError(
            "B051",
            f"'{path}' is not a result that was saved with .save(path){why if printed else ''}",
        )
    return content


def _broken(path: Path, content: dict[str, Any], error: Exception) -> NoReturn:
    written = content.get("estimica")
    raise StoreError(
        "B054",
        f"'{path}', saved by Estimica {written}, cannot be made a result again by "
        f"{_version()}: {error or type(error).__name__}. Its numbers stand under 'result', as JSON",
    ) from error
