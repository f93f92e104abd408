"""Python functions under pieces of inputs, followed by CasADi or JAX through inputs as well."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.signals import Signal
from estimica.experiment.free_input.problem.plan import Plan
from estimica.simulate.function.call import FunctionCall, Symbols, double_precision
from estimica.simulate.function.model import FunctionModel

#: samples above which symbols of every one are not a gain. Chosen: a graph grows with each
LARGE = 5_000
#: of sensitivities with those of the model itself, relative. Chosen: both are exact to rounding,
#: and those of another formula are far off
AGREED = 1e-6


@dataclass(frozen=True, eq=False)
class SymbolicFunctions:
    """Functions of the inputs at all samples, (N, nu)."""

    way: str
    rows: Callable[[Vector], Vector]  # (N, ny, p)
    pulled: Callable[[Vector, Vector], Vector]  # (N, nu)
    limited: Callable[[Vector], Vector]  # (N, limited)
    limited_slope: Callable[[Vector], Vector]  # (N, limited, N, nu)


class TracedFunctionModel:
    """A function model under piecewise constant inputs, exact in parameters and inputs."""

    accuracy = 0.0

    def __init__(self, plan: Plan, followed: SymbolicFunctions) -> None:
        self.plan = plan
        self.way = followed.way
        self._followed = followed
        self._pieces = np.searchsorted(plan.stamps, plan.times, side="right") - 1

    def rows(self, u: Vector) -> Vector | None:
        """(N, ny, p): derivatives of the outputs by θ; None where they are not finite."""
        rows = self._followed.rows(self._sampled(u))
        return rows if np.isfinite(rows).all() else None

    def pulled(self, u: Vector, bar: Vector) -> Vector:
        """Σ bar · ∂rows/∂u, for a weight of each of the rows."""
        return self._gathered(self._followed.pulled(self._sampled(u), bar))

    def limited(self, u: Vector) -> Vector:
        """(N, limited): outputs with limits at the samples."""
        return self._followed.limited(self._sampled(u))

    def limited_slope(self, u: Vector) -> Vector:
        """(N, limited, n): their derivatives."""
        return self._gathered(self._followed.limited_slope(self._sampled(u)))

    def rows_of(self, signals: Mapping[str, Signal]) -> Vector | str:
        """The same for any signals, of which the function sees samples only."""
        U = np.column_stack([signals[n].at(self.plan.times) for n in self.plan.designed])
        rows = self._followed.rows(U)
        return rows if np.isfinite(rows).all() else "a derivative is not finite"

    def _sampled(self, u: Vector) -> Vector:
        return self.plan.shaped(u)[:, self._pieces].T

    def _gathered(self, by_samples: Vector) -> Vector:
        """(..., N, nu) at samples as (..., n) of pieces."""
        first = np.searchsorted(self._pieces, np.arange(len(self.plan.stamps)))
        summed = np.add.reduceat(by_samples, first, axis=-2)
        turned = np.moveaxis(summed, -1, -2)
        return turned.reshape(*turned.shape[:-2], self.plan.n)


def trace_function_model(
    plan: Plan, values: Vector, limited: Sequence[str] = (), *, trial: Vector
) -> TracedFunctionModel | None:
    """The function followed by symbols, where it allows that and what comes out is right."""
    assert isinstance(plan.model, FunctionModel)
    model, theta = plan.model, plan.theta(values)[0]
    call: FunctionCall = plan.response(plan.signals(trial)).call
    if len(call.times) != len(plan.times):
        return None
    known = {**model.values, **plan.bench.parameters, **dict(zip(plan.wrt, theta, strict=True))}
    numbers = np.array([known[n] for n in call.names], float)
    follow = _Tracer(
        plan, call, numbers, [call.names.index(n) for n in plan.wrt],
        [call.outputs.index(n) for n in limited], list(call.shown),
        [model.input_names.index(n) for n in plan.designed],
    )  # fmt: skip
    truth = plan.rows(plan.signals(trial), values)
    if isinstance(truth, str):
        return None
    for attempt in (follow.by_jax, follow.by_casadi_column, follow.by_casadi_array):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                symbolic = attempt()
                traced = None if symbolic is None else TracedFunctionModel(plan, symbolic)
                rows = None if traced is None else traced.rows(trial)
        except Exception:  # the user's code may raise anything
            continue
        if traced is not None and rows is not None and rows.shape == truth.shape:
            size = np.sqrt((truth**2).sum(axis=(0, 1)))
            off = np.sqrt(((rows - truth) ** 2).sum(axis=(0, 1)))
            precise = max(AGREED, 10 * (model.precision or 0.0))
            if (off <= precise * size + 1e-300).all():
                return traced
    return None


@dataclass(frozen=True, eq=False)
class _Tracer:
    plan: Plan
    call: FunctionCall
    numbers: Vector  # of all parameters
    places: list[int]  # of θ among them
    limited: list[int]  # outputs with limits
    shown: list[int]  # outputs that are measured
    inputs: list[int]  # the designed ones

    # -- JAX -------------------------------------------------------------------------------------

    def by_jax(self) -> SymbolicFunctions | None:
        jax = sys.modules.get("jax")
        if jax is None:
            return None
        np_ = jax.numpy
        fixed, places = np_.asarray(self.numbers), np_.asarray(self.places)

        def outputs(theta: Any, U: Any) -> Any:
            every = fixed.at[places].set(theta)
            whole = np_.asarray(self.call.inputs).at[:, np_.asarray(self.inputs)].set(U)
            given = Symbols(list(every), self.call.names)
            returned = replace(self.call, inputs=whole).returned(given)
            if isinstance(returned, (tuple, list)):
                returned = np_.stack([np_.asarray(one) for one in returned], axis=-1)
            return np_.asarray(returned).reshape(len(self.call.times), len(self.call.outputs))

        theta = self.numbers[self.places]

        def rows(U: Any) -> Any:
            return jax.jacfwd(lambda v: outputs(v, U)[:, np_.asarray(self.shown)])(theta)

        def seen(U: Any) -> Any:
            return outputs(theta, U)[:, np_.asarray(self.limited, dtype=int)]

        def pulled(U: Any, bar: Any) -> Any:
            return jax.vjp(rows, U)[1](bar)[0]

        return SymbolicFunctions(
            "exact, by JAX",
            *(_plain(jax.jit(f)) for f in (rows, pulled, seen, jax.jacrev(seen))),
        )

    # -- CasADi ----------------------------------------------------------------------------------

    def by_casadi_column(self) -> SymbolicFunctions | None:
        """Inputs as one column of symbols."""
        import casadi as ca

        if len(self.call.times) > LARGE or self.call.inputs.shape[1] != 1:
            return None
        u = ca.SX.sym("u", len(self.call.times))

        class Column:
            """What a call takes as its table of inputs: the one column, copied or not."""

            shape = (len(self.call.times), 1)

            def __getitem__(self, key: object) -> Any:
                return _Copied(u)

        return self._of_symbols(Column(), u)

    def by_casadi_array(self) -> SymbolicFunctions | None:
        """Inputs as an array of symbols."""
        import casadi as ca

        if len(self.call.times) > LARGE:
            return None
        N, nu = len(self.call.times), len(self.inputs)
        U = ca.SX.sym("u", N, nu)
        whole = self.call.inputs.astype(object)
        for k, place in enumerate(self.inputs):
            whole[:, place] = [U[i, k] for i in range(N)]
        return self._of_symbols(whole, U)

    def _of_symbols(self, inputs: Any, U: Any) -> SymbolicFunctions:
        import casadi as ca

        p = [ca.SX.sym(n) for n in self.call.names]
        outputs = replace(self.call, inputs=inputs).returned(Symbols(p, self.call.names))
        N, ny, m = len(self.call.times), len(self.shown), len(self.places)
        y = _columns(outputs, N, len(self.call.outputs))
        theta = ca.vertcat(*(p[k] for k in self.places))
        rest = ca.vertcat(*p)
        here = y[:, self.shown]
        rates = ca.jtimes(ca.vec(here), theta, ca.DM.eye(m))
        at = ca.DM(self.numbers)
        rows = ca.Function("rows", [U, rest], [ca.densify(rates)], {"cse": True})
        back = rows.reverse(1)
        limits = y[:, self.limited] if self.limited else ca.SX(N, 0)
        seen = ca.Function("seen", [U, rest], [ca.densify(limits)])
        slope = ca.Function("slope", [U, rest], [ca.jacobian(ca.vec(limits), ca.vec(U))])
        nu = U.shape[1]

        def all_rows(u: Vector) -> Vector:
            return np.array(rows(u, at), float).reshape(ny, N, m).transpose(1, 0, 2)

        def pulled(u: Vector, bar: Vector) -> Vector:
            seeds = bar.transpose(1, 0, 2).reshape(ny * N, m)
            return np.array(back(u, at, ca.DM(), seeds)[0], float)

        def slopes(u: Vector) -> Vector:
            dense = np.array(slope(u, at), float).reshape(len(self.limited), N, nu, N)
            return dense.transpose(1, 0, 3, 2)

        return SymbolicFunctions(
            "exact, by CasADi",
            all_rows,
            pulled,
            lambda u: np.array(seen(u, at), float).reshape(N, len(self.limited)),
            slopes,
        )


class _Copied:
    """Stands for a column of an array: all that is asked of it is a copy."""

    def __init__(self, symbols: Any) -> None:
        self._symbols = symbols

    def copy(self) -> Any:
        return self._symbols


def _columns(outputs: Any, N: int, ny: int) -> Any:
    """What a function returned, N rows of ny symbols."""
    import casadi as ca

    if isinstance(outputs, (tuple, list)) and len(outputs) == ny and ny > 1:
        return ca.horzcat(*(_columns(one, N, 1) for one in outputs))
    if isinstance(outputs, (np.ndarray, list, tuple)):
        every = np.asarray(outputs, dtype=object).reshape(N, ny)
        outputs = ca.vertcat(*(ca.horzcat(*row) for row in every))
    y = ca.SX(outputs)
    y = y.T if y.shape == (1, N) and ny == 1 else y
    if y.shape != (N, ny):
        raise ValueError(f"the symbols have shape {y.shape}")
    return y


def _plain(function: Callable[..., Any]) -> Callable[..., Vector]:
    def numbers(*given: Vector) -> Vector:
        with double_precision():
            return np.asarray(function(*given), np.float64)

    return numbers
