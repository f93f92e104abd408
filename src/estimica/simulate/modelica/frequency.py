"""The frequency response of equations: linearised symbolically at an operating point.

At an operating point v = (x, z, w) of states, algebraic unknowns and delayed signals
G(jω) = Y_v (jω E - F_v(ω))⁻¹ F_u(ω) + Y_u, where E has ones for the states and the rows of a
delayed signal carry exp(-jωT). dG/dθ follows from the second derivatives and from dv/dθ, the
motion of the operating point itself, which the implicit function theorem gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import SimulationError
from estimica.simulate.frequency_run import FrequencyRun
from estimica.simulate.initial import InitialPoint
from estimica.simulate.inputs import inputs_at
from estimica.simulate.modelica.steady import search_at_rest, steady_point
from estimica.simulate.response import Response

#: relative size of a singular value from which on a steady state counts as unique
UNIQUE = 1e-11


@dataclass(frozen=True, eq=False)
class LinearisedNumbers:
    """Numbers at one operating point, and their derivatives by the tuners along the first axis."""

    F: tuple[Vector, Vector]  # by v and by u: rows of x, z and w
    Y: tuple[Vector, Vector]
    T: Vector  # delays of the rows of w
    dF: tuple[Vector, Vector]
    dY: tuple[Vector, Vector]
    dT: Vector
    n: int  # states


class ModelicaFrequency:
    """G(jω; θ) between outputs and inputs of one linearised experiment, with exact derivatives."""

    def __init__(
        self,
        response: Response,
        omega: Vector,
        transfers: Sequence[tuple[int, int]],
        *,
        steady: bool,
    ) -> None:
        self.response = response
        self.omega = omega
        self.transfers = tuple(transfers)  # (place of the output, place of the input)
        self.steady = steady
        self._slopes = _Slopes(response)
        self._rest = search_at_rest(response) if steady else None

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which the response was set up; NaN where they have none."""
        return self.response.tuners

    @property
    def times(self) -> Vector:
        """The angular frequencies in rad/s."""
        return self.omega

    def at(self, theta: Vector | None = None) -> FrequencyRun:
        """Real and imaginary parts at tuner values `theta`; what cannot be computed is told."""
        try:
            with np.errstate(all="ignore"):
                linear = self._linear(self.response.with_tuners(theta))
                G, dG = _transfer(linear, self.omega)
        except SimulationError as error:
            return self._failed(error.message, theta)
        rows, columns = ([t[k] for t in self.transfers] for k in (0, 1))
        run = FrequencyRun.of(self.omega, G[:, rows, columns], dG[:, rows, columns])
        return run if run.ok else self._failed(run.text, theta)

    def _linear(self, values: Vector) -> LinearisedNumbers:
        r = self.response
        u = inputs_at(r.pieces, r.begin)
        if self.steady:
            point = steady_point(r, values, self._rest)
        else:
            point = r.configuration.initialiser.operating_point(values, r.begin, u)
        return self._slopes.at(point, r.begin, u, steady=self.steady)

    def _failed(self, why: str, theta: Vector | None) -> FrequencyRun:
        tuned = self.response.configuration.tuning.wrt
        at = self.tuners if theta is None else theta
        listed = ", ".join(f"{c.name} = {v:g}" for c, v in zip(tuned, at, strict=True))
        text = f"{why}, with {listed}" if listed else why
        return FrequencyRun.failed(self.omega, len(self.transfers), len(tuned), text)


class _Slopes:
    """First and second derivatives of a model's equations as compiled functions."""

    def __init__(self, response: Response) -> None:
        configuration = response.configuration
        h, e = configuration.tuning.hybrid, configuration.tuning.equations
        n = self.n = h.nx - h.n_memory
        self.n_delayed = h.nh
        y = ca.vertcat(*(e.value(k) for k in configuration.outputs), ca.SX(0, 1))
        y = ca.substitute(y, e.homotopy, ca.SX(1))
        F = ca.densify(ca.vertcat(h.f[:n, :], h.g, h.delayed))
        v = ca.vertcat(h.x[:n, :], h.z, h.w)
        forward = {"allow_reverse": False}
        first = [ca.jacobian(a, b, forward) for a in (F, y) for b in (v, h.u)]
        self._sparsities = [m.sparsity() for m in first]
        self._sizes = [m.nnz() for m in first] + [h.nh]
        numbers = ca.vertcat(*(ca.vec(m.nz[:]) for m in first), h.delays)
        p = ca.vertcat(v, h.P)
        second = ca.jacobian(numbers, p, forward)
        at = ca.jacobian(ca.vertcat(F, h.constraints), p, forward)
        arguments = [h.t, h.x, h.z, h.w, h.P, h.u, h.d]
        self._first = ca.Function("first", arguments, [numbers, second, at], {"cse": True})
        self._delayed = ca.Function("delayed", arguments, [ca.densify(h.delayed)])
        self._seed = ca.Function("seed", [h.P], [ca.densify(h.seed)])

    def at(self, point: InitialPoint, time: float, u: Vector, *, steady: bool) -> LinearisedNumbers:
        """The numbers at an operating point, moved by the tuners as it moves."""
        w = np.zeros(self.n_delayed)
        for _ in range(self.n_delayed):  # a delayed signal may be delayed again
            w = np.array(self._delayed(time, point.x, point.z, w, point.P, u, point.d)).ravel()
        evaluated = self._first(time, point.x, point.z, w, point.P, u, point.d)
        numbers, rates, slopes = evaluated[0], evaluated[1].sparse(), np.array(evaluated[2])
        values = np.array(numbers).ravel()
        if not np.isfinite(values).all():
            raise SimulationError("R003", "the model has no finite derivative at this point")
        seed = np.array(self._seed(point.P)).reshape(len(point.P), -1)
        size = slopes.shape[1] - len(point.P)
        moved, null = self._motion(slopes, size, seed, point.S[: self.n], steady=steady)
        change = np.asarray(rates @ np.vstack([moved, seed]))
        self._require_unique(values, np.asarray(rates[:, :size] @ null))
        return self._numbers(values, change)

    def _motion(
        self, slopes: Vector, size: int, seed: Vector, S: Vector, *, steady: bool
    ) -> tuple[Vector, Vector]:
        """dv/dθ and the directions in which a steady point could move freely."""
        n, nw = self.n, self.n_delayed
        J, driven = slopes[:, :size].copy(), slopes[:, size:] @ seed
        J[size - nw : size, size - nw :] -= np.eye(nw)
        if not steady:
            inner = J[n:size, n:]
            moved = -np.linalg.solve(inner, driven[n:size] + J[n:size, :n] @ S)
            return np.vstack([S, moved]), np.zeros((size, 0))
        rows = _sizes(J, 1)
        columns = _sizes(J / rows, 0)
        U, s, Vt = np.linalg.svd(J / rows / columns)
        rank = int((s > UNIQUE * s.max(initial=0.0)).sum())
        moved = -Vt[:rank].T @ ((U[:, :rank].T @ (driven / rows)) / s[:rank, None])
        return moved / columns.T, Vt[rank:].T / columns.T

    def _require_unique(self, values: Vector, free: Vector) -> None:
        """Where a steady point can move freely the response must not notice."""
        if free.size and np.abs(free).max() > 1e-8 * max(1.0, float(np.abs(values).max())):
            raise SimulationError(
                "R041",
                "the steady state is not unique and the frequency response depends on which one "
                "it is; use operating_point = 'start'",
            )

    def _numbers(self, values: Vector, change: Vector) -> LinearisedNumbers:
        places = np.cumsum([0, *self._sizes])
        matrices, moved = [], []
        for sparsity, begin, end in zip(self._sparsities, places, places[1:], strict=False):
            rows, columns = sparsity.row(), sparsity.get_col()
            M, dM = np.zeros(sparsity.shape), np.zeros((change.shape[1], *sparsity.shape))
            M[rows, columns] = values[begin:end]
            dM[:, rows, columns] = change[begin:end].T
            matrices.append(M)
            moved.append(dM)
        F_v, F_u, Y_v, Y_u = matrices
        dF_v, dF_u, dY_v, dY_u = moved
        last = slice(places[-2], places[-1])
        return LinearisedNumbers(
            (F_v, F_u), (Y_v, Y_u), values[last],
            (dF_v, dF_u), (dY_v, dY_u), change[last].T, self.n,
        )  # fmt: skip


def _sizes(J: Vector, axis: int) -> Vector:
    """The largest entry of each row (axis 1) or column (axis 0); 1 where all are zero."""
    largest = np.abs(J).max(axis=axis, keepdims=True, initial=0.0)
    return np.where(largest > 0, largest, 1.0)


def _transfer(linear: LinearisedNumbers, omega: Vector) -> tuple[Complex, Complex]:
    """G(jω), (N, ny, nu), and dG/dθ, (N, ny, nu, m)."""
    s = 1j * omega
    size, nw, m = len(linear.F[0]), len(linear.T), len(linear.dT)
    # rows of delayed signals carry exp(-sT), all others 1
    T, dT = (np.concatenate([np.zeros((*a.shape[:-1], size - nw)), a], axis=-1)
             for a in (linear.T, linear.dT))  # fmt: skip
    late = np.exp(-s[:, None] * T)[:, :, None]
    mass = np.diag([1.0] * linear.n + [0.0] * (size - linear.n))
    kept = np.diag([0.0] * (size - nw) + [1.0] * nw)
    pencil = s[:, None, None] * mass + kept - late * linear.F[0]
    try:
        inverse = np.linalg.inv(pencil)
    except np.linalg.LinAlgError:
        raise SimulationError(
            "R042",
            "the frequency response is infinite at a frequency where a pole lies; leave it out",
        ) from None
    states, seen = inverse @ (late * linear.F[1]), linear.Y[0] @ inverse
    G = linear.Y[0] @ states + linear.Y[1]
    dG = np.empty((*G.shape, m), complex)
    driven = linear.F[0] @ states + linear.F[1]
    for k in range(m):
        inner = (
            linear.dF[0][k] @ states + linear.dF[1][k] - (s[:, None] * dT[k])[..., None] * driven
        )
        dG[..., k] = linear.dY[0][k] @ states + linear.dY[1][k] + seen @ (late * inner)
    return G, dG
