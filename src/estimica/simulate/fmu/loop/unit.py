"""FmuUnit: a part of the FMU loop that is compiled when it is first needed, and kept on disk."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from estimica.compiled.llvm.numba import VERSIONS
from estimica.simulate.engine.units import Unit
from estimica.simulate.fmu.loop import native as fmu_native

_FILES = (
    "layout", "unit", "calls", "explicit", "stiff", "events",
    "samples", "steps", "exchange", "cosimulation",
)  # fmt: skip


@cache
def _stamp() -> str:
    digest = hashlib.sha256(VERSIONS.encode())
    files = [Path(__file__).with_name(f"{name}.py") for name in _FILES]
    for path in (*files, Path(fmu_native.__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class FmuUnit(Unit):
    """A unit whose disk cache follows the files of the FMU loop."""

    @property
    def stamp(self) -> str:
        """What it was made from."""
        return _stamp()
