"""Programs: expressions as lists of NumPy calls over arrays, each shared node computed once.

Long arrays are worked off in blocks that stay in the processor's cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.flat import expression as ex
from estimica.flat.evaluate import call_function
from estimica.flat.expression import Expression
from estimica.flat.function import called

#: takes the operands and, last, the array for the result
Operation = Callable[..., object]
#: numbers of a block; the registers of one fit into the second-level cache
BLOCK = 8192


def _choose(condition: Vector, yes: Vector, no: Vector, out: Vector) -> None:
    np.copyto(out, no)
    np.copyto(out, yes, where=np.not_equal(condition, 0.0))


def _minimum(a: Vector, b: Vector, out: Vector) -> None:
    np.minimum(a, b, out=out)  # NumPy wants the keyword here


def _maximum(a: Vector, b: Vector, out: Vector) -> None:
    np.maximum(a, b, out=out)


def _truncated_division(a: Vector, b: Vector, out: Vector) -> None:
    np.divide(a, b, out)
    np.trunc(out, out)


def _absent_times(a: Vector, b: Vector, out: Vector) -> None:
    np.multiply(a, b, out)
    np.copyto(out, 0.0, where=np.equal(a, 0.0) | np.equal(b, 0.0))


def _absent_over(a: Vector, b: Vector, out: Vector) -> None:
    np.divide(a, b, out)
    np.copyto(out, 0.0, where=np.equal(a, 0.0))


def _element(index: Vector, *elements: Vector) -> None:
    *values, out = elements
    place = np.clip(np.nan_to_num(np.asarray(index)), 1, len(values))
    np.copyto(out, values[-1])
    for k, value in enumerate(values[:-1]):
        np.copyto(out, value, where=np.floor(place) == k + 1)


def _called(e: Expression) -> Operation:
    """A function, number by number."""
    function, output = called(e)

    def operation(*arrays: Vector) -> None:
        *arguments, out = arrays
        for place in np.ndindex(out.shape):
            values = [float(a if np.ndim(a) == 0 else a[place]) for a in arguments]
            out[place] = call_function(function, values)[output]

    return operation


_OPERATIONS: dict[str, Operation] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "neg": np.negative,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "if": _choose,
    "element": _element,
    "min": _minimum,
    "max": _maximum,
    "sign": np.sign,
    "floor": np.floor,
    "integer": np.floor,
    "ceil": np.ceil,
    "idiv": _truncated_division,
    "mod": np.mod,
    "rem": np.fmod,
    "atan2": np.arctan2,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    **{f: getattr(np, f) for f in ex.ELEMENTARY - {"asin", "acos", "atan"}},
}
#: for derivatives at the edge of a domain: what does not move an operand moves no result either
_ABSENT: dict[str, Operation] = {**_OPERATIONS, "mul": _absent_times, "div": _absent_over}

#: an operation and what picks its operands and its result from the registers
Step = tuple[Operation, Callable[[list[Any]], tuple[Any, ...]]]


class ArrayProgram:
    """The values of `roots`, given those of `arguments` (names, or any nodes below the roots).

    `vector` says which arguments are arrays; the others are numbers. With `absent`, 0·∞ and 0/0
    are 0: the rule for a derivative by a parameter that is absent at a point.
    """

    def __init__(
        self,
        roots: Sequence[Expression],
        arguments: Sequence[Expression],
        vector: Sequence[bool],
        *,
        absent: bool = False,
    ) -> None:
        self._roots = [_lowered(r) for r in roots]
        self._arguments = [_lowered(a) for a in arguments]
        self._operations = _ABSENT if absent else _OPERATIONS
        self._size = len(arguments)
        self._is_vector = dict(zip(self._arguments, vector, strict=True))
        self._place = {a: k for k, a in enumerate(self._arguments)}
        self._constants: list[tuple[int, Vector]] = []
        self._single: list[int] = []  # registers of numbers that are computed
        self._buffers: list[int] = []  # registers of blocks
        self._targets: list[tuple[int, int]] = []  # (register, root): blocks of the result itself
        self._copies: list[tuple[int, int]] = []  # (register, root): what is not a result of a step
        self._numbers: list[Step] = []
        self._steps: list[Step] = []
        self._compile()
        self._inputs = [k for k, v in enumerate(vector) if v]

    # --- compiling -------------------------------------------------------------------------------

    def _compile(self) -> None:
        nodes = list(_below(self._roots, set(self._arguments)))
        last = {a: k for k, e in enumerate(nodes) for a in e.operands}
        wanted = {r: k for k, r in reversed(list(enumerate(self._roots)))}
        free: list[int] = []
        for k, e in enumerate(nodes):
            if e.op == "const":
                self._place[e] = self._new()
                self._is_vector[e] = False
                self._constants.append((self._place[e], np.array(e.value)))
                continue
            assert e.operands, f"{e} is neither an argument nor a number"
            operands = [self._place[a] for a in e.operands]
            self._is_vector[e] = any(self._is_vector[a] for a in e.operands)
            self._place[e] = self._target(e, wanted, free)
            operation = _called(e) if e.op == "call" else self._operations[e.op]
            step = operation, itemgetter(*operands, self._place[e])
            (self._steps if self._is_vector[e] else self._numbers).append(step)
            buffers = set(self._buffers)
            free += sorted({self._place[a] for a in e.operands if last[a] == k} & buffers)
        taken = {root for _, root in self._targets}
        self._copies = [(self._place[r], k) for k, r in enumerate(self._roots) if k not in taken]

    def _target(self, e: Expression, wanted: Mapping[Expression, int], free: list[int]) -> int:
        """Where the result of node `e` goes."""
        if self._is_vector[e] and e not in wanted and free:
            return free.pop()
        place = self._new()
        if not self._is_vector[e]:
            self._single.append(place)
        elif e in wanted:
            self._targets.append((place, wanted[e]))
        else:
            self._buffers.append(place)
        return place

    def _new(self) -> int:
        self._size += 1
        return self._size - 1

    # --- running ---------------------------------------------------------------------------------

    def run(self, arguments: Sequence[float | Vector], out: Vector) -> bool:
        """Writes the values of the roots into the rows of `out`; whether all are surely finite."""
        registers: list[Any] = [*arguments, *[None] * (self._size - len(arguments))]
        for place, number in self._constants:
            registers[place] = number
        room = np.empty(len(self._single))
        for k, place in enumerate(self._single):
            registers[place] = room[k, ...]
        size = out.shape[1]
        blocks = np.empty((len(self._buffers), min(size, BLOCK)))
        with np.errstate(all="ignore"):
            for operation, places in self._numbers:
                operation(*places(registers))
            if size <= BLOCK:
                return math.isfinite(self._block(registers, out, blocks))
            total = 0.0
            for begin in range(0, size, BLOCK):
                part = slice(begin, min(begin + BLOCK, size))
                for k in self._inputs:
                    registers[k] = arguments[k][part]  # type: ignore[index]
                total += self._block(registers, out[:, part], blocks[:, : part.stop - begin])
        return math.isfinite(total)

    def _block(self, registers: list[Any], out: Vector, blocks: Vector) -> float:
        """Fills `out` and returns the sum over it, which tells whether all is finite."""
        for place, row in zip(self._buffers, blocks, strict=True):
            registers[place] = row
        rows = list(out)
        for place, root in self._targets:
            registers[place] = rows[root]
        for operation, places in self._steps:
            operation(*places(registers))
        for place, root in self._copies:
            rows[root][...] = registers[place]
        return float(np.add.reduce(out, axis=None))


def _below(roots: Sequence[Expression], known: set[Expression]) -> Iterator[Expression]:
    """The nodes that `roots` need beyond the known ones, operands first."""
    needed: set[Expression] = set()
    stack = [r for r in roots if r not in known]
    while stack:
        e = stack.pop()
        if e not in needed:
            needed.add(e)
            stack += [a for a in e.operands if a not in known]
    return (e for e in ex.walk(*roots) if e in needed)


def _lowered(root: Expression) -> Expression:
    """Without wrappers; small powers as products, which are many times faster."""
    memo: dict[Expression, Expression] = {}
    for e in ex.walk(root):
        operands = tuple(memo[a] for a in e.operands)
        if e.op in ex.WRAPPERS:
            memo[e] = operands[0]
        elif e.op == "pow" and operands[1].op == "const":
            memo[e] = _power(operands[0], operands[1])
        else:
            memo[e] = ex.node(e.op, *e.args[: -len(operands)], *operands) if operands else e
    return memo[root]


def _power(base: Expression, exponent: Expression) -> Expression:
    match exponent.value:
        case 0.5:
            return ex.call("sqrt", base)
        case -1.0:
            return ex.div(ex.ONE, base)
        case 2.0:
            return ex.mul(base, base)
        case -2.0:
            return ex.div(ex.ONE, ex.mul(base, base))
        case 3.0:
            return ex.mul(ex.mul(base, base), base)
        case 4.0:
            return ex.mul(ex.mul(base, base), ex.mul(base, base))
    return ex.node("pow", base, exponent)
