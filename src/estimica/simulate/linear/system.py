"""LinearSystem: x' = A x + B u(t - T), y = C x + D u(t - T) with formulas as coefficients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.saving.packing import restores
from estimica.flat import expression as ex
from estimica.flat.calculus import tangent
from estimica.flat.expression import Expression
from estimica.flat.vectorised import ArrayProgram
from estimica.simulate.linear.text import Rational

Matrix = tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The numbers of a linear system and their derivatives, those by the tuners along axis 0."""

    A: Vector  # (n, n)
    B: Vector  # (n, nu)
    C: Vector  # (ny, n)
    D: Vector  # (ny, nu)
    T: Vector  # (nu,) delays
    dA: Vector  # (m, n, n)
    dB: Vector
    dC: Vector
    dD: Vector
    dT: Vector  # (m, nu)


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """Coefficients as expressions of parameters."""

    A: Matrix
    B: Matrix
    C: Matrix
    D: Matrix
    T: tuple[Expression, ...]  # the delay of each input

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of states, inputs and outputs."""
        return len(self.A), len(self.T), len(self.D)

    @cached_property
    def entries(self) -> tuple[Expression, ...]:
        """All coefficients in one row: A, B, C, D row by row, then the delays."""
        return (*(e for M in (self.A, self.B, self.C, self.D) for row in M for e in row), *self.T)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters in the order in which the coefficients need them."""
        found = (e.target for e in ex.walk(*self.entries) if e.op == "name")
        return tuple(dict.fromkeys(found))

    def __reduce__(self) -> tuple[object, ...]:
        """Nodes are shared within a process: what travels is how to make them anew."""
        nodes = list(ex.walk(*self.entries))
        place = {e: k for k, e in enumerate(nodes)}
        packed = [
            (e.op, list(e.args) if e.op in ex.LEAVES else [place[a] for a in e.operands])
            for e in nodes
        ]
        return _unpacked, (packed, [place[e] for e in self.entries], self.sizes)

    def rule(self, tuners: Sequence[str]) -> CoefficientProgram:
        """How the numbers follow from the parameters, with derivatives by `tuners`."""
        return CoefficientProgram(self, tuple(tuners))


@restores
def _unpacked(
    packed: Sequence[tuple[str, list[Any]]], roots: Sequence[int], sizes: tuple[int, int, int]
) -> LinearSystem:
    found: list[Expression] = []
    for op, args in packed:
        leaf = op in ex.LEAVES
        found.append(ex.node(op, *(args if leaf else (found[k] for k in args))))
    n, nu, ny = sizes
    rest = iter([found[k] for k in roots])

    def matrix(rows: int, columns: int) -> Matrix:
        return tuple(tuple(next(rest) for _ in range(columns)) for _ in range(rows))

    A, B, C, D = matrix(n, n), matrix(n, nu), matrix(ny, n), matrix(ny, nu)
    return LinearSystem(A, B, C, D, tuple(rest))


class CoefficientProgram:
    """Coefficients and their derivatives as one program."""

    def __init__(self, system: LinearSystem, tuners: tuple[str, ...]) -> None:
        self.system = system
        self.tuners = tuners
        entries = system.entries
        roots = list(entries)
        for name in tuners:
            roots += tangent(entries, _seed(name))
        self._count = len(roots)
        self._program = ArrayProgram(
            roots, [ex.name(n) for n in system.names], [False] * len(system.names)
        )

    def at(self, values: Mapping[str, float]) -> Coefficients | None:
        """The numbers at parameter values; None where one of them is not finite."""
        out = np.empty((self._count, 1))
        self._program.run([np.float64(values[n]) for n in self.system.names], out)
        numbers = out[:, 0].reshape(1 + len(self.tuners), -1)
        if not np.isfinite(numbers).all():
            return None
        n, nu, ny = self.system.sizes
        shapes = ((n, n), (n, nu), (ny, n), (ny, nu), (nu,))
        ends = np.cumsum([int(np.prod(s)) for s in shapes])
        parts = [
            np.ascontiguousarray(block).reshape(len(numbers), *shape)
            for block, shape in zip(np.split(numbers, ends[:-1], axis=1), shapes, strict=True)
        ]
        return Coefficients(*(p[0] for p in parts), *(p[1:] for p in parts))


def _seed(name: str) -> Callable[[Expression], Expression]:
    return lambda leaf: ex.ONE if leaf.target == name else ex.ZERO


def observer_form(transfer: Rational) -> LinearSystem:
    """The observer form of a proper transfer function; its first state is y - D·u.

    y = x1 + D u, x1' = x2 - a[n-1] x1 + (b[n-1] - a[n-1] D) u, … for a denominator that begins
    with sⁿ.
    """
    below, above = transfer.denominator, transfer.numerator
    n = len(below) - 1
    if len(above) > n + 1:
        raise ModelError(
            "M104",
            f"the transfer function has s^{len(above) - 1} above and s^{n} below: no system reacts "
            "like that; add a fast pole, as in 1/(1 + 0.001*s)",
        )
    a = [ex.div(c, below[-1]) for c in below]
    b = [ex.div(c, below[-1]) for c in (*above, *[ex.ZERO] * (n + 1 - len(above)))]
    direct = b[n]
    A = tuple(
        tuple(
            ex.neg(a[n - 1 - i]) if k == 0 else ex.ONE if k == i + 1 else ex.ZERO for k in range(n)
        )
        for i in range(n)
    )
    B = tuple((ex.sub(b[n - 1 - i], ex.mul(a[n - 1 - i], direct)),) for i in range(n))
    C = (tuple(ex.ONE if k == 0 else ex.ZERO for k in range(n)),)
    return LinearSystem(A, B, C, ((direct,),), (transfer.delay,))
