"""FmuUnit: a part of the FMU loop that is compiled when it is first needed, and kept on disk."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from estimica.compiled import fmu_native
from estimica.compiled.numba_door import VERSIONS
from estimica.simulate.calls import Unit

_FILES = (
    "fmu_layout", "fmu_unit", "fmu_calls", "fmu_explicit", "fmu_stiff", "fmu_events",
    "fmu_samples", "fmu_steps", "fmu_driver", "fmu_cosimulation", "calls",
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
