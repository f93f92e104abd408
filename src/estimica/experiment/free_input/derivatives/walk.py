"""Step chains: all steps of a run one after the other, and backwards with the derivatives.

Steps that are explicit run as machine code, which LLVM makes of them; implicit ones are left to
CasADi.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.compiled.llvm.machine_code import MachineCode, compile_functions


@dataclass(frozen=True, eq=False)
class StepSchedule:
    """The steps of a run: when they begin, how long they are, rises of given inputs, samples."""

    begins: Vector  # (K,)
    widths: Vector  # (K,)
    rises: Vector  # (nu, K)
    samples: Indices  # the step that begins at each sample


class StepChain(Protocol):
    """Derivatives of the outputs at the samples as a function of the inputs of all steps."""

    def rows(self, U: Vector) -> Vector:
        """(samples, outputs·p) for inputs (nu, K)."""

    def pulled(self, U: Vector, bar: Vector) -> Vector:
        """(nu, K): Σ bar · ∂rows/∂U."""


class CasadiStepChain:
    """Steps in CasADi's own evaluation."""

    def __init__(
        self,
        first: ca.Function,
        step: ca.Function,
        seen: ca.Function,
        theta: Vector,
        course: StepSchedule,
    ) -> None:
        K, nu = len(course.begins), course.rises.shape[0]
        U = ca.MX.sym("U", nu, K)
        t, h = ca.DM(course.begins).T, ca.DM(course.widths).T
        v, S = first(ca.DM(theta), U[:, 0])
        V, SS = _held(step, theta).mapaccum("walk", K, 2)(v, S, t, h, U, ca.DM(course.rises))
        V, SS = ca.horzcat(v, V), ca.horzcat(S, SS)
        at = [int(k) for k in course.samples]
        one = _held(seen, theta).map(len(at))
        observed = one(V[:, at], SS[:, at], t[:, at], U[:, at])[1]
        self._rows = ca.Function("rows", [U], [observed])
        self._back = self._rows.reverse(1)

    def rows(self, U: Vector) -> Vector:
        """(samples, outputs·p)."""
        return np.array(self._rows(U), float).T

    def pulled(self, U: Vector, bar: Vector) -> Vector:
        """(nu, K): Σ bar · ∂rows/∂U."""
        return np.array(self._back(U, ca.DM(), bar.T), float)


def _held(function: ca.Function, theta: Vector) -> ca.Function:
    """(v, S, θ, …) with θ at its numbers."""
    inputs = [ca.MX.sym(f"a{i}", *function.size_in(i)) for i in range(function.n_in())]
    value = function(inputs[0], inputs[1], ca.DM(theta), *inputs[3:])
    return ca.Function("held", [*inputs[:2], *inputs[3:]], value)


class CompiledSteps:
    """Steps and outputs as machine code, forwards and backwards; shared by walks of a model."""

    def __init__(self, step: ca.Function, seen: ca.Function) -> None:
        backs = [_backwards(f, name) for f, name in ((step, "step_back"), (seen, "seen_back"))]
        functions = [_renamed(step, "step"), _renamed(seen, "seen"), *backs]
        self._code: MachineCode = compile_functions(functions)
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self.step, self.seen, self.step_back, self.seen_back = (
            prototype(self._code.addresses[f.name()]) for f in functions
        )
        self.width, self.size = int(step.size1_out(0)), int(step.size1_out(1))
        self.outputs = int(seen.size1_out(0)), int(seen.size1_out(1))


class CompiledStepChain:
    """Steps as machine code."""

    def __init__(
        self, first: ca.Function, compiled: CompiledSteps, theta: Vector, course: StepSchedule
    ) -> None:
        self._c, self._course = compiled, course
        self._theta = np.ascontiguousarray(theta)
        self._first, self._first_back = first, first.reverse(1)
        K, N, nu = len(course.begins), len(course.samples), course.rises.shape[0]
        c = compiled
        self._V, self._S = np.zeros((K + 1, c.width)), np.zeros((K + 1, c.size))
        self._U = np.zeros((K, nu))
        self._t, self._h = np.ascontiguousarray(course.begins), np.ascontiguousarray(course.widths)
        self._rise = np.ascontiguousarray(course.rises.T)
        self._y, self._R = np.zeros((N, c.outputs[0])), np.zeros((N, c.outputs[1]))
        both = c.width + c.size
        self._bar = np.zeros((N, c.outputs[1]))
        self._seen_bar = np.zeros((N, both + nu))
        self._added = np.zeros((K, both))
        self._back = np.zeros((K + 1, both + nu))
        self._tables(K, N)

    def rows(self, U: Vector) -> Vector:
        """(samples, outputs·p)."""
        self._walk(U)
        for given, result in self._sees:
            self._c.seen(given, result)
        return self._R.copy()

    def pulled(self, U: Vector, bar: Vector) -> Vector:
        """(nu, K): Σ bar · ∂rows/∂U."""
        self._walk(U)
        both = self._c.width + self._c.size
        self._bar[:] = bar
        for given, result in self._sees_back:
            self._c.seen_back(given, result)
        self._added[:] = 0.0
        self._added[self._course.samples] = self._seen_bar[:, :both]
        self._back[-1] = 0.0
        for given, result in self._steps_back:
            self._c.step_back(given, result)
        summed = self._back[:-1, both:].copy()
        summed[self._course.samples] += self._seen_bar[:, both:]
        begun = self._back[0]
        first = self._first_back(
            self._theta, U[:, 0], ca.DM(), ca.DM(), begun[: self._c.width],
            begun[self._c.width : both],
        )[1]  # fmt: skip
        summed[0] += np.array(first, float).ravel()
        by_steps: Vector = summed.T
        return by_steps

    def _walk(self, U: Vector) -> None:
        v, S = self._first(self._theta, U[:, 0])
        self._V[0], self._S[0] = np.array(v, float).ravel(), np.array(S, float).ravel()
        self._U[:] = U.T
        for given, result in self._steps:
            self._c.step(given, result)

    def _tables(self, K: int, N: int) -> None:
        """Tables of pointers for every call, so that a walk is nothing but calls."""
        steps, samples = np.arange(K), self._course.samples
        theta = np.full(K, self._theta.ctypes.data)
        begin = [_rows(a, steps) for a in (self._V, self._S)]
        rest = [_rows(a, steps) for a in (self._t, self._h, self._U, self._rise)]
        after = [_rows(a, steps + 1) for a in (self._V, self._S)]
        self._steps, step_tables = _calls([*begin, theta, *rest], after)
        backs = [_rows(self._back, steps + 1), _rows(self._added, steps)]
        order = steps[::-1]
        self._steps_back, back_tables = _calls(
            [a[order] for a in (*begin, theta, *rest, *backs)], [_rows(self._back, order)]
        )
        here = [_rows(a, samples) for a in (self._V, self._S)]
        there = [_rows(a, samples) for a in (self._t, self._U)]
        numbers = np.arange(N)
        given = [*here, theta[:1].repeat(N), *there]
        self._sees, see_tables = _calls(given, [_rows(a, numbers) for a in (self._y, self._R)])
        self._sees_back, seen_tables = _calls(
            [*given, _rows(self._bar, numbers)], [_rows(self._seen_bar, numbers)]
        )
        self._keep = (step_tables, back_tables, see_tables, seen_tables)


def _rows(array: Vector, which: Indices) -> Indices:
    """Addresses of rows of an array."""
    return array.ctypes.data + which * array.strides[0]


def _calls(
    given: list[Indices], results: list[Indices]
) -> tuple[list[tuple[int, int]], tuple[Indices, Indices]]:
    """Addresses of the tables of arguments and results of every call, and the tables."""
    tables = tuple(np.ascontiguousarray(np.column_stack(a), np.int64) for a in (given, results))
    places = [t.ctypes.data + np.arange(len(t)) * t.strides[0] for t in tables]
    return list(zip(*(p.tolist() for p in places), strict=True)), (tables[0], tables[1])


def _renamed(function: ca.Function, name: str) -> ca.Function:
    inputs = function.sx_in()
    return ca.Function(name, inputs, [ca.densify(f) for f in function.call(inputs)], {"cse": True})


def _backwards(function: ca.Function, name: str) -> ca.Function:
    """Σ bar · ∂(results)/∂(v, S, u), for a step with what is to be added, for outputs as they are.

    A step is (v, S, θ, t, h, u, rise) → (v⁺, S⁺); outputs are (v, S, θ, t, u) → (y, their rates),
    of which only the rates have a bar.
    """
    inputs = function.sx_in()
    a, b = function.call(inputs)
    stepping = len(inputs) == 7
    u = inputs[5] if stepping else inputs[4]
    value = ca.vertcat(a, b) if stepping else b
    wrt = ca.vertcat(inputs[0], inputs[1], u)
    bar = ca.SX.sym("bar", value.shape[0])
    product = ca.densify(ca.jtimes(value, wrt, bar, True))
    if not stepping:
        return ca.Function(name, [*inputs, bar], [product], {"cse": True})
    both = value.shape[0]
    add = ca.SX.sym("add", both)
    product = ca.vertcat(product[:both] + add, product[both:])
    return ca.Function(name, [*inputs, bar, add], [ca.densify(product)], {"cse": True})
