"""How compiled engine code is made, cached, and calls model functions by their address."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from estimica.base.process import python_command, python_environment
from estimica.compiled.llvm.numba import (
    VERSIONS,
    CFunc,
    Compiler,
    IndexDataCacheFile,
    intrinsic,
    ir,
    njit,
    types,
)

_NOTICE = "estimica: compiling the engine (once on this computer, some ten seconds) ..."
#: the engine allocates nothing, so that nothing needs to be counted (_nrt)
_SETTINGS = {"error_model": "numpy", "boundscheck": False, "_nrt": False}
#: reorder and fuse, but keep NaN and infinity: they are how a failed trial step shows itself
_LOOSE = {"contract", "reassoc", "nsz"}


class _NoAliasCompiler(Compiler):  # type: ignore[misc]
    """Compiles on the promise that what pointers point to does not overlap; loops are then
    vectorised without tests at run time."""

    def define_pipelines(self) -> Any:
        self.state.flags.noalias = True
        return super().define_pipelines()


def _inner(settings: dict[str, Any], function: Callable[..., Any]) -> Any:
    """A function for compiled callers only, compiled once however they spell their constants."""
    dispatcher = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **settings)(function)
    template = dispatcher.get_call_template

    def plain_template(args: Any, kws: Any) -> Any:
        return template(
            tuple(types.unliteral(a) for a in args),
            {name: types.unliteral(a) for name, a in kws.items()},
        )

    dispatcher.get_call_template = plain_template
    return dispatcher


def engine_function(function: Callable[..., Any]) -> Any:
    """An inner function of the engine."""
    return _inner(_SETTINGS, function)


def loop_function(function: Callable[..., Any]) -> Any:
    """One that is loops of arithmetic only, over vectors that do not overlap."""
    return _inner({"fastmath": _LOOSE, "pipeline_class": _NoAliasCompiler, **_SETTINGS}, function)


@cache
def engine_stamp() -> str:
    """Numba looks at one file only; the engine is its folder, and the loop over points."""
    engine = Path(__file__).parent
    return stamp_of(
        VERSIONS,
        engine,
        engine.parent / "points" / "layout.py",
        engine.parent / "points" / "loop.py",
    )


def stamp_of(versions: str, *places: Path) -> str:
    """Changes whenever one of these files does, or one in these folders, however deep."""
    digest = hashlib.sha256(versions.encode())
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(f"{path.name}\n".encode())  # what moves from file to file changes it too
            digest.update(path.read_bytes())
    return digest.hexdigest()


#: every unit: (iw, rw: pointers; t, h: reals; a, b: whole numbers) -> whole number. Pointers, since
#: an array travels through a call as seven words
_UNIT = types.int64(
    types.CPointer(types.int64), types.CPointer(types.float64), types.float64, types.float64,
    types.int64, types.int64,
)  # fmt: skip


class Unit:
    """A part of the engine that is compiled when it is first needed, kept on disk, and called by
    its address; so a plain model does not wait for the parts that only others use.

    It is compiled in a process of its own and read from disk. Code that was compiled here would
    call functions that other units have too in the form that those were first compiled to, which
    rounds in another order: the first run on a computer would differ from all others in its last
    digits, and from its own workers.
    """

    def __init__(self, function: Callable[..., int]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._apart = True

    @property
    def name(self) -> str:
        """The name of its function."""
        return self._function.__name__

    @property
    def stamp(self) -> str:
        """What it was made from; Numba looks at one file only, the engine is many."""
        return engine_stamp()

    def compile_here(self) -> None:
        """Compile it in this process and keep it, where it is not kept yet."""
        self._apart = False
        self._compiled  # noqa: B018

    @cached_property
    def _compiled(self) -> Any:
        with self._lock:
            if "_compiled" in self.__dict__:
                return self.__dict__["_compiled"]
            unit = CFunc(self._function, (_UNIT.args, _UNIT.return_type), {}, dict(_SETTINGS))
            try:
                unit.enable_caching()
                self._tie(unit._cache)
            except RuntimeError:  # no folder can be written to: compile in every process
                pass
            unit.compile()
            return unit

    def _tie(self, storage: Any) -> None:
        """Ties the disk cache to the whole engine, and has compiled what it does not hold."""
        stamp, base = self.stamp[:12], storage._impl.filename_base
        storage._cache_file = IndexDataCacheFile(  # a file of its own: two versions never mix
            cache_path=storage._cache_path, filename_base=f"{base}-{stamp}", source_stamp=stamp
        )
        load = storage.load_overload

        def load_or_compile(signature: Any, context: Any) -> Any:
            found = load(signature, context)
            if found is None and self._apart:
                _announce_compilation()
                _remove_outdated(Path(storage._cache_path), base, stamp)
                self._compile_apart()
                found = load(signature, context)
            return found

        storage.load_overload = load_or_compile

    def _compile_apart(self) -> None:
        """Where that fails, because memory ran out say, it is compiled here."""
        unit = (str(os.getpid()), self._function.__module__, self.name)
        with contextlib.suppress(OSError):
            subprocess.run(
                python_command("-m", "estimica.simulate.engine.compiler", *unit),
                env=python_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )

    @property
    def address(self) -> int:
        """Where the machine code is."""
        return int(self._compiled.address)

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


def _remove_outdated(folder: Path, base: str, stamp: str) -> None:
    """Files that other versions of the engine have left behind, when they are a day old."""
    for path in folder.glob(f"{base}-*.nb[ci]"):
        with contextlib.suppress(OSError):
            if stamp not in path.name and time.time() - path.stat().st_mtime > 86_400:
                path.unlink()


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
