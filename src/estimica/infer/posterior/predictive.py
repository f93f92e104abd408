"""Predictive: what draws of the posterior say of the outputs, and how probable each sample is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.noise_likelihood import LAWS, LOG_2PI, residual_limits
from estimica.estimate.objective.cost import Objective
from estimica.estimate.objective.predictor import Failure
from estimica.infer.posterior.chain import Chain
from estimica.study.record.transfer import Transfer

#: draws that are simulated once more: the ends of a 95 % band are quantiles of ten draws on either
#: side, and leave-one-out weights are smoothed by their upper fifth
DRAWS = 400
#: numbers that are held for it at once, 160 MB: a long record is simulated for fewer draws
HELD = 20_000_000
#: draws that say something of a band at all: one beyond either end
FEWEST = 40
ENDS = (0.025, 0.975)  # of the middle 95 %, as intervals have it


@dataclass(frozen=True, eq=False)
class PredictedOutput:
    """One output of one case with the 95 % bands of the output and of a further measurement."""

    case: str
    name: str
    time: Vector
    measured: Vector
    middle: Vector  # the median of the simulated output
    mean: tuple[Vector, Vector]  # ends
    prediction: tuple[Vector, Vector]
    transfer: Transfer | None = None

    @property
    def inside(self) -> float:
        """The share of the measurements within the band of further measurements."""
        low, high = self.prediction
        return float(np.mean((self.measured >= low) & (self.measured <= high)))


@dataclass(frozen=True, eq=False)
class Predictive:
    """Outputs by draws of all chains, and the logarithm of each sample's likelihood."""

    outputs: tuple[PredictedOutput, ...]
    log_likelihood: Vector  # (chains, draws, samples)
    replicated: tuple[Vector, ...]  # further measurements of each output, (chains, draws, samples)


def predictive(objective: Objective, chains: Sequence[Chain], seed: int) -> Predictive:
    """Simulate some draws of every chain, evenly spread over it."""
    count = _count(objective.n_samples, len(chains), min(len(c.values) for c in chains))
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**31,)))
    blocks = objective.blocks
    shape = (len(chains), count)
    simulated = [np.empty((*shape, len(b.measured.value))) for b in blocks]
    replicated = [np.empty_like(s) for s in simulated]
    likely = [np.empty_like(s) for s in simulated]
    for c, d, values, noise in _drawn(chains, count):
        predictions = objective.predict(values)
        assert not isinstance(predictions, Failure), "it was simulated there before"
        residuals, levels = objective.residuals(predictions), objective.sigmas(predictions)
        for k, (block, p) in enumerate(zip(blocks, predictions, strict=True)):
            sigma = _deviation(block, levels[k], noise)
            simulated[k][c, d] = p.value
            replicated[k][c, d] = _measured_again(block, p.value, sigma / block.weight, random)
            likely[k][c, d] = log_likelihood(block, residuals[k], sigma)
    told = zip(blocks, simulated, replicated, strict=True)
    return Predictive(
        tuple(_output(b, s, r) for b, s, r in told),
        np.concatenate(likely, axis=2),
        tuple(replicated),
    )


def _deviation(block: Block, level: Vector | None, noise: Mapping[str, float]) -> Vector:
    """σ of each sample times its weight: by its formula, known, or the drawn one of its output."""
    if level is not None:
        return level
    own = block.sigma if isinstance(block.sigma, float) else math.sqrt(noise[block.name])
    relative = block.measured.relative
    return own * (np.ones(len(block.measured.value)) if relative is None else relative)


def _measured_again(
    block: Block, simulated: Vector, sigma: Vector, random: np.random.Generator
) -> Vector:
    """What a further measurement might have recorded, limits of detection included."""
    m = block.measured
    drawn = (
        random.laplace(scale=1 / math.sqrt(2), size=len(simulated))
        if m.distribution == "laplace"
        else random.normal(size=len(simulated))
    )
    found = simulated + sigma * drawn / _slope(block, simulated)
    return found if m.limits is None else m.limits.seen(found)


def log_likelihood(block: Block, residuals: Vector, sigma: Vector) -> Vector:
    """log p of every sample, as measured; `sigma` is times the weight.

    The slope of a transform and the weight count where there is a density; a censored sample has a
    probability instead.
    """
    m = block.measured
    reach = residual_limits(block, residuals)
    cost = LAWS[m.distribution](block.weight * residuals, sigma, reach).cost
    unit = np.log(block.weight * _slope(block, m.value))
    if m.limits is not None:
        unit = np.where(m.limits.censored(m.value), 0.0, unit)
    return np.asarray(unit - (cost + LOG_2PI) / 2)


def _slope(block: Block, values: Vector) -> Vector | float:
    """How what is compared changes with the output itself."""
    transform = block.measured.transform
    return 1.0 if transform is None else np.abs(transform.derivative(values))


def _count(samples: int, chains: int, draws: int) -> int:
    """Draws of each chain that are simulated."""
    affordable = max(HELD // max(3 * samples, 1), FEWEST)
    return max(1, min(draws, min(DRAWS, affordable) // chains))


def _drawn(
    chains: Sequence[Chain], count: int
) -> Iterator[tuple[int, int, Vector, dict[str, float]]]:
    """(chain, number, values, noise variances) of the draws that are simulated."""
    for c, chain in enumerate(chains):
        for d, row in enumerate(np.linspace(0, len(chain.values) - 1, count).astype(int)):
            noise = {n: float(v[row]) for n, v in chain.noise.items()}
            yield c, d, chain.values[row], noise


def _output(block: Block, simulated: Vector, replicated: Vector) -> PredictedOutput:
    flat = simulated.reshape(-1, simulated.shape[2])
    low, middle, high = np.quantile(flat, (ENDS[0], 0.5, ENDS[1]), axis=0)
    below, above = np.quantile(replicated.reshape(-1, replicated.shape[2]), ENDS, axis=0)
    m = block.measured
    return PredictedOutput(
        block.case, m.name, m.time, m.value, middle, (low, high), (below, above), m.transfer
    )
