"""Discrete-time equivalents of a linear system (the methods of Knudsen, Experimental modelling)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean
from estimica.simulate.linear.frequency import gain, poles, zeros
from estimica.simulate.linear.steps import StepMatrices, steps
from estimica.simulate.linear.system import Coefficients

StateSpaceMatrices = tuple[Vector, Vector, Vector, Vector]


@dataclass(frozen=True, eq=False)
class DiscreteSystem:
    """x[k+1] = A x[k] + B u[k-d], y[k] = C x[k] + D u[k-d] at the sampling time `step`."""

    A: Vector
    B: Vector
    C: Vector
    D: Vector
    step: float
    delay: tuple[int, ...]  # whole samples, for each input
    method: str

    def transfer_function(self) -> tuple[Vector, Vector]:
        """(b, a) of one input and one output in falling powers of z, the delay left out."""
        if self.D.shape != (1, 1):
            raise ModelError("M107", f"{self.D.shape[1]} inputs and {self.D.shape[0]} outputs: a "
                             "ratio of polynomials is for one of each")  # fmt: skip
        a = np.real(np.poly(self.A)) if len(self.A) else np.ones(1)
        moved = np.real(np.poly(self.A - self.B @ self.C)) if len(self.A) else np.ones(1)
        return moved - a + self.D[0, 0] * a, a

    def simulate(self, u: Vector) -> Vector:
        """The outputs for samples of the input, (N,) or (N, nu), from rest."""
        samples = np.asarray(u, float).reshape(len(u), -1)
        late = np.zeros_like(samples)
        for j, d in enumerate(self.delay):
            late[d:, j] = samples[: len(samples) - d, j]
        x, found = np.zeros(len(self.A)), np.empty((len(samples), len(self.D)))
        for k, now in enumerate(late):
            found[k] = self.C @ x + self.D @ now
            x = self.A @ x + self.B @ now
        return found[:, 0] if found.shape[1] == 1 else found


def discretise(c: Coefficients, h: float, method: str) -> DiscreteSystem:
    """The system sampled every `h`; `method` is one of METHODS."""
    if method not in METHODS:
        hint = did_you_mean(method, list(METHODS)) or f" (there are {', '.join(METHODS)})"
        raise ModelError("M108", f"no discretisation '{method}'{hint}")
    if not (np.isfinite(h) and h > 0):
        raise ModelError("M109", f"the sampling time {h} must be a positive number")
    late = c.T / h
    whole = np.rint(late)
    if (np.abs(late - whole) > 1e-9 * np.maximum(1.0, late)).any():
        if method != "zoh":
            raise ModelError(
                "M110",
                f"the delay {c.T.max():g} is not a multiple of the sampling time {h:g}; only 'zoh' "
                "splits a step",
            )
        return _split_step(c, h)
    found = METHODS[method](c, h)
    return DiscreteSystem(*found, h, tuple(map(int, whole)), method)


def _one(c: Coefficients, h: float) -> StepMatrices:
    return steps(c.A, c.B, c.dA[:0], c.dB[:0], np.array([h]))


def _zoh(c: Coefficients, h: float) -> StateSpaceMatrices:
    one = _one(c, h)
    return one.phi[0], one.gamma[0], c.C, c.D


def _foh(c: Coefficients, h: float) -> StateSpaceMatrices:
    """Ramp invariant; the state is x - Λ u / h, so that y[k] needs no input of the future."""
    one = _one(c, h)
    late = one.ramp[0] / h
    return one.phi[0], one.gamma[0] + (one.phi[0] - np.eye(len(c.A))) @ late, c.C, c.D + c.C @ late


def _tustin(c: Coefficients, h: float) -> StateSpaceMatrices:
    """s → (2/h) (z - 1)/(z + 1)."""
    one = np.eye(len(c.A))
    try:
        inverse = np.linalg.inv(one - h / 2 * c.A)
    except np.linalg.LinAlgError:
        raise ModelError("M111", f"a pole lies at 2/h = {2 / h:g}; take another step") from None
    return (
        inverse @ (one + h / 2 * c.A),
        h * inverse @ c.B,
        c.C @ inverse,
        c.D + h / 2 * c.C @ inverse @ c.B,
    )


def _euler(c: Coefficients, h: float) -> StateSpaceMatrices:
    """s → (z - 1)/h."""
    return np.eye(len(c.A)) + h * c.A, h * c.B, c.C, c.D


def _impulse(c: Coefficients, h: float) -> StateSpaceMatrices:
    """h times the samples of the impulse response."""
    if c.D.any():
        raise ModelError(
            "M112", "impulse invariance needs an output that does not follow jumps of the input"
        )
    phi = _one(c, h).phi[0]
    return phi, h * phi @ c.B, c.C, h * c.C @ c.B


def _matched(c: Coefficients, h: float) -> StateSpaceMatrices:
    """z = exp(s h) for poles and zeros; all infinite zeros but one at -1, the low gain kept."""
    if c.D.shape != (1, 1):
        raise ModelError("M113", "pole-zero mapping is for one input and one output")
    p, z = poles(c), zeros(c)
    above = np.concatenate([np.exp(z * h), -np.ones(max(len(p) - len(z) - 1, 0))])
    a, b = (np.atleast_1d(np.real(np.poly(roots))) for roots in (np.exp(p * h), above))
    at = 0.0 if np.isfinite(gain(c)).all() and gain(c).all() else 0.1 / h  # a place without a pole
    wanted = c.D - c.C @ np.linalg.solve(c.A - at * np.eye(len(p)), c.B) if len(p) else c.D
    b = (
        b
        * float(wanted[0, 0])
        / float(np.polyval(b, np.exp(at * h)) / np.polyval(a, np.exp(at * h)))
    )
    return _companion(b, a)


def _companion(b: Vector, a: Vector) -> StateSpaceMatrices:
    n = len(a) - 1
    b = np.concatenate([np.zeros(n + 1 - len(b)), b])
    A = np.zeros((n, n))
    A[:, :1] = -a[1:, None]
    A[np.arange(n - 1), np.arange(1, n)] = 1.0
    return A, (b[1:] - a[1:] * b[0])[:, None], np.eye(1, n), np.array([[b[0]]])


def _split_step(c: Coefficients, h: float) -> DiscreteSystem:
    """ZOH where inputs change between samples: each keeps its last value as a further state."""
    n, nu = c.B.shape
    whole = np.ceil(c.T / h - 1e-9).astype(int)
    early = whole * h - c.T  # how long before a sample an input takes its new value
    split = early > 1e-9 * h
    early = np.where(split, early, h)
    one = steps(c.A, c.B, c.dA[:0], c.dB[:0], np.array([h, *early]))
    new = np.column_stack([one.gamma[1 + j][:, j] for j in range(nu)])
    old = one.gamma[0] - new
    A, B = np.zeros((n + nu, n + nu)), np.vstack([new, np.eye(nu)])
    A[:n, :n], A[:n, n:] = one.phi[0], old
    # at a sample the input of this step has not come yet where it is split
    C = np.hstack([c.C, c.D * split])
    delay = np.where(split, whole - 1, whole)
    return DiscreteSystem(A, B, C, c.D * ~split, h, tuple(map(int, delay)), "zoh")


METHODS: dict[str, Callable[[Coefficients, float], StateSpaceMatrices]] = {
    "zoh": _zoh,
    "foh": _foh,
    "tustin": _tustin,
    "euler": _euler,
    "matched": _matched,
    "impulse": _impulse,
}
