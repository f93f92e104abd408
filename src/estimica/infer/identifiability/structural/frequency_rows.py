"""Frequency probes: what the best imaginable frequency response would say about the unknowns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError
from estimica.estimate.objective.predictor import FrequencyPredictor, split
from estimica.estimate.setup import Setup

SAMPLES = 400
BEYOND = 100.0  # factor by which frequencies reach further than the data


def frequency_rows(
    setup: Setup, predictor: FrequencyPredictor, more: Sequence[str], values: Vector
) -> Iterator[Vector]:
    """Derivatives of dense responses by all unknowns, each transfer divided by its size."""
    case = predictor.record.case
    model = setup.study.model_of(case)
    parameters, starts = split(model, {**setup.held, **setup.study.fixed_of(case)})
    own = predictor.transfers
    pairs = [(t.output, t.input) for t in own] + [(n, own[0].input) for n in more]
    response = model.frequency_experiment(
        _grid(predictor.times),
        {n: float(s.value[0]) for n, s in predictor.record.inputs.items()},
        parameters,
        starts,
        transfers=pairs,
        wrt=[*predictor.links.parameters, *predictor.places.starts],
        operating_point=case.operating_point or "steady",
    )
    tuned, chain = predictor.links.at(values[list(predictor.places.tuners)])
    begun = np.array([values[k] for k in predictor.places.starts.values()])
    run = response.at(np.concatenate([tuned, begun]))
    if not run.ok:
        raise SimulationError("R004", run.text)
    p = len(tuned)
    for k in range(0, run.Y.shape[1], 2):
        size = np.hypot(run.Y[:, k], run.Y[:, k + 1])
        size[size == 0] = 1.0
        for part in (k, k + 1):
            slope = run.YS[:, part, :] / size[:, None]
            block = np.zeros((len(slope), len(values)))
            block[:, list(predictor.places.tuners)] = slope[:, :p] @ chain
            block[:, list(predictor.places.starts.values())] = slope[:, p:]
            yield block


def _grid(omega: Vector) -> Vector:
    """Frequencies in rad/s, far beyond those of the data on both sides."""
    positive = omega[omega > 0]
    if not positive.size:
        return np.zeros(1)
    ends = float(positive[0]) / BEYOND, float(positive[-1]) * BEYOND
    return np.geomspace(*ends, SAMPLES)
