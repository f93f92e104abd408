"""LLVM assembly to machine code in memory, kept on disk where nobody else can put anything.

What is kept is found by a hash of the assembly, the processor and the version of LLVM, so that it
is the code that compiling would give again. Machine code is as good as a program: it is kept and
run only from a folder that this user alone can write to, and only where its checksum is right.
"""

from __future__ import annotations

import hashlib
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from estimica.source.cache import drop_entry, is_private, read_entry, write_entry

_KIND = "code"
#: shorter assembly compiles as quickly as it is found
_SHORT = 30_000
_CHECKSUM = hashlib.sha256().digest_size


def load_object_code(assembly: str, level: int) -> Any:
    """The engine that holds the functions of `assembly`, optimised to `level`."""
    machine = host_machine(level)
    if len(assembly) < _SHORT or not is_private(_KIND):
        return _compiled(assembly, level, machine, "")
    key = _key(assembly, level)
    content = read_entry(_KIND, key)
    if content is None:
        return _compiled(assembly, level, machine, key)
    code = content[_CHECKSUM:]
    if hashlib.sha256(code).digest() != content[:_CHECKSUM]:
        drop_entry(_KIND, key)
        return _compiled(assembly, level, machine, key)
    return engine_of(code, machine)


def engine_of(code: bytes, machine: Any) -> Any:
    """The engine that holds the functions of object code."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _key(assembly: str, level: int) -> str:
    return hashlib.sha256(f"{(level, *_host())!r}\n{assembly}".encode()).hexdigest()


def host_stamp() -> str:
    """Changes with the processor and with what makes code for it."""
    return hashlib.sha256(repr(_host()).encode()).hexdigest()


def _host() -> tuple[object, ...]:
    versions = (
        llvmlite.__version__,
        llvm.llvm_version_info,
        llvm.get_process_triple(),
    )
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), versions


def host_machine(level: int) -> Any:
    """What makes code for this processor, optimised to `level`."""
    return llvm.Target.from_default_triple().create_target_machine(
        opt=level, cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten()
    )


def _compiled(assembly: str, level: int, machine: Any, key: str) -> Any:
    """Compile, and keep the result under `key` where there is one."""
    module = llvm.parse_assembly(assembly)
    if level > 0:
        tuning = llvm.create_pipeline_tuning_options(speed_level=level)
        tuning.slp_vectorization = level == 2
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    if key:
        engine.set_object_cache(lambda _, code: _keep(key, code), None)
    engine.finalize_object()
    return engine


def _keep(key: str, code: bytes) -> None:
    write_entry(_KIND, key, hashlib.sha256(code).digest() + code)
