"""Packing: a value as bytes, and the value again, by names that are known to be harmless only.

Records, numbers, arrays, models made from equations or from files that lie where they lay: nothing
else is made. Code does not travel: functions and Python files are named, and looked for.
"""

from __future__ import annotations

import io
import pickle
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any, NoReturn, TypeVar

from estimica.base.code.reference import CodeRefusedError
from estimica.base.code.trusted import CodeFile, TrustedCode, trusted_code
from estimica.base.errors import EstimicaError, StoreError

F = TypeVar("F", bound=Callable[..., Any])  # a class too
_ESTIMICA = "estimica."
MARK = "restores"
#: what values are made of that are not ours, by module
_PLAIN = {
    "builtins": {"complex", "set", "frozenset", "slice", "range", "bytearray"},
    "collections": {"OrderedDict", "Counter", "defaultdict"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "functools": {"partial"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "pathlib": {"PosixPath", "WindowsPath", "Path", "PurePosixPath", "PureWindowsPath"},
    "pathlib._local": {"PosixPath", "WindowsPath", "Path", "PurePosixPath", "PureWindowsPath"},
}
_RECORDS = (Enum, tuple, float, dict, EstimicaError)


def restores(maker: F) -> F:
    """Mark a function or class as one that only makes a value: a saved result may name it."""
    setattr(maker, MARK, True)
    return maker


def packed(value: object) -> bytes:
    """A value as bytes."""
    content = io.BytesIO()
    _Pickler(content, 5).dump(value)
    return zlib.compress(content.getvalue())


def unpacked(content: bytes) -> Any:
    """The value again."""
    return _Unpickler(io.BytesIO(zlib.decompress(content))).load()


class _Pickler(pickle.Pickler):
    """Code is named, not taken along."""

    def persistent_id(self, obj: Any) -> tuple[str, ...] | None:
        if isinstance(obj, TrustedCode):
            return "code", obj.spelt, obj.entry.name, obj.function, str(obj.folder), obj.sha256
        if isinstance(obj, MissingFunction):
            return "function", obj.module, obj.name
        named = isinstance(obj, (FunctionType, BuiltinFunctionType))
        if named and not obj.__module__.startswith(_ESTIMICA):
            return "function", str(obj.__module__), obj.__qualname__
        return None


class _Unpickler(pickle.Unpickler):
    """Makes values again, and runs nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        if module.startswith(_ESTIMICA):
            named = super().find_class(module, name)
            if _is_harmless(named):
                return named
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no result is made of")

    def persistent_load(self, pid: Any) -> Any:
        kind, *told = pid
        if kind == "code":
            return _code(*told)
        if kind == "function":
            return _function(*told)
        raise pickle.UnpicklingError(f"it names {kind!r}, which no result is made of")


def _is_harmless(named: Any) -> bool:
    if not isinstance(named, type):
        return isinstance(named, FunctionType) and bool(getattr(named, MARK, False))
    if issubclass(named, (TrustedCode, CodeFile)):
        return False
    record = is_dataclass(named) or issubclass(named, _RECORDS)
    return record or bool(getattr(named, MARK, False))


def _code(spelt: str, file: str, function: str, folder: str, sha256: str) -> TrustedCode:
    """The code that a result was made with, from where it lay."""
    try:
        code = trusted_code(f"{file}:{function}" if function else file, Path(folder))
    except CodeRefusedError as error:
        raise StoreError("B054", f"it needs the code '{spelt}' of '{folder}': {error}") from None
    if code.sha256 != sha256:
        raise StoreError(
            "B054",
            f"the code '{spelt}' in '{folder}' has changed since the result was saved; put back "
            "what it was, or fit again",
        )
    return replace(code, spelt=spelt)


def _function(module: str, name: str) -> Any:
    """A function that is there already: nothing is imported for a file's sake."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if callable(found) else MissingFunction(module, name)


@dataclass(frozen=True)
class MissingFunction:
    """Stands for a function of the user that is not there; what was computed with it still is."""

    module: str
    name: str

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *given: object, **named: object) -> NoReturn:
        """Say what to do."""
        raise StoreError(
            "B055",
            f"the function '{self.name}' of {self.module} is not defined here; define or import "
            "it, then load the result again",
        )
