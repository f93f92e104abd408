"""FmuUnit: a part of the FMU loop that is compiled when it is first needed, and kept on disk."""

from __future__ import annotations

import hashlib
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import IndexDataCacheFile
from numba.core.ccallback import CFunc

from estimica.compiled import fmu_native
from estimica.simulate.calls import _SETTINGS, _UNIT, Unit

_FILES = (
    "fmu_layout", "fmu_unit", "fmu_calls", "fmu_explicit", "fmu_stiff", "fmu_events",
    "fmu_samples", "fmu_steps", "fmu_driver", "fmu_cosimulation", "calls",
)  # fmt: skip


@cache
def _stamp() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    files = [Path(__file__).with_name(f"{name}.py") for name in _FILES]
    for path in (*files, Path(fmu_native.__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class FmuUnit(Unit):
    """A unit whose disk cache follows the files of the FMU loop."""

    @cached_property
    def _compiled(self) -> Any:
        unit = CFunc(self._function, (_UNIT.args, _UNIT.return_type), {}, dict(_SETTINGS))
        try:
            unit.enable_caching()
            storage = unit._cache
            storage._cache_file = IndexDataCacheFile(
                cache_path=storage._cache_path,
                filename_base=f"{storage._impl.filename_base}-{_stamp()}",
                source_stamp=_stamp(),
            )
        except RuntimeError:  # no folder can be written to: compile in every process
            pass
        unit.compile()
        return unit
