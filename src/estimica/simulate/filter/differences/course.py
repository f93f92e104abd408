"""Course: mean and covariance of the states over a record, many rows side by side.

Between two times the states are moved from node to node, Φᵢ = dx/dx₀ of each move, and the noise
that comes in is summed up by a rule with these nodes: for Simpson's, with two moves,
    C⁺ = Φ₂Φ₁ C (Φ₂Φ₁)ᵀ + δ/6 (Φ₂Φ₁ Q (Φ₂Φ₁)ᵀ + 4 Φ₂ Q Φ₂ᵀ + Q),   Q = diag(σ²).
With positive weights it is positive semidefinite whatever Φ is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.simulate.engine.options import Pieces
from estimica.simulate.filter.differences.levels import Variances
from estimica.simulate.filter.differences.mover import Moved, Mover
from estimica.simulate.filter.differences.outputs import SeenOutputs

#: what happens at a stamp: (its number, what is seen, variances of measuring, mean, covariance) to
#: mean and covariance behind it
Visit = Callable[[int, Moved, Vector, Vector, Vector], tuple[Vector, Vector]]


@dataclass(frozen=True, eq=False)
class Interval:
    """What happened between two knots, for each row."""

    move: Vector  # (R, n, n): dx/dx₀
    came: Vector  # (R, n, n): covariance of the noise that came in with the states at the end
    grown: Vector  # (R, n): its variances


@dataclass(frozen=True, eq=False)
class Course:
    """A record: its knots, where pieces of inputs and stamps begin, and the model between them."""

    mover: Mover
    outputs: SeenOutputs
    diffusion: Variances  # by state
    measuring: Variances  # by output, of a value as exact as the others
    pieces: Pieces  # of the inputs, cut at the stamps
    rows: Indices  # the knot of each stamp
    relative: Vector  # (N, ny): by what standard deviations of measuring are multiplied
    longest: float = np.inf  # part of an interval that the rule is applied to, s
    moves: int = 2  # of the rule

    def follow(
        self,
        theta: Vector,
        x: Vector,
        C: Vector,
        visit: Visit,
        *,
        first: int = 0,
        passed: Callable[[int, Interval], None] | None = None,
        last: int | None = None,
    ) -> None:
        """Go from knot `first` to the last stamp, or knot `last`, with rows that begin at `x` and
        `C`; `passed` is told of every interval by the knot where it ends."""
        stamp_at = {int(k): i for i, k in enumerate(self.rows)}
        diffusion = self.diffusion.over_time(theta)
        end = int(self.rows[-1]) if last is None else last
        for k in range(first, end + 1):
            if k in stamp_at:
                i = stamp_at[k]
                seen, noise = self.look(i, x, theta)
                x, C = visit(i, seen, noise, x, C)
            if k < end:
                x, C, interval = self.over(k, x, C, theta, diffusion, passed is not None)
                if passed is not None and interval is not None:
                    passed(k + 1, interval)

    def look(self, stamp: int, x: Vector, theta: Vector) -> tuple[Moved, Vector]:
        """Outputs with slopes and the variances of measuring them, at a stamp."""
        k = int(self.rows[stamp])
        time, u = float(self.pieces.starts[k]), self.pieces.values[k]
        seen = self.outputs.at(self.mover, time, u, x, theta)
        names = self.outputs.outputs
        more = {n: seen.value[:, j] for j, n in enumerate(names)}
        more |= {n: x[:, j] for j, n in enumerate(self.mover.states) if n not in more}
        return seen, self.relative[stamp] ** 2 * self.measuring.at(theta, time, u, more)

    def over(
        self,
        k: int,
        x: Vector,
        C: Vector,
        theta: Vector,
        diffusion: Callable[[float, Vector], Vector],
        detailed: bool,
        division: tuple[int, int] | None = None,
    ) -> tuple[Vector, Vector, Interval | None]:
        """From knot k to the next one; `division` is another number of parts and of moves in
        each."""
        p = self.pieces
        begin, end = float(p.starts[k]), float(p.starts[k + 1])
        # 1e-9: a length that is whole but for rounding has no part more
        parts, moves = max(int(np.ceil((end - begin) / self.longest - 1e-9)), 1), self.moves
        if division is not None:
            parts, moves = division
        R, n = x.shape
        move = np.broadcast_to(np.eye(n), (R, n, n)) if detailed else None
        came, grown = np.zeros((R, n, n)), np.zeros((R, n))

        def noise(time: float) -> Vector:
            return diffusion(time, p.values[k] + p.slopes[k] * (time - begin))

        for span in self.mover.spans(begin, end, parts, moves):
            for t0, t1, weight in zip(
                span.nodes[:-1], span.nodes[1:], span.weights[:-1], strict=True
            ):
                q = weight * noise(float(t0))
                moved = self.mover.moved(float(t0), float(t1), x, theta)
                x, F = moved.value, moved.slope
                back = np.swapaxes(F, 1, 2)
                C = F @ _added(C, q) @ back
                if move is not None:
                    move, came, grown = F @ move, _added(came, q) @ back, grown + q
            q = span.weights[-1] * noise(float(span.nodes[-1]))
            C = _mirrored(_added(C, q))
            came, grown = _added(came, q), grown + q
        return x, C, Interval(move, came, grown) if move is not None else None


def _added(C: Vector, q: Vector) -> Vector:
    """C + diag(q)."""
    each = np.arange(C.shape[1])
    found = C.copy()
    found[:, each, each] += q
    return found


def _mirrored(C: Vector) -> Vector:
    return 0.5 * (C + np.swapaxes(C, 1, 2))


@dataclass(frozen=True, eq=False)
class Taken:
    """Values of one stamp taken in, for each row."""

    mean: Vector
    covariance: Vector
    innovations: Vector  # (R, ny), zero where nothing is given
    variances: Vector  # of them, each given those before it
    predicted: Vector  # before any of them
    expected: Vector  # the variance of a measured value then


def take_in(
    seen: Moved, noise: Vector, values: Vector, given: Vector, x: Vector, C: Vector
) -> Taken:
    """Measured values one after the other, in Joseph's form; (ny,) or (R, ny) of them."""
    R, n = x.shape
    ny = seen.value.shape[1]
    given = np.broadcast_to(given, (R, ny))
    values = np.broadcast_to(values, (R, ny))
    e, s, r = np.zeros((R, ny)), np.empty((R, ny)), np.empty((R, ny))
    mean, spread = x, C
    for k in range(ny):
        h, own = seen.slope[:, k], noise[:, k]
        r[:, k] = np.einsum("ri,rij,rj->r", h, C, h) + own
        toward = np.einsum("rij,rj->ri", spread, h)
        s[:, k] = np.einsum("ri,ri->r", h, toward) + own
        if not given[:, k].any():
            continue
        # the mean has moved since the output was linearised
        off = values[:, k] - seen.value[:, k] - np.einsum("ri,ri->r", h, mean - x)
        e[:, k] = np.where(given[:, k], off, 0.0)
        with np.errstate(all="ignore"):  # a variance of zero is told where it is used
            gain = given[:, k, None] * toward / s[:, k, None]
        kept = np.eye(n) - gain[:, :, None] * h[:, None, :]
        mean = mean + gain * e[:, k, None]
        spread = kept @ spread @ np.swapaxes(kept, 1, 2)
        spread = _mirrored(spread + own[:, None, None] * gain[:, :, None] * gain[:, None, :])
    return Taken(mean, spread, e, s, seen.value, r)
