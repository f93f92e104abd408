"""What a run was made with (versions, machine, time, command line), and the fingerprint of what its
result depends on, so that a resumed run is still the same one."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import platform
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from types import FunctionType
from typing import Any

import numpy as np

from estimica.base.code.trusted import TrustedCode
from estimica.base.errors import EstimicaError, StoreError
from estimica.data.table import Data
from estimica.simulate.modelica.origin import ModelOrigin
from estimica.study.case import Case
from estimica.study.estimation import Execution
from estimica.study.noise.process import Filter
from estimica.study.record.samples import data_of
from estimica.study.study import Study

PACKAGES = ("estimica", "casadi", "numba", "llvmlite", "numpy", "scipy")


def environment(seed: int | None = None) -> dict[str, object]:
    """What the store notes of every run; `seed` is that of its random numbers."""
    return {
        **_versions(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command_line": list(sys.argv),
        "folder": os.getcwd(),
        "seed": seed,
    }


@lru_cache(maxsize=1)
def _versions() -> dict[str, str | None]:
    def installed(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    return {package: installed(package) for package in PACKAGES}


def fingerprint(study: Study) -> dict[str, str]:
    """A short code for each part of a study, by the name of the part in the user's words."""
    codes = {"the model": _code(_content(study.model))}
    codes |= {f"tuner '{t.name}'": _code(repr(t)) for t in study.tuners}
    for case in study.cases:
        codes[f"case '{case.name}'"] = _code(repr(replace(case, data="")))
        if case.active:
            codes[f"the data of case '{case.name}'"] = _data(case)
    codes |= {f"criterion '{c.name}'": _code(repr(c)) for c in study.criteria}
    codes["[estimate]"] = _code(repr(study.estimation))
    codes["[solver]"] = _code(repr(study.solver))
    if study.execute != Execution():
        codes["[execute]"] = _code(repr(study.execute))
    if study.process_noise:
        codes["[process_noise]"] = _code(repr(sorted(study.process_noise.items())))
    if study.filter != Filter():
        codes["[filter]"] = _code(repr(study.filter))
    codes["the version of Estimica"] = version("estimica")
    return codes


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What is not as it was: names of parts, with those that came or went."""
    sentences = [f"{n} has changed" for n in before if now.get(n, before[n]) != before[n]]
    sentences += [f"{n} is gone" for n in before if n not in now]
    sentences += [f"{n} is new" for n in now if n not in before]
    return sentences


def require_unchanged(run: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse to go on with a run whose study is another one by now."""
    changed = changes(before, now)
    if changed:
        raise StoreError(
            "B014",
            f"run '{run}' cannot be taken up again: since it began {', '.join(changed)}; "
            "undo that, or begin a new run without --resume",
        )


class _Contents(pickle.Pickler):
    """Writes an object with the names of our classes and functions, not with where they are: the
    same model stays the same when a module of ours is moved."""

    def persistent_id(self, obj: Any) -> str | None:
        if isinstance(obj, ModelOrigin):
            return "origin"  # a study that was moved is the same study
        if isinstance(obj, TrustedCode):  # by content, not by which of its texts are one object
            return f"{obj.sha256} {obj.folder} {obj.function}"
        ours = isinstance(obj, (type, FunctionType)) and obj.__module__.startswith("estimica.")
        return obj.__qualname__ if ours else None

    def reducer_override(self, obj: Any) -> Any:
        placeless = getattr(type(obj), "placeless", None)  # where its files lie does not matter
        return NotImplemented if placeless is None else placeless(obj)


def _content(model: object) -> bytes:
    file = io.BytesIO()
    _Contents(file, pickle.HIGHEST_PROTOCOL).dump(model)
    return file.getvalue()


def _data(case: Case) -> str:
    try:
        data: Data = data_of(case)
    except EstimicaError as error:
        return error.message
    digest = hashlib.sha256()
    for name, column in data.columns.items():
        digest.update(name.encode("utf-8", "replace"))
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()[:16]


def _code(content: str | bytes) -> str:
    raw = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()[:16]
