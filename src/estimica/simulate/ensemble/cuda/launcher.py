"""Launchers: who compiles a text and lets its threads run. One of them uses a GPU by CuPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

#: what a thread does with samples: adds them up, writes outputs, writes rows
SUMS, OUTPUTS, ROWS = range(3)
#: part of the free memory that one chunk of members may take (chosen: half is left for whoever
#: works with the results)
_SHARE = 0.5
#: results of a chunk on a device with plenty of room (chosen: enough members to fill it
#: many times)
_MOST_BYTES = 16 << 30


class Launcher(ABC):
    """Runs texts; `xp` is the array module of its memory."""

    xp: Any

    @abstractmethod
    def run(
        self, text: str, mode: int, count: int, block: int, arguments: Sequence[object]
    ) -> None:
        """Threads 0 … count - 1 of the text's function `run`, so many in a block."""

    @abstractmethod
    def room(self) -> int:
        """Bytes that one chunk may take."""

    @abstractmethod
    def to_host(self, array: Any) -> Any:
        """The same as an array of NumPy."""


class CupyLauncher(Launcher):
    """One GPU, the current device of CuPy."""

    def __init__(self) -> None:
        # an optional library, which takes a second to import
        import cupy

        self.xp = cupy
        self._kernels: dict[tuple[int, str, int], Any] = {}

    def run(
        self, text: str, mode: int, count: int, block: int, arguments: Sequence[object]
    ) -> None:
        """Compiled by NVRTC at first; CuPy keeps what was compiled in its folder."""
        device = int(self.xp.cuda.Device().id)
        key = (device, text, mode)
        if key not in self._kernels:
            options = ("--std=c++17", f"-DMODE={mode}")
            self._kernels[key] = self.xp.RawKernel(text, "run", options=options)
        self._kernels[key]((-(-count // block),), (block,), tuple(arguments))

    def room(self) -> int:
        """Part of what is free."""
        free, _ = self.xp.cuda.Device().mem_info
        pool = self.xp.get_default_memory_pool()
        return int(min(_SHARE * (free + pool.free_bytes()), _MOST_BYTES))

    def to_host(self, array: Any) -> Any:
        """Waits for the device."""
        return self.xp.asnumpy(array)


@cache
def this_device() -> CupyLauncher:
    """The one launcher of this process, which keeps what it has compiled."""
    return CupyLauncher()


def available() -> str:
    """Why there is no GPU to be used; empty where there is one."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed: pip install 'estimica[gpu]'"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA finds no device: {error}"
    return "" if count else "CUDA finds no device"


def pointer(array: Any) -> object:
    """An array as an argument: itself, or a null pointer where there is none."""
    return np.uint64(0) if array is None else array
