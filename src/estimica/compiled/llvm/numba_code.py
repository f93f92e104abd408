"""Functions of Python by Numba: machine code that needs Numba no more, and what it may call.

Importing this imports Numba, which takes longer than many a fit: only who compiles does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import llvmlite.binding as llvm

from estimica.compiled.llvm.numba import (
    CFunc,
    Compiler,
    config,
    make_intrinsic_template,
    njit,
    types,
)
from estimica.compiled.llvm.object_code import host_machine

#: what the native function of Numba says where it raises; no unit does
_RAISED = -1


class _NoAliasCompiler(Compiler):  # type: ignore[misc]
    """Compiles on the promise that what pointers point to does not overlap; loops are then
    vectorised without tests at run time."""

    def define_pipelines(self) -> Any:
        self.state.flags.noalias = True
        return super().define_pipelines()


def inner_function(function: Callable[..., Any], settings: Mapping[str, Any], apart: bool) -> Any:
    """A function for compiled callers only, compiled once however they spell their
    constants; `apart`: what its arguments point to does not overlap."""
    more = {"pipeline_class": _NoAliasCompiler} if apart else {}
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **settings, **more}
    dispatcher = njit(**options)(function)
    template = dispatcher.get_call_template

    def plain_template(args: Any, kws: Any) -> Any:
        return template(
            tuple(types.unliteral(a) for a in args),
            {name: types.unliteral(a) for name, a in kws.items()},
        )

    dispatcher.get_call_template = plain_template
    return dispatcher


def intrinsic_type(handle: object, define: Callable[..., Any]) -> Any:
    """The type of a function whose LLVM code `define` writes at every call."""
    return types.Function(make_intrinsic_template(handle, define, define.__name__))


def unit_object(function: Callable[..., int], settings: Mapping[str, Any], entry: str) -> bytes:
    """The object code of a function (iw, rw: pointers; t, h: reals; a, b: whole numbers) -> whole
    number, under the name `entry`; pointers, since an array travels through a call as seven words.

    Numba's own door to it would need the interpreter and Numba's run-time library, only to tell of
    errors that cannot be raised; it is left out.
    """
    whole, real = types.int64, types.float64
    arguments = (types.CPointer(whole), types.CPointer(real), real, real, whole, whole)
    unit = CFunc(function, (arguments, whole), {}, dict(settings))
    unit.compile()
    native = unit._wrapper_name.removeprefix("cfunc.")
    module = llvm.parse_assembly(f"{unit._library.get_llvm_str()}\n{_door(entry, native)}")
    module.verify()
    for inside in module.functions:
        if not inside.is_declaration and inside.name != entry:
            inside.linkage = "internal"
    machine = host_machine(config.OPT)
    tidy = llvm.create_new_module_pass_manager()
    tidy.add_global_dead_code_eliminate_pass()
    tidy.add_strip_dead_prototype_pass()
    tidy.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0)))
    code: bytes = machine.emit_object(module)
    return code


def _door(entry: str, native: str) -> str:
    return f"""
define i64 @{entry}(ptr %iw, ptr %rw, double %t, double %h, i64 %a, i64 %b) nounwind {{
  %result = alloca i64
  %raised = alloca ptr
  %code = call i32 @{native}(ptr %result, ptr %raised, ptr %iw, ptr %rw, double %t, double %h,
                             i64 %a, i64 %b)
  %fine = icmp eq i32 %code, 0
  %value = load i64, ptr %result
  %given = select i1 %fine, i64 %value, i64 {_RAISED}
  ret i64 %given
}}
"""
