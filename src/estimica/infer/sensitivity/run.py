"""Sensitivity measures: how strongly the outputs answer to relative changes of the unknowns.

M. Knudsen, Experimental modelling of dynamic systems (Senstools), Aalborg University, chapter 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import FitError
from estimica.base.suggest import did_you_mean
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.infer.covariance.linearisation import linearise_fit
from estimica.infer.sensitivity.result import SensitivityMeasures, of_factor
from estimica.study.formulas import tuners_of_noise
from estimica.study.record.samples import MeasuredOutput

Quiet = Mapping[str, float | Sequence[float] | Vector]


def measures(fit: Fit, *, quiet: Quiet | None = None) -> SensitivityMeasures:
    """The sensitivity measures at the estimate, and what they say about its accuracy.

    `quiet` gives the noise of each output: samples taken with zero input, or a standard deviation.
    With it the output error is split into noise and undermodelling; without it `spread` takes all
    error as noise (the best case) and `equivalent_error` takes all as undermodelling (the worst).
    """
    objective = fit.setup.calibration()
    free = moving(fit)
    if not free.any():
        raise FitError("F071", "no unknown is free; there is nothing to be sensitive to")
    rows, errors, sizes = _normed(fit, objective)
    total = sum(len(e) for e in errors.values())
    factor = _triangle(np.vstack(rows)[:, free] / math.sqrt(total))
    labels = [u.label for u, f in zip(fit.unknowns.items, free, strict=True) if f]
    units = tuple(u.unit for u, f in zip(fit.unknowns.items, free, strict=True) if f)
    threshold = max(fit.identifiability.threshold, 1e-14)
    error = math.sqrt(sum(float(e @ e) for e in errors.values()) / total)
    noise = None if quiet is None else _noise(quiet, sizes, errors, total)
    return SensitivityMeasures(
        study=fit.study.name,
        measures=of_factor(factor, labels, threshold),
        values=fit.values[free],
        units=units,
        n_samples=total,
        errn={n: float(np.sqrt(np.mean(e**2))) for n, e in errors.items()},
        error=error,
        noise=noise,
        undermodelling=None if noise is None else math.sqrt(max(error**2 - noise**2, 0.0)),
        by_noise=_by_noise(fit, quiet, sizes)[free],
    )


def _by_noise(fit: Fit, quiet: Quiet | None, sizes: Mapping[str, _Size]) -> Vector:
    """Relative standard deviations of all unknowns: those of the fit, or for given noise."""
    relative = np.abs(_relative(fit))
    if quiet is None:
        return np.asarray(fit.accuracy.stderr / relative)
    around = linearise_fit(fit)
    meat = around.prior.T @ around.prior
    for one, m in zip(around.rows, around.scoring.multipliers, strict=True):
        size = sizes[one.output]
        level = np.asarray(m) * _level(quiet[one.output]) * size.compared / size.output
        rows = np.reshape(level, (-1, 1)) * one.jacobian
        meat = meat + rows.T @ rows
    variance = np.diag(around.inverse @ meat @ around.inverse)
    return np.asarray(np.sqrt(variance) * fit.unknowns.slopes(around.q) / relative)


def _relative(fit: Fit) -> Vector:
    """What changes of the unknowns are relative to: values, or a size where these are zero."""
    pairs = zip(fit.values, fit.unknowns.items, strict=True)
    return np.array([v if v != 0 else u.scale for v, u in pairs])


def moving(fit: Fit) -> Flags:
    """The unknowns that are free and move outputs, not only their noise."""
    of_noise = tuners_of_noise(fit.study)
    pairs = zip(fit.unknowns.items, fit.at_bound, strict=True)
    return np.array([not b and not (u.kind == "tuner" and u.name in of_noise) for u, b in pairs])


def _normed(
    fit: Fit, objective: ResidualFunction
) -> tuple[list[Vector], dict[str, Vector], dict[str, _Size]]:
    """(relative normed gradients, normed residuals and size of each output), over all cases."""
    predictions = objective.predict(fit.values)
    if isinstance(predictions, Failure):
        raise FitError(
            "F072",
            f"case '{predictions.case}' cannot be simulated at the estimate: {predictions.message}",
        )
    relative = _relative(fit)
    sizes = dict(_sizes(objective))
    rows: list[Vector] = []
    errors: dict[str, Vector] = {}
    owners = [(p, k) for p in objective.predictors for k in range(len(p.record.outputs))]
    residuals = objective.residuals(predictions)
    for (predictor, place), block, prediction, residual in zip(
        owners, objective.blocks, predictions, residuals, strict=True
    ):
        gradient = np.zeros((len(residual), len(fit.values)))
        gradient[:, list(predictor.columns)] = prediction.slope
        extra = predictor.extras[place]
        if extra is not None:
            gradient[:, extra] = 1.0
        if block.measured.transform is not None:
            gradient *= block.measured.transform.derivative(prediction.value)[:, None]
        gradient = block.filtered(gradient)
        size = sizes[block.name].compared
        rows.append(_triangle(gradient * relative / size))
        errors[block.name] = np.append(errors.get(block.name, []), residual / size)
    return rows, errors, sizes


def _triangle(rows: Vector) -> Vector:
    """R with RᵀR = AᵀA."""
    return np.asarray(np.linalg.qr(rows, mode="r"), np.float64)


@dataclass(frozen=True)
class _Size:
    """What an output is normed by: its RMS, and that of what is compared of it.

    A transform g changes by g'(y)·y, to first order, where the output changes by itself: that is
    its size, for a logarithm 1, in which unit the output may be measured.
    """

    output: float
    compared: float


def _sizes(objective: ResidualFunction) -> Iterator[tuple[str, _Size]]:
    """The size of each measured output over all cases; 1 where it is zero throughout."""
    for name in dict.fromkeys(b.name for b in objective.blocks):
        own = [b.measured for b in objective.blocks if b.name == name]
        values = np.concatenate([m.value for m in own])
        slopes = np.concatenate([_slope(m) for m in own])
        known = np.isfinite(slopes * values)  # the root has no slope at zero
        values, slopes = values[known], slopes[known]
        compared = float(np.sqrt(np.mean((slopes * values) ** 2))) or 1.0
        slope = float(np.sqrt(np.mean(slopes**2))) or 1.0
        yield name, _Size(compared / slope, compared)


def _slope(measured: MeasuredOutput) -> Vector:
    if measured.transform is None:
        return np.ones(len(measured.value))
    with np.errstate(all="ignore"):
        return measured.transform.derivative(measured.value)


def _noise(
    quiet: Quiet, sizes: Mapping[str, _Size], errors: Mapping[str, Vector], total: int
) -> float:
    """Normed RMS of the noise over all outputs."""
    square = 0.0
    for name in quiet:
        if name not in sizes:
            raise FitError("F073", f"quiet: there is no output '{name}'{did_you_mean(name, sizes)}")
    for name, size in sizes.items():
        if name not in quiet:
            raise FitError(
                "F074", f"quiet: the noise of output '{name}' is missing; give a record or a number"
            )
        square += (_level(quiet[name]) / size.output) ** 2 * len(errors[name])
    return math.sqrt(square / total)


def _level(given: float | Sequence[float] | Vector) -> float:
    """The noise of an output: a standard deviation, or a record that shows it."""
    samples = np.asarray(given, np.float64)
    return float(samples) if samples.ndim == 0 else noise_level(samples)


def noise_level(samples: Vector) -> float:
    """Standard deviation of a record taken with zero input; NaN are not sampled."""
    kept = samples[np.isfinite(samples)]
    if len(kept) < 2:
        raise FitError("F075", "quiet: a record needs at least two samples to show its noise")
    return float(np.std(kept, ddof=1))
