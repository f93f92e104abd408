"""FilterResponse: one record through a filter, at many values of the tuners."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.filter import FilterSystem
from estimica.compiled.kernel import Kernel
from estimica.compiled.linear_filter import LinearNoise
from estimica.compiled.tuning import Tuning
from estimica.simulate.engine.options import Options, Pieces
from estimica.simulate.engine.result import Run
from estimica.simulate.engine.run import integrate
from estimica.simulate.filter.start import Begun, FilterStart

#: steps of implicit Euler by which the size of a covariance is guessed: enough for its order of
#: magnitude, without an overflow where a model is stiff
ROUGH = 10


@dataclass(frozen=True, eq=False)
class FilterConfiguration:
    """A filter compiled for some tuners; shared by all records of the same kind."""

    tuning: Tuning
    start: FilterStart
    system: FilterSystem
    kernel: Kernel
    outputs: tuple[str, ...]
    states: tuple[str, ...]
    linear: LinearNoise | None = None  # where all of it is: no integration is needed then

    @property
    def n(self) -> int:
        """How many states are uncertain."""
        return len(self.states)


class FilterResponse:
    """Innovations and their variances at the stamps, with exact derivatives by the tuners.

    The columns of a run are, for every output, measured - predicted, its variance, the prediction
    before any value of its stamp was taken in and the variance of a value measured there; each
    innovation is given the values of the outputs before it at the same stamp. Means and the lower
    triangle of the covariance of the states after the stamp follow where they were asked for, and
    the variances of the measuring itself.
    """

    def __init__(
        self,
        configuration: FilterConfiguration,
        values: Vector,
        pieces: Pieces,
        times: Vector,
        options: Options,
    ) -> None:
        self.configuration = configuration
        self.values, self.pieces, self.times = values, pieces, times
        tuning = configuration.tuning
        self._index = np.array([tuning.index[c.name] for c in tuning.wrt], dtype=int)
        self._sign = np.array([c.sign for c in tuning.wrt])
        self.options = self._scaled(options)

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which it was set up."""
        tuners: Vector = self.values[self._index] * self._sign
        return tuners

    def with_pieces(self, pieces: Pieces, times: Vector) -> FilterResponse:
        """The same for other measured values, with the same tolerances."""
        other = copy(self)
        other.pieces, other.times = pieces, times
        return other

    def values_at(self, theta: Vector | None) -> Vector:
        """The values of all constants at tuner values `theta`."""
        values = self.values
        if theta is not None and len(self._index):
            values = values.copy()
            values[self._index] = theta * self._sign
        return values

    def at(self, theta: Vector | None = None) -> Run:
        """The filter at tuner values `theta`; a failed run is a value, with its status."""
        c, begun = self.configuration, self.begun(self.values_at(theta))
        run = integrate(c.kernel, begun.point.P, begun.run, self.pieces, self.times, self.options)
        return replace(run, notes=begun.point.notes) if begun.point.notes else run

    def begun(self, values: Vector) -> Begun:
        """Where the filter begins, at values of all constants."""
        pieces = self.pieces
        return self.configuration.start.at(values, float(pieces.starts[0]), pieces.values[0])

    def _scaled(self, options: Options) -> Options:
        """Absolute tolerances of the covariance in its own size: that which noise and uncertain
        start values have made of it after one stretch between stamps."""
        c = self.configuration
        nominal = np.asarray(options.atol, float)
        own = np.broadcast_to(nominal, c.n).copy()
        least = float(np.min(nominal))
        typical = self._typical_deviations()
        spread = np.outer(typical, typical)[np.tril_indices(c.n)]
        h = c.kernel.hybrid
        still = h.nx - h.n_memory - c.n - len(spread)  # they move at stamps and events only
        rest, memories = np.ones(still), np.full(h.n_memory, least)
        atol = np.concatenate([own, np.maximum(least * spread, 1e-300), rest, memories])
        tuners = np.abs(self.tuners)
        scales = options.tuner_scales or tuple(float(v) if v else 1.0 for v in tuners)
        return replace(options, atol=tuple(atol), tuner_scales=scales)

    def _typical_deviations(self) -> Vector:
        """√C_ii after one stretch, linearised at the start, roughly."""
        n, begun = self.configuration.n, self.begun(self.values)
        C = np.zeros((n, n))
        C[np.tril_indices(n)] = begun.run.x[n : n + _size(n)]
        C = C + np.tril(C, -1).T
        A, Q = self._linear(begun)
        step = float(np.median(np.diff(self.pieces.starts))) if len(self.pieces.starts) > 1 else 1.0
        with np.errstate(all="ignore"):
            for _ in range(ROUGH):
                C = _euler_step(A, C, Q, step / ROUGH)
            found = np.diag(C)
        return np.sqrt(np.where(np.isfinite(found) & (found > 0), found, 0.0))

    def _linear(self, begun: Begun) -> tuple[Vector, Vector]:
        """A and diag(σ²) where the run begins."""
        found, run = _linear_function(self.configuration), begun.run
        first = self.pieces.values[0]
        A, Q = found(self.pieces.starts[0], run.x, run.z, begun.point.P, first, run.d)
        return np.nan_to_num(np.array(A)), np.nan_to_num(np.array(Q))


def _euler_step(A: Vector, C: Vector, Q: Vector, h: float) -> Vector:
    """C after a step of implicit Euler of the linear system; as it was where that has none."""
    try:
        back = np.linalg.inv(np.eye(len(A)) - h * A)
    except np.linalg.LinAlgError:
        return C
    return np.asarray(back @ (C + h * Q) @ back.T)


def _linear_function(configuration: FilterConfiguration) -> ca.Function:
    """A, without what algebraic unknowns add to it, and diag(σ²)."""
    s, h = configuration.system, configuration.kernel.hybrid
    f = h.f[: configuration.n]
    A = ca.densify(ca.jacobian(f, s.mean))
    rate = h.f[configuration.n : configuration.n + _size(configuration.n)]
    Q = ca.substitute(rate, _lower_symbols(s), ca.SX.zeros(_size(configuration.n)))
    full = ca.SX(configuration.n, configuration.n)
    for i in range(configuration.n):
        full[i, i] = Q[i * (i + 1) // 2 + i]
    return ca.Function(
        "linear", [h.t, h.x, h.z, h.P, h.u, h.d], [A, ca.densify(full)], {"cse": True}
    )


def _size(n: int) -> int:
    return n * (n + 1) // 2


def _lower_symbols(s: FilterSystem) -> ca.SX:
    n = s.covariance.shape[0]
    return ca.vertcat(*(s.covariance[i, j] for i in range(n) for j in range(i + 1)))
