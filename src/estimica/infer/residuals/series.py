"""Series: the residuals of one output of one case, and what the fit has taken from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from zlib import crc32

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.errors import EstimicaError
from estimica.base.probability.functions import log_ndtr, ndtri_exp
from estimica.base.saving.packing import restores
from estimica.base.signals import Signal
from estimica.estimate.fit.outputs import CaseFit, OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.infer.covariance.grid import Spacing, spacing
from estimica.infer.covariance.linearisation import LinearisedFit
from estimica.infer.covariance.output_spread import chain_of, level_of, parameter_spread, slopes_of
from estimica.study.record.samples import Record
from estimica.study.record.transfer import Transfer
from estimica.study.record.transform import transform_of

#: of its variance that a residual keeps, however strong its sample's pull. Chosen: no residual is
#: enlarged by more than √20
LEAST_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Series:
    """Residuals in order: simulated − measured, of covariance σ²(I − J P Jᵀ) if all is well."""

    case: str
    role: str
    output: str
    unit: str
    axis: str  # what they are ordered by: "time", or an input of a static model
    x: Vector  # along that axis, rising
    residual: Vector
    simulated: Vector
    #: makes them by delay, (N, delays), in the order of the samples: too large to be kept for all
    inputs: Mapping[str, Callable[[], Vector]]
    signals: Mapping[str, Signal]  # the same inputs over time; none of a static model
    spacing: Spacing
    jacobian: Vector  # (N, n)
    metric: Vector  # P
    floor: float = 0.0  # root mean square below which residuals are errors of the simulation
    #: a number for each sample, alike for those that are simulated alike; None: no two are
    replicates: Indices | None = None

    @property
    def n(self) -> int:
        """Samples."""
        return len(self.residual)

    @property
    def exact(self) -> bool:
        """Whether there is nothing left but the errors of the simulation."""
        return float(np.sqrt(np.mean(self.residual**2))) <= self.floor

    @property
    def leverage(self) -> Vector:
        """The share of each residual's variance that the fit has taken."""
        return np.asarray(np.einsum("ij,jk,ik->i", self.jacobian, self.metric, self.jacobian))

    @cached_property
    def freedom(self) -> float:
        """Samples less what the unknowns have taken from this series."""
        return max(self.n - float(self.leverage.sum()), 1.0)

    @property
    def variance(self) -> float:
        """σ², unbiased."""
        return float(self.residual @ self.residual) / self.freedom

    @property
    def studentised(self) -> Vector:
        """Residuals of one variance for all samples, about one."""
        kept = np.sqrt(np.clip(1 - self.leverage, LEAST_SHARE, 1.0))
        return np.asarray(self.residual / (kept * np.sqrt(self.variance or 1.0)))

    def scatter(self, directions: Vector) -> Vector:
        """Covariance of Xᵀe for white noise of variance one."""
        through = self.jacobian.T @ directions
        return np.asarray(directions.T @ directions - through.T @ self.metric @ through)


#: samples, by which inputs are shifted. Chosen: doubled, since an input of some memory need not be
#: met exactly; each costs a degree of freedom
DELAYS = (0, 1, 2, 4, 8, 16, 32)


def series_of(fit: Fit, around: LinearisedFit) -> Iterator[Series]:
    """Every output of every case that was simulated."""
    records = {r.case.name: r for r in fit.setup.records}
    metrics = _metrics(around)
    rows = {(r.case, r.output): r for r in around.rows}
    spread = parameter_spread(fit, around, "model")
    parts: dict[str, list[CaseFit]] = {}
    for one in fit.stretches:
        parts.setdefault(fit.study.partition.case_of(one.name), []).append(one)
    for case in fit.cases:
        rest: dict[str, list[Rest]] = {}
        for part in parts[case.name]:
            if part.role == "calibrate":
                # scored rows are those of the residuals times a factor that cancels
                keys = [(part.name, o.name) for o in part.outputs]
                left = [
                    (quantile_residuals(o, o.compared), rows[key].jacobian, metrics[key])
                    for o, key in zip(part.outputs, keys, strict=True)
                ]
            else:
                left = validation_residuals(fit, part, around, spread) if part.outputs else []
            for o, own in zip(part.outputs, left, strict=True):
                rest.setdefault(o.name, []).append(
                    _before_filter(fit, part, o) if o.prefilter else own
                )
        for output in case.outputs:
            together = _behind(rest[output.name], apart=case.role != "calibrate")
            if output.transfer is not None:
                yield from _parts(fit, case, output, output.transfer, together)
            else:
                yield _series(fit, case, output, records[case.name], together)


def _behind(rest: list[Rest], *, apart: bool) -> Rest:
    """What is left of an output in all stretches of its case, one behind the other.

    Validating stretches have each taken something by themselves, calibrating ones all together.
    """
    if len(rest) == 1:
        return rest[0]
    residuals, jacobians, metrics = zip(*rest, strict=True)
    if not apart:
        return np.concatenate(residuals), np.vstack(jacobians), metrics[0]
    return np.concatenate(residuals), _diagonal(jacobians), _diagonal(metrics)


def _diagonal(blocks: Sequence[Vector]) -> Vector:
    """The matrix with these blocks along its diagonal."""
    rows, columns = (np.cumsum([0, *(b.shape[k] for b in blocks)]) for k in (0, 1))
    whole = np.zeros((rows[-1], columns[-1]))
    for block, i, j in zip(blocks, rows, columns, strict=False):
        whole[i : i + block.shape[0], j : j + block.shape[1]] = block
    return whole


def _before_filter(fit: Fit, case: CaseFit, output: OutputComparison) -> Rest:
    """The residuals before a prefilter: it is they that the fit takes for white noise.

    What the fit has taken from them is left aside: it is little where samples are many.
    """
    column = fit.study_case(case.name).columns_of_outputs[output.name]
    residual = output.residual
    if column.transform is not None:
        transform = transform_of(column.transform)
        residual = transform.value(output.simulated) - transform.value(output.measured)
    return residual, np.zeros((len(residual), 1)), np.zeros((1, 1))


def _series(
    fit: Fit, case: CaseFit, output: OutputComparison, record: Record, rest: Rest
) -> Series:
    residual, jacobian, metric = rest
    timed = fit.study.model.has_time
    axis, x = ("time", output.time) if timed else _static_axis(record, output.time)
    order = _order(x)
    x = x[order]
    where = spacing(x, axis)
    varying = {n: s for n, s in record.inputs.items() if (s.value != s.value[0]).any()}
    count = max(1, min(len(DELAYS), len(x) // (10 * max(len(varying), 1))))

    own = (output, where if timed else None, count, order)
    return Series(
        case.name,
        case.role,
        output.name,
        fit.residual_unit(output),
        axis,
        x,
        residual[order],
        output.simulated[order],
        {name: partial(_shifted, signal, *own) for name, signal in varying.items()},
        varying if timed else {},
        where,
        jacobian[order],
        metric,
        _floor(fit, output),
        _replicates(record, output, timed)[order],
    )


@restores
def _shifted(
    signal: Signal,
    output: OutputComparison,
    where: Spacing | None,
    count: int,
    order: Indices | slice,
) -> Vector:
    """An input at the samples of an output: delayed, or where there is no time, its powers."""
    if where is None:
        return _powers(signal, output)[order]
    return _delayed(signal, output.time, where, count)[order]


def _order(x: Vector) -> Indices | slice:
    """Places of rising values; all of them, which needs no copy, where they rise already."""
    return slice(None) if (x[1:] >= x[:-1]).all() else np.argsort(x, kind="stable")


def _parts(
    fit: Fit, case: CaseFit, output: OutputComparison, transfer: Transfer, rest: Rest
) -> Iterator[Series]:
    """Real and imaginary parts of a frequency response, each over the frequency."""
    residual, jacobian, metric = rest
    for k, part in enumerate(("Re", "Im")):
        yield Series(
            case.name,
            case.role,
            f"{part} {output.name}",
            fit.unit_of(output),
            "frequency",
            transfer.frequency,
            residual[k::2],
            output.simulated[k::2],
            {},
            {},
            spacing(transfer.frequency, "frequency"),
            jacobian[k::2],
            metric,
            1e-12 * float(np.sqrt(np.mean(output.reference**2))),
        )


def _replicates(record: Record, output: OutputComparison, timed: bool) -> Indices:
    """Samples at one time stamp, or of a static model with the same inputs, have one number."""
    if timed:
        return np.asarray(np.unique(output.time, return_inverse=True)[1], np.int64)
    if not record.inputs:
        return np.zeros(len(output.time), np.int64)
    inputs = np.stack([s.at(output.time) for s in record.inputs.values()], axis=1)
    return np.asarray(np.unique(inputs, axis=0, return_inverse=True)[1], np.int64).ravel()


def _floor(fit: Fit, output: OutputComparison) -> float:
    """Ten times the tolerance of the simulation, or of rounding where nothing is simulated."""
    accuracy = 10 * fit.study.solver.rtol if fit.study.model.has_time else 1e-13
    return accuracy * float(np.sqrt(np.mean(output.reference**2)))


def _static_axis(record: Record, points: Vector) -> tuple[str, Vector]:
    """The only input of a static model, or the numbers of its points."""
    if len(record.inputs) == 1:
        ((name, signal),) = record.inputs.items()
        return name, signal.at(points)
    return "their rows", points


def _delayed(signal: Signal, time: Vector, where: Spacing, count: int) -> Vector:
    found = np.empty((len(time), count))
    for column, delay in zip(found.T, DELAYS[:count], strict=True):
        column[:] = signal.at(time - delay * where.step)
    return found


def _powers(signal: Signal, output: OutputComparison) -> Vector:
    value = signal.at(output.time)
    scaled = (value - value.mean()) / (value.std() or 1.0)
    return np.stack([scaled, scaled**2], axis=1)


def _metrics(around: LinearisedFit) -> dict[tuple[str, str], Vector]:
    """P of each block: 2G − G F G/s², with G = (JᵀJ)⁻¹ and F = Σ s²JᵀJ.

    This is G where every output is weighted by its own noise; in general weighted residuals of
    different outputs have different variances s².
    """
    inverse = around.inverse
    squares: dict[str, list[float]] = {}
    for one in around.rows:
        total = squares.setdefault(one.output, [0.0, 0.0])
        total[0] += float(one.scored @ one.scored)
        total[1] += len(one.scored)
    variance = {name: (total / max(count, 1)) or 1.0 for name, (total, count) in squares.items()}
    spread = sum(variance[one.output] * one.jacobian.T @ one.jacobian for one in around.rows)
    middle = inverse @ spread @ inverse
    return {
        (one.case, one.output): 2 * inverse - middle / variance[one.output] for one in around.rows
    }


# --- validation ----------------------------------------------------------------------------------
# Validating residuals: what is left when the uncertainty of the tuners is taken into account.


Rest = tuple[Vector, Vector, Vector]  # residuals, Jacobian, metric


def validation_residuals(
    fit: Fit, case: CaseFit, around: LinearisedFit, spread: Vector
) -> list[Rest]:
    """Residuals of a validating case less what an error of the tuners within their covariance V
    explains best, with what this has taken from white noise.

    Residuals e = v + Sδ with δ of covariance V have the best δ = A Sᵀe/σ², A⁻¹ = SᵀS/σ² + V⁻¹;
    without it their covariance is σ²(I − S A Sᵀ/σ²), as if the tuners had been fitted.
    """
    compared = [quantile_residuals(o, o.compared) for o in case.outputs]
    plain = [(v, np.zeros((len(v), 1)), np.zeros((1, 1))) for v in compared]
    try:
        parts = slopes_of(fit, case, around, spread)
    except EstimicaError:
        return plain
    weights = [chain_of(fit, case, o) / level_of(fit, case, o)[0] for o in case.outputs]
    scaled = [[w[:, None] * s for s, _ in own] for w, own in zip(weights, parts, strict=True)]
    common = np.vstack([own[0] for own in scaled])
    inner = _posterior(parts[0][0][1], common.T @ common)
    if not np.isfinite(inner).all():
        return plain
    # one level for all samples, also where each has its own
    levels = [float(np.sqrt(np.mean(np.square(level_of(fit, case, o)[0])))) for o in case.outputs]
    residual = [v / s for v, s in zip(compared, levels, strict=True)]
    error = inner @ (common.T @ np.concatenate(residual))
    found = []
    for own, e, level in zip(scaled, residual, levels, strict=True):
        metric = inner if len(own) == 1 else _joined(inner, parts[0][1][1])
        rest = (e - own[0] @ error) * level
        found.append((rest, np.hstack(own), metric))
    return found


def _posterior(prior: Vector, information: Vector) -> Vector:
    """(information + prior⁻¹)⁻¹, also where the prior leaves some tuners no room."""
    # in units of the errors, or rounding of the largest would be an error of the smallest
    size = np.sqrt(np.maximum(np.diag(prior), 0.0))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh((prior + prior.T) / np.outer(2 * size, size))
    root = size[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    middle = np.eye(len(prior)) + root.T @ information @ root
    return np.asarray(root @ np.linalg.solve(middle, root.T))


def _joined(first: Vector, second: Vector) -> Vector:
    n, m = len(first), len(second)
    found = np.zeros((n + m, n + m))
    found[:n, :n], found[n:, n:] = first, second
    return found


# --- quantiles -----------------------------------------------------------------------------------
# Quantile residuals: residuals as normal noise of one level would have left them.
#
# Dunn and Smyth, Randomized quantile residuals, Journal of Computational and Graphical Statistics 5
# (1996): a residual is brought to the normal quantile of its probability; one of which only a limit
# is known is drawn from what lies beyond.


def quantile_residuals(output: OutputComparison, residual: Vector) -> Vector:
    """Residuals whose samples have their own σ, limits or another law, as of one normal level.

    Where all samples are alike they stay as they are.
    """
    sigma = output.sigma
    if sigma is None:
        return residual
    z = residual / sigma
    if output.distribution == "laplace":
        size = np.sqrt(2) * np.abs(z)
        # log of the lesser tail, exp(−|v|/b)/2
        z = np.sign(z) * -ndtri_exp(-size - np.log(2))
    if output.beyond is not None:
        # drawn alike whenever the data are, and independently of those of other experiments
        seed = crc32(np.ascontiguousarray(output.measured).tobytes())
        drawn = np.log(np.random.default_rng(seed).uniform(size=len(z)))
        for side in (-1, 1):
            chosen = output.beyond == side
            # measured below the limit: simulated − measured is at least the residual there
            tail = log_ndtr(side * z[chosen])
            z[chosen] = side * ndtri_exp(drawn[chosen] + tail)
    return np.asarray(z * np.sqrt(np.mean(sigma**2)))
