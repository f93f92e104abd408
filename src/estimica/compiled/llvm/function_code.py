"""Flat functions as LLVM assembly, with true branches and loops.

A function is `i1 f(double a1, …, ptr out)`: it writes its outputs and says whether it has come to
an end; where it has not (a check does not hold, loops go on for too long, a function that it calls
fails), all outputs are NaN.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import llvmlite.binding as llvm

from estimica.compiled.llvm.domain import DOMAIN_TOLERANCE, FLOOR, MOST_PRODUCTS, POWER_FLOOR
from estimica.compiled.llvm.foreign_code import foreign_code
from estimica.compiled.llvm.object_code import load_object_code
from estimica.compiled.llvm.operations.instructions import ONE, ZERO, Instructions, Stream, constant
from estimica.compiled.llvm.processor import initialise_llvm
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.function import (
    MOST_ROUNDS,
    Assign,
    Break,
    Check,
    Choice,
    FlatFunction,
    Foreign,
    Loop,
    Return,
    Statement,
    assigned_names,
    called,
)

#: with more lines than this the optimiser is told to hurry: its time grows faster than their number
_LONG = 1000
#: stands for the name of a function, which depends on its text
_OWN = "own.name"
_NAN = constant(math.nan)
_PLAIN = {
    "add": ca.OP_ADD, "sub": ca.OP_SUB, "mul": ca.OP_MUL, "div": ca.OP_DIV, "neg": ca.OP_NEG,
    "lt": ca.OP_LT, "le": ca.OP_LE, "eq": ca.OP_EQ, "ne": ca.OP_NE, "and": ca.OP_AND,
    "or": ca.OP_OR, "not": ca.OP_NOT, "min": ca.OP_FMIN, "max": ca.OP_FMAX, "abs": ca.OP_FABS,
    "sign": ca.OP_SIGN, "floor": ca.OP_FLOOR, "integer": ca.OP_FLOOR, "ceil": ca.OP_CEIL,
    "atan2": ca.OP_ATAN2, "sin": ca.OP_SIN, "cos": ca.OP_COS, "tan": ca.OP_TAN,
    "asin": ca.OP_ASIN, "acos": ca.OP_ACOS, "atan": ca.OP_ATAN, "sinh": ca.OP_SINH,
    "cosh": ca.OP_COSH, "tanh": ca.OP_TANH, "exp": ca.OP_EXP, "log": ca.OP_LOG,
}  # fmt: skip
_SWAPPED = {"gt": ca.OP_LT, "ge": ca.OP_LE}


@dataclass(frozen=True, eq=False)
class _Compiled:
    """A function in memory, for ever: whatever calls it has its address."""

    symbol: str
    declaration: str
    engine: Any


#: by content; a function is compiled once however many models and kernels call it
_compiled: dict[FlatFunction, _Compiled] = {}
_lock = threading.RLock()


class FunctionLibrary:
    """The functions that one module of assembly calls; `externals` are their declarations."""

    def __init__(self) -> None:
        self.externals: set[str] = set()

    def symbol(self, function: FlatFunction) -> str:
        """The name of a function, which is ready to be called."""
        with _lock:
            known = _compiled.get(function)
            if known is None:
                known = _compiled[function] = _compile(function)
        self.externals.add(known.declaration)
        return known.symbol

    def invoke(
        self, stream: Stream, function: FlatFunction, arguments: Sequence[str], room: str
    ) -> str:
        """Calls a function, its outputs going to `room`; the name of its success."""
        symbol = self.symbol(function)
        given = "".join(f"double {a}, " for a in arguments)
        return stream.value(f"call i1 {symbol}({given}ptr {room})")

    def outputs(
        self, stream: Stream, function: FlatFunction, arguments: Sequence[str]
    ) -> list[str]:
        """The outputs of a call in straight code; lanes are called for one after the other."""
        room = stream.value(f"alloca [{len(function.outputs)} x double]")
        if stream.width.lanes == 1:
            return self._results(stream, function, arguments, room)
        found = [
            self._results(stream, function, [stream.lane(a, k) for a in arguments], room)
            for k in range(stream.width.step)
        ]
        return [stream.joined(numbers) for numbers in zip(*found, strict=True)]

    def _results(
        self, stream: Stream, function: FlatFunction, arguments: Sequence[str], room: str
    ) -> list[str]:
        """The outputs of one call, which are plain numbers."""
        self.invoke(stream, function, arguments, room)
        places = [_plain_element(stream, room, k) for k in range(len(function.outputs))]
        return [stream.value(f"load double, ptr {p}") for p in places]


def _plain_element(stream: Stream, base: str, offset: int) -> str:
    """The pointer to one plain number of a vector in memory."""
    return stream.value(f"getelementptr double, ptr {base}, i64 {offset}") if offset else base


def _compile(function: FlatFunction) -> _Compiled:
    """A module of its own, named by its text: so it is the same in all processes."""
    initialise_llvm()
    writer = _FunctionWriter(function, FunctionLibrary())
    body = writer.write()
    declarations = sorted(writer.externals | writer.library.externals)
    text = "\n".join([*declarations, f"define i1 @{_OWN}{body}"])
    symbol = f"kept.{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    lines = len(writer.stream.lines)
    engine = load_object_code(text.replace(f"@{_OWN}", f"@{symbol}"), 2 if lines < _LONG else 1)
    llvm.add_symbol(symbol, engine.get_function_address(symbol))
    signature = "double, " * len(function.inputs)
    return _Compiled(f"@{symbol}", f"declare i1 @{symbol}({signature}ptr)", engine)


class _FunctionWriter(Instructions):
    """One function: its names are places in memory, which the optimiser turns into registers."""

    def __init__(self, function: FlatFunction, library: FunctionLibrary) -> None:
        super().__init__(Stream("v"))
        self.function, self.library = function, library
        self.reserved: list[str] = []  # room for names and outputs, taken once at the beginning
        self.places: dict[str, str] = {}
        self.inputs = {n: f"%a{k}" for k, n in enumerate(function.inputs)}
        self.ends: list[str] = []  # where the loops around the present statement end
        self.labels = 0
        self.memo: dict[Expression, str] = {}
        self.calling: dict[Expression, bool] = {}

    def write(self) -> str:
        """What follows the name of the function."""
        function, lines = self.function, self.stream.lines
        for name in dict.fromkeys((*assigned_names(function.body), *function.outputs)):
            self.places[name] = self._reserve("double")
        for place in self.places.values():
            self._line(f"store double {ZERO}, ptr {place}")
        self.rounds = self._reserve("i64")
        self._line(f"store i64 0, ptr {self.rounds}")
        self._body(function.body)
        self._line("br label %done")
        self._label("done")
        for k, name in enumerate(function.outputs):
            value = self._read(name)
            self._line(f"store double {value}, ptr {self.stream.element('%out', k)}")
        self._line("ret i1 1")
        self._label("failed")
        for k in range(len(function.outputs)):
            self._line(f"store double {_NAN}, ptr {self.stream.element('%out', k)}")
        self._line("ret i1 0")
        inputs = "".join(f"double %a{k}, " for k in range(len(function.inputs)))
        return "\n".join(
            [
                f"({inputs}ptr %out) nounwind {{",
                *self.reserved,
                *lines,
                "}\n",
            ]
        )

    # -- lines -----------------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self.stream.lines.append(f"  {text}")

    def _reserve(self, kind: str) -> str:
        name = f"%m{len(self.reserved)}"
        self.reserved.append(f"  {name} = alloca {kind}")
        return name

    def _new_label(self) -> str:
        self.labels += 1
        return f"l{self.labels}"

    def _label(self, label: str) -> None:
        self.stream.lines.append(f"{label}:")
        self.memo = {}  # what was computed elsewhere is not at hand here

    def _read(self, name: str) -> str:
        if name in self.inputs:
            return self.inputs[name]
        return self.value(f"load double, ptr {self.places[name]}")

    def _go_if(self, condition: str, yes: str, no: str) -> None:
        self._line(f"br i1 {condition}, label %{yes}, label %{no}")

    # -- statements ------------------------------------------------------------------------------

    def _body(self, body: Iterable[Statement]) -> None:
        for s in body:
            match s:
                case Assign():
                    self._store(s.targets, [self._value(v) for v in s.values])
                case Choice():
                    self._choice(s)
                case Loop():
                    self._loop(s)
                case Break():
                    self._leave(self.ends[-1])
                case Return():
                    self._leave("done")
                case Check():
                    following = self._new_label()
                    self._go_if(self._truth(s.condition), following, "failed")
                    self._label(following)
                case Foreign():
                    self._foreign(s)

    def _store(self, targets: Sequence[str], values: Sequence[str]) -> None:
        for name, value in zip(targets, values, strict=True):
            self._line(f"store double {value}, ptr {self.places[name]}")
        self.memo = {}

    def _choice(self, s: Choice) -> None:
        yes, no, end = (self._new_label() for _ in range(3))
        self._go_if(self._truth(s.condition), yes, no)
        for label, body in ((yes, s.yes), (no, s.no)):
            self._label(label)
            self._body(body)
            self._line(f"br label %{end}")
        self._label(end)

    def _loop(self, s: Loop) -> None:
        again, count, body, end = (self._new_label() for _ in range(4))
        self._line(f"br label %{again}")
        self._label(again)
        self._go_if(self._truth(s.condition), count, end)
        self._label(count)
        before = self.value(f"load i64, ptr {self.rounds}")
        rounds = self.value(f"add i64 {before}, 1")
        self._line(f"store i64 {rounds}, ptr {self.rounds}")
        self._go_if(self.value(f"icmp ule i64 {rounds}, {MOST_ROUNDS}"), body, "failed")
        self._label(body)
        self.ends.append(end)
        self._body(s.body)
        self.ends.pop()
        self._line(f"br label %{again}")
        self._label(end)

    def _leave(self, label: str) -> None:
        self._line(f"br label %{label}")
        self._label(self._new_label())  # nothing gets here, but a block must follow

    def _foreign(self, s: Foreign) -> None:
        code = foreign_code(s.twin)
        self.externals |= {*code.declarations, code.definition}
        given = self._reserve(f"[{len(s.arguments)} x double]")
        results = self._reserve(f"[{len(s.targets)} x double]")
        for k, value in enumerate([self._value(a) for a in s.arguments]):
            self._line(f"store double {value}, ptr {self.stream.element(given, k)}")
        self._line(f"call void @{code.name}(ptr {given}, ptr {results})")
        places = [self.stream.element(results, k) for k in range(len(s.targets))]
        self._store(s.targets, [self.value(f"load double, ptr {p}") for p in places])

    # -- expressions -----------------------------------------------------------------------------

    def _truth(self, e: Expression) -> str:
        return self.compare("une", self._value(e), ZERO)

    def _value(self, root: Expression) -> str:
        stack = [(root, False)]
        while stack:
            e, ready = stack.pop()
            if e in self.memo:
                continue
            if e.op == "if" and self._calls(e.operands[1], e.operands[2]):
                self._chosen(e)
            elif ready or not e.operands:
                self.memo[e] = self._node(e)
            else:
                stack.append((e, True))
                stack.extend((a, False) for a in reversed(e.operands) if a not in self.memo)
        return self.memo[root]

    def _calls(self, *sides: Expression) -> bool:
        """Whether one of the sides of a choice calls a function."""
        for e in ex.walk(*(s for s in sides if s not in self.calling)):
            self.calling[e] = e.op == "call" or any(self.calling[a] for a in e.operands)
        return any(self.calling[s] for s in sides)

    def _chosen(self, e: Expression) -> None:
        """A choice between calls: the one that is not chosen may fail."""
        condition, *sides = e.operands
        room = self._reserve("double")
        labels = [self._new_label() for _ in range(3)]
        self._go_if(self._truth(condition), labels[0], labels[1])
        before = self.memo
        for label, side in zip(labels, sides, strict=False):
            self._label(label)
            self.memo = dict(before)
            self._line(f"store double {self._value(side)}, ptr {room}")
            self._line(f"br label %{labels[2]}")
        self._label(labels[2])
        self.memo = before
        self.memo[e] = self.value(f"load double, ptr {room}")

    def _node(self, e: Expression) -> str:
        a = [self.memo[x] for x in e.operands]
        if e.op in _PLAIN:
            return self.operation(_PLAIN[e.op], a)
        if e.op in _SWAPPED:
            return self.operation(_SWAPPED[e.op], a[::-1])
        match e.op:
            case "const":
                return constant(e.value)
            case "name":
                return self._read(e.target)
            case "if":
                return self.select(self.compare("une", a[0], ZERO), a[1], a[2])
            case "noEvent" | "smooth" | "homotopy" | "delay":
                return a[0]
            case "call":
                return self._call(e, a)
            case "element":
                return self._element(e, a)
            case "pow":
                return self._power(e.operands[1], a)
        rule = _COMPOSED.get(e.op)
        assert rule is not None, f"{e.op} in the function {self.function.name}"
        return rule(self, a)

    def _call(self, e: Expression, a: list[str]) -> str:
        function, _ = called(e)
        room = self._reserve(f"[{len(function.outputs)} x double]")
        success = self.library.invoke(self.stream, function, a, room)
        following, before = self._new_label(), self.memo
        self._go_if(success, following, "failed")
        self._label(following)
        self.memo = before
        for k in range(len(function.outputs)):
            sibling = ex.node("call", function, k, *e.operands)
            self.memo[sibling] = self.value(f"load double, ptr {self.stream.element(room, k)}")
        return self.memo[e]

    def _element(self, e: Expression, a: list[str]) -> str:
        """From an array of constants, or one that is filled here."""
        n = len(a) - 1
        if all(x.op == "const" for x in e.operands[1:]):
            content = ", ".join(f"double {x}" for x in a[1:])
            room = f"@array.{hashlib.sha256(content.encode()).hexdigest()[:32]}"
            self.externals.add(f"{room} = private constant [{n} x double] [{content}]")
        else:
            room = self._reserve(f"[{n} x double]")
            for k, value in enumerate(a[1:]):
                self._line(f"store double {value}, ptr {self.stream.element(room, k)}")
        low = self.call("llvm.maxnum.f64", a[0], ONE)
        place = self.call("llvm.minnum.f64", low, constant(n))
        whole = self.value(f"fptosi double {place} to i64")
        offset = self.value(f"sub i64 {whole}, 1")
        pointer = self.value(f"getelementptr double, ptr {room}, i64 {offset}")
        return self.value(f"load double, ptr {pointer}")

    def _root(self, a: list[str]) -> str:
        root = self.operation(ca.OP_SQRT, [self.operation(ca.OP_FMAX, [a[0], constant(FLOOR)])])
        return self._within_domain(a[0], root)

    def _within_domain(self, a: str, value: str) -> str:
        outside = self.compare("olt", a, constant(-DOMAIN_TOLERANCE))
        return self.select(outside, _NAN, value)

    def _power(self, exponent: Expression, a: list[str]) -> str:
        if exponent.op != "const":
            return self.operation(ca.OP_POW, a)
        n = exponent.value
        if n.is_integer() and abs(n) <= MOST_PRODUCTS:
            return self._whole_power(a[0], int(n))
        if n == 0.5:
            return self._root(a)
        floor = self.operation(ca.OP_FMAX, [a[0], constant(POWER_FLOOR)])
        return self._within_domain(a[0], self.operation(ca.OP_POW, [floor, a[1]]))

    def _whole_power(self, base: str, n: int) -> str:
        if n < 0:
            return self.operation(ca.OP_INV, [self._whole_power(base, -n)])
        result, square = "", base
        while n:
            if n & 1:
                result = self.operation(ca.OP_MUL, [result, square]) if result else square
            n >>= 1
            if n:
                square = self.operation(ca.OP_SQ, [square])
        return result or ONE

    def _decades(self, a: list[str]) -> str:
        logarithm = self.operation(ca.OP_LOG, a)
        return self.operation(ca.OP_MUL, [logarithm, constant(1.0 / math.log(10.0))])

    def _truncated(self, a: list[str]) -> str:
        return self.call("llvm.trunc.f64", self.operation(ca.OP_DIV, a))

    def _rest(self, a: list[str], whole: str) -> str:
        return self.operation(ca.OP_SUB, [a[0], self.operation(ca.OP_MUL, [whole, a[1]])])

    def _modulo(self, a: list[str]) -> str:
        return self._rest(a, self.operation(ca.OP_FLOOR, [self.operation(ca.OP_DIV, a)]))

    def _remainder(self, a: list[str]) -> str:
        return self._rest(a, self._truncated(a))

    def _table(self, a: list[str], slope_only: bool = False) -> str:
        """Piecewise linear through (x1, y1, x2, y2, …), straight on beyond both ends."""
        u, xs, ys = a[0], a[1::2], a[2::2]
        if len(xs) == 1:
            return ZERO if slope_only else ys[0]
        result = ""
        for k in range(len(xs) - 2, -1, -1):
            rise = self.operation(ca.OP_SUB, [ys[k + 1], ys[k]])
            line = self.operation(ca.OP_DIV, [rise, self.operation(ca.OP_SUB, [xs[k + 1], xs[k]])])
            if not slope_only:
                along = self.operation(ca.OP_SUB, [u, xs[k]])
                line = self.operation(ca.OP_ADD, [ys[k], self.operation(ca.OP_MUL, [line, along])])
            before = self.compare("olt", u, xs[k + 1])
            result = self.select(before, line, result) if result else line
        return result

    def _table_slope(self, a: list[str]) -> str:
        return self._table(a, slope_only=True)


_COMPOSED: dict[str, Callable[[_FunctionWriter, list[str]], str]] = {
    "sqrt": _FunctionWriter._root,
    "log10": _FunctionWriter._decades,
    "idiv": _FunctionWriter._truncated,
    "mod": _FunctionWriter._modulo,
    "rem": _FunctionWriter._remainder,
    "table": _FunctionWriter._table,
    "table_slope": _FunctionWriter._table_slope,
}
