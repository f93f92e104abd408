"""Output spread: what the uncertainty of the unknowns and the noise do to each output."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.estimate.conclusion.freedom import effective
from estimica.estimate.conclusion.identifiability import direction_error, null_space
from estimica.estimate.fit.outputs import CaseFit, OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.setup import prepare
from estimica.infer.covariance.linearisation import LinearisedFit, output_slopes
from estimica.infer.covariance.score import (
    coloured_score_covariance,
    heteroscedastic_score_covariance,
    white_score_covariance,
)
from estimica.study.record.transform import transform_of
from estimica.study.response_columns import ResponseColumns

Part = tuple[Vector, Vector]  # slopes and the covariance of what they belong to


def parameter_spread(fit: Fit, around: LinearisedFit, kind: str) -> Vector:
    """Covariance of the unknowns without the directions that the data do not determine.

    These do not move the simulated outputs of the data either; what they do to others is told by
    `unbounded`.
    """
    inverse = around.inverse
    slopes = around.objective.unknowns.slopes(around.q)
    if kind == "model":
        return np.asarray(around.told.covariance * np.outer(slopes, slopes))
    factor = 1.0
    if kind == "pooled":
        meat = white_score_covariance(around)
        if not around.told.known:
            factor = around.n_samples / around.freedom
    elif kind == "sandwich":
        meat = heteroscedastic_score_covariance(around)
    else:
        meat = coloured_score_covariance(around).meat
    return np.asarray(factor * (inverse @ meat @ inverse) * np.outer(slopes, slopes))


def freedoms(
    around: LinearisedFit, output: OutputComparison, parts: list[Part], noise: Vector, kind: str
) -> tuple[Vector, Vector]:
    """Degrees of freedom at each stamp: of the output itself, and of a further measurement.

    They are those of the noise levels in just this variance: a further measurement has the noise of
    its output besides, and so have start values that a validating case finds by itself.
    """
    told, slope = around.told, parts[0][0]
    degrees = told.freedoms(by_residuals=kind in ("sandwich", "hac"))
    if kind == "pooled" and not told.known:
        degrees = np.full(len(degrees), around.freedom)
    rows = np.zeros((len(slope), len(around.q)))
    rows[:, : slope.shape[1]] = slope * around.objective.unknowns.slopes(around.q)[: slope.shape[1]]
    mean = told.parts(rows)
    places = [k for k, v in enumerate(told.levels) if output.name in v.outputs]
    if not places:  # an output of validating cases only: its own residuals tell its noise
        mean, degrees = np.vstack([mean, np.zeros(len(slope))]), np.append(degrees, len(slope))
    place = min(places, key=lambda k: degrees[k], default=len(mean) - 1)
    for other, covariance in parts[1:]:
        mean[place] += np.einsum("ij,jk,ik->i", other, covariance, other)
    further = mean.copy()
    further[place] += np.where(np.isfinite(noise), noise, 0.0) ** 2
    return effective(mean, degrees), effective(further, degrees)


def slopes_of(fit: Fit, case: CaseFit, around: LinearisedFit, spread: Vector) -> list[list[Part]]:
    """For each output of a case, independent parts of its uncertainty."""
    if case.role == "calibrate":
        objective = around.objective
        predictions = objective.predict(fit.values)
        assert not isinstance(predictions, Failure), "it was simulated there before"
        slopes = output_slopes(objective, predictions)
        own = zip(around.rows, slopes, strict=True)
        return [[(slope, spread)] for rows, slope in own if rows.case == case.name]
    return _validating(fit, case, spread)


def _validating(fit: Fit, case: CaseFit, spread: Vector) -> list[list[Part]]:
    """A validating case finds its own start values from its own data with the tuners given: they
    follow the tuners, and have the noise of the case besides."""
    own = next(c for c in fit.study.cases if c.name == case.name)
    setup = prepare(fit.study.with_(cases=[replace(own, role="calibrate")]))
    objective = setup.calibration()
    tuners = len(setup.tuners)
    values = np.concatenate([fit.values[:tuners], case.values])
    predictions = objective.predict(values)
    if isinstance(predictions, Failure):
        raise InferError("I322", f"case '{case.name}' cannot be simulated: {predictions.message}")
    slopes = output_slopes(objective, predictions)
    shared = spread[:tuners, :tuners]
    if values.size == tuners:
        return [[(s, shared)] for s in slopes]
    weights = [chain_of(fit, case, o) / level_of(fit, case, o)[0] for o in case.outputs]
    stacked = np.vstack([w[:, None] * s for w, s in zip(weights, slopes, strict=True)])
    inner = np.linalg.pinv(stacked[:, tuners:])
    follow = -inner @ stacked[:, :tuners]
    free = inner @ inner.T
    return [
        [(s[:, :tuners] + s[:, tuners:] @ follow, shared), (s[:, tuners:], free)] for s in slopes
    ]


def unbounded(fit: Fit, around: LinearisedFit, parts: list[Part]) -> Flags:
    """Where an output moves with a direction of the tuners that the data do not determine.

    That happens in validating cases only. The first of the `parts` is that of the tuners.
    """
    slope = parts[0][0]
    count = len(fit.accuracy.null_directions)
    if not count:
        return np.zeros(len(slope), bool)
    scale = around.objective.unknowns.slopes(around.q)
    null, _ = null_space(around.root, scale, ~around.held, count)
    null = null[:, : slope.shape[1]]
    moved = np.abs(slope @ null.T)
    # what cancels in a null direction cancels up to the error of the direction
    most = np.max(np.abs(slope) @ np.abs(null).T, axis=0, initial=0.0)
    found: Flags = (moved > direction_error(fit.accuracy) * most).any(axis=1)
    return found


def noise_of(fit: Fit, case: CaseFit, output: OutputComparison, around: LinearisedFit) -> Vector:
    """Standard deviation of the noise at each stamp, in the output's own unit."""
    sigma, known = level_of(fit, case, output)
    level = around.told.of_output(output.name)
    if not known and level is not None and math.isfinite(level.growth):
        sigma = sigma * math.sqrt(level.growth)
    # the noise is that of the transformed output
    slope = np.abs(chain_of(fit, case, output))
    return np.asarray(np.divide(sigma, slope, out=np.full(len(slope), np.inf), where=slope > 0))


def chain_of(fit: Fit, case: CaseFit, output: OutputComparison) -> Vector:
    """The derivative of what is compared by the output: one where nothing is transformed."""
    column = fit.study_case(case.name).column_of(output.name)
    if isinstance(column, ResponseColumns) or column.transform is None:
        return np.ones(len(output.time))
    return np.asarray(transform_of(column.transform).derivative(output.simulated))


def level_of(fit: Fit, case: CaseFit, output: OutputComparison) -> tuple[float | Vector, bool]:
    """The noise of an output as compared, and whether it was known beforehand."""
    if output.sigma is not None:
        noise = fit.noise.get(output.name)
        return output.sigma, noise is None or not noise.formula
    given = fit.study_case(case.name).column_of(output.name).sigma
    if isinstance(given, (float, str)):
        return given if isinstance(given, float) else 1.0, True  # a column is divided by
    noise = fit.noise.get(output.name)
    if noise is not None:
        return math.sqrt(noise.variance) / output.weight, not noise.estimated
    own = [
        o.compared / math.sqrt(o.passed)
        for c in fit.cases
        if c.role == "calibrate"
        for o in c.outputs
        if o.name == output.name
    ]
    pooled = np.concatenate(own) if own else output.compared / math.sqrt(output.passed)
    return float(np.sqrt(np.mean(pooled**2))) or 1e-300, False
