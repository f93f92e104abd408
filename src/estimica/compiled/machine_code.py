"""CasADi SX functions as machine code, by LLVM: no C compiler, the same bits as CasADi itself.

A compiled function has the signature `void f(double** arg, double** res)`: tables of pointers to
the nonzeros of its inputs and outputs. Unused inputs are never read.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import struct
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import llvmlite.binding as llvm

_LIBM = {  # unary functions of the C library
    ca.OP_SIN: "sin", ca.OP_COS: "cos", ca.OP_TAN: "tan", ca.OP_ASIN: "asin", ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan", ca.OP_SINH: "sinh", ca.OP_COSH: "cosh", ca.OP_TANH: "tanh",
    ca.OP_ASINH: "asinh", ca.OP_ACOSH: "acosh", ca.OP_ATANH: "atanh", ca.OP_EXP: "exp",
    ca.OP_LOG: "log", ca.OP_LOG1P: "log1p", ca.OP_EXPM1: "expm1", ca.OP_ERF: "erf",
}  # fmt: skip
_LIBM2 = {  # binary ones
    ca.OP_POW: "pow", ca.OP_CONSTPOW: "pow", ca.OP_ATAN2: "atan2", ca.OP_FMOD: "fmod",
    ca.OP_HYPOT: "hypot", ca.OP_REMAINDER: "remainder",
}  # fmt: skip
_INTRINSIC = {
    ca.OP_SQRT: "sqrt", ca.OP_FABS: "fabs", ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil",
}  # fmt: skip
_INTRINSIC2 = {ca.OP_FMIN: "minnum", ca.OP_FMAX: "maxnum", ca.OP_COPYSIGN: "copysign"}
_ARITHMETIC = {ca.OP_ADD: "fadd", ca.OP_SUB: "fsub", ca.OP_MUL: "fmul", ca.OP_DIV: "fdiv"}
_COMPARISON = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}

#: longer functions are cut into parts, since the optimiser's time grows faster than their length
_PART = 600
#: instructions from which on the optimiser is told to hurry
_LARGE, _HUGE = 20_000, 100_000


@dataclass(frozen=True, eq=False)
class MachineCode:
    """Functions in memory; their addresses are valid as long as this object lives."""

    addresses: dict[str, int]
    engine: Any


class _Writer:
    """Writes one function as LLVM assembly; values are names or hexadecimal constants."""

    def __init__(self, function: ca.Function) -> None:
        self.function = function
        self.lines: list[str] = []
        self.stores: list[str] = []  # at the end, so that the optimiser may use vectors
        self.count = 0
        self.externals: set[str] = set()
        self.pointers: dict[str, str] = {}
        self.loaded: dict[tuple[int, int], str] = {}

    def value(self, text: str) -> str:
        """Names the result of an instruction."""
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def call(self, name: str, *args: str) -> str:
        signature = ", ".join(["double"] * len(args))
        self.externals.add(f"declare double @{name}({signature})")
        return self.value(f"call double @{name}({', '.join('double ' + a for a in args)})")

    def number(self, condition: str) -> str:
        """0.0 or 1.0 for an i1."""
        return self.value(f"uitofp i1 {condition} to double")

    def select(self, condition: str, yes: str, no: str) -> str:
        return self.value(f"select i1 {condition}, double {yes}, double {no}")

    def compare(self, predicate: str, a: str, b: str) -> str:
        return self.value(f"fcmp {predicate} double {a}, {b}")

    def element(self, table: str, index: int, offset: int) -> str:
        """The pointer to one nonzero of one argument or result."""
        key = f"{table}{index}"
        if key not in self.pointers:
            slot = self.value(f"getelementptr ptr, ptr %{table}, i64 {index}")
            self.pointers[key] = self.value(f"load ptr, ptr {slot}")
        if offset == 0:
            return self.pointers[key]
        return self.value(f"getelementptr double, ptr {self.pointers[key]}, i64 {offset}")

    def load(self, index: int, offset: int) -> str:
        """Each input is read once, so stores in between force no second reading."""
        if (index, offset) not in self.loaded:
            pointer = self.element("arg", index, offset)
            self.loaded[index, offset] = self.value(f"load double, ptr {pointer}")
        return self.loaded[index, offset]

    def write(self) -> str:
        """The whole function; a long one calls its parts, which hand values on in memory."""
        f = self.function
        n, name = f.n_instructions(), f.name()
        if n <= _PART:
            return self.part(range(n), f"void @{name}(ptr %arg, ptr %res)", frozenset())
        starts = range(0, n, _PART)
        parts, calls = [], []
        for number, (start, kept) in enumerate(zip(starts, self.handed_on(starts), strict=True)):
            header = f"internal void @{name}.{number}(ptr %arg, ptr %res, ptr %w) noinline"
            parts.append(self.part(range(start, min(start + _PART, n)), header, kept))
            calls.append(f"  call void @{name}.{number}(ptr %arg, ptr %res, ptr %w)\n")
        return "".join(parts) + (
            f"define void @{name}(ptr %arg, ptr %res) nounwind {{\n"
            f"  %w = alloca [{f.sz_w()} x double]\n{''.join(calls)}  ret void\n}}\n"
        )

    def handed_on(self, starts: range) -> list[frozenset[int]]:
        """For each part, the places of the work vector that later parts read."""
        f, live, found = self.function, set[int](), []
        for k in range(f.n_instructions() - 1, -1, -1):
            if k + 1 == f.n_instructions() or k + 1 in starts:
                found.append(frozenset(live))
            op = f.instruction_id(k)
            if op != ca.OP_OUTPUT:
                live.discard(f.instruction_output(k)[0])
            if op not in (ca.OP_CONST, ca.OP_INPUT):
                live.update(f.instruction_input(k))
        return found[::-1]

    def part(self, instructions: range, header: str, kept: frozenset[int]) -> str:
        """One function that runs some of the instructions."""
        f = self.function
        self.lines, self.stores, self.pointers, self.loaded = [], [], {}, {}
        work: dict[int, str] = {}
        own: set[int] = set()

        def read(place: int) -> str:
            if place not in work:
                pointer = self.value(f"getelementptr double, ptr %w, i64 {place}")
                work[place] = self.value(f"load double, ptr {pointer}")
            return work[place]

        for k in instructions:
            op, out, args = f.instruction_id(k), f.instruction_output(k), f.instruction_input(k)
            if op == ca.OP_OUTPUT:
                pointer = self.element("res", out[0], out[1])
                self.stores.append(f"  store double {read(args[0])}, ptr {pointer}")
                continue
            if op == ca.OP_CONST:
                value = _constant(f.instruction_constant(k))
            elif op == ca.OP_INPUT:
                value = self.load(args[0], args[1])
            else:
                value = self.operation(op, [read(a) for a in args])
            work[out[0]] = value
            own.add(out[0])
        for place in sorted(kept & own):
            pointer = self.value(f"getelementptr double, ptr %w, i64 {place}")
            self.stores.append(f"  store double {work[place]}, ptr {pointer}")
        body = "\n".join(self.lines + self.stores)
        return f"define {header} nounwind {{\n{body}\n  ret void\n}}\n"

    def operation(self, op: int, a: list[str]) -> str:
        """One elementary operation on values."""
        if op in _ARITHMETIC:
            return self.value(f"{_ARITHMETIC[op]} double {a[0]}, {a[1]}")
        if op in _LIBM:
            return self.call(_LIBM[op], a[0])
        if op in _LIBM2:
            return self.call(_LIBM2[op], a[0], a[1])
        if op in _INTRINSIC:
            return self.call(f"llvm.{_INTRINSIC[op]}.f64", a[0])
        if op in _INTRINSIC2:
            return self.call(f"llvm.{_INTRINSIC2[op]}.f64", a[0], a[1])
        if op in _COMPARISON:
            return self.number(self.compare(_COMPARISON[op], a[0], a[1]))
        if op in (ca.OP_ASSIGN, ca.OP_LIFT):
            return a[0]
        return self.special(op, a)

    def special(self, op: int, a: list[str]) -> str:
        """The operations that are more than one instruction, or none of the groups."""
        if op == ca.OP_NEG:
            return self.value(f"fneg double {a[0]}")
        if op == ca.OP_SQ:
            return self.value(f"fmul double {a[0]}, {a[0]}")
        if op == ca.OP_TWICE:
            return self.value(f"fadd double {a[0]}, {a[0]}")
        if op == ca.OP_INV:
            return self.value(f"fdiv double {_ONE}, {a[0]}")
        if op == ca.OP_NOT:
            return self.number(self.compare("oeq", a[0], _ZERO))
        if op == ca.OP_IF_ELSE_ZERO:
            return self.select(self.compare("une", a[0], _ZERO), a[1], _ZERO)
        if op in (ca.OP_AND, ca.OP_OR):
            left, right = (self.compare("une", v, _ZERO) for v in a)
            word = "and" if op == ca.OP_AND else "or"
            return self.number(self.value(f"{word} i1 {left}, {right}"))
        if op == ca.OP_SIGN:
            positive = self.select(self.compare("ogt", a[0], _ZERO), _ONE, a[0])
            return self.select(self.compare("olt", a[0], _ZERO), _constant(-1.0), positive)
        if op == ca.OP_ERFINV:
            return self.erfinv(a[0])
        raise NotImplementedError(f"CasADi operation {op} has no machine code")

    def polynomial(self, coefficients: Sequence[float], z: str) -> str:
        """Horner's rule, highest power first."""
        result = _constant(coefficients[0])
        for c in coefficients[1:]:
            product = self.value(f"fmul double {result}, {z}")
            result = self.value(f"fadd double {product}, {_constant(c)}")
        return result

    def erfinv(self, x: str) -> str:
        """Rational approximations in the middle and in the tails, then two Newton corrections."""
        square = self.value(f"fmul double {x}, {x}")
        ratio = self.value(
            f"fdiv double {self.polynomial(_ERFINV_A, square)}, "
            f"{self.polynomial(_ERFINV_B, square)}"
        )
        middle = self.value(f"fmul double {x}, {ratio}")
        size = self.call("llvm.fabs.f64", x)
        rest = self.value(f"fsub double {_ONE}, {size}")
        half = self.value(f"fmul double {rest}, {_constant(0.5)}")
        negated = self.value(f"fneg double {self.call('log', half)}")
        z = self.call("llvm.sqrt.f64", negated)
        tail = self.value(
            f"fdiv double {self.polynomial(_ERFINV_C, z)}, {self.polynomial(_ERFINV_D, z)}"
        )
        tail = self.call("llvm.copysign.f64", tail, x)
        y = self.select(self.compare("olt", size, _constant(0.7)), middle, tail)
        for _ in range(2):
            miss = self.value(f"fsub double {self.call('erf', y)}, {x}")
            exponent = self.value(f"fneg double {self.value(f'fmul double {y}, {y}')}")
            slope = self.value(
                f"fmul double {_constant(2 / math.sqrt(math.pi))}, {self.call('exp', exponent)}"
            )
            y = self.value(f"fsub double {y}, {self.value(f'fdiv double {miss}, {slope}')}")
        infinite = self.call("llvm.copysign.f64", _constant(math.inf), x)
        return self.select(self.compare("oeq", size, _ONE), infinite, y)


_ERFINV_A = (-0.140543331, 0.914624893, -1.645349621, 0.886226899)
_ERFINV_B = (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0)
_ERFINV_C = (1.641345311, 3.429567803, -1.624906493, -1.970840454)
_ERFINV_D = (1.637067800, 3.543889200, 1.0)


def _constant(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


_ZERO, _ONE = _constant(0.0), _constant(1.0)
_ready = threading.Lock()
_initialised = False


def _initialise() -> None:
    """Tells LLVM about this processor and, on Windows, where the C library is."""
    global _initialised
    with _ready:
        if _initialised:
            return
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        if sys.platform == "win32":  # pragma: no cover
            library = ctypes.CDLL("ucrtbase")
            for name in {*_LIBM.values(), *_LIBM2.values()}:
                pointer = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
                llvm.add_symbol(name, pointer)
        _initialised = True


def compile_functions(functions: Sequence[ca.Function]) -> MachineCode:
    """Machine code of SX functions with distinct names."""
    _initialise()
    writers = [_Writer(f) for f in functions]
    bodies = [w.write() for w in writers]
    declarations = sorted(set().union(*(w.externals for w in writers)))
    size = max((f.n_instructions() for f in functions), default=0)
    level = 2 if size < _LARGE else 1 if size < _HUGE else 0
    module = llvm.parse_assembly("\n".join(declarations + bodies))
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=level, cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten()
    )
    if level > 0:
        tuning = llvm.create_pipeline_tuning_options(speed_level=level)
        tuning.slp_vectorization = level == 2
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    addresses = {f.name(): engine.get_function_address(f.name()) for f in functions}
    return MachineCode(addresses, engine)


def evaluate(code: MachineCode, function: ca.Function, arguments: Sequence[Any]) -> list[ca.DM]:
    """Calls one compiled function from Python, for tests and for work done once."""
    inputs = [ca.DM(ca.project(ca.DM(a), function.sparsity_in(k))) for k, a in enumerate(arguments)]
    given = [(ctypes.c_double * max(1, len(v.nonzeros())))(*v.nonzeros()) for v in inputs]
    results = [(ctypes.c_double * max(1, function.nnz_out(k)))() for k in range(function.n_out())]
    table = ctypes.c_void_p * max(1, len(given), len(results))
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    prototype(code.addresses[function.name()])(
        table(*map(ctypes.addressof, given)), table(*map(ctypes.addressof, results))
    )
    return [
        ca.DM(function.sparsity_out(k), list(r)[: function.nnz_out(k)])
        for k, r in enumerate(results)
    ]
