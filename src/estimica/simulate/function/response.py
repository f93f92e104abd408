"""FunctionResponse: a Python function at the samples of an experiment, with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.function.call import FunctionCall
from estimica.simulate.function.derivatives import (
    LEAST,
    CentralDifferences,
    NotTraceableError,
    Traced,
    trace_with_casadi,
    trace_with_jax,
)

DerivativeKind = Literal["auto", "jax", "casadi", "differences"]
Derive = Callable[[Vector], tuple[Vector, Vector] | str]

_TEXT = "all samples computed"
TRACERS: dict[str, Callable[..., Traced]] = {"jax": trace_with_jax, "casadi": trace_with_casadi}
METHOD_TEXTS = {"jax": "exact, by JAX", "casadi": "exact, by CasADi"}
AGREED = 1e-4  # of traced derivatives with differences, relative; a wrong trace is far off


@dataclass(frozen=True, eq=False)
class FunctionRun:
    """Outputs and derivatives at all samples; `text` says what went wrong where `ok` is False."""

    times: Vector
    Y: Vector  # (N, ny)
    YS: Vector  # (N, ny, m)
    ok: bool = True
    text: str = _TEXT


@dataclass(frozen=True)
class DerivativeMethod:
    """How the derivatives are computed, in words, and their relative error."""

    text: str
    error: float


class FunctionResponse:
    """y(t; θ) of a function. How to derive it is found at the first point that is asked for."""

    def __init__(
        self,
        call: FunctionCall,
        known: Mapping[str, float],
        wrt: tuple[str, ...],
        sizes: Vector,
        way: DerivativeKind,
        tell: Callable[[DerivativeMethod], None],
    ) -> None:
        self.call = call
        self._places = tuple(call.names.index(n) for n in wrt)
        self._values = np.array([known.get(n, np.nan) for n in call.names])
        self._sizes = sizes
        self._way = way
        self._tell = tell
        self._derive: Derive | None = None

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which the response was set up; NaN where they have none."""
        return self._values[list(self._places)]

    @property
    def times(self) -> Vector:
        """Times of the samples."""
        return self.call.times[self.call.rows]

    def at(self, theta: Vector | None = None) -> FunctionRun:
        """Outputs and derivatives at tuner values `theta`; what cannot be computed is told."""
        values = self._values.copy()
        if theta is not None:
            values[list(self._places)] = theta
        if not self._places:
            found = self.call.at(values)
            if isinstance(found, str):
                return self._failed(found, values)
            return FunctionRun(self.times, found, np.empty((*found.shape, 0)))
        if self._derive is None:
            self._derive = self._chosen(values)
            if self._derive is None:
                text = self.call.at(values)
                return self._failed(text if isinstance(text, str) else "no derivatives", values)
        both = self._derive(values)
        if isinstance(both, str):
            return self._failed(both, values)
        return FunctionRun(self.times, *both)

    # -- derivatives -----------------------------------------------------------------------------

    def _chosen(self, values: Vector) -> Derive | None:
        """The first way that works at `values`; none where the function itself fails there."""
        plain = self.call.at(values)
        if isinstance(plain, str):
            return None
        sizes = np.where(values[list(self._places)] != 0, abs(values[list(self._places)]), 1.0)
        sizes = self._sizes if len(self._sizes) == len(sizes) else sizes
        for name in (*TRACERS,) if self._way == "auto" else (self._way,):
            traced = self._traced(name, plain, sizes, values)
            if traced is not None:
                self._tell(DerivativeMethod(METHOD_TEXTS[name], LEAST))
                return traced
        stepped = CentralDifferences.at_start(self.call.at, self._places, sizes, values)
        if isinstance(stepped, str):
            return None
        self._tell(
            DerivativeMethod(f"by differences, off by about {stepped.error:.0e}", stepped.error)
        )
        return self._stepping(stepped)

    def _traced(self, name: str, plain: Vector, sizes: Vector, values: Vector) -> Derive | None:
        """A way by symbols that agrees with the function and its differences."""
        if name not in TRACERS:
            return None
        try:
            traced = TRACERS[name](self.call, self._places)
            here, slope = traced(values)
        except NotTraceableError:
            return None
        except Exception:  # what is written down symbolically may still not be computed
            return None
        if not np.allclose(here, plain, rtol=1e-9, atol=1e-9 * float(np.abs(plain).max())):
            return None
        usual = CentralDifferences(
            self.call.at, self._places, sizes, np.full(len(self._places), 1e-3), LEAST
        )
        checked = usual.at(values)
        if isinstance(checked, str) or not _agree(slope, checked):
            return None

        def derive(values: Vector) -> tuple[Vector, Vector] | str:
            here, slope = traced(values)
            if np.isfinite(here).all() and np.isfinite(slope).all():
                return here, slope
            told = self.call.at(values)
            return told if isinstance(told, str) else "a derivative is not finite"

        return derive

    def _stepping(self, stepped: CentralDifferences) -> Derive:
        def derive(values: Vector) -> tuple[Vector, Vector] | str:
            here = self.call.at(values)
            if isinstance(here, str):
                return here
            slope = stepped.at(values)
            return slope if isinstance(slope, str) else (here, slope)

        return derive

    def _failed(self, why: str, values: Vector) -> FunctionRun:
        N, ny, m = len(self.call.rows), len(self.call.shown), len(self._places)
        listed = ", ".join(f"{n} = {v:g}" for n, v in zip(self.call.names, values, strict=True))
        text = f"{why}, with {listed}" if listed else why
        return FunctionRun(
            self.times, np.full((N, ny), np.nan), np.full((N, ny, m), np.nan), False, text
        )


def _agree(slope: Vector, checked: Vector) -> bool:
    """Whether derivatives are the same but for the error of differences, by each parameter."""
    off = np.sqrt(((slope - checked) ** 2).sum(axis=(0, 1)))
    size = np.sqrt((checked**2).sum(axis=(0, 1)))
    return bool((off <= AGREED * size + 1e-12).all())
