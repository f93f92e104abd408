"""FilterStep: the filter from one stamp to the next, with the derivatives of all it carries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.estimate.objective.filter_predictor import FilterPredictor
from estimica.simulate.engine.options import Options, Pieces
from estimica.simulate.engine.result import Run
from estimica.simulate.engine.run import RunStart, integrate
from estimica.simulate.filter.differences.response import DifferenceResponse
from estimica.simulate.filter.response import FilterResponse


@dataclass(eq=False)
class FilterPoint:
    """Where the filter stands: its states with their derivatives by the tuned constants, algebraic
    unknowns, modes, and the inputs that hold from there."""

    time: float
    x: Vector
    S: Vector
    z: Vector
    d: Vector
    u: Vector

    @staticmethod
    def of(run: Run, u: Vector) -> FilterPoint:
        """Where a run has ended."""
        return FilterPoint(run.time, run.x, run.S, run.z, run.d, u)


@dataclass(frozen=True, eq=False)
class Taken:
    """What a stamp gave: where the filter stands, innovations, variances, and their derivatives by
    the tuned constants, innovations first. `trouble` says why nothing came of it."""

    point: FilterPoint
    innovations: Vector
    variances: Vector
    by: Vector  # (2 ny, constants)
    trouble: str = ""


class FilterStep:
    """The compiled filter of one case."""

    def __init__(self, predictor: FilterPredictor, options: Options) -> None:
        response = predictor.filter
        if isinstance(response, DifferenceResponse):
            raise InferError(
                "I817",
                f"a monitor needs a compiled filter, and that of '{predictor.record.case.name}' "
                "goes by differences; load the Modelica source, or fit the record anew as it grows",
            )
        self.response, self._options = response, options
        configuration = response.configuration
        tuning = configuration.tuning
        if tuning.n_free:
            raise InferError(
                "I801",
                "the model has parameters that its initial equations determine (fixed=false), "
                "which a monitor cannot follow; give them values",
            )
        self._index = np.array([tuning.index[c.name] for c in tuning.wrt], dtype=int)
        self._sign = np.array([c.sign for c in tuning.wrt])
        self._values = response.values.copy()
        self.n, self.ny = configuration.n, len(configuration.outputs)
        self.nu = response.pieces.values.shape[1] - 3 * self.ny
        width = response.pieces.values.shape[1]
        # one interval, then the stamp; the arrays are used again for every sample
        self._pieces = Pieces(np.zeros(2), np.zeros((2, width)), np.zeros((2, width)))
        self._pieces.values[:, self.nu + 2 * self.ny :] = 1.0
        self._times = np.zeros(1)
        self._tolerances = response.options
        self._P: Vector | None = None
        self._at: Vector | None = None

    def set_tolerances(self, absolute: Sequence[float], scales: Sequence[float]) -> None:
        """Those of a filter that has begun before."""
        self._tolerances = replace(
            self.response.options, atol=tuple(absolute), tuner_scales=tuple(scales)
        )

    @property
    def first_inputs(self) -> Vector:
        """The inputs where the case begins."""
        first: Vector = self.response.pieces.values[0][: self.nu].copy()
        return first

    def at_end(self, theta: Vector) -> FilterPoint:
        """Where the filter stands after all data of the case."""
        run = self.response.at(theta)
        if not run.ok:
            raise InferError("I802", f"the filter fails over the data of the case: {run.text}")
        return FilterPoint.of(run, self.response.pieces.values[-1][: self.nu].copy())

    def begin(self, theta: Vector, time: float, u: Vector, measured: Vector) -> Taken:
        """The first stamp, at which the model begins."""
        given = np.isfinite(measured)
        row = np.concatenate([u, np.where(given, measured, 0.0), given, np.ones(self.ny)])
        pieces = Pieces.of([time], row[None, :])
        own = self.response
        one = FilterResponse(own.configuration, own.values, pieces, np.array([time]), self._options)
        return self._taken(one.at(theta), u)

    def advance(
        self, point: FilterPoint, theta: Vector, time: float, u: Vector, slopes: Vector | None,
        measured: Vector, given: Flags,
    ) -> Taken:  # fmt: skip
        """To the next stamp; `slopes` are those of the inputs on the way."""
        nu, ny, pieces = self.nu, self.ny, self._pieces
        pieces.starts[0], pieces.starts[1] = point.time, time
        values = pieces.values
        values[0, :nu], values[1, :nu] = point.u, u
        pieces.slopes[0, :nu] = 0.0 if slopes is None else slopes
        values[1, nu : nu + ny] = np.where(given, measured, 0.0)
        values[1, nu + ny : nu + 2 * ny] = given
        self._times[0] = time
        start = RunStart(point.x, point.S, point.z, point.d)
        options = self._tolerances
        kernel = self.response.configuration.kernel
        run = integrate(kernel, self._constants(theta), start, pieces, self._times, options)
        return self._taken(run, u)

    def _constants(self, theta: Vector) -> Vector:
        """All constants of a run; they are worked out when the tuners have moved."""
        if self._P is None or self._at is None or not np.array_equal(self._at, theta):
            self._values[self._index] = theta * self._sign
            self._P = self.response.configuration.tuning.prepare(self._values)[0]
            self._at = theta.copy()
        return self._P

    def _taken(self, run: Run, u: Vector) -> Taken:
        ny = self.ny
        e, s = run.Y[0, :ny], run.Y[0, ny : 2 * ny]
        trouble = "" if run.ok else run.text
        if run.ok and not (s > 0).all():
            trouble = "the variance of a prediction is not above zero"
        return Taken(FilterPoint.of(run, u.copy()), e, s, run.YS[0, : 2 * ny, :], trouble)
