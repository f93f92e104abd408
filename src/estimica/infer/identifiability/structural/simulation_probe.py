"""Simulation probe: the rank of sensitivities under lively random inputs, to the solver's accuracy.

Of a frequency response the rows are its derivatives over frequencies far beyond those of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError, SimulationError
from estimica.base.signals import Hold, Signal
from estimica.estimate.conclusion.identifiability import sizes
from estimica.estimate.identify.accuracy import NOTHING
from estimica.estimate.objective.predictor import FrequencyPredictor, Predictor, split
from estimica.estimate.setup import Setup
from estimica.infer.identifiability.structural.probe import Probe, ProbeResult, input_range, numbers
from estimica.simulate.engine.options import Options

SAMPLES = 400  # of a case, or frequencies: chosen, far more than any model here has unknowns
#: factor by which frequencies reach further than the data. Chosen: what better data could have
BEYOND = 100.0
#: A direction is seen where its effect is more than so many times the error of its effect. The
#: error is that direction's own, not the largest of all: along exact symmetries the integrator errs
#: by rounding only (effects of 1e-16 and errors of 1e-15 in five published models at 16 points
#: each), while single sensitivities are off by 1e-7 where the model is stiff.
SEEN = 3.0
#: effect that summed rounding errors may have: 2.2e-16 times some thousand samples and steps
ROUNDING = 1e-12
#: of a random input. Chosen: ten samples each, so that fast and slow answers are both seen
PIECES = 40


class SimulationProbe(Probe):
    """By sensitivities along simulations, to two tolerances: their difference is the error."""

    method = "simulation"

    def with_outputs(self, more: tuple[str, ...]) -> SimulationProbe:
        """The same with further variables taken as measured."""
        return SimulationProbe(self.setup, self.objective, more)

    def at(
        self, values: Vector, random: np.random.Generator, among: Vector | None = None
    ) -> ProbeResult | None:
        """Singular values of the sensitivities under random inputs.

        Only directions that the rows of `among` span are asked after, where it is given: the others
        are known to be determined.
        """
        seed = int(random.integers(2**31))
        # chosen: close to the finest in double precision, and one that is clearly coarser
        fine, coarse = (
            self._jacobian(values, np.random.default_rng(seed), rtol) for rtol in (1e-11, 1e-9)
        )
        if fine is None or coarse is None or not np.isfinite(fine).all():
            return None
        effect = np.linalg.norm(fine, axis=0) * sizes(self.objective.unknowns, values)
        lost = effect < NOTHING * effect.max(initial=0.0)
        fine[:, lost] = coarse[:, lost] = 0.0
        basis = np.eye(self.n) if among is None else among
        # what the unknowns of a direction do together, relative to what each of them does
        scale = np.abs(basis) @ np.linalg.norm(fine, axis=0)
        basis = basis / np.where(scale > 0, scale, 1.0)[:, None]
        _, s, Vt = np.linalg.svd(fine @ basis.T)
        errors = np.linalg.norm((fine - coarse) @ basis.T @ Vt.T, axis=0)
        rank = int(np.count_nonzero(s > np.maximum(SEEN * errors[: len(s)], ROUNDING)))
        smallest = float(s[rank - 1]) if rank else 1.0
        dropped = float(np.max(np.maximum(s, errors[: len(s)])[rank:], initial=0.0))
        return ProbeResult(values, self.n - len(basis) + rank, Vt[rank:] @ basis, smallest, dropped,
                    self.method)  # fmt: skip

    def _jacobian(self, values: Vector, random: np.random.Generator, rtol: float) -> Vector | None:
        rows = []
        for predictor in self.objective.predictors:
            try:
                if isinstance(predictor, FrequencyPredictor):
                    rows += list(frequency_rows(self.setup, predictor, self.more, values))
                else:
                    rows += list(self._case(predictor, values, random, rtol))
            except EstimicaError:
                return None
        return np.vstack(rows)

    def _case(
        self, predictor: Predictor, values: Vector, random: np.random.Generator, rtol: float
    ) -> Iterator[Vector]:
        one = predictor.record
        model = self.setup.study.model_of(one.case)
        parameters, starts = split(model, numbers(self.setup, predictor))
        times = _grid(predictor, model.has_time)
        inputs = {n: _lively(s, times, model.has_time, random) for n, s in one.inputs.items()}
        response = model.response(
            times,
            inputs,
            parameters,
            starts,
            outputs=self.outputs(predictor),
            wrt=[*predictor.links.parameters, *predictor.places.starts],
            begin=one.begin if model.has_time else None,
            options=self._options(predictor, rtol),
        )
        tuned, chain = predictor.links.at(values[list(predictor.places.tuners)])
        own = np.array([values[k] for k in predictor.places.starts.values()])
        run = response.at(np.concatenate([tuned, own]))
        if not run.ok:
            raise EstimicaError("F000", run.text)
        p = len(tuned)
        for k, extra in enumerate(self.extras(predictor)):
            slope = run.YS[:, k, :]
            block = np.zeros((len(times), self.n))
            block[:, list(predictor.places.tuners)] = slope[:, :p] @ chain
            block[:, list(predictor.places.starts.values())] = slope[:, p:]
            if extra is not None:
                block[:, extra] = 1.0
            rms = float(np.sqrt(np.mean(run.Y[:, k] ** 2))) or 1.0
            yield block / rms

    def _options(self, predictor: Predictor, rtol: float) -> Options | None:
        if not self.setup.study.model.has_time:
            return None
        return Options(
            rtol=rtol, atol=1e-3 * rtol, method=self.setup.study.solver.options.adaptive.method
        )


def _grid(predictor: Predictor, has_time: bool) -> Vector:
    if not has_time:
        return np.arange(SAMPLES, dtype=float)
    begin, end = predictor.record.begin, float(predictor.times[-1])
    return np.linspace(begin, end if end > begin else begin + 1.0, SAMPLES)


def _lively(
    signal: Signal, times: Vector, has_time: bool, random: np.random.Generator
) -> Signal | Vector:
    """Random levels over the range of an input; a number stays a number."""
    if len(signal.time) == 1:
        return signal
    low, span = input_range(signal)
    if not has_time:
        return low + span * random.random(len(times))
    stamps = np.linspace(times[0], times[-1], PIECES + 1)
    return Signal(stamps, low + span * random.random(PIECES + 1), Hold.PREVIOUS)


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
        _frequencies(predictor.times),
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


def _frequencies(omega: Vector) -> Vector:
    """Frequencies in rad/s, far beyond those of the data on both sides."""
    positive = omega[omega > 0]
    if not positive.size:
        return np.zeros(1)
    ends = float(positive[0]) / BEYOND, float(positive[-1]) * BEYOND
    return np.geomspace(*ends, SAMPLES)
