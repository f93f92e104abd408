"""bands: confidence and prediction bands of all outputs, by the delta method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.estimate.fit.frequency_pictures import across
from estimica.estimate.fit.outputs import CaseFit, OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.infer.bands.result import Bands, OutputBand
from estimica.infer.covariance.linearisation import LinearisedFit, linearise_fit
from estimica.infer.covariance.output_spread import (
    Part,
    freedoms,
    noise_of,
    parameter_spread,
    slopes_of,
    unbounded,
)
from estimica.infer.covariance.run import require_kind
from estimica.infer.refit import refuse_input_errors


def bands(fit: Fit, *, kind: str = "model", level: float = 0.95) -> Bands:
    """Confidence and prediction bands of all outputs, by the delta method.

    `kind` is the covariance of the unknowns that is used: "model", "pooled", "sandwich" or
    "hac".
    """
    require_kind(kind)
    if not 0 < level < 1:
        raise InferError("I320", f"level {level:g} is not a chance between 0 and 1; use 0.95")
    refuse_input_errors(fit.study, "bands", "leave the sigma of the input out")
    around = linearise_fit(fit)
    if around.freedom <= 0:
        raise InferError(
            "I323", "there are no more samples than unknowns, so no bands either; add data"
        )
    spread = parameter_spread(fit, around, kind)
    output_bands: list[OutputBand] = []
    for case, output, parts, variance in _variances(fit, around, spread):
        noise = noise_of(fit, case, output, around)
        stderr = np.sqrt(np.maximum(variance, 0.0))
        degrees = freedoms(around, output, parts, noise, kind)
        quantile, further = (_quantile(v, level) for v in degrees)
        if output.transfer is not None:
            output_bands += _parts(fit, case, output, (stderr, noise, quantile, further))
            continue
        output_bands.append(
            OutputBand(
                case.name,
                case.role,
                output.name,
                fit.unit_of(output),
                output.time,
                output.measured,
                output.simulated,
                stderr,
                noise,
                quantile,
                further,
            )
        )
    return Bands(fit, kind, level, tuple(_joined(fit, output_bands)))


def _joined(fit: Fit, parts: list[OutputBand]) -> Iterator[OutputBand]:
    """Bands of the cases as the study has them: stretches between gaps in one."""
    by_output: dict[tuple[str, str], list[OutputBand]] = {}
    for one in parts:
        case = fit.study.partition.case_of(one.case)
        by_output.setdefault((case, one.output), []).append(one)
    for own in by_output.values():
        yield own[0] if len(own) == 1 else _behind(own)


def _behind(parts: list[OutputBand]) -> OutputBand:
    """One stretch behind the other."""
    return replace(
        parts[0],
        time=np.concatenate([p.time for p in parts]),
        measured=np.concatenate([p.measured for p in parts]),
        simulated=np.concatenate([p.simulated for p in parts]),
        stderr=np.concatenate([p.stderr for p in parts]),
        noise=np.concatenate([p.noise for p in parts]),
        quantile=np.concatenate([p.quantile for p in parts]),
        further=np.concatenate([p.further for p in parts]),
    )


def _quantile(degrees: Vector, level: float) -> Vector:
    """Of t with so many degrees of freedom, of the normal distribution where they are infinite."""
    from estimica.base.probability.functions import ndtri, stdtrit

    known = np.isinf(degrees) | (degrees <= 0)  # what has no variance has no width either
    tail = (1 + level) / 2
    found: Vector = np.where(known, ndtri(tail), stdtrit(np.where(known, 1.0, degrees), tail))
    return found


def _parts(
    fit: Fit, case: CaseFit, output: OutputComparison, errors: tuple[Vector, Vector, Vector, Vector]
) -> Iterator[OutputBand]:
    """Real and imaginary part of a frequency response, with standard error and noise of each."""
    transfer = output.transfer
    assert transfer is not None
    for k, part in enumerate(("Re", "Im")):
        every = (output.measured, output.simulated, *errors[:2])
        measured, simulated, stderr, noise = (v[k::2] / transfer.amplitude for v in every)
        yield OutputBand(
            case.name,
            case.role,
            f"{part} {output.name}",
            fit.unit_of(output),
            transfer.frequency,
            measured,
            simulated,
            stderr,
            noise,
            errors[2][k::2],
            errors[3][k::2],
            across(transfer),
        )


def _variances(
    fit: Fit, around: LinearisedFit, spread: Vector
) -> Iterator[tuple[CaseFit, OutputComparison, list[Part], Vector]]:
    """Parts and variance of every simulated output; infinite where the data leave it open."""
    for case in fit.stretches:
        if case.outputs:
            for output, parts in zip(
                case.outputs, slopes_of(fit, case, around, spread), strict=True
            ):
                variance = sum(np.einsum("ij,jk,ik->i", s, v, s) for s, v in parts)
                free = case.role == "validate" and unbounded(fit, around, parts)
                yield case, output, parts, np.where(free, np.inf, variance)
