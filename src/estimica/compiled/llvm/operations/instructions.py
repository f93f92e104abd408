"""LLVM assembly of the operations that CasADi has, one function body at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import casadi as ca

from estimica.compiled.llvm.operations import tanh as hyperbolic_tangent
from estimica.compiled.llvm.operations.vector_math import CHUNK, vector_function
from estimica.compiled.llvm.operations.width import PLAIN, Width

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
#: the type of what a vector function of the C library takes
_CHUNK = f"<{CHUNK} x double>"
_COMPARISON = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}


class Stream:
    """The text of a function body; values are names or hexadecimal constants."""

    def __init__(self, prefix: str, width: Width = PLAIN) -> None:
        self.prefix, self.width = prefix, width
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
            pointer = self.value(f"load ptr, ptr {slot}")
            if self.width.lanes > 1 and not (table == "arg" and index in self.width.shared):
                pointer = self.value(f"getelementptr double, ptr {pointer}, i64 %lane")
            self.pointers[table, index] = pointer
        return self.pointers[table, index]

    def element(self, base: str, offset: int) -> str:
        """The pointer to one number of a vector."""
        return self.value(self.width.place(base, offset)) if offset else base

    def read(self, pointer: str) -> str:
        """A number from memory."""
        return self.value(f"load {self.width.real}, ptr {pointer}{self.width.alignment}")

    def spread(self, number: str) -> str:
        """One number in all lanes."""
        real, lanes = self.width.real, self.width.step
        first = self.value(f"insertelement {real} poison, double {number}, i64 0")
        mask = f"<{lanes} x i32> zeroinitializer"
        return self.value(f"shufflevector {real} {first}, {real} poison, {mask}")

    def lane(self, vector: str, lane: int) -> str:
        """One lane of a vector."""
        return self.value(f"extractelement {self.width.real} {vector}, i64 {lane}")

    def joined(self, numbers: Sequence[str]) -> str:
        """A vector from its lanes."""
        vector = "poison"
        for k, number in enumerate(numbers):
            vector = self.value(
                f"insertelement {self.width.real} {vector}, double {number}, i64 {k}"
            )
        return vector

    def load(self, index: int, offset: int) -> str:
        """Each input is read once, so stores in between force no second reading."""
        if (index, offset) not in self.loaded:
            if self.width.lanes > 1 and index in self.width.shared:
                base = self.table("arg", index)
                place = self.value(f"getelementptr double, ptr {base}, i64 {offset}")
                number = self.spread(self.value(f"load double, ptr {place}"))
            else:
                number = self.read(self.element(self.table("arg", index), offset))
            self.loaded[index, offset] = number
        return self.loaded[index, offset]

    def store(self, value: str, pointer: str, at_once: bool = False) -> None:
        """Puts a number into memory, at the end of the function or at once."""
        width = self.width
        line = f"  store {width.real} {value}, ptr {pointer}{width.alignment}"
        (self.lines if at_once else self.stores).append(line)

    def body(self) -> str:
        """All lines, and the return."""
        return "\n".join([*self.lines, *self.stores, "  ret void\n}\n"])


class Instructions:
    """Writes operations into `stream`; `externals` are the declarations that they need."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.width = stream, stream.width
        self.externals: set[str] = set()

    def value(self, text: str) -> str:
        """Names the result of an instruction."""
        return self.stream.value(text)

    def declared(self, real: str, name: str, *args: str) -> str:
        """A function of numbers, or vectors, that is declared only."""
        self.externals.add(f"declare {real} @{name}({', '.join([real] * len(args))})")
        return self.value(f"call {real} @{name}({', '.join(f'{real} {a}' for a in args)})")

    def intrinsic(self, name: str, *args: str) -> str:
        """One of LLVM's own functions."""
        return self.declared(self.width.real, f"llvm.{name}.{self.width.suffix}", *args)

    def call(self, name: str, *args: str) -> str:
        """A function of the C library."""
        lanes = self.width.step
        if self.width.lanes == 1:
            return self.declared("double", name, *args)
        symbol = vector_function(name) if lanes % CHUNK == 0 else ""
        if symbol:
            return self.in_chunks(lambda *part: self.declared(_CHUNK, symbol, *part), args)
        stream = self.stream
        return stream.joined(
            [
                self.declared("double", name, *(stream.lane(a, k) for a in args))
                for k in range(lanes)
            ]
        )

    def in_chunks(self, function: Callable[..., str], args: Sequence[str]) -> str:
        """A function of CHUNK lanes, applied to all of them."""
        real, lanes = self.width.real, self.width.step
        if lanes == CHUNK:
            return function(*args)
        parts = []
        for first in range(0, lanes, CHUNK):
            mask = ", ".join(f"i32 {k}" for k in range(first, first + CHUNK))
            choose = f"{real} poison, <{CHUNK} x i32> <{mask}>"
            parts.append(
                function(*(self.value(f"shufflevector {real} {a}, {choose}") for a in args))
            )
        size = CHUNK
        while len(parts) > 1:
            kind = f"<{size} x double>"
            mask = ", ".join(f"i32 {k}" for k in range(2 * size))
            end = f"<{2 * size} x i32> <{mask}>"
            parts = [
                self.value(f"shufflevector {kind} {a}, {kind} {b}, {end}")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            size *= 2
        return parts[0]

    def arithmetic(self, word: str, a: str, b: str) -> str:
        """A sum, a difference, a product or a quotient."""
        return self.value(f"{word}{self.width.rounding} {self.width.real} {a}, {b}")

    def constant(self, value: float) -> str:
        """A number, to the last bit."""
        return self.width.constant(value)

    def number(self, condition: str) -> str:
        """0.0 or 1.0 for an i1."""
        return self.value(f"uitofp {self.width.truth} {condition} to {self.width.real}")

    def select(self, condition: str, yes: str, no: str) -> str:
        """One of two numbers."""
        real = self.width.real
        return self.value(f"select {self.width.truth} {condition}, {real} {yes}, {real} {no}")

    def compare(self, predicate: str, a: str, b: str) -> str:
        """The truth of a comparison, an i1."""
        return self.value(f"fcmp {predicate} {self.width.real} {a}, {b}")

    def operation(self, op: int, a: list[str]) -> str:
        """One elementary operation on values."""
        if op in _ARITHMETIC:
            return self.arithmetic(_ARITHMETIC[op], a[0], a[1])
        if op in _LIBM:
            return self.call(_LIBM[op], a[0])
        if op in _LIBM2:
            return self.call(_LIBM2[op], a[0], a[1])
        if op in _INTRINSIC:
            return self.intrinsic(_INTRINSIC[op], a[0])
        if op in _INTRINSIC2:
            return self.intrinsic(_INTRINSIC2[op], a[0], a[1])
        if op in _COMPARISON:
            return self.number(self.compare(_COMPARISON[op], a[0], a[1]))
        if op in (ca.OP_ASSIGN, ca.OP_LIFT):
            return a[0]
        return self.special(op, a)

    def special(self, op: int, a: list[str]) -> str:
        """The operations that are more than one instruction, or none of the groups."""
        ZERO, ONE = self.constant(0.0), self.constant(1.0)
        if op == ca.OP_NEG:
            return self.negated(a[0])
        if op == ca.OP_SQ:
            return self.arithmetic("fmul", a[0], a[0])
        if op == ca.OP_TWICE:
            return self.arithmetic("fadd", a[0], a[0])
        if op == ca.OP_INV:
            return self.arithmetic("fdiv", ONE, a[0])
        if op == ca.OP_NOT:
            return self.number(self.compare("oeq", a[0], ZERO))
        if op == ca.OP_IF_ELSE_ZERO:
            return self.select(self.compare("une", a[0], ZERO), a[1], ZERO)
        if op in (ca.OP_AND, ca.OP_OR):
            left, right = (self.compare("une", v, ZERO) for v in a)
            word = "and" if op == ca.OP_AND else "or"
            return self.number(self.value(f"{word} {self.width.truth} {left}, {right}"))
        if op == ca.OP_SIGN:
            positive = self.select(self.compare("ogt", a[0], ZERO), ONE, a[0])
            return self.select(self.compare("olt", a[0], ZERO), self.constant(-1.0), positive)
        if op == ca.OP_ERFINV:
            return self.erfinv(a[0])
        if op == ca.OP_TANH and self.width.lanes > 1:
            return self.tanh(a[0])
        if op == ca.OP_TANH:
            self.externals.update(
                (*hyperbolic_tangent.TANH_DECLARATIONS, hyperbolic_tangent.TANH_DEFINITION)
            )
            return self.value(f"call double @{hyperbolic_tangent.TANH_NAME}(double {a[0]})")
        raise NotImplementedError(f"CasADi operation {op} has no machine code")

    def negated(self, a: str) -> str:
        """-a."""
        return self.value(f"fneg {self.width.real} {a}")

    def polynomial(self, coefficients: Sequence[float], z: str) -> str:
        """Horner's rule, highest power first."""
        result = self.constant(coefficients[0])
        for c in coefficients[1:]:
            result = self.arithmetic("fadd", self.arithmetic("fmul", result, z), self.constant(c))
        return result

    def tanh(self, x: str) -> str:
        """Both ways of `tanh.py`, of which each lane takes one."""
        size, square = self.intrinsic("fabs", x), self.arithmetic("fmul", x, x)
        ratio = self.arithmetic(
            "fdiv",
            self.polynomial(hyperbolic_tangent.NEAR_TOP, square),
            self.polynomial(hyperbolic_tangent.NEAR_BOTTOM, square),
        )
        cube = self.arithmetic("fmul", self.arithmetic("fmul", x, square), ratio)
        near = self.arithmetic("fadd", x, cube)
        power = self.call("exp", self.arithmetic("fadd", size, size))
        one = self.constant(1.0)
        rest = self.arithmetic("fdiv", self.constant(2.0), self.arithmetic("fadd", power, one))
        far = self.intrinsic("copysign", self.arithmetic("fsub", one, rest), x)
        is_near = self.compare("olt", size, self.constant(hyperbolic_tangent.NEAR))
        return self.select(is_near, near, far)

    def erfinv(self, x: str) -> str:
        """Rational approximations in the middle and in the tails, then two Newton corrections."""
        number, one = self.constant, self.constant(1.0)
        square = self.arithmetic("fmul", x, x)
        top, bottom = self.polynomial(_ERFINV_A, square), self.polynomial(_ERFINV_B, square)
        middle = self.arithmetic("fmul", x, self.arithmetic("fdiv", top, bottom))
        size = self.intrinsic("fabs", x)
        half = self.arithmetic("fmul", self.arithmetic("fsub", one, size), number(0.5))
        z = self.intrinsic("sqrt", self.negated(self.call("log", half)))
        top, bottom = self.polynomial(_ERFINV_C, z), self.polynomial(_ERFINV_D, z)
        tail = self.intrinsic("copysign", self.arithmetic("fdiv", top, bottom), x)
        y = self.select(self.compare("olt", size, number(0.7)), middle, tail)
        for _ in range(2):
            miss = self.arithmetic("fsub", self.call("erf", y), x)
            exponent = self.negated(self.arithmetic("fmul", y, y))
            slope = self.arithmetic(
                "fmul", number(2 / math.sqrt(math.pi)), self.call("exp", exponent)
            )
            y = self.arithmetic("fsub", y, self.arithmetic("fdiv", miss, slope))
        infinite = self.intrinsic("copysign", number(math.inf), x)
        return self.select(self.compare("oeq", size, one), infinite, y)


_ERFINV_A = (-0.140543331, 0.914624893, -1.645349621, 0.886226899)
_ERFINV_B = (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0)
_ERFINV_C = (1.641345311, 3.429567803, -1.624906493, -1.970840454)
_ERFINV_D = (1.637067800, 3.543889200, 1.0)


def constant(value: float) -> str:
    """A plain number, to the last bit."""
    return PLAIN.constant(value)


ZERO, ONE = constant(0.0), constant(1.0)
