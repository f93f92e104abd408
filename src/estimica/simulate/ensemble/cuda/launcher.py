"""Launchers: who compiles a text and lets its threads run. One of them uses a GPU by CuPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

#: threads of a block, as the text says it
_BLOCK = 64
#: part of the free memory that one chunk of members may take (chosen: half is left for whoever
#: works with the results)
_SHARE = 0.5
#: results of a chunk on a device with plenty of room (chosen: 4 GiB are quick to hand over)
_MOST_BYTES = 4 << 30


class Launcher(ABC):
    """Runs texts; `xp` is the array module of its memory."""

    xp: Any

    @abstractmethod
    def run(self, text: str, write: bool, count: int, arguments: Sequence[object]) -> None:
        """Threads 0 … count - 1 of the text's function `run`."""

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
        self._kernels: dict[tuple[int, str, bool], Any] = {}

    def run(self, text: str, write: bool, count: int, arguments: Sequence[object]) -> None:
        """Compiled by NVRTC at first; CuPy keeps what was compiled in its folder."""
        device = int(self.xp.cuda.Device().id)
        key = (device, text, write)
        if key not in self._kernels:
            options = ("--std=c++17", f"-DWRITE={int(write)}")
            self._kernels[key] = self.xp.RawKernel(text, "run", options=options)
        self._kernels[key]((-(-count // _BLOCK),), (_BLOCK,), tuple(arguments))

    def room(self) -> int:
        """Part of what is free."""
        free, _ = self.xp.cuda.Device().mem_info
        pool = self.xp.get_default_memory_pool()
        return int(min(_SHARE * (free + pool.free_bytes()), _MOST_BYTES))

    def to_host(self, array: Any) -> Any:
        """Waits for the device."""
        return self.xp.asnumpy(array)


def available() -> str:
    """Why there is no GPU to be used; empty where there is one."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed (pip install estimica[gpu])"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA finds no device: {error}"
    return "" if count else "CUDA finds no device"


def pointer(array: Any) -> object:
    """An array as an argument: itself, or a null pointer where there is none."""
    return np.uint64(0) if array is None else array
