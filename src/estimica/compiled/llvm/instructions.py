"""LLVM assembly of the operations that CasADi has, one function body at a time."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import casadi as ca

from estimica.compiled.llvm import tanh as hyperbolic_tangent

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
LIBRARY_FUNCTIONS = frozenset({*_LIBM.values(), *_LIBM2.values()})
_INTRINSIC = {
    ca.OP_SQRT: "sqrt", ca.OP_FABS: "fabs", ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil",
}  # fmt: skip
_INTRINSIC2 = {ca.OP_FMIN: "minnum", ca.OP_FMAX: "maxnum", ca.OP_COPYSIGN: "copysign"}
_ARITHMETIC = {ca.OP_ADD: "fadd", ca.OP_SUB: "fsub", ca.OP_MUL: "fmul", ca.OP_DIV: "fdiv"}
_COMPARISON = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}


class Stream:
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
        """Puts a number into memory, at the end of the function."""
        self.stores.append(f"  store double {value}, ptr {pointer}")

    def body(self) -> str:
        """All lines, and the return."""
        return "\n".join([*self.lines, *self.stores, "  ret void\n}\n"])


class Instructions:
    """Writes operations into `stream`; `externals` are the declarations that they need."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.externals: set[str] = set()

    def value(self, text: str) -> str:
        """Names the result of an instruction."""
        return self.stream.value(text)

    def call(self, name: str, *args: str) -> str:
        """A function of numbers that is declared only."""
        signature = ", ".join(["double"] * len(args))
        self.externals.add(f"declare double @{name}({signature})")
        return self.value(f"call double @{name}({', '.join('double ' + a for a in args)})")

    def number(self, condition: str) -> str:
        """0.0 or 1.0 for an i1."""
        return self.value(f"uitofp i1 {condition} to double")

    def select(self, condition: str, yes: str, no: str) -> str:
        """One of two numbers."""
        return self.value(f"select i1 {condition}, double {yes}, double {no}")

    def compare(self, predicate: str, a: str, b: str) -> str:
        """The truth of a comparison, an i1."""
        return self.value(f"fcmp {predicate} double {a}, {b}")

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
            return self.value(f"fdiv double {ONE}, {a[0]}")
        if op == ca.OP_NOT:
            return self.number(self.compare("oeq", a[0], ZERO))
        if op == ca.OP_IF_ELSE_ZERO:
            return self.select(self.compare("une", a[0], ZERO), a[1], ZERO)
        if op in (ca.OP_AND, ca.OP_OR):
            left, right = (self.compare("une", v, ZERO) for v in a)
            word = "and" if op == ca.OP_AND else "or"
            return self.number(self.value(f"{word} i1 {left}, {right}"))
        if op == ca.OP_SIGN:
            positive = self.select(self.compare("ogt", a[0], ZERO), ONE, a[0])
            return self.select(self.compare("olt", a[0], ZERO), constant(-1.0), positive)
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
        result = constant(coefficients[0])
        for c in coefficients[1:]:
            product = self.value(f"fmul double {result}, {z}")
            result = self.value(f"fadd double {product}, {constant(c)}")
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
        rest = self.value(f"fsub double {ONE}, {size}")
        half = self.value(f"fmul double {rest}, {constant(0.5)}")
        negated = self.value(f"fneg double {self.call('log', half)}")
        z = self.call("llvm.sqrt.f64", negated)
        tail = self.value(
            f"fdiv double {self.polynomial(_ERFINV_C, z)}, {self.polynomial(_ERFINV_D, z)}"
        )
        tail = self.call("llvm.copysign.f64", tail, x)
        y = self.select(self.compare("olt", size, constant(0.7)), middle, tail)
        for _ in range(2):
            miss = self.value(f"fsub double {self.call('erf', y)}, {x}")
            exponent = self.value(f"fneg double {self.value(f'fmul double {y}, {y}')}")
            slope = self.value(
                f"fmul double {constant(2 / math.sqrt(math.pi))}, {self.call('exp', exponent)}"
            )
            y = self.value(f"fsub double {y}, {self.value(f'fdiv double {miss}, {slope}')}")
        infinite = self.call("llvm.copysign.f64", constant(math.inf), x)
        return self.select(self.compare("oeq", size, ONE), infinite, y)


_ERFINV_A = (-0.140543331, 0.914624893, -1.645349621, 0.886226899)
_ERFINV_B = (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0)
_ERFINV_C = (1.641345311, 3.429567803, -1.624906493, -1.970840454)
_ERFINV_D = (1.637067800, 3.543889200, 1.0)


def constant(value: float) -> str:
    """A number, to the last bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


ZERO, ONE = constant(0.0), constant(1.0)
