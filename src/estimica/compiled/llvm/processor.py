"""LLVM for this processor."""

from __future__ import annotations

import ctypes
import sys
import threading

import llvmlite.binding as llvm

from estimica.compiled.llvm.operations.instructions import LIBRARY_FUNCTIONS
from estimica.compiled.llvm.operations.vector_math import load_vector_math

_ready = threading.Lock()
_initialised = False


def initialise_llvm() -> None:
    """Tells LLVM about this processor and, on Windows, where the C library is."""
    global _initialised
    with _ready:
        if _initialised:
            return
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        load_vector_math()
        if sys.platform == "win32":  # pragma: no cover
            library = ctypes.CDLL("ucrtbase")
            for name in LIBRARY_FUNCTIONS:
                pointer = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
                llvm.add_symbol(name, pointer)
        _initialised = True
