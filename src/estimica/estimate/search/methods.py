"""Methods: Levenberg-Marquardt, damped Gauss-Newton and steepest descent."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.objective.cost import Point
from estimica.estimate.search.bounded_step import least_squares
from estimica.estimate.search.run import Method

#: distance of the gain from its prediction up to which a model counts as linear. Chosen: 2 % is
#: more than errors of simulations make of a gain, and less than a curved valley does
FORESEEN = 0.02
#: power of λ's fall after so many steps that were foreseen, 3⁻⁴: nearly two decades a step. Four
#: such steps take a damping of 0.1 to 2e-6, which is Gauss-Newton; a bad one grows it back by
#: itself
FASTEST = 4


class LevenbergMarquardt(Method):
    """min |R p + b|² + λ |p|²: the damping limits the relative change of every unknown alike.

    Coordinates are of like size by themselves; damping by the norms of the Jacobian's columns,
    the usual choice, lets unknowns run away that matter little far from the optimum. λ falls
    after a good step and grows after a bad one, as Nielsen (1999) has it; it falls faster while
    the cost does what the linear model predicts, so that long valleys take few steps.
    """

    # Nielsen (1999) takes 1e-6 for a good start, 1e-3 to 1 for others; starts here are guesses
    def __init__(self, damping: float = 0.1) -> None:
        self._relative = damping  # to the largest column of the first Jacobian
        self._damping: float | None = None
        self._growth = 2.0
        self._foreseen = 0  # steps in a row whose gain was as predicted

    def propose(self, point: Point, free: Flags, low: Vector, high: Vector) -> Vector:
        """The damped step."""
        if self._damping is None:
            norms = np.linalg.norm(point.R, axis=0)
            self._damping = self._relative * float(norms.max()) ** 2
        R = point.R[:, free]
        count = R.shape[1]
        stacked = np.vstack([R, np.sqrt(self._damping) * np.eye(count)])
        target = np.concatenate([-point.b, np.zeros(count)])
        step = np.zeros(len(free))
        step[free] = least_squares(stacked, target, low[free], high[free])
        return step

    def accepted(self, gain: float) -> None:
        """Less damping the better the prediction was."""
        assert self._damping is not None
        self._foreseen = self._foreseen + 1 if abs(gain - 1) < FORESEEN else 0
        fall = max(1 / 3, 1 - (2 * min(gain, 1.0) - 1) ** 3)
        self._damping *= fall ** min(max(self._foreseen, 1), FASTEST)
        self._growth = 2.0

    def rejected(self, failed: bool) -> None:
        """More damping, faster each time."""
        assert self._damping is not None
        # a failure says nothing of how far to go back: faster than after a step that was only bad
        self._damping *= self._growth * (5.0 if failed else 1.0)
        self._growth *= 2.0


class GaussNewton(Method):
    """The step p = −R⁺b, halved until it lowers the cost; null directions are left alone."""

    def __init__(self) -> None:
        self._share = 1.0

    def propose(self, point: Point, free: Flags, low: Vector, high: Vector) -> Vector:
        """The step, or the share of it that is left after bad ones."""
        R = point.R[:, free]
        scale = np.linalg.norm(R, axis=0)
        scale[scale == 0] = 1.0
        step = np.zeros(len(free))
        room = scale * low[free], scale * high[free]
        # below 1e-10 a direction is rounding: columns have length one, sensitivities fewer digits
        step[free] = least_squares(R / scale, -point.b, *room, rcond=1e-10) / scale
        return self._share * step

    def accepted(self, gain: float) -> None:
        """Try longer again."""
        self._share = min(1.0, 2 * self._share)

    def rejected(self, failed: bool) -> None:
        """Halve, or go back quickly where the simulation fails."""
        self._share *= 0.25 if failed else 0.5


class SteepestDescent(Method):
    """The negative gradient, scaled by the Jacobian's columns, with the best length along it."""

    def __init__(self) -> None:
        self._share = 1.0

    def propose(self, point: Point, free: Flags, low: Vector, high: Vector) -> Vector:
        """−D⁻²g, as long as the quadratic model is lowered by it; cut off at bounds."""
        norms = np.linalg.norm(point.R, axis=0)
        norms[norms == 0] = 1.0
        step = np.where(free, -point.gradient / norms**2, 0.0)
        bend = float(np.sum((point.R @ step) ** 2))
        best = -float(point.gradient @ step) / bend if bend > 0 else 1.0
        return self._share * best * step

    def accepted(self, gain: float) -> None:
        """Try longer again."""
        self._share = min(1.0, 2 * self._share)

    def rejected(self, failed: bool) -> None:
        """Go a quarter of the way."""
        self._share *= 0.25


METHODS: dict[str, type[Method]] = {
    "levenberg-marquardt": LevenbergMarquardt,
    "gauss-newton": GaussNewton,
    "steepest-descent": SteepestDescent,
}
