"""The text for GPUs goes through NVIDIA's compiler, where that is installed; no GPU is needed."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.simulate.ensemble.cuda.build import program_of
from estimica.simulate.ensemble.cuda.program import Program

MODEL = """model Tanks
  parameter Real a = 0.3; parameter Real b = 0.2; input Real u;
  Real x(start = 1, fixed = true); output Real y(start = 0, fixed = true);
equation
  assert(x > -1, "empty");
  der(x) = u - a * sqrt(max(x, 0)) + 0.01 * sin(time); der(y) = a * sqrt(max(x, 0)) - b * y;
end Tanks;"""


def nvrtc() -> ctypes.CDLL:
    """The library of the package nvidia-cuda-nvrtc-cu12 (or -cu13)."""
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations or []) if found else []:
        for path in sorted(Path(folder).glob("*/lib/libnvrtc.so.*")):
            return ctypes.CDLL(str(path))
    pytest.skip("NVRTC is not installed (pip install nvidia-cuda-nvrtc-cu12)")


def compiled(library: ctypes.CDLL, text: str, mode: int) -> tuple[int, str]:
    """What the compiler says: 0, and its log."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"run.cu", 0, None, None)
    options = [b"--gpu-architecture=compute_80", b"--std=c++17", f"-DMODE={mode}".encode()]
    status = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * 3)(*options))
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return status, log.value.decode()


def test_nvrtc_takes_every_text() -> None:
    library = nvrtc()
    response = es.load_model(MODEL).response(
        np.linspace(0, 5, 6), {"u": ([0.0, 2.0], [0.1, 0.2])}, outputs=("y",), wrt=("a", "b"),
        begin=0.0,
    )  # fmt: skip
    program = program_of(response)
    assert isinstance(program, Program)
    assert len(program.methods) == 2
    for text in program.methods:
        for mode in range(3):
            assert compiled(library, text, mode) == (0, "")
