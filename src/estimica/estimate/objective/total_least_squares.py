"""Total least squares: one case of points whose inputs were measured with errors as well.

The true inputs of each point are found along with the tuners and eliminated point by point. The
inputs then stand beside the outputs: as measured, as estimated, and with a known error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import FitError, SimulationError
from estimica.compiled.model.interface import Evaluation, Model
from estimica.estimate.criteria.block import Block
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.estimate.objective.predictor import CasePredictor, Prediction, UnknownIndex, split
from estimica.simulate.engine.options import Options
from estimica.study.estimation import Estimation
from estimica.study.record.samples import Record

#: Newton steps of all points at once. Chosen far above what Newton steps need: a point that does
#: not end by then keeps the best so far
ITERATIONS = 60
ENOUGH = 1e-8  # step, in standard deviations of an input: as the tolerance of a search
LEAST_CURVATURE = 1e-3  # of a Hessian that is believed; that of Gauss-Newton is at least 1
FIRST_DAMPING = 1e-2  # after the first bad step; the Hessian is at least of size one
ROUNDING = 1e-15  # relative, of the cost of a point


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
        predictions = [
            Prediction(run.Y[rows, j], total[rows, j, :])
            for j, rows in enumerate(self._rows[: len(self._measured)])
        ]
        inputs = self._inputs(z)
        for i, sigma in enumerate(self._points.sigmas):
            predictions.append(Prediction(inputs[i], sigma * following[:, i, :]))
        return predictions

    def _on_grid(self, measured: Sequence[Vector]) -> _Points:
        n, outputs = len(self.times), len(self._measured)
        values, weights = np.zeros((n, outputs)), np.zeros((n, outputs))
        for j in range(outputs):
            values[self._rows[j], j] = measured[j]
            weights[self._rows[j], j] = self._weights[j]
        inputs = np.array([np.asarray(v, float) for v in measured[outputs:]])
        sigmas = np.array([1 / w for w in self._weights[outputs:]])
        return _Points(values, weights, inputs, sigmas)


# --- Elimination: the true inputs of every point, found by small Newton steps, all points at once.
#
# With weighted residuals ρ(z) of the outputs of a point and its input errors z in units of
# their standard deviations, each point minimises |ρ(z)|² + |z|². What is left is a function of
# the tuners alone, with the gradient Jᵀρ and the Gauss-Newton matrix Jᵀ(I + GGᵀ)⁻¹J, G = ∂ρ/∂z.


@dataclass(frozen=True, eq=False)
class Linearised:
    """Weighted residuals of all points at some input errors, with their derivatives."""

    residual: Vector  # (N, ny)
    by_error: Vector  # (N, ny, k)
    ok: Flags  # (N,): points that could be computed


Evaluate = Callable[[Vector], Linearised]


def eliminate(evaluate: Evaluate, n: int, k: int) -> Vector | None:
    """The input errors z (N, k) at which every point is best; None where a point has no value.

    Gauss-Newton with what the residuals' curvature adds as a secant sees it, and with a damping of
    each point's own: a step that makes a point worse is taken back there.
    """
    z = np.zeros((n, k))
    here = evaluate(z)
    if not here.ok.all():
        return None
    cost = _cost(here, z)
    damping = np.zeros(n)
    curvature = np.zeros((n, k, k))
    active = np.ones(n, bool)
    for _ in range(ITERATIONS):
        step = _step(here, z, curvature, damping) * active[:, None]
        trial = z + step
        there = evaluate(trial)
        new = np.where(there.ok, _cost(there, trial), np.inf)
        small = np.abs(step).max(axis=1) < ENOUGH * (1 + np.abs(z).max(axis=1))
        better = active & (new <= cost * (1 + ROUNDING))
        curvature = np.where(better[:, None, None], _bent(curvature, here, there, step), curvature)
        damping = np.where(better, damping / 10, np.maximum(10 * damping, FIRST_DAMPING))
        damping[damping < FIRST_DAMPING / 10] = 0.0
        z = np.where(better[:, None], trial, z)
        cost = np.where(better, new, cost)
        here = _merged(better, there, here)
        active &= ~small
        if not active.any():
            break
    return z


def followed(by_error: Vector, by_tuner: Vector) -> Vector:
    """dz/dθ (N, k, m) = −(I + GᵀG)⁻¹GᵀJ: how the input errors follow the tuners."""
    k = by_error.shape[2]
    inner = np.eye(k) + np.einsum("nyi,nyj->nij", by_error, by_error)
    pull = np.einsum("nyi,nym->nim", by_error, by_tuner)
    if k == 1:
        return np.asarray(-pull / inner)
    return np.asarray(-np.linalg.solve(inner, pull))


def _cost(at: Linearised, z: Vector) -> Vector:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.sum(at.residual**2, axis=1) + np.sum(z**2, axis=1))


def _step(at: Linearised, z: Vector, curvature: Vector, damping: Vector) -> Vector:
    k = z.shape[1]
    gradient = np.einsum("nyi,ny->ni", at.by_error, at.residual) + z
    plain = np.eye(k) + np.einsum("nyi,nyj->nij", at.by_error, at.by_error)
    bent = plain + curvature
    lowest = bent[:, 0, 0] if k == 1 else np.linalg.eigvalsh(bent)[:, 0]
    matrix = np.where((lowest > LEAST_CURVATURE)[:, None, None], bent, plain)
    size = np.trace(plain, axis1=1, axis2=2)
    matrix = matrix + (damping * size)[:, None, None] * np.eye(k)
    if k == 1:
        return np.asarray(-gradient / matrix[:, 0])
    return np.asarray(-np.linalg.solve(matrix, gradient[:, :, None])[:, :, 0])


def _bent(curvature: Vector, here: Linearised, there: Linearised, step: Vector) -> Vector:
    """Σ ρ ∂²ρ/∂z² by the symmetric rank-one formula; in one dimension the secant itself."""
    turned = there.by_error - here.by_error
    missed = np.einsum("nyi,ny->ni", turned, there.residual)
    missed = missed - np.einsum("nij,nj->ni", curvature, step)
    along = np.einsum("ni,ni->n", missed, step)
    size = np.linalg.norm(missed, axis=1) * np.linalg.norm(step, axis=1)
    with np.errstate(invalid="ignore"):
        usable = (np.abs(along) > 1e-8 * size) & (size > 0) & np.isfinite(size)
    below = np.where(usable, along, 1.0)[:, None, None]
    rank_one = missed[:, :, None] * missed[:, None, :] / below
    return np.asarray(curvature + np.where(usable[:, None, None], rank_one, 0.0))


def _merged(better: Flags, there: Linearised, here: Linearised) -> Linearised:
    return Linearised(
        np.where(better[:, None], there.residual, here.residual),
        np.where(better[:, None, None], there.by_error, here.by_error),
        here.ok,
    )
