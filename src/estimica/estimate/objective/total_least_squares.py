"""Total least squares: one case of points whose inputs were measured with errors as well.

The true inputs of each point are found along with the tuners and eliminated point by point. The
inputs then stand beside the outputs: as measured, as estimated, and with a known error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError, SimulationError
from estimica.compiled.model.interface import Evaluation, Model
from estimica.estimate.criteria.scoring import Block
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.estimate.objective.predictor import CasePredictor, Prediction, UnknownIndex, split
from estimica.estimate.objective.true_inputs import Linearised, eliminate, followed
from estimica.simulate.engine.run import Options
from estimica.study.estimation import Estimation
from estimica.study.record.samples import Record


def with_inputs(record: Record) -> Record:
    """The record with its uncertain inputs among the outputs."""
    return replace(record, outputs=(*record.outputs, *record.uncertain))


def require_possible(record: Record, estimation: Estimation) -> None:
    """Refuse what does not go together with errors in the inputs."""
    if not record.uncertain:
        return
    where = f"case '{record.case.name}': input '{record.uncertain[0].name}' has a sigma, "
    if estimation.criterion not in ("oe", "ml") or estimation.loss != "squared":
        raise FitError(
            "F090",
            f"{where}but errors in the inputs are estimated by plain squares only; use criterion "
            "'oe' or 'ml' without a loss",
        )
    for m in record.outputs:
        if m.disturbance is not None:
            raise FitError(
                "F091", f"{where}but output '{m.name}' has a disturbance; leave one of the two out"
            )
        known = isinstance(m.sigma, float) or (estimation.criterion == "oe" and m.weight)
        if not known:
            raise FitError(
                "F092",
                f"{where}so that output '{m.name}' needs one too; give its sigma"
                + (", or weight = 1/sigma up to a common factor" if _is_oe(estimation) else ""),
            )


def _is_oe(estimation: Estimation) -> bool:
    return estimation.criterion == "oe"


def total_weights(blocks: Sequence[Block], estimation: Estimation) -> list[float | Vector]:
    """What the residuals of each block are multiplied by; in `oe` the weight holds 1/σ already."""
    return [
        b.scaling / b.sigma if isinstance(b.sigma, float) and not _is_oe(estimation) else b.scaling
        for b in blocks
    ]


@dataclass(frozen=True, eq=False)
class _Points:
    """What was measured, on the grid of all points: (N, ny) and (k, N), weight 0 where nothing."""

    values: Vector
    weights: Vector
    inputs: Vector
    sigmas: Vector


class TotalPredictor(CasePredictor):
    """One case with errors in its inputs, set up once and evaluated at many points."""

    def __init__(
        self,
        model: Model,
        record: Record,
        links: ParameterMap,
        fixed: Mapping[str, float],
        places: UnknownIndex,
        options: Options,
        weights: Sequence[float | Vector],
    ) -> None:
        self._weights = tuple(weights)  # what residuals are multiplied by
        self._moving = [m.name for m in record.uncertain]
        super().__init__(model, with_inputs(record), links, fixed, places, options)
        self._measured = [m for m in self.record.outputs if not m.is_input]
        self._points = self._on_grid([m.value for m in self.record.outputs])

    def _respond(self, model: Model, fixed: Mapping[str, float], options: Options) -> None:
        parameters, _ = split(model, fixed)
        self.moving_response = model.response_to_inputs(
            self.times,
            dict(self.record.inputs),
            parameters,
            outputs=[m.name for m in self.record.outputs if not m.is_input],
            wrt=self.links.parameters,
            wrt_inputs=self._moving,
            options=options,
        )

    def replaced(self, measured: Sequence[Vector]) -> TotalPredictor:
        """The same with other measured values of the outputs and of the inputs."""
        other = object.__new__(TotalPredictor)
        other.__dict__.update(self.__dict__)
        pairs = zip(self.record.outputs, measured, strict=True)
        outputs = tuple(replace(m, value=v) for m, v in pairs)
        other.record = replace(self.record, outputs=outputs)
        other._measured = [m for m in outputs if not m.is_input]
        other._points = other._on_grid(measured)
        return other

    def at(self, values: Vector) -> list[Prediction] | str:
        """Outputs at the true inputs, and these inputs, at values of all unknowns."""
        parameters, chain = self.links.at(values[self._tuners])
        self.runs = 0
        try:
            z = eliminate(lambda z: self._linearised(self._run(parameters, z)), *self._size)
            run = self._run(parameters, np.zeros(self._size) if z is None else z)
        except SimulationError as error:
            return error.message
        if z is None or not run.ok:
            return run.text
        return self._predictions(run, z, chain)

    @property
    def _size(self) -> tuple[int, int]:
        return len(self.times), len(self._moving)

    def _inputs(self, z: Vector) -> Vector:
        return np.asarray(self._points.inputs + self._points.sigmas[:, None] * z.T)

    def _run(self, parameters: Vector, z: Vector) -> Evaluation:
        self.runs += 1
        return self.moving_response.at(parameters, self._inputs(z))

    def _linearised(self, run: Evaluation) -> Linearised:
        points, p = self._points, len(self.links.parameters)
        residual, slope = self._compared(run)
        with np.errstate(invalid="ignore", over="ignore"):
            by_input = run.YS[:, :, p:] * slope[:, :, None] * points.sigmas
            by_error = by_input * points.weights[:, :, None]
            scored = residual * points.weights
        counted = points.weights > 0
        scored = np.where(counted, scored, 0.0)
        by_error = np.where(counted[:, :, None], by_error, 0.0)
        ok = np.asarray(np.isfinite(scored).all(axis=1) & np.isfinite(by_error).all(axis=(1, 2)))
        return Linearised(np.where(ok[:, None], scored, 0.0), by_error, ok)

    def _compared(self, run: Evaluation) -> tuple[Vector, Vector]:
        """Simulated − measured, both transformed, and the slopes of the transforms."""
        residual, slope = run.Y - self._points.values, np.ones(run.Y.shape)
        for j, m in enumerate(self._measured):
            if m.transform is not None:
                with np.errstate(invalid="ignore", divide="ignore"):
                    reference = m.transform.value(m.value)
                    rows = self._rows[j]
                    residual[rows, j] = m.transform.value(run.Y[rows, j]) - reference
                    slope[rows, j] = m.transform.derivative(run.Y[rows, j])
        return residual, slope

    def _predictions(self, run: Evaluation, z: Vector, chain: Vector) -> list[Prediction]:
        p = len(self.links.parameters)
        slope = run.YS[:, :, :p] if self._direct else run.YS[:, :, :p] @ chain
        weights = self._points.weights * self._compared(run)[1]
        by_error = run.YS[:, :, p:] * self._points.sigmas  # of the outputs themselves
        counted = np.where(self._points.weights > 0, weights, 0.0)[:, :, None]
        following = followed(by_error * counted, slope * counted)
        total = slope + by_error @ following
        found = [
            Prediction(run.Y[rows, j], total[rows, j, :])
            for j, rows in enumerate(self._rows[: len(self._measured)])
        ]
        inputs = self._inputs(z)
        for i, sigma in enumerate(self._points.sigmas):
            found.append(Prediction(inputs[i], sigma * following[:, i, :]))
        return found

    def _on_grid(self, measured: Sequence[Vector]) -> _Points:
        n, outputs = len(self.times), len(self._measured)
        values, weights = np.zeros((n, outputs)), np.zeros((n, outputs))
        for j in range(outputs):
            values[self._rows[j], j] = measured[j]
            weights[self._rows[j], j] = self._weights[j]
        inputs = np.array([np.asarray(v, float) for v in measured[outputs:]])
        sigmas = np.array([1 / w for w in self._weights[outputs:]])
        return _Points(values, weights, inputs, sigmas)
