"""Agreement: whether the trajectories of a transcription are what a single simulation gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.scoring import Scoring
from estimica.estimate.objective.cost import BlockInformation, Objective, Point
from estimica.estimate.objective.predictor import Failure, Prediction

Emphases = Sequence[float | Vector]
#: how far outputs may be apart: a share of the signal, which is below what anybody sees in a curve
#: and above the error of default tolerances; and a share of its residuals, whose sum of squares
#: then differs by 1e-4 at most where the difference is not along them
OF_SIGNAL, OF_RESIDUAL = 1e-4, 1e-2
#: how far the parts of all blocks may be from the whole, in columns of length one. Chosen: standard
#: errors by the parts are then right to three digits
TOGETHER = 1e-3


@dataclass(frozen=True, eq=False)
class TranscriptionResult:
    """What a transcription says of its solution by itself."""

    q: Vector
    predictions: Sequence[Prediction]
    scoring: Scoring
    cost: float
    #: R of the unknowns, everything else following them; with emphases of the blocks their scatter
    information: Callable[[Emphases | None], Vector]
    gradient: Vector  # half of it, likewise


def final_point(objective: Objective, own: TranscriptionResult) -> tuple[Point, str]:
    """The point of a solution, and what a single simulation from its start says against it.

    Where both agree the point is that of the simulation. Where they do not, because the grid is
    coarse or the model unstable, it is the transcription's own, with its own outputs.
    """
    exact = objective.at(own.q)
    if isinstance(exact, Point) and _agrees(objective, own):
        return exact, ""
    point = _own_point(objective, own)
    if isinstance(exact, Failure):
        return point, f"a single simulation with these values fails: {exact.message}"
    return point, (
        f"a single simulation with these values has the cost {exact.cost:.6g} instead of "
        f"{own.cost:.6g}"
    )


def _own_point(objective: Objective, own: TranscriptionResult) -> Point:
    R = own.information(None)
    b = np.asarray(np.linalg.lstsq(R.T, own.gradient, rcond=None)[0], np.float64)
    return Point(
        own.q,
        objective.unknowns.values(own.q),
        own.cost,
        R,
        b,
        sum(float(r @ r) for r in own.scoring.scored),
        dict(own.scoring.noise),
        tuple(own.predictions),
        _parts(objective, own),
        objective.criterion.scales,
    )


def _parts(objective: Objective, own: TranscriptionResult) -> tuple[BlockInformation, ...]:
    """The parts of the blocks: what is added where one of them counts once more.

    Not what is left where the others do not count at all: a block alone may not determine what
    the transcription lets follow. Where rounding makes that nothing, as in models that lose 20
    digits between two states, each block has its share of the samples.
    """
    once = own.information(None)

    def added(k: int, emphasis: float | Vector) -> Vector:
        emphases = [1.0 if j != k else np.sqrt(1.0 + np.square(emphasis)) for j in range(count)]
        twice = own.information(emphases)
        return _root(twice.T @ twice - once.T @ once)

    parts, count = [], len(objective.blocks)
    for k in range(count):
        emphasis, curvature = objective.emphasis(own.scoring, k), added(k, 1.0)
        scatter = curvature if emphasis is None else added(k, emphasis)
        parts.append(objective.part(own.scoring, k, curvature, scatter))
    prior = objective.prior_rows(own.q)
    squares = [p.curvature.T @ p.curvature for p in parts]
    whole = once.T @ once
    size = np.sqrt(np.outer(np.diag(whole), np.diag(whole)))
    if np.all(np.abs(sum(squares) + prior.T @ prior - whole) <= TOGETHER * size):
        return tuple(parts)
    samples = sum(p.count for p in parts)
    return tuple(
        objective.part(own.scoring, k, *[np.sqrt(p.count / samples) * once] * 2)
        for k, p in enumerate(parts)
    )


def _root(square: Vector) -> Vector:
    """F with FᵀF = the given matrix, which rounding may have made slightly indefinite."""
    # in units of its own, or rounding of the largest column would be an error of the smallest
    size = np.sqrt(np.maximum(np.diag(square), 0.0))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh((square + square.T) / np.outer(2 * size, size))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T * size)


def unconverged_point(objective: Objective, own: TranscriptionResult, start: Vector) -> Point:
    """The point of a search that did not converge: the better of its end and its start.

    Both are judged by single simulations, since gaps are still open and equations not yet met;
    where none works it is the transcription's own.
    """
    tried = [p for p in map(objective.at, (own.q, start)) if isinstance(p, Point)]
    return min(tried, key=lambda p: p.cost) if tried else _own_point(objective, own)


def _agrees(objective: Objective, own: TranscriptionResult) -> bool:
    simulated = objective.predict(objective.unknowns.values(own.q))
    if isinstance(simulated, Failure):
        return False
    residuals = objective.residuals(own.predictions)
    for block, a, b, r in zip(objective.blocks, simulated, own.predictions, residuals, strict=True):
        signal = float(np.sqrt(np.mean(block.measured.value**2))) or 1.0
        allowed = OF_SIGNAL * signal
        if block.measured.transform is None:
            allowed += OF_RESIDUAL * float(np.sqrt(np.mean(r**2)))
        if float(np.sqrt(np.mean((a.value - b.value) ** 2))) > allowed:
            return False
    return True
