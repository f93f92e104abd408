"""CasADi SX functions as machine code, by LLVM: no C compiler, the same bits as CasADi itself
(only tanh may differ in the last place).

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

from estimica.compiled.llvm import tanh as hyperbolic_tangent
from estimica.compiled.llvm.object_code import load_object_code

_LIBM = {  # unary functions of the C library
    ca.OP_SIN: "sin", ca.OP_COS: "cos", ca.OP_TAN: "tan", ca.OP_ASIN: "asin", ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan", ca.OP_SINH: "sinh", ca.OP_COSH: "cosh",
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
    """Functions in memory; their addresses are valid as long as this object lives.

    Where run constants were named, the function SETUP computes `n_constants` numbers from them,
    once for each run, which the others then read.
    """

    addresses: dict[str, int]
    engine: Any
    n_constants: int = 0


#: the name of the function that computes what depends on run constants only
SETUP = "setup"


class _Stream:
    """The text of a function body; values are names or hexadecimal constants."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.lines: list[str] = []
        self.stores: list[str] = []  # at the end, so that the optimiser may use vectors
        self.pointers: dict[tuple[str, int], str] = {}
        self.loaded: dict[tuple[int, int], str] = {}

    def value(self, text: str) -> str:
        """Names the result of an instruction."""
        name = f"%{self.prefix}{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def table(self, table: str, index: int) -> str:
        """The pointer that a table holds."""
        if (table, index) not in self.pointers:
            slot = self.value(f"getelementptr ptr, ptr %{table}, i64 {index}")
            self.pointers[table, index] = self.value(f"load ptr, ptr {slot}")
        return self.pointers[table, index]

    def element(self, base: str, offset: int) -> str:
        """The pointer to one number of a vector."""
        return self.value(f"getelementptr double, ptr {base}, i64 {offset}") if offset else base

    def load(self, index: int, offset: int) -> str:
        """Each input is read once, so stores in between force no second reading."""
        if (index, offset) not in self.loaded:
            pointer = self.element(self.table("arg", index), offset)
            self.loaded[index, offset] = self.value(f"load double, ptr {pointer}")
        return self.loaded[index, offset]

    def store(self, value: str, pointer: str) -> None:
        self.stores.append(f"  store double {value}, ptr {pointer}")

    def body(self) -> str:
        return "\n".join([*self.lines, *self.stores, "  ret void\n}\n"])


@dataclass
class _Value:
    """A number of the program: where it can be had in the function and in its setup."""

    main: str = ""  # its name in part number `part` of the function; "": nowhere
    part: int = 0
    fixed: str = ""  # its name in the setup, where it depends on run constants only
    constant: int = -1  # its place among the run constants
    saved: int = -1  # its place among what the setup computes


class _Writer:
    """Writes one function as LLVM assembly, and what it needs only once for each run apart."""

    def __init__(
        self, function: ca.Function, constants: tuple[int, int] | None, first: int
    ) -> None:
        self.function = function
        self.constants = constants  # arguments: run constants, what the setup makes of them
        self.count = first  # numbers that the setups compute
        self.externals: set[str] = set()
        self.setup = _Stream("s")
        self.stream = self.setup
        self.work: dict[int, _Value] = {}
        self.part_number = 0

    def value(self, text: str) -> str:
        return self.stream.value(text)

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

    def write(self) -> str:
        """The whole function; a long one calls its parts, which hand values on in memory."""
        f = self.function
        n, name = f.n_instructions(), f.name()
        if n <= _PART:
            text = self.part(range(n), f"void @{name}(ptr %arg, ptr %res)", frozenset())
        else:
            text = self.parts(n, name)
        if not self.setup.stores:
            return text
        return (
            text
            + f"define internal void @{name}.setup(ptr %arg, ptr %c) nounwind {{\n"
            + (self.setup.body())
        )

    def parts(self, n: int, name: str) -> str:
        """A function cut into parts, and the function that calls them."""
        starts = range(0, n, _PART)
        parts, calls = [], []
        for number, (start, kept) in enumerate(zip(starts, self.handed_on(starts), strict=True)):
            self.part_number = number
            header = f"internal void @{name}.{number}(ptr %arg, ptr %res, ptr %w) noinline"
            parts.append(self.part(range(start, min(start + _PART, n)), header, kept))
            calls.append(f"  call void @{name}.{number}(ptr %arg, ptr %res, ptr %w)\n")
        return "".join(parts) + (
            f"define void @{name}(ptr %arg, ptr %res) nounwind {{\n"
            f"  %w = alloca [{self.function.sz_w()} x double]\n{''.join(calls)}  ret void\n}}\n"
        )

    def handed_on(self, starts: range) -> list[frozenset[int]]:
        """For each part, the places of the work vector that later parts read."""
        f, live, needed = self.function, set[int](), []
        for k in range(f.n_instructions() - 1, -1, -1):
            if k + 1 == f.n_instructions() or k + 1 in starts:
                needed.append(frozenset(live))
            op = f.instruction_id(k)
            if op != ca.OP_OUTPUT:
                live.discard(f.instruction_output(k)[0])
            if op not in (ca.OP_CONST, ca.OP_INPUT):
                live.update(f.instruction_input(k))
        return needed[::-1]

    def part(self, instructions: range, header: str, kept: frozenset[int]) -> str:
        """One function that runs some of the instructions."""
        f, main = self.function, _Stream("v")
        for k in instructions:
            op, out, args = f.instruction_id(k), f.instruction_output(k), f.instruction_input(k)
            if op == ca.OP_OUTPUT:
                value = self.read(main, args[0])
                main.store(value, main.element(main.table("res", out[0]), out[1]))
            elif op == ca.OP_CONST:
                text = _constant(f.instruction_constant(k))
                self.work[out[0]] = _Value(main=text, part=-1, fixed=text)
            elif op == ca.OP_INPUT:
                self.work[out[0]] = self.input(main, args[0], args[1])
            elif all(self.work[a].fixed for a in args):
                self.stream = self.setup
                name = self.operation(op, [self.work[a].fixed for a in args])
                self.work[out[0]] = _Value(fixed=name)
            else:
                operands = [self.read(main, a) for a in args]
                self.stream = main
                self.work[out[0]] = _Value(self.operation(op, operands), self.part_number)
        for place in sorted(kept):
            handed = self.work[place]
            if not handed.fixed and handed.part == self.part_number:
                main.store(handed.main, main.element("%w", place))
        return f"define {header} nounwind {{\n" + main.body()

    def input(self, main: _Stream, index: int, offset: int) -> _Value:
        """An element of an argument, read at once unless it is a run constant."""
        if self.constants is None or index != self.constants[0]:
            return _Value(main.load(index, offset), self.part_number)
        return _Value(fixed=self.setup.load(index, offset), constant=offset)

    def read(self, main: _Stream, place: int) -> str:
        """The name of a number in the part that is being written."""
        value = self.work[place]
        if value.part in (-1, self.part_number) and value.main:
            return value.main
        if value.constant >= 0:
            assert self.constants is not None
            name = main.load(self.constants[0], value.constant)
        elif value.fixed:
            name = self.load_saved(main, value)
        else:
            name = main.value(f"load double, ptr {main.element('%w', place)}")
        value.main, value.part = name, self.part_number
        return name

    def load_saved(self, main: _Stream, value: _Value) -> str:
        """What the setup has computed."""
        assert self.constants is not None
        if value.saved < 0:
            value.saved = self.count
            self.count += 1
            self.setup.store(value.fixed, self.setup.element("%c", value.saved))
        return main.load(self.constants[1], value.saved)

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
        if op == ca.OP_TANH:
            self.externals.update(
                (*hyperbolic_tangent.TANH_DECLARATIONS, hyperbolic_tangent.TANH_DEFINITION)
            )
            return self.value(f"call double @{hyperbolic_tangent.TANH_NAME}(double {a[0]})")
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


def compile_functions(
    functions: Sequence[ca.Function], constants: tuple[int, int] | None = None
) -> MachineCode:
    """Machine code of SX functions with distinct names.

    `constants` = (the argument that does not change during a run, the argument under which the
    functions find what SETUP has computed from it): then SETUP is among the functions.
    """
    _initialise()
    writers: list[_Writer] = []
    bodies: list[str] = []
    for function in functions:
        first = writers[-1].count if writers else 0
        writers.append(_Writer(function, constants, first))
        bodies.append(writers[-1].write())
    n_constants = writers[-1].count if writers else 0
    names = [f.name() for f in functions]
    if n_constants:
        bodies.append(_setup([w.function.name() for w in writers if w.setup.stores]))
        names.append(SETUP)
    declarations = sorted(set().union(*(w.externals for w in writers)))
    size = max((f.n_instructions() for f in functions), default=0)
    level = 2 if size < _LARGE else 1 if size < _HUGE else 0
    engine = load_object_code("\n".join(declarations + bodies), level)
    addresses = {name: engine.get_function_address(name) for name in names}
    return MachineCode(addresses, engine, n_constants)


def _setup(names: list[str]) -> str:
    """The function that runs every function's setup; its result 0 is where the numbers go."""
    calls = "".join(f"  call void @{name}.setup(ptr %arg, ptr %c)\n" for name in names)
    header = f"define void @{SETUP}(ptr %arg, ptr %res) nounwind {{\n  %c = load ptr, ptr %res\n"
    return f"{header}{calls}  ret void\n}}\n"


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
