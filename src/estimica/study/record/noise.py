"""Noise model: what a record knows of the noise of one output, sample by sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import CaseError
from estimica.base.signals import Signal
from estimica.data.table import Data
from estimica.source.formula import Formula, parse_formula
from estimica.study.case import OutputColumn
from estimica.study.fields.noise import Limit, Sigma
from estimica.study.record.conversion import deviation_factor, limit_change

Distribution = Literal["normal", "laplace"]
TIME = "time"
SHOWN = 5  # rows that a message names


@dataclass(frozen=True, eq=False)
class SigmaFormula:
    """A standard deviation as a formula; `known` are the names that the data give a value.

    What remains are tuners and simulated outputs, which come before a column of the same name.
    """

    formula: Formula
    known: Mapping[str, Vector]

    @property
    def text(self) -> str:
        """As written in the study."""
        return self.formula.text

    def kept(self, chosen: Flags) -> SigmaFormula:
        """The same of the chosen samples only."""
        return replace(self, known={n: v[chosen] for n, v in self.known.items()})


@dataclass(frozen=True, eq=False)
class Censoring:
    """Detection limits of every sample in the model's unit, infinite where there is none."""

    low: Vector
    high: Vector

    def below(self, value: Vector) -> Flags:
        """Which samples are only known to lie at or below their limit."""
        return np.asarray(value <= self.low)

    def above(self, value: Vector) -> Flags:
        """Which samples are only known to lie at or above their limit."""
        return np.asarray(value >= self.high)

    def censored(self, value: Vector) -> Flags:
        """Which samples are only known to lie beyond a limit."""
        return self.below(value) | self.above(value)

    def seen(self, value: Vector) -> Vector:
        """What would have been recorded: the limit in place of values beyond it."""
        return np.asarray(np.clip(value, self.low, self.high))

    def kept(self, chosen: Flags) -> Censoring:
        """The same of the chosen samples only."""
        return Censoring(self.low[chosen], self.high[chosen])


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """The noise of one output: σ is `sigma` times `relative`, sample by sample.

    A `sigma` that is a number is known; none, or bounds, is estimated.
    """

    sigma: float | Sigma | SigmaFormula | None = None
    relative: Vector | None = None
    limits: Censoring | None = None
    distribution: Distribution = "normal"


def noise_model(
    given: OutputColumn, data: Data, time: Vector, counts: Flags, inputs: Mapping[str, Signal]
) -> NoiseModel:
    """The noise of an output at its samples that count."""
    limits, sigma = _censoring(given, data, counts), given.sigma
    if isinstance(sigma, str):
        formula = parse_formula(sigma, "sigma")
        known = SigmaFormula(formula, _known(formula, data, time, counts, inputs))
        return NoiseModel(known, None, limits, given.distribution)
    if isinstance(sigma, Sigma) and sigma.column is not None:
        relative = _deviations(given, data, sigma.column, counts)
        return NoiseModel(1.0, relative, limits, given.distribution)
    return NoiseModel(sigma, None, limits, given.distribution)


def _known(
    formula: Formula, data: Data, time: Vector, counts: Flags, inputs: Mapping[str, Signal]
) -> dict[str, Vector]:
    known: dict[str, Vector] = {}
    for name in formula.names:
        if name == TIME:
            known[name] = time[counts]
        elif name in inputs:
            known[name] = np.asarray(inputs[name].at(time[counts]), np.float64)
        elif name in data.columns:
            column = data.column(name)
            _refuse_rows(f"sigma '{formula.text}': column '{name}'", ~np.isfinite(column) & counts)
            known[name] = column[counts]
    return known


def _deviations(given: OutputColumn, data: Data, name: str, counts: Flags) -> Vector:
    """σ of each sample in the unit that is compared: a transform has a scale of its own."""
    column = data.column(name)
    with np.errstate(invalid="ignore"):
        _refuse_rows(f"sigma: column '{name}'", ~((column > 0) & np.isfinite(column)) & counts)
    factor = 1.0 if given.transform is not None or given.scale is None else abs(given.scale)
    if given.transform is None:
        factor *= deviation_factor(data, name, given.column)
    return np.asarray(factor * column[counts])


def _refuse_rows(what: str, wrong: Flags) -> None:
    rows = np.flatnonzero(wrong) + 1
    if len(rows):
        named = ", ".join(map(str, rows[:SHOWN])) + (", …" if len(rows) > SHOWN else "")
        raise CaseError(
            "C072",
            f"{what} must hold a positive number for every sample, which it does not in "
            f"{'row' if len(rows) == 1 else 'rows'} {named}; fill it in, or leave these rows out",
        )


def _censoring(given: OutputColumn, data: Data, counts: Flags) -> Censoring | None:
    if given.limits is None:
        return None
    low = _limit(given, data, given.limits.min, counts, -np.inf)
    high = _limit(given, data, given.limits.max, counts, np.inf)
    if given.scale is not None and given.scale < 0:
        low, high = (
            np.where(np.isinf(high), -np.inf, high),
            np.where(np.isinf(low), np.inf, low),
        )
    return Censoring(low, high)


def _limit(
    given: OutputColumn, data: Data, limit: Limit | None, counts: Flags, none: float
) -> Vector:
    """A limit at the samples that count; a cell of its column that is empty means none."""
    if limit is None:
        return np.full(int(counts.sum()), none)
    if isinstance(limit, float):
        written = np.full(len(counts), limit)
    else:
        change = limit_change(data, str(limit), given.column)
        written = change.scale * data.column(str(limit)) + change.offset
    scaled = written * (1.0 if given.scale is None else given.scale) + (given.offset or 0.0)
    return np.where(np.isfinite(scaled), scaled, none)[counts]
