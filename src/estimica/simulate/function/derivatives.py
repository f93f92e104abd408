"""Derivatives of a function: by central differences, or exactly by following it with symbols.

For each parameter a ladder of steps is climbed down once; where two neighbours, both extrapolated
after Richardson, agree best, truncation and the function's own noise are in balance.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.function.call import FunctionCall, Symbols, double_precision

#: numbers, or why there are none
Called = Callable[[Vector], Vector | str]

RATIO = 4.0  # between the two steps of an extrapolation
FIRST, RUNGS = 0.1, 11  # the largest step in sizes of a parameter, and how many follow
LEAST = 1e-12  # the relative error that is believed at best


@dataclass(frozen=True, eq=False)
class CentralDifferences:
    """Derivatives by some of the values of a function."""

    call: Called
    places: tuple[int, ...]  # which of the values move
    sizes: Vector  # of those values
    steps: Vector  # in sizes
    error: float  # relative, as found where the steps were chosen

    @classmethod
    def at_start(
        cls, call: Called, places: tuple[int, ...], sizes: Vector, values: Vector
    ) -> CentralDifferences | str:
        """Steps chosen at `values`, or why there are none."""
        steps, errors = [], [LEAST]
        for place, size in zip(places, sizes, strict=True):
            found = _climb(call, place, _size(values[place], size), values)
            if isinstance(found, str):
                return found
            steps.append(found[0])
            errors.append(found[1])
        return cls(call, places, sizes, np.array(steps), max(errors))

    def at(self, values: Vector) -> Vector | str:
        """Derivatives (..., m) at `values`; 4 calls for each."""
        columns = []
        for place, size, step in zip(self.places, self.sizes, self.steps, strict=True):
            slope: Vector | str = ""
            for shorter in (1.0, RATIO**-2, RATIO**-4):  # a step may leave the function's domain
                slope = _extrapolated(
                    self.call, place, shorter * step * _size(values[place], size), values
                )
                if not isinstance(slope, str):
                    break
            if isinstance(slope, str):
                return slope
            columns.append(slope)
        return np.stack(columns, axis=-1)


def _size(value: float, size: float) -> float:
    return max(abs(value), 0.01 * size) if value else size


def _central(call: Called, place: int, step: float, values: Vector) -> Vector | str:
    above, below = values.copy(), values.copy()
    above[place] += step
    below[place] -= step
    high = call(above)
    if isinstance(high, str):
        return high
    low = call(below)
    if isinstance(low, str):
        return low
    return (high - low) / (above[place] - below[place])


def _extrapolated(call: Called, place: int, step: float, values: Vector) -> Vector | str:
    wide = _central(call, place, step, values)
    if isinstance(wide, str):
        return wide
    narrow = _central(call, place, step / RATIO, values)
    if isinstance(narrow, str):
        return narrow
    return narrow + (narrow - wide) / (RATIO**2 - 1)


def _climb(call: Called, place: int, size: float, values: Vector) -> tuple[float, float] | str:
    """(step in sizes, relative error) for one value."""
    slopes = [_central(call, place, FIRST * RATIO**-k * size, values) for k in range(RUNGS)]
    better: list[Vector | None] = []
    for wide, narrow in pairwise(slopes):
        if isinstance(wide, str) or isinstance(narrow, str):
            better.append(None)
        else:
            better.append(narrow + (narrow - wide) / (RATIO**2 - 1))
    errors: list[tuple[float, int]] = []
    for k, (one, other) in enumerate(pairwise(better)):
        if one is not None and other is not None:
            scale = float(np.linalg.norm(other)) or 1.0
            errors.append((float(np.linalg.norm(one - other)) / scale, k))
    if not errors:
        return next((s for s in slopes if isinstance(s, str)), "no step is short enough")
    error, rung = min(errors)
    return FIRST * RATIO**-rung, error


# ----------------------------------------------------------------
# Exact derivatives of a Python function by following it with symbols, where it allows that.
#
# JAX follows functions written with jax.numpy, CasADi those of plain arithmetic and NumPy's
# elementary functions.


#: outputs (N, ny) and derivatives (N, ny, m) at values of all parameters
Traced = Callable[[Vector], tuple[Vector, Vector]]
LARGE = 20_000  # samples above which CasADi's scalar symbols are not a gain
LONG = 1_000  # operations above which JAX compiles for minutes: a loop written out


class NotTraceableError(Exception):
    """A function that symbols cannot go through."""


def trace_with_jax(call: FunctionCall, places: Sequence[int]) -> Traced:
    """The function followed by JAX; it is tried only where someone has imported JAX."""
    jax = sys.modules.get("jax")
    if jax is None:
        raise NotTraceableError("JAX is not in use")
    numbers = jax.numpy

    def outputs(values: Any, wrap: bool) -> Any:
        given = Symbols(list(values), call.names) if wrap else values
        found = call.returned(given)
        if isinstance(found, (tuple, list)) and len(found) == len(call.outputs):
            found = numbers.stack([numbers.asarray(one) for one in found], axis=-1)
        return numbers.asarray(found).reshape(len(call.times), len(call.outputs))

    def compiled(wrap: bool) -> Any:
        def both(values: Any) -> Any:
            here = outputs(values, wrap)
            return here, jax.jacfwd(lambda v: outputs(v, wrap))(values)

        return jax.jit(both)

    way: Any = None
    problem: Exception | None = None
    for wrap in (True, False):
        try:
            with double_precision():
                ones = numbers.ones(len(call.names))
                seen = jax.make_jaxpr(lambda v, wrap=wrap: outputs(v, wrap))(ones)
                if len(seen.jaxpr.eqns) > LONG:
                    raise NotTraceableError("the function is too long for JAX")
                way = compiled(wrap)
                jax.eval_shape(way, ones)
            break
        except NotTraceableError:
            raise
        except Exception as error:  # the user's code may raise anything
            way, problem = None, error
    if way is None:
        raise NotTraceableError(str(problem))
    at = list(places)

    def evaluate(values: Vector) -> tuple[Vector, Vector]:
        with double_precision():
            here, slope = way(numbers.asarray(values, dtype=float))
        return _picked(call, np.asarray(here, float), np.asarray(slope, float)[:, :, at])

    return evaluate


def trace_with_casadi(call: FunctionCall, places: Sequence[int]) -> Traced:
    """The function followed by CasADi."""
    import casadi as ca

    if len(call.times) > LARGE:
        raise NotTraceableError("there are too many samples")
    symbols = [ca.SX.sym(n) for n in call.names]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = call.returned(Symbols(symbols, call.names))
            y = _symbolic(ca, found, len(call.times), len(call.outputs))
    except Exception as error:  # the user's code may raise anything
        raise NotTraceableError(str(error)) from None
    N, ny, m = len(call.times), len(call.outputs), len(places)
    slope = ca.jacobian(ca.vec(y), ca.vertcat(*(symbols[k] for k in places)))
    program = ca.Function("f", [ca.vertcat(*symbols)], [ca.densify(y), ca.densify(slope)])

    def evaluate(values: Vector) -> tuple[Vector, Vector]:
        here, moved = program(values)
        columns = np.asarray(moved, float).reshape(ny, N, m).transpose(1, 0, 2)
        return _picked(call, np.asarray(here, float).reshape(N, ny), columns)

    return evaluate


def _picked(call: FunctionCall, here: Vector, slope: Vector) -> tuple[Vector, Vector]:
    shown = list(call.shown)
    return here[call.rows][:, shown], slope[call.rows][:, shown]


def _symbolic(ca: Any, returned: Any, N: int, ny: int) -> Any:
    """What the function returned as symbols, N rows of ny."""
    if isinstance(returned, (tuple, list)) and len(returned) == ny and ny > 1:
        returned = ca.horzcat(*(_symbolic(ca, one, N, 1) for one in returned))
    elif isinstance(returned, (np.ndarray, list, tuple)):
        rows = np.asarray(returned, dtype=object).reshape(N, ny)
        returned = ca.vertcat(*(ca.horzcat(*row) for row in rows))
    y = ca.SX(returned)
    if y.shape == (1, N) and ny == 1:
        y = y.T
    if y.shape != (N, ny):
        raise NotTraceableError(f"the symbols have shape {y.shape}")
    return y
