"""FmuLibrary: the shared library of an FMU in this process, with a pool of its instances.

Only the host process makes one: native code may take its process down.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base.arrays import Indices
from estimica.base.errors import ModelError
from estimica.simulate.fmu.archive import require_intact
from estimica.simulate.fmu.description import INTERFACES, Interface

_STATUSES = ("OK", "warning", "discard", "error", "fatal", "pending")


@dataclass(frozen=True)
class FmuBinary:
    """What is needed to load an FMU."""

    name: str
    folder: str
    fmi: int
    interface: Interface
    identifier: str
    token: str
    once: bool
    unpacked: str  # digest of the folder's content


class FmuLibrary:
    """Loads the binary; instances are made when they are first needed and kept."""

    def __init__(self, binary: FmuBinary, functions: Sequence[tuple[str, str]]) -> None:
        self.binary = binary
        self.log: deque[str] = deque(maxlen=8)
        self._pool: list[Any] = []
        self._callbacks: Any = None
        require_intact(binary.name, Path(binary.folder), binary.unpacked)
        self._first = self._loaded(0)
        library = self._first.dll
        chosen = [pair[0 if binary.fmi == 2 else 1] for pair in functions]
        self.addresses: Indices = np.array([_address(library, name) for name in chosen], np.int64)

    def instances(self, count: int) -> tuple[list[int], list[bool]]:
        """Pointers to so many instances, and whether each has run before."""
        used = [True] * min(len(self._pool), count)
        while len(self._pool) < count:
            fmu = self._first if not self._pool else self._loaded(len(self._pool))
            self._instantiate(fmu)
            self._pool.append(fmu)
            used.append(False)
        return [_pointer(fmu) for fmu in self._pool[:count]], used

    def renew(self) -> None:
        """Throws all instances away, where one cannot be reset."""
        for fmu in self._pool:
            name = f"fmi{self.binary.fmi}FreeInstance"
            getattr(fmu.dll, name)(ctypes.c_void_p(_pointer(fmu)))
        self._pool = []

    def _loaded(self, number: int) -> Any:
        from fmpy.fmi2 import FMU2Model, FMU2Slave
        from fmpy.fmi3 import FMU3Model, FMU3Slave

        classes: dict[tuple[int, str], Any] = {
            (2, "me"): FMU2Model, (2, "cs"): FMU2Slave, (3, "me"): FMU3Model, (3, "cs"): FMU3Slave
        }  # fmt: skip
        b = self.binary
        try:
            return classes[b.fmi, b.interface](
                guid=b.token,
                modelIdentifier=b.identifier,
                unzipDirectory=b.folder,
                instanceName=f"{b.identifier}{number}",
                requireFunctions=False,
            )
        except Exception as error:  # FMPy raises plain exceptions
            raise ModelError(
                "M212", f"'{b.name}': its binary cannot be loaded: {error}; what does it depend on?"
            ) from None

    def _instantiate(self, fmu: Any) -> None:
        self.log.clear()
        for noisy in (False, True):  # a second time to hear why
            try:
                if self.binary.fmi == 2:
                    fmu.instantiate(callbacks=self._fmi2_callbacks(), loggingOn=noisy)
                else:
                    fmu.instantiate(logMessage=self._hear3, loggingOn=noisy)
            except Exception:  # FMPy raises plain exceptions
                continue
            if noisy:
                self._quiet(fmu)
            return
        said = f" It says: {'; '.join(self.log)}" if self.log else ""
        kind = INTERFACES[self.binary.interface]
        raise ModelError(
            "M213",
            f"'{self.binary.name}' refuses to be instantiated for {kind}; it may need a licence, "
            f"its resources, or the tool that made it.{said}",
        )

    def _quiet(self, fmu: Any) -> None:
        name = f"fmi{self.binary.fmi}SetDebugLogging"
        getattr(fmu.dll, name)(ctypes.c_void_p(_pointer(fmu)), 0, ctypes.c_size_t(0), None)

    def _fmi2_callbacks(self) -> Any:
        if self._callbacks is None:
            from fmpy import calloc, fmi2, free
            from fmpy.logging import addLoggerProxy

            found = fmi2.fmi2CallbackFunctions()
            found.logger = fmi2.fmi2CallbackLoggerTYPE(self._hear2)
            found.allocateMemory = fmi2.fmi2CallbackAllocateMemoryTYPE(calloc)
            found.freeMemory = fmi2.fmi2CallbackFreeMemoryTYPE(free)
            addLoggerProxy(ctypes.byref(found))
            self._callbacks = found
        return self._callbacks

    def _hear2(self, _: Any, __: Any, status: int, category: bytes, message: bytes) -> None:
        self._hear(status, message)

    def _hear3(self, _: Any, status: int, category: bytes, message: bytes) -> None:
        self._hear(status, message)

    def _hear(self, status: int, message: bytes | None) -> None:
        text = (message or b"").decode("utf-8", "replace").strip()
        if text and status > 0 and text not in self.log:
            self.log.append(text[:500])


def require_binary(path: Path, binary: FmuBinary) -> None:
    """There is a binary for this platform, or it is told which there are."""
    from fmpy import platform, platform_tuple, sharedLibraryExtension

    here = platform if binary.fmi == 2 else platform_tuple
    folder = Path(binary.folder) / "binaries"
    if (folder / here / f"{binary.identifier}{sharedLibraryExtension}").is_file():
        return
    there = sorted(p.name for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    listed = f"only for {', '.join(there)}" if there else "for no platform"
    raise ModelError(
        "M211",
        f"'{path.name}' has no binary for this platform, {here}; {listed}: "
        "export it for this platform, or compile its sources with `fmpy compile`",
    )


def _address(library: Any, name: str) -> int:
    if not name:
        return 0
    function = getattr(library, name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def _pointer(fmu: Any) -> int:
    component = fmu.component
    return int(component if isinstance(component, int) else component.value)
