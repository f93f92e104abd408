"""FormulaResponse: formulas over points, evaluated at many values of their tuners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from estimica.base.arrays import Vector
from estimica.flat import expression as ex
from estimica.flat.calculus import tangent
from estimica.flat.expression import Expression
from estimica.flat.vectorised import ArrayProgram
from estimica.source.formula import Formula

DONE, NOT_FINITE = 0, 10  # as simulate.status numbers them
_TEXT = "all points computed"


@dataclass(frozen=True, eq=False)
class FormulaProgram:
    """Values and derivatives of formulas as one program, for some tuners.

    What no tuner moves stands `before` the program, to be computed once for all evaluations.
    """

    formulas: Mapping[str, Formula]
    tuners: tuple[str, ...]
    roots: tuple[Expression, ...]  # all values, then all derivatives, the tuners running fastest
    before: tuple[Expression, ...]
    vector: tuple[bool, ...]  # which of tuners and `before` are arrays
    arrays: frozenset[str]  # the inputs that are arrays

    @cached_property
    def program(self) -> ArrayProgram:
        """Roots from tuners and `before`."""
        return ArrayProgram(self.roots, self._arguments, self.vector)

    @cached_property
    def edge_program(self) -> ArrayProgram:
        """The same for points at the edge of a domain, where a parameter may be absent."""
        return ArrayProgram(self.roots, self._arguments, self.vector, absent=True)

    @property
    def _arguments(self) -> list[Expression]:
        return [*map(ex.name, self.tuners), *self.before]

    def prepare(self, known: Mapping[str, float | Vector], size: int) -> list[float | Vector]:
        """The values of `before`."""
        work = [e for e in self.before if e.op != "name"]
        names = sorted(ex.names_in(*work))
        rows = np.empty((len(work), size))
        program = ArrayProgram(work, [ex.name(n) for n in names], [n in self.arrays for n in names])
        program.run([known[n] for n in names], rows)
        computed = dict(zip(work, rows, strict=True))
        arrays = dict(zip(self._arguments, self.vector, strict=True))
        return [
            known[e.target] if e.op == "name" else computed[e] if arrays[e] else computed[e][0]
            for e in self.before
        ]


def formula_program(
    formulas: Mapping[str, Formula], tuners: Sequence[str], arrays: Sequence[str]
) -> FormulaProgram:
    """The plan for tuners and for inputs that are arrays."""
    values = [f.expression for f in formulas.values()]
    columns = [tangent(values, _seed(n)) for n in tuners]
    roots = (*values, *(column[k] for k in range(len(values)) for column in columns))
    moved = _depending(roots, set(tuners))
    below = (a for e in ex.walk(*roots) if e in moved for a in e.operands)
    kept = dict.fromkeys(e for e in (*below, *roots) if e not in moved and e.op != "const")
    is_array = _depending(tuple(kept), set(arrays))
    vector = (*(n in arrays for n in tuners), *(e in is_array for e in kept))
    return FormulaProgram(formulas, tuple(tuners), roots, tuple(kept), vector, frozenset(arrays))


def _seed(name: str) -> Callable[[Expression], Expression]:
    return lambda leaf: ex.ONE if leaf.target == name else ex.ZERO


def _depending(roots: Sequence[Expression], names: set[str]) -> set[Expression]:
    """The nodes below `roots` in which one of `names` stands."""
    found: set[Expression] = set()
    for e in ex.walk(*roots):
        if (e.op == "name" and e.target in names) or any(a in found for a in e.operands):
            found.add(e)
    return found


@dataclass(frozen=True, eq=False)
class FormulaRun:
    """Outputs and derivatives at all points; `text` says what went wrong where `ok` is False.

    Both arrays lie column by column in memory.
    """

    times: Vector
    Y: Vector  # (N, ny)
    YS: Vector  # (N, ny, m)
    status: int = DONE
    text: str = _TEXT

    @property
    def ok(self) -> bool:
        """Whether everything is finite."""
        return self.status == DONE


class FormulaResponse:
    """y(points; θ) and, where there are tuners, its exact Jacobian."""

    def __init__(
        self,
        plan: FormulaProgram,
        times: Vector,
        known: Mapping[str, float | Vector],
        tuners: Vector,
        *,
        stamp: str = "point",  # what the numbers of the samples are, in messages
    ) -> None:
        self.plan = plan
        self.times = times
        self._stamp = stamp
        self._known = known
        self._tuners = tuners
        self._before = plan.prepare(known, len(times))

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which the response was set up; NaN where they have none."""
        return self._tuners.copy()

    def at(self, theta: Vector | None = None) -> FormulaRun:
        """Values and derivatives at tuner values `theta`; a point without a value is told."""
        values = self._tuners if theta is None else np.asarray(theta, np.float64)
        return self.run([*values])

    def run(self, values: list[float | Vector]) -> FormulaRun:
        """The same for values of which some are arrays, one number for each point."""
        ny, m = len(self.plan.formulas), len(self.plan.tuners)
        rows = np.empty((ny * (1 + m), len(self.times)))
        sound = self.plan.program.run([*values, *self._before], rows)
        status, text = DONE, _TEXT
        if not sound and (bad := self._mended(rows, values)) is not None:
            status, text = NOT_FINITE, self._told(*bad, values)
        YS = rows[ny:].reshape(ny, m, -1) if m else np.empty((ny, 0, len(self.times)))
        return FormulaRun(self.times, rows[:ny].T, YS.transpose(2, 0, 1), status, text)

    def _mended(self, rows: Vector, values: list[float | Vector]) -> tuple[int, int] | None:
        """Derivatives at the edge of a domain set right; (row, point) of the first bad number.

        x^b at x = 0 is such an edge: b·x^(b-1)·0 and x^b·log(x) are 0 there, not NaN.
        """
        ny = len(self.plan.formulas)
        points = np.flatnonzero(~np.isfinite(rows).all(axis=0))
        edge = points[np.isfinite(rows[:ny, points]).all(axis=0)]
        if edge.size:
            given = [*values, *self._before]
            part = [b[edge] if isinstance(b, np.ndarray) and b.ndim else b for b in given]
            fixed = np.empty((len(rows), edge.size))
            self.plan.edge_program.run(part, fixed)
            rows[ny:, edge] = fixed[ny:]
        bad = np.argwhere(~np.isfinite(rows[:, points]))
        if not bad.size:
            return None
        row, column = bad[0]
        return int(row), int(points[column])

    def _told(self, row: int, point: int, values: list[float | Vector]) -> str:
        """What is not finite, at which point, with which inputs and parameters."""
        ny, m = len(self.plan.formulas), len(self.plan.tuners)
        output = list(self.plan.formulas)[row if row < ny else (row - ny) // m]
        what = f"output '{output}'"
        if row >= ny:
            what = f"the derivative of {what} by '{self.plan.tuners[(row - ny) % m]}'"
        known = {**self._known, **dict(zip(self.plan.tuners, values, strict=True))}
        at = {n: v[point] for n, v in known.items() if isinstance(v, np.ndarray) and v.ndim}
        rest = {n: v for n, v in known.items() if n not in at}
        where = f"{self._stamp} {self.times[point]:g}" + (f" ({_listed(at)})" if at else "")
        return f"{what} is not finite at {where}, with {_listed(rest)}"


def _listed(values: Mapping[str, float | Vector]) -> str:
    return ", ".join(f"{n} = {v:g}" for n, v in values.items())


class FormulaInputResponse:
    """y(points; θ, u) with its exact derivatives by the tuners θ and by inputs u that move."""

    def __init__(
        self, plan: FormulaProgram, times: Vector, known: Mapping[str, float | Vector], tuners: int
    ) -> None:
        self._inner = FormulaResponse(plan, times, known, np.full(tuners, np.nan))
        self._tuners = tuners

    def at(self, theta: Vector, inputs: Vector) -> FormulaRun:
        """Values and derivatives at tuner values `theta` and `inputs` (k, N)."""
        return self._inner.run([*np.asarray(theta, np.float64), *np.asarray(inputs, np.float64)])


# ----------------------------------------------------------------
# FormulaChain: formulas of quantities that move with the tuners, with derivatives by these.


class FormulaChain:
    """Formulas g(v(θ), θ) over samples: values, and derivatives by the chain rule.

    `moving` are the names whose values are given anew at every evaluation, `arrays` those of all
    names that have a value for each sample; `known` are the values that never change.
    """

    def __init__(
        self,
        formulas: Mapping[str, Formula],
        moving: Sequence[str],
        arrays: Sequence[str],
        times: Vector,
        known: Mapping[str, float | Vector],
        *,
        stamp: str = "time",
    ) -> None:
        self.moving = tuple(moving)
        made = formula_program(formulas, self.moving, arrays)
        self._partials = FormulaResponse(
            made, times, known, np.full(len(self.moving), np.nan), stamp=stamp
        )

    def at(self, values: Mapping[str, float | Vector], slopes: Mapping[str, Vector]) -> FormulaRun:
        """The formulas at values of what moves; `slopes` are (N, m), or (m,) alike at all samples.

        A name without a slope does not move with any unknown.
        """
        partial = self._partials.run([values[n] for n in self.moving])
        m = next((s.shape[-1] for s in slopes.values()), 0)
        YS = np.zeros((*partial.Y.shape, m))
        for k, name in enumerate(self.moving):
            if name in slopes:
                YS += partial.YS[:, :, k, None] * np.atleast_2d(slopes[name])[:, None, :]
        return FormulaRun(partial.times, partial.Y, YS, partial.status, partial.text)
