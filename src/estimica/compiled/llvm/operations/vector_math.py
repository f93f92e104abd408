"""What this computer has for vectors: registers, and the C library's functions where there are any
(glibc's libmvec, right to four units in the last place)."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

import llvmlite.binding as llvm

#: so many lanes has a call: libmvec's functions for AVX2, which every processor with AVX-512 has
CHUNK = 4
_LIBRARY = "libmvec.so.1"
_BINARY = frozenset({"pow", "atan2", "hypot"})


@cache
def _library() -> ctypes.CDLL | None:
    """The library, known to LLVM; None where it or the instructions that it uses are missing."""
    if not sys.platform.startswith("linux") or not llvm.get_host_cpu_features().get("avx2"):
        return None
    try:
        library = ctypes.CDLL(_LIBRARY)
        llvm.load_library_permanently(_LIBRARY)
    except (OSError, RuntimeError):
        return None
    return library


@cache
def vector_function(name: str) -> str:
    """The symbol of a function for CHUNK lanes, or nothing."""
    library = _library()
    symbol = f"_ZGVdN{CHUNK}{'vv' if name in _BINARY else 'v'}_{name}"
    return symbol if library is not None and hasattr(library, symbol) else ""


@cache
def register_lanes() -> int:
    """Doubles of one register of this processor."""
    features = llvm.get_host_cpu_features()
    return 8 if features.get("avx512f") else 4 if features.get("avx") else 2


def load_vector_math() -> None:
    """Lets code that was compiled before find the functions that it calls."""
    _library()
