"""Probes: what the best imaginable data would say about the unknowns, at some values of them.

By power series where the model has them, with decimals enough that zero means zero; otherwise by
simulations under lively random inputs, to the accuracy of the solver.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal, DecimalException, DivisionByZero, InvalidOperation, localcontext
from time import perf_counter

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Vector
from estimica.base.signals import Signal
from estimica.compiled.model.interface import Model
from estimica.estimate.objective.predictor import Predictor
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.setup import Setup
from estimica.infer.identifiability.structural.elimination import Elimination
from estimica.infer.identifiability.structural.series import Dual
from estimica.infer.identifiability.structural.taylor import Experiment, TaylorModel
from estimica.simulate.modelica.model import ModelicaModel

#: at least. Chosen: a third of them for what counts, a third for rounding, and nothing may lie in
#: the third between; where something does, they are doubled
DIGITS = 100
#: where the series are long. Chosen: each order loses some by differences and by its size
DIGITS_A_ORDER = 4
#: times that digits are doubled: the Akt model of Fujita et al. (2010), parameters from 1e-8 to
#: 1e8, needs one (shares of 1e-57 count, rounding is at 1e-84 with 120 digits)
MOST_DOUBLED = 3
#: where tuners go through formulas in double precision: rounding, 2.2e-16, and what elimination
#: makes of it. Chosen
NEW_BY_LINKS = Decimal("1e-11")
#: orders in a row that bring nothing new, at least, before the series ends; with more states, one
#: for each: an effect may have to pass through all of them. Chosen for models of few states
STALLED = 5
#: seconds for one series. Chosen: simulation takes over, which is quick but not exact
LONGEST = 10.0


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """What data could tell at one point: rank, null directions, and how clear the case is."""

    values: Vector
    rank: int
    null: Vector  # rows, in the unknowns' units
    kept: float  # the smallest share or singular value that counts
    dropped: float  # the largest that does not, or its error
    method: str
    because: str = ""  # why it was not judged by power series


class TooLongError(Exception):
    """Series of this model take too long."""


class Probe(ABC):
    """Evaluates the rank that rich data would have."""

    method: str
    more: tuple[str, ...]  # variables that are taken as measured in addition

    def __init__(
        self, setup: Setup, objective: ResidualFunction, more: tuple[str, ...] = ()
    ) -> None:
        self.setup = setup
        self.objective = objective
        self.more = more
        self.n = len(objective.unknowns)

    def outputs(self, predictor: Predictor) -> list[str]:
        """What is measured in a case."""
        return [
            *(m.name for m in predictor.record.outputs if not m.is_input),
            *self.more,
        ]

    def extras(self, predictor: Predictor) -> list[int | None]:
        """Places of the disturbances of the outputs."""
        pairs = zip(predictor.record.outputs, predictor.extras, strict=True)
        return [*(extra for m, extra in pairs if not m.is_input), *(None for _ in self.more)]

    @property
    def ends_early(self) -> str:
        """Why it may miss what data tell; empty where it does not."""
        return ""

    @abstractmethod
    def with_outputs(self, more: tuple[str, ...]) -> Probe:
        """The same with further variables taken as measured."""

    @abstractmethod
    def at(self, values: Vector, random: np.random.Generator) -> ProbeResult | None:
        """The rank at values of all unknowns; none where the model cannot be evaluated."""


def numbers(setup: Setup, predictor: Predictor) -> dict[str, float]:
    """Parameters and start values that a case holds fixed."""
    return {**setup.held, **setup.study.fixed_of(predictor.record.case)}


# --- power series --------------------------------------------------------------------------------


class SeriesProbe(Probe):
    """By Taylor coefficients of the outputs at the start of each case."""

    method = "Taylor series"

    def __init__(
        self,
        setup: Setup,
        objective: ResidualFunction,
        model: ModelicaModel,
        more: tuple[str, ...] = (),
    ) -> None:
        super().__init__(setup, objective, more)
        self._model = model
        self._defaults = _input_values(model)
        self._models = [TaylorModel(model.system, self.outputs(p)) for p in objective.predictors]
        self._order = len(model.system.states) + self.n + 2
        self._digits = max(DIGITS, DIGITS_A_ORDER * self._order)
        self._patience = max(STALLED, len(model.system.states))
        self._has_formulas = any(not _is_plain(p) for p in objective.predictors)

    @property
    def ends_early(self) -> str:
        """Series end with the first event, and double precision hides what is small."""
        if self._has_formulas:
            return "its tuners go through formulas in double precision"
        return next((m.ends_early for m in self._models), "")

    def with_outputs(self, more: tuple[str, ...]) -> SeriesProbe:
        """The same with further variables taken as measured."""
        return SeriesProbe(self.setup, self.objective, self._model, more)

    def at(self, values: Vector, random: np.random.Generator) -> ProbeResult | None:
        """Coefficients order by order until they say nothing new.

        What is small but not zero is told from rounding by more digits: only the latter follows.
        """
        begun = perf_counter()
        for doubled in range(MOST_DOUBLED + 1):
            digits = self._digits * 2**doubled
            elimination = self._eliminated(values, deepcopy(random), digits, begun)
            if elimination is None or self._has_formulas or _is_clear(elimination, digits):
                break
        random.random()  # the next point is to have inputs of its own
        if elimination is None:
            return None
        smallest = max(float(elimination.smallest), 1e-300)
        null = elimination.null_space() * self._sizes(values)
        return ProbeResult(
            values, elimination.rank, null, smallest, float(elimination.largest), self.method
        )

    def _eliminated(
        self, values: Vector, random: np.random.Generator, digits: int, begun: float
    ) -> Elimination | None:
        with localcontext() as context:
            context.prec = digits
            context.traps[DivisionByZero] = context.traps[InvalidOperation] = False
            try:
                return self._rows(values, random, digits, begun)
            except (DecimalException, OverflowError, ValueError):
                return None

    def _rows(
        self, values: Vector, random: np.random.Generator, digits: int, begun: float
    ) -> Elimination | None:
        # half of the digits: what is zero is off by the last ones only
        new = NEW_BY_LINKS if self._has_formulas else Decimal(10) ** (-digits // 2)
        elimination = Elimination(self.n, new)
        scale = np.array([Decimal(float(x)) for x in self._sizes(values)], dtype=object)
        cases = [
            (model.series(self._experiment(p, values, random), self._order), p)
            for model, p in zip(self._models, self.objective.predictors, strict=True)
        ]
        stalled = 0
        for order in range(self._order):
            new_one = False
            for series, predictor in cases:
                for k, coefficient in enumerate(series.advance()):
                    if not all(x.is_finite() for x in coefficient):
                        return None
                    row = self._row(predictor, k, order, coefficient, values)
                    new_one |= elimination.add(row * scale)
            stalled = 0 if new_one else stalled + 1
            if elimination.rank == self.n or stalled > self._patience:
                break
            if perf_counter() - begun > LONGEST:
                raise TooLongError
        return elimination

    def _sizes(self, values: Vector) -> Vector:
        scale = np.array([u.scale for u in self.objective.unknowns.items])
        return np.where(values != 0, np.abs(values), scale)

    def _row(
        self, predictor: Predictor, k: int, order: int, coefficient: Dual, values: Vector
    ) -> npt.NDArray[np.object_]:
        """Derivatives of one coefficient by all unknowns."""
        row = np.array([Decimal(0)] * self.n, dtype=object)
        p = len(predictor.links.parameters)
        slopes = coefficient[1:]
        tuners = list(predictor.places.tuners)
        _, chain = predictor.links.at(values[tuners])
        for i, j in zip(*np.nonzero(chain), strict=True):
            row[tuners[j]] += slopes[i] * Decimal(float(chain[i, j]))
        for i, place in enumerate(predictor.places.starts.values()):
            row[place] = slopes[p + i]
        extra = self.extras(predictor)[k]
        if extra is not None and order == 0:
            row[extra] = Decimal(1)
        return row

    def _experiment(
        self, predictor: Predictor, values: Vector, random: np.random.Generator
    ) -> Experiment:
        links, places, one = predictor.links, predictor.places, predictor.record
        parameters, _ = links.at(values[list(places.tuners)])
        known = dict(numbers(self.setup, predictor))
        known |= dict(zip(links.parameters, map(float, parameters), strict=True))
        known |= {n: float(values[k]) for n, k in places.starts.items()}
        times = predictor.times
        return Experiment(
            unknowns=(*links.parameters, *places.starts),
            values=known,
            inputs={
                n: self._polynomial(one.inputs.get(n), default, random)
                for n, default in self._defaults.items()
            },
            begin=one.begin,
            duration=float(times[-1] - one.begin) or 1.0,
        )

    def _polynomial(
        self, signal: Signal | None, default: float, random: np.random.Generator
    ) -> tuple[float, ...]:
        """A random polynomial of the size of an input; a number stays a number."""
        if signal is None or len(signal.time) == 1:
            return (default if signal is None else float(signal.value[0]),)
        low, span = input_range(signal)
        return tuple(low + span * random.random() if k == 0 else span * random.uniform(-1, 1)
                     for k in range(self._order + 1))  # fmt: skip


def _is_clear(elimination: Elimination, digits: int) -> bool:
    """Whether nothing that counted, or did not, lies in the middle third of the digits."""
    third = Decimal(10) ** (-digits // 3)
    return elimination.smallest > third and elimination.largest < third * third


def _is_plain(predictor: Predictor) -> bool:
    """Whether parameters are tuners, though perhaps several follow one."""
    # at any value that is not 0 or 1: slopes of formulas would be taken for plain ones there
    _, chain = predictor.links.at(np.full(len(predictor.places.tuners), 1.2345))
    return bool(np.isin(chain, (0.0, 1.0)).all())


def input_range(signal: Signal) -> tuple[float, float]:
    """(low, span) of an input; a constant one spans its own size."""
    low, high = float(np.min(signal.value)), float(np.max(signal.value))
    return low, (high - low) or abs(high) or 1.0


def _input_values(model: Model) -> dict[str, float]:
    """Inputs with the values they have where none is given."""
    return {
        q.name: float(q.value) if isinstance(q.value, (int, float)) else 0.0
        for q in model.quantities()
        if q.role == "input"
    }
