"""How compiled engine code is made, kept, and calls model functions by their address.

What is kept is loaded by LLVM alone; Numba is imported only where something has to be compiled.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from estimica.base.process import python_command, python_environment
from estimica.compiled import llvm
from estimica.compiled.llvm.deferred import ir, types

_NOTICE = "estimica: compiling the engine (once on this computer, some ten seconds) ..."
#: the engine allocates nothing, so that nothing needs to be counted (_nrt)
_SETTINGS = {"error_model": "numpy", "boundscheck": False, "_nrt": False}
#: reorder and fuse, but keep NaN and infinity: they are how a failed trial step shows itself
_LOOSE = {"contract", "reassoc", "nsz"}
#: of stamps in names of files: enough that no two are alike
_SHOWN = 12
#: only for code that is already made
_LEVEL = 2
#: the function of a unit's object code
_ENTRY = "unit"


class _Inner:
    """A function for compiled callers only, which Numba is told of when it compiles one of them."""

    def __init__(self, function: Callable[..., Any], loose: bool) -> None:
        self._function = function
        self._loose = loose

    @property
    def _numba_type_(self) -> Any:
        return self._dispatcher._numba_type_

    @cached_property
    def _dispatcher(self) -> Any:
        from estimica.compiled.llvm.numba_code import inner_function

        more = {"fastmath": _LOOSE} if self._loose else {}
        return inner_function(self._function, {**more, **_SETTINGS}, apart=self._loose)


class _Intrinsic:
    """A function for compiled callers only, whose LLVM code is written at every call."""

    def __init__(self, define: Callable[..., Any]) -> None:
        self._define = define

    @cached_property
    def _numba_type_(self) -> Any:
        from estimica.compiled.llvm.numba_code import intrinsic_type

        return intrinsic_type(self, self._define)


def engine_function(function: Callable[..., Any]) -> Any:
    """An inner function of the engine."""
    return _Inner(function, loose=False)


def loop_function(function: Callable[..., Any]) -> Any:
    """One that is loops of arithmetic only, over vectors that do not overlap."""
    return _Inner(function, loose=True)


def intrinsic(define: Callable[..., Any]) -> Any:
    """One whose code `define` writes: (typing context, types of arguments) -> signature, writer."""
    return _Intrinsic(define)


@cache
def engine_stamp() -> str:
    """The engine is its folder, the loop over points and the start; and what compiles them."""
    engine = Path(__file__).parent
    starts = engine.parent / "starts"
    return stamp_of(
        "",
        Path(llvm.__file__).parent / "numba_code.py",
        _numba_version(),
        engine,
        engine.parent / "points" / "layout.py",
        engine.parent / "points" / "loop.py",
        engine.parent / "roots" / "newton.py",
        *(starts / f"{name}.py" for name in ("layout", "newton", "single_root", "member")),
    )


def _numba_version() -> Path:
    """The file that says which version of Numba there is, without importing it."""
    spec = find_spec("numba")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "_version.py"


def stamp_of(versions: str, *places: Path) -> str:
    """Changes whenever one of these files does, or one in these folders, however deep."""
    digest = hashlib.sha256(versions.encode())
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(f"{path.name}\n".encode())  # what moves from file to file changes it too
            digest.update(path.read_bytes())
    return digest.hexdigest()


class Unit:
    """A part of the engine that is compiled when it is first needed, kept on disk, and called by
    its address; so a plain model does not wait for the parts that only others use.

    Every unit: (iw, rw: pointers; t, h: reals; a, b: whole numbers) -> whole number. It is compiled
    in a process of its own and read from disk. Code that was compiled here would call functions
    that other units have too in the form that those were first compiled to, which rounds in another
    order: the first run on a computer would differ from all others in its last digits, and from its
    own workers.
    """

    def __init__(self, function: Callable[..., int]) -> None:
        self._function = function
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of its function."""
        return self._function.__name__

    @property
    def stamp(self) -> str:
        """What it was made from."""
        return engine_stamp()

    def compile_here(self) -> bytes:
        """Compile it in this process and keep it."""
        from estimica.compiled.llvm.numba_code import unit_object
        from estimica.compiled.llvm.object_files import write_object
        from estimica.compiled.llvm.processor import initialise_llvm

        initialise_llvm()
        code = unit_object(self._function, _SETTINGS, _ENTRY)
        write_object(self._source, self._file, code)
        return code

    @cached_property
    def _engine(self) -> Any:
        from estimica.compiled.llvm.object_code import engine_of, host_machine
        from estimica.compiled.llvm.object_files import drop_outdated, read_object
        from estimica.compiled.llvm.processor import initialise_llvm

        with self._lock:
            if "_engine" in self.__dict__:
                return self.__dict__["_engine"]
            initialise_llvm()
            code = read_object(self._source, self._file)
            if code is None:
                _announce_compilation()
                drop_outdated(self._source, self._base, self.stamp[:_SHOWN])
                self._compile_apart()
                code = read_object(self._source, self._file) or self.compile_here()
            return engine_of(code, host_machine(_LEVEL))

    @property
    def _source(self) -> Path:
        return Path(self._function.__code__.co_filename)

    @property
    def _base(self) -> str:
        return f"{self._function.__module__}.{self.name}"

    @property
    def _file(self) -> str:
        """Two versions never mix, nor the code of two processors."""
        from estimica.compiled.llvm.object_code import host_stamp

        return f"{self._base}-{self.stamp[:_SHOWN]}-{host_stamp()[:_SHOWN]}"

    def _compile_apart(self) -> None:
        """Where that fails, because memory ran out say, it is compiled here."""
        unit = (str(os.getpid()), self._function.__module__, self.name)
        with contextlib.suppress(OSError):
            subprocess.run(
                python_command("-m", "estimica.simulate.engine.compiler", *unit),
                # vector functions of another library would have to be found again
                env={**python_environment(), "NUMBA_DISABLE_INTEL_SVML": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )

    @property
    def address(self) -> int:
        """Where the machine code is."""
        return int(self._engine.get_function_address(_ENTRY))

    @cached_property
    def run(self) -> Callable[..., int]:
        """The unit as a Python function, which lets go of the interpreter's lock."""
        whole, real = ctypes.c_int64, ctypes.c_double
        prototype = ctypes.CFUNCTYPE(whole, whole, whole, real, real, whole, whole)
        return prototype(self.address)


@cache
def _announce_compilation() -> None:
    """Say once why it takes so long."""
    print(_NOTICE, file=sys.stderr, flush=True)


@intrinsic
def call_unit(typing: Any, unit: Any, iw: Any, rw: Any, t: Any, h: Any, a: Any, b: Any) -> Any:
    """Calls a unit by its address."""
    word, real = types.int64, types.float64
    signature = word(word, iw, rw, real, real, word, word)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [v.type for v in values[1:]])
        pointer = builder.inttoptr(values[0], kind.as_pointer())
        return builder.call(pointer, list(values[1:]))

    return signature, generate


@intrinsic
def reals_at(typing: Any, place: Any) -> Any:
    """The pointer to the reals at an address."""
    signature = types.CPointer(types.float64)(types.int64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return signature, generate


@intrinsic
def wholes_at(typing: Any, place: Any) -> Any:
    """The pointer to the whole numbers at an address."""
    signature = types.CPointer(types.int64)(types.int64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return signature, generate


@intrinsic
def call_model(typing: Any, function: Any, arguments: Any, results: Any) -> Any:
    """Calls `void f(double**, double**)`; all three are addresses."""
    signature = types.void(types.int64, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word, word])
        pointer = builder.inttoptr(values[0], kind.as_pointer())
        builder.call(pointer, [values[1], values[2]])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def address(typing: Any, pointer: Any) -> Any:
    """The address behind a pointer."""
    signature = types.int64(pointer)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.ptrtoint(values[0], ir.IntType(64))

    return signature, generate


@intrinsic
def part(typing: Any, pointer: Any, start: Any) -> Any:
    """The pointer to element `start` of what a pointer points to."""
    signature = pointer(pointer, types.int64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.gep(values[0], [values[1]])

    return signature, generate
