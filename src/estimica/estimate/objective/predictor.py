"""Prediction: the simulated outputs of one case at the measured stamps, with their derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.errors import SimulationError
from estimica.compiled.model.interface import Evaluation, Model, ModelResponse
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.simulate.engine.options import Options
from estimica.source.formula import Formula
from estimica.study.record.noise import SigmaFormula
from estimica.study.record.samples import MeasuredOutput, Record
from estimica.study.record.transfer import Transfer

Rows = slice | Indices
EVERY = slice(None)


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the model says of one output at its stamps, a disturbance included.

    `slope` holds the derivatives by the tuners and start values of the case, one column each.
    """

    value: Vector  # (N,)
    slope: Vector  # (N, m)
    level: NoiseLevel | None = None  # of the noise, where a formula gives it


@dataclass(frozen=True)
class Failure:
    """A simulation that failed, with the values that it was tried at."""

    case: str
    message: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class UnknownIndex:
    """Where the unknowns of one case stand among all unknowns of the fit."""

    tuners: tuple[int, ...]
    starts: Mapping[str, int]
    disturbances: Mapping[str, int]  # by output


class Predictor(ABC):
    """One case, set up once and evaluated at many points."""

    times: Vector  # all stamps of the case; of frequency responses the frequencies in rad/s
    response: ModelResponse
    runs: int = 1  # of the model, for the last point
    accuracy: float = 1e-13  # relative, of the outputs: rounding, where nothing is integrated
    #: how derivatives are found and their relative error, where that is not as the model says
    derivatives: str = ""
    precision: float | None = None

    def __init__(self, record: Record, links: ParameterMap, places: UnknownIndex) -> None:
        self.record = record
        self.links = links
        self.places = places
        self._tuners = np.array(places.tuners, int)
        self._starts = np.array(list(places.starts.values()), int)
        self.columns: tuple[int, ...] = (*places.tuners, *places.starts.values())
        self.extras = tuple(places.disturbances.get(m.name) for m in record.outputs)
        self._direct = links.is_one_to_one
        self.levels: tuple[LevelFormula | None, ...] = (None,) * len(record.outputs)

    @abstractmethod
    def picked(self, run: Evaluation, k: int, name: str = "") -> tuple[Vector, Vector]:
        """Values and slopes of output `k` at its own samples, or there of another variable."""

    def replaced(self, measured: Sequence[Vector]) -> Predictor:
        """The same for other measured values, on which most do not depend."""
        return self

    def at(self, values: Vector) -> list[Prediction] | str:
        """Outputs of the case at values of all unknowns, or why there are none."""
        parameters, chain = self.links.at(values[self._tuners])
        try:
            run = self.response.at(np.concatenate([parameters, values[self._starts]]))
        except SimulationError as error:
            return error.message
        if not run.ok:
            from estimica.simulate.failure import failure_text  # knows the engine

            return failure_text(self.response, run)
        predictions = []
        for k, extra in enumerate(self.extras):
            value, slope = self.picked(run, k)
            if extra is not None:
                value = value + values[extra]
            predictions.append(
                Prediction(value, slope if self._direct else self._chained(slope, chain))
            )
        return self.with_levels(predictions, values, run, chain)

    def with_levels(
        self, predictions: list[Prediction], values: Vector, run: Evaluation, chain: Vector
    ) -> list[Prediction] | str:
        """The predictions with the noise levels that formulas give, or why there are none."""
        levelled = []
        for k, (one, formula) in enumerate(zip(predictions, self.levels, strict=True)):
            if formula is not None:
                variables = {self.record.outputs[k].name: (one.value, one.slope)}
                for name in formula.moving:
                    if name not in variables:
                        value, slope = self.picked(run, k, name)
                        own = slope if self._direct else self._chained(slope, chain)
                        variables[name] = value, own
                disturbed = self.extras[k] is not None
                level = formula.at(values[self._tuners], variables, disturbed)
                if isinstance(level, str):
                    return level
                one = replace(one, level=level)
            levelled.append(one)
        return levelled

    def _chained(self, slope: Vector, chain: Vector) -> Vector:
        p = len(self.links.parameters)
        return np.hstack([slope[:, :p] @ chain, slope[:, p:]])


class CasePredictor(Predictor):
    """A case over time, or of single points."""

    def __init__(
        self,
        model: Model,
        record: Record,
        links: ParameterMap,
        fixed: Mapping[str, float],
        places: UnknownIndex,
        options: Options,
    ) -> None:
        super().__init__(record, links, places)
        self.times, self._rows = _stamps(record)
        self.levels = level_formulas(record, links, varying_names(model))
        if model.has_time:
            self.accuracy = options.rtol
        self._respond(model, fixed, options)

    def _respond(self, model: Model, fixed: Mapping[str, float], options: Options) -> None:
        parameters, starts = split(model, fixed)
        self.response = model.response(
            self.times,
            dict(self.record.inputs),
            parameters,
            starts,
            outputs=self.simulated,
            wrt=[*self.links.parameters, *self.places.starts],
            begin=self.record.begin,
            options=options,
        )

    @property
    def simulated(self) -> list[str]:
        """The outputs, and other variables that formulas of sigma speak of."""
        others = [n for formula in self.levels if formula for n in formula.moving]
        return list(dict.fromkeys([*(m.name for m in self.record.outputs), *others]))

    def rows(self, k: int) -> Rows:
        """Which of all stamps output `k` has."""
        return self._rows[k]

    def picked(self, run: Evaluation, k: int, name: str = "") -> tuple[Vector, Vector]:
        """Values and slopes of output `k` at its own stamps, or there of another variable."""
        rows, place = self._rows[k], self.simulated.index(name) if name else k
        return run.Y[rows, place], run.YS[rows, place, :]


def varying_names(model: Model) -> frozenset[str]:
    """What a model simulates: neither parameters nor inputs."""
    held = ("parameter", "constant", "input")
    return frozenset(q.name for q in model.quantities() if q.role not in held)


def split(model: Model, fixed: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Fixed numbers as (parameters, start values of variables)."""
    varying = {q.name for q in model.quantities() if q.role not in ("parameter", "constant")}
    starts = {n: v for n, v in fixed.items() if n in varying}
    return {n: v for n, v in fixed.items() if n not in starts}, starts


def _stamps(record: Record) -> tuple[Vector, Sequence[Rows]]:
    """All stamps of a case, and which of them each output has."""
    own = [m.time for m in record.outputs]
    alike = all(t is own[0] or np.array_equal(t, own[0]) for t in own)
    if alike and (np.diff(own[0]) > 0).all():
        return own[0], [EVERY] * len(own)
    union = np.unique(np.concatenate(own))
    return union, [np.searchsorted(union, t) for t in own]


Moving = tuple[Vector, Vector]  # values and slopes of a variable at the stamps of an output


# --- Noise level: σ of every sample by its formula, with derivatives by the unknowns of its case.


@dataclass(frozen=True, eq=False)
class NoiseLevel:
    """σ at the stamps of an output; `slope` as that of its prediction, and by its disturbance."""

    value: Vector  # (N,)
    slope: Vector  # (N, m)
    by_disturbance: Vector  # (N,)


class LevelFormula:
    """The formula of one output's σ, bound to the tuners and variables of its case.

    `moving` are the simulated variables in it. A tuner comes before a variable, and both before a
    column of the same name.
    """

    def __init__(
        self, of: MeasuredOutput, sigma: SigmaFormula, links: ParameterMap, varying: Collection[str]
    ):
        self._name, self._formula, self._known = of.name, sigma.formula, sigma.known
        self._tuners, self._fixed = links.tuners, links.fixed
        simulated = [n for n in self._formula.names if n == of.name or n in varying]
        self.moving = [n for n in simulated if n not in (*links.tuners, *links.fixed)]
        own = {*links.tuners, *self.moving}
        self._partials = {n: self._formula.partial(n) for n in self._formula.names if n in own}

    def at(
        self, tuners: Vector, variables: Mapping[str, Moving], disturbed: bool
    ) -> NoiseLevel | str:
        """The level at values of the tuners and of what is simulated, or why there is none."""
        like, own_slope = variables[self._name]
        known: dict[str, float | Vector] = {**self._known, **self._fixed}
        known |= {n: v for n, (v, _) in variables.items() if n in self.moving}
        known |= dict(zip(self._tuners, map(float, tuners), strict=True))
        sigma = _broadcast(self._formula, known, like)
        wrong = np.flatnonzero(~(np.isfinite(sigma) & (sigma > 0)))
        if len(wrong):
            return (
                f"sigma '{self._formula.text}' of output '{self._name}' is {sigma[wrong[0]]:g} at "
                f"its sample {wrong[0] + 1}, and must be positive; give its tuners bounds, or "
                "scale = 'log'"
            )
        slope, by_disturbance = np.zeros_like(own_slope), np.zeros_like(like)
        for name, partial in self._partials.items():
            change = _broadcast(partial, known, like)
            if name in self.moving:
                slope += change[:, None] * variables[name][1]
                if disturbed and name == self._name:
                    by_disturbance += change
            elif slope.shape[1]:  # not where nothing is differentiated
                slope[:, self._tuners.index(name)] += change
        return NoiseLevel(sigma, slope, by_disturbance)


def level_formulas(
    record: Record, links: ParameterMap, varying: Collection[str]
) -> tuple[LevelFormula | None, ...]:
    """The formulas of σ of a case, none for outputs without one."""
    return tuple(
        LevelFormula(m, m.sigma, links, varying) if isinstance(m.sigma, SigmaFormula) else None
        for m in record.outputs
    )


def _broadcast(formula: Formula, known: Mapping[str, float | Vector], like: Vector) -> Vector:
    with np.errstate(all="ignore"):
        value = formula.at({n: known[n] for n in formula.names})
    return np.broadcast_to(np.asarray(value, np.float64), like.shape).copy()


# --- FrequencyPredictor: the frequency responses of one case at the measured frequencies.


class FrequencyPredictor(Predictor):
    """Responses z = c·G(jω; θ) as real and imaginary parts in turn."""

    def __init__(
        self,
        model: Model,
        record: Record,
        links: ParameterMap,
        fixed: Mapping[str, float],
        places: UnknownIndex,
    ) -> None:
        super().__init__(record, links, places)
        self.transfers = transfers_of(record)
        self.times = np.unique(np.concatenate([t.omega for t in self.transfers]))
        self._rows = [np.searchsorted(self.times, t.omega) for t in self.transfers]
        parameters, starts = split(model, fixed)
        self.response = model.frequency_experiment(
            self.times,
            {n: float(s.value[0]) for n, s in record.inputs.items()},
            parameters,
            starts,
            transfers=[(t.output, t.input) for t in self.transfers],
            wrt=[*links.parameters, *places.starts],
            operating_point=record.case.operating_point or "steady",
        )

    def picked(self, run: Evaluation, k: int, name: str = "") -> tuple[Vector, Vector]:
        """Re and Im of transfer `k` in turn, and their slopes."""
        rows, c = self._rows[k], self.transfers[k].amplitude
        parts = slice(2 * k, 2 * k + 2)
        value = run.Y[rows, parts] * c[:, None]
        slope = run.YS[rows, parts, :] * c[:, None, None]
        return value.ravel(), slope.reshape(value.size, slope.shape[2])


def transfers_of(record: Record) -> list[Transfer]:
    """The transfers of a frequency case."""
    return [m.transfer for m in record.outputs if m.transfer is not None]
