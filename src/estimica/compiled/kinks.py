"""Kinks: laws that bend or jump without an event, as relations of a hybrid system.

`abs`, `min`, `max`, tables and what stands in `noEvent` or `smooth` are no events of a model: its
states move on across them. The slopes of its equations jump there, and with them the rate of a
covariance, at a time that moves with the tuners. As relations they are followed exactly.

Left as they are: kinks that neither states nor tuners move; and those that guard a root, a
logarithm or a power, by their value or as a condition: on the wrong side it has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.hybrid import HybridSystem
from estimica.compiled.llvm.call_expansion import called_nonzeros, calls_of
from estimica.compiled.llvm.domain import DOMAIN_TOLERANCE, FLOOR, POWER_FLOOR

#: more of them are not followed: each is looked at in every step, and laws with so many bends (a
#: table of a thousand points) are nearly smooth (chosen)
MOST = 200
#: comparisons with these are the compiler's own, at the edge of a domain
_EDGES = (FLOOR, POWER_FLOOR, -DOMAIN_TOLERANCE)
_BENT = (ca.OP_FABS, ca.OP_SIGN, ca.OP_FMIN, ca.OP_FMAX, ca.OP_LT, ca.OP_LE)
_LIMITED = (ca.OP_SQRT, ca.OP_LOG, ca.OP_LOG1P, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_ASIN, ca.OP_ACOS,
            ca.OP_ACOSH, ca.OP_ATANH)  # fmt: skip


@dataclass(frozen=True, eq=False)
class KinkedSystem:
    """A hybrid system whose kinks are state relations behind its own, and how many there are."""

    hybrid: HybridSystem
    count: int

    def modes_at(self, t: float, x: Vector, z: Vector, P: Vector, u: Vector, d: Vector) -> Vector:
        """The modes of a start, from those of the model."""
        first = self.hybrid.ng - self.count
        modes = np.concatenate([d[:first], np.zeros(self.count), d[first:]])
        for _ in range(self.count):  # kinks within kinks
            new = np.array(self._values(t, x, z, P, u, modes)).ravel() > 0
            if np.array_equal(new, modes[first : first + self.count] > 0):
                break
            modes[first : first + self.count] = new
        return modes

    @cached_property
    def _values(self) -> ca.Function:
        h = self.hybrid
        own = ca.densify(h.zero[h.ng - self.count :]) if self.count else ca.SX(0, 1)
        return ca.Function("kinks", [h.t, h.x, h.z, h.P, h.u, h.d], [own])


def with_kinks(h: HybridSystem) -> KinkedSystem:
    """The system whose right-hand sides bend at events only."""
    writer = _Writer(h)
    f, g = writer.written()
    count = len(writer.zeros)
    if not 0 < count <= MOST:
        return KinkedSystem(h, 0)

    def inserted(column: ca.SX, own: ca.SX) -> ca.SX:
        first, rest = ca.vertsplit(ca.densify(column), [0, h.ng, h.nd])
        return ca.vertcat(first, own, rest)

    own = ca.vertcat(*writer.modes)
    hybrid = replace(
        h,
        f=f,
        g=g,
        d=inserted(h.d, own),
        d_pre=inserted(h.d_pre, ca.SX.sym("kink_pre", count)),
        zero=ca.densify(ca.vertcat(h.zero, *writer.zeros)),
        strict=(*h.strict, *writer.strict),
        d0=np.concatenate([h.d0[: h.ng], np.zeros(count), h.d0[h.ng :]]),
    )
    return KinkedSystem(hybrid, count)


class _Writer:
    """Writes f and g again, instruction by instruction."""

    def __init__(self, h: HybridSystem) -> None:
        self.h = h
        self.symbols = ca.symvar(ca.vertcat(h.f, h.g))
        expressions = [ca.densify(h.f), ca.densify(h.g)]
        self.function = ca.Function("f", self.symbols, expressions, {"cse": True})
        self.moving = ca.vertcat(h.x[: h.nx - h.n_memory], h.z)
        self.timed = ca.vertcat(h.t, h.u)
        self.zeros: list[ca.SX] = []
        self.modes: list[ca.SX] = []
        self.strict: list[bool] = []

    def written(self) -> list[ca.SX]:
        """f and g with modes in place of kinks."""
        bent, calls, work = self._followed(), calls_of(self.function), dict[int, ca.SX]()
        results = [[ca.SX(0)] * self.function.nnz_out(k) for k in range(2)]
        for k in range(self.function.n_instructions()):
            op, out = self.function.instruction_id(k), self.function.instruction_output(k)
            args = self.function.instruction_input(k)
            if op == ca.OP_INPUT:
                work[out[0]] = self.symbols[args[0]]
            elif op == ca.OP_OUTPUT:
                results[out[0]][out[1]] = work[args[0]]
            elif op == ca.OP_CONST:
                work[out[0]] = ca.SX(self.function.instruction_constant(k))
            elif op == ca.OP_CALL:
                found = called_nonzeros(calls[k], [work[a] for a in args])
                work.update((at, v) for at, v in zip(out, found, strict=False) if at >= 0)
            elif k in bent:
                work[out[0]] = self._switched(op, [work[a] for a in args])
            elif len(args) == 1:
                work[out[0]] = ca.SX.unary(op, work[args[0]])
            else:
                work[out[0]] = ca.SX.binary(op, work[args[0]], work[args[1]])
        return [ca.densify(ca.vertcat(*r)) if r else ca.SX(0, 1) for r in results]

    def _followed(self) -> set[int]:
        """The instructions that are kinks and guard nothing."""
        f = self.function
        reach: dict[int, frozenset[int]] = {}  # of each value the kinks that it comes from
        limited: dict[int, bool] = {}  # ... and whether a root or the like is in it
        constants: dict[int, float] = {}
        bent, guards = set[int](), set[int]()
        for k in range(f.n_instructions()):
            op, args, out = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
            if op == ca.OP_OUTPUT:
                continue
            for place in out:
                constants.pop(place, None)
            if op in (ca.OP_INPUT, ca.OP_CONST):
                reach[out[0]], limited[out[0]] = frozenset(), False
                if op == ca.OP_CONST:
                    constants[out[0]] = f.instruction_constant(k)
                continue
            came = frozenset[int]().union(*(reach[a] for a in args))
            beyond = op in _LIMITED
            if beyond:
                guards |= came
            elif op == ca.OP_IF_ELSE_ZERO and limited[args[1]]:
                guards |= reach[args[0]]
            limit = beyond or any(limited[a] for a in args)
            limited.update(dict.fromkeys(out, limit))
            if op in _BENT and not any(constants.get(a) in _EDGES for a in args):
                bent.add(k)
                came |= {k}
            reach.update(dict.fromkeys(out, came))
        return bent - guards

    def _switched(self, op: int, args: list[ca.SX]) -> ca.SX:
        """What the instruction gives, by a mode where its kink moves."""
        a, b = args[0], args[-1]
        difference = a if len(args) == 1 else b - a if op in (ca.OP_LT, ca.OP_LE) else a - b
        if not self._moves(difference):
            return ca.SX.unary(op, a) if len(args) == 1 else ca.SX.binary(op, a, b)
        mode = self._mode(difference, strict=op != ca.OP_LE)
        if op in (ca.OP_LT, ca.OP_LE):
            return mode
        branches = {
            ca.OP_FABS: (a, -a),
            ca.OP_SIGN: (ca.SX(1), ca.SX(-1)),
            ca.OP_FMAX: (a, b),
            ca.OP_FMIN: (b, a),
        }
        return ca.if_else(mode, *branches[op])

    def _moves(self, difference: ca.SX) -> bool:
        """Whether states or tuners move the time at which it vanishes."""
        if ca.depends_on(difference, self.moving):
            return True
        return bool(ca.depends_on(difference, self.timed) and ca.depends_on(difference, self.h.P))

    def _mode(self, difference: ca.SX, strict: bool) -> ca.SX:
        for known, mode in zip(self.zeros, self.modes, strict=True):
            if ca.is_equal(known, difference, 20):  # as deep as formulas of one kink are
                return mode
        self.zeros.append(difference)
        self.modes.append(ca.SX.sym("kink"))
        self.strict.append(strict)
        return self.modes[-1]
