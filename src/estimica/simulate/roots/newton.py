"""A damped Newton method, dense or sparse, with least-norm steps where systems are singular."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.roots import jacobian
from estimica.simulate.roots.jacobian import Factors, Jacobian

Evaluate = Callable[[Vector], tuple[Vector, Jacobian]]  # U -> (R, dR/dU)
Holds = Callable[[Vector], bool]  # whether the equations themselves hold at U
#: damped steps far from a root gain a factor of two or so: 60 (chosen) bridge 18 decades
STEPS = 60
SOLVED = 1e-9  # of each residual's scale: what counts as a solution
EXACT = 1e-14  # ... and when there is nothing left to gain
ROUNDED = 1e-12  # ... and what rounding makes of sums of some thousand terms
LAST_STEP = 1e-13  # a relative step that is rounding: the next one would be too
#: conditions above this leave no digit that is certain (eps times 1e13 is 2e-3): such a matrix is
#: treated as singular, and directions below SINGULAR of the largest are left alone
WORST_CONDITION, SINGULAR = 1e13, 1e-12
#: a step counts as progress where the residual falls by this part of what it promises (Armijo 1966;
#: the number is the usual one)
ARMIJO = 1e-4
#: a step that leaves more than half of the residual may have gone as far beyond the root as it
#: began before it, as with sqrt(abs(x))*sign(x): half of it is looked at too
POOR = 0.5
#: halvings of a step: 2^-30 is a billionth, where Newton's direction does not descend at all
HALVINGS = 30
#: steps of a continuation that begins with a tenth of the way, doubles it after a success and takes
#: a quarter after a failure (chosen): ways that need more are taken for none
CONTINUATION_STEPS = 40
SMALL = 1e-8  # chosen: below what a model in SI units means
NOTHING = 1e-200  # a residual this small has no terms left to compare it with: k·x = 0 at x = 0


def is_near_zero(E: Vector, size: Vector) -> bool:
    """Whether true residuals are small beside their terms; see `true_residual`."""
    return bool(((np.abs(E) <= SOLVED * size) | ((np.abs(E) <= NOTHING) & (size >= 0))).all())


def solve(
    evaluate: Evaluate, U: Vector, holds: Holds = lambda _: True, *, size: float = SMALL
) -> Vector | None:
    """The root of R near `U`, or None where the method does not get there.

    R may be written so that it is small where the equations do not hold (at a pole of its
    derivative, say): `holds` has the last word. `size` is what unknowns count as that are zero.
    Where steps with unknowns and equations in their own sizes lead nowhere, plain ones are tried:
    least-norm steps of singular equations are others then.
    """
    with np.errstate(all="ignore"):  # trial steps may overflow: they are not taken
        found = _searched(evaluate, U, holds, size, plain=False)
        return _searched(evaluate, U, holds, size, plain=True) if found is None else found


def _searched(
    evaluate: Evaluate, U: Vector, holds: Holds, size: float, *, plain: bool
) -> Vector | None:
    R, J = evaluate(U)
    if not np.isfinite(R).all():
        return None
    # a residual's scale is the size of its terms, J·U; where the unknowns are zero, they count as
    # `size`, and residuals without any slope as 1e-12 (chosen, as SMALL)
    scale = np.full(R.shape, 1e-12)
    typical = np.where(U == 0.0, 1.0, np.abs(U))
    for _ in range(STEPS):
        if not jacobian.is_finite(J):
            return None
        typical = np.maximum(typical, np.abs(U))
        scale = np.maximum(scale, jacobian.row_sums(J, np.abs(U)))
        scale = np.maximum(scale, size * jacobian.row_maxima(J))
        if (np.abs(R) <= EXACT * scale).all() and holds(U):
            return U
        linear = Linearised(J, R, None if plain else typical)
        if not jacobian.is_finite(linear.matrix):  # sizes beyond what numbers can hold
            return None
        moved = _damped(evaluate, U, linear, scale)
        if moved is None:
            break
        U, R, J, length = moved
        if length <= LAST_STEP and (np.abs(R) <= SOLVED * scale).all() and holds(U):
            return U
    return U if (np.abs(R) <= SOLVED * scale).all() and holds(U) else None


class Linearised:
    """J·step = −R with unknowns and equations in their own sizes: pressures beside valve areas are
    eleven decades apart in SI units, which is no sign of a singular matrix."""

    def __init__(self, J: Jacobian, R: Vector, typical: Vector | None) -> None:
        """Without `typical` sizes all count as they stand."""
        self.typical = np.ones(J.shape[1]) if typical is None else typical
        rows = jacobian.row_sums(J, self.typical)
        self.rows = np.where(rows > 0, rows, 1.0) if typical is not None else np.ones(J.shape[0])
        self.R = R
        self.matrix = jacobian.scaled(J, self.rows, self.typical)
        square = J.shape[0] == J.shape[1] and J.shape[0] > 0
        self.factors = Factors(self.matrix) if square else None
        self.regular = self.factors is not None and self.factors.condition < WORST_CONDITION

    def step(self, R: Vector) -> Vector:
        """−J⁻¹R in the unknowns' own sizes; the least-norm least-squares step where J is singular
        or not square. R may have several columns."""
        right = -(R.T / self.rows).T
        if self.factors is not None and self.regular:
            return self.factors.solve(right)
        matrix = jacobian.dense(self.matrix)
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=SINGULAR)[0], np.float64)


def newton_step(J: Jacobian, R: Vector, U: Vector) -> Vector:
    """−J⁻¹R, column after column, as at the point `U`."""
    linear = Linearised(J, R, np.where(U == 0.0, 1.0, np.abs(U)))
    found: Vector = (linear.typical * linear.step(R).T).T
    return found


def at_guess(evaluate: Evaluate, U: Vector, guess: Vector) -> Vector:
    """The root `U` with unknowns that differ from their guess only by rounding put there: a shaft
    at rest must not creep, because friction asks which way it turns."""
    near = (guess != U) & (np.abs(U - guess) <= SOLVED * np.maximum(np.abs(guess), 1.0))
    if not near.any():
        return U
    R, J = evaluate(U)
    allowed = np.maximum(np.abs(R), ROUNDED * jacobian.row_sums(J, np.abs(U)))
    while near.any():
        trial = np.where(near, guess, U)
        worse = ~(np.abs(evaluate(trial)[0]) <= allowed)
        if not worse.any():
            return trial
        near = near & ~jacobian.columns_of(J, worse)
    return U


def continue_root(solve_at: Callable[[Vector, float], Vector | None], U: Vector) -> Vector | None:
    """From the root `U` at share 0 to the one at share 1, in steps that succeed."""
    reached, step = 0.0, 0.1
    for _ in range(CONTINUATION_STEPS):
        trial = min(1.0, reached + step)
        found = solve_at(U, trial)
        if found is None:
            step *= 0.25
            continue
        U, reached, step = found, trial, 2 * step
        if reached >= 1.0:
            return U
    return None


def solve_by_continuation(
    evaluate: Evaluate, U: Vector, holds: Holds = lambda _: True
) -> Vector | None:
    """The root that R = (1−λ)·R(U) leads to as λ goes from 0 to 1."""
    start = evaluate(U)[0]
    if not np.isfinite(start).all():
        return None

    def solve_at(point: Vector, share: float) -> Vector | None:
        def eased(V: Vector) -> tuple[Vector, Jacobian]:
            R, J = evaluate(V)
            return R - (1 - share) * start, J

        return solve(eased, point) if share < 1.0 else solve(evaluate, point, holds)

    return continue_root(solve_at, U)


def _damped(
    evaluate: Evaluate, U: Vector, linear: Linearised, scale: Vector
) -> tuple[Vector, Vector, Jacobian, float] | None:
    """Halve the step until the scaled residual falls, or the step that is left to go (Deuflhard,
    Newton Methods for Nonlinear Problems, 3.3); None where neither ever does."""
    relative = linear.step(linear.R)
    size, way = float(np.linalg.norm(linear.R / scale)), float(np.linalg.norm(relative))
    step = linear.typical * relative
    damping = 1.0
    for _ in range(HALVINGS):
        R, J = evaluate(U + damping * step)
        left = float(np.linalg.norm(R / scale))
        if left <= (1 - ARMIJO * damping) * size or (
            np.isfinite(R).all()
            and linear.regular
            and np.linalg.norm(linear.step(R)) <= (1 - damping / 4) * way
        ):
            break
        damping *= 0.5
    else:
        return None
    if left > POOR * size:
        R_half, J_half = evaluate(U + 0.5 * damping * step)
        if np.linalg.norm(R_half / scale) < left:
            R, J, damping = R_half, J_half, 0.5 * damping
    trial = U + damping * step
    length = np.abs(damping * step) / (1e-300 + np.abs(trial) + np.abs(U))
    return trial, R, J, float(length.max(initial=0.0))
