"""Limits of an input: amplitude, rate, energy, and what the model's variables may do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.base.signals import Signal
from estimica.base.suggest import did_you_mean
from estimica.experiment.free_input.problem.plan import Plan, nodes
from estimica.study.tables.input_design import InputDesignTable

#: of a range, by which a limit may be passed: rounding and IPOPT's 1e-8, with a wide margin
KEPT = 1e-6


@dataclass(frozen=True, eq=False)
class Limits:
    """What must hold, input by input; infinite where there is no limit.

    |u_{k+1} − u_k| ≤ rate · (length of piece k); the mean of (u − offset)² is at most `energy`.
    """

    lower: Vector
    upper: Vector
    rate: Vector
    energy: Vector
    offset: Vector
    names: tuple[str, ...] = ()  # variables with limits
    low: Vector = field(default_factory=lambda: np.zeros(0))
    high: Vector = field(default_factory=lambda: np.zeros(0))

    @property
    def middle(self) -> Vector:
        """Half way between the bounds; the offset where there are none."""
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        with np.errstate(invalid="ignore"):
            middle = np.where(bounded, (self.lower + self.upper) / 2, self.offset)
        return np.clip(middle, self.lower, self.upper)

    @property
    def reach(self) -> Vector:
        """How far each input may go from there: by its bounds, or by √(2 energy) at first."""
        own = np.minimum(self.upper - self.middle, self.middle - self.lower)
        by_energy = np.sqrt(2 * self.energy)
        reach: Vector = np.where(np.isfinite(own) & (own > 0), own, by_energy)
        return reach

    @property
    def spans(self) -> Vector:
        """Sizes by which limits of variables are passed or kept."""
        span = self.high - self.low
        ends = np.maximum(
            np.where(np.isfinite(self.low), np.abs(self.low), 0),
            np.where(np.isfinite(self.high), np.abs(self.high), 0),
        )
        spans: Vector = np.where(np.isfinite(span), span, np.where(ends > 0, ends, 1.0))
        return spans

    def with_energy(self, energy: Vector) -> Limits:
        """The same with this energy of each input."""
        return replace(self, energy=energy)

    # -- how far a signal passes them ------------------------------------------------------------

    def passed(self, plan: Plan, inputs: Mapping[str, Signal]) -> float:
        """By how much the input alone passes its limits, relative; at most 0 where it keeps all."""
        worst = -math.inf
        times, width = plan.times, plan.bench.step
        for k, name in enumerate(plan.designed):
            u = inputs[name].at(times)
            size = self.reach[k]
            worst = max(
                worst,
                float(np.max(u) - self.upper[k]) / size,
                float(self.lower[k] - np.min(u)) / size,
                energy_of(u, self.offset[k]) / self.energy[k] - 1,
            )
            if math.isfinite(self.rate[k]):
                worst = max(worst, self._too_steep(inputs[name], k, width) / size)
        return worst

    def _too_steep(self, signal: Signal, k: int, width: float) -> float:
        """By how much the largest change passes the rate, from each stamp to the next."""
        if len(signal.time) < 2:
            return -math.inf
        changes = np.abs(np.diff(signal.value))
        return float(np.max(changes - self.rate[k] * np.diff(signal.time)))

    def output_passed(
        self, plan: Plan, inputs: Mapping[str, Signal], values: Vector, parts: int = 4
    ) -> float:
        """By how much a variable passes its limits, relative to its range, also between samples."""
        if not self.names:
            return -math.inf
        courses = plan.courses(inputs, self.names, nodes(plan, parts), values)
        if isinstance(courses, str) or not np.isfinite(courses).all():
            return math.inf
        above, below = courses - self.high, self.low - courses
        return float(np.max(np.maximum(above, below) / self.spans))


def energy_of(u: Vector, offset: float) -> float:
    """The mean of (u − offset)² over evenly spaced samples."""
    return float(np.mean((u - offset) ** 2))


def limits_of(table: InputDesignTable, plan: Plan) -> Limits:
    """The limits that a table states; `energy = "class"` is open yet, and infinite."""
    bench = plan.bench
    numbers = {
        key: _of_inputs(key, getattr(table, key), bench.designed, none)
        for key, none in (("min", -math.inf), ("max", math.inf), ("rate", math.inf))
    }
    own = {q.name: q for q in bench.model.quantities()}
    for k, name in enumerate(bench.designed):
        q = own.get(name)
        if q is not None and table.min is None:
            numbers["min"][k] = q.min
        if q is not None and table.max is None:
            numbers["max"][k] = q.max
    energy = table.energy if isinstance(table.energy, float | int) else math.inf
    limits = Limits(
        numbers["min"],
        numbers["max"],
        numbers["rate"],
        np.full(len(bench.designed), float(energy)),
        _offsets(table, numbers["min"], numbers["max"]),
        tuple(table.limits),
        np.array([v.min for v in table.limits.values()], float),
        np.array([v.max for v in table.limits.values()], float),
    )
    _require(limits, plan)
    return limits


def _offsets(table: InputDesignTable, lower: Vector, upper: Vector) -> Vector:
    """What energy is counted from: the given offset, or half way between the bounds, or 0."""
    given = table.fixed.get("offset")
    if isinstance(given, float | int):
        return np.full(len(lower), float(given))
    bounded = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid="ignore"):
        offsets: Vector = np.where(bounded, (lower + upper) / 2, 0.0)
    return offsets


def _of_inputs(
    key: str, given: float | dict[str, float] | None, designed: tuple[str, ...], none: float
) -> Vector:
    if not isinstance(given, dict):
        return np.full(len(designed), none if given is None else float(given))
    for name in given:
        if name not in designed:
            hint = did_you_mean(name, designed) or f" (designed: {', '.join(designed)})"
            raise ExperimentError("W203", f"{key}: '{name}' is not a designed input{hint}")
    return np.array([given.get(n, none) for n in designed], float)


def _require(limits: Limits, plan: Plan) -> None:
    known = {q.name for q in plan.model.quantities()}
    for name in limits.names:
        if name not in known:
            raise ExperimentError(
                "W204",
                f"limits: '{plan.model.name}' has no variable '{name}'{did_you_mean(name, known)}",
            )
    for k, name in enumerate(plan.designed):
        if limits.lower[k] >= limits.upper[k]:
            raise ExperimentError(
                "W205",
                f"input '{name}': min {limits.lower[k]:g} is not below max {limits.upper[k]:g}",
            )
        bounded = math.isfinite(limits.lower[k]) and math.isfinite(limits.upper[k])
        if not bounded and not math.isfinite(limits.energy[k]):
            raise ExperimentError(
                "W206",
                f"input '{name}' could grow without end; give min and max, or its energy",
            )
        if limits.rate[k] <= 0:
            raise ExperimentError(
                "W207", f"input '{name}': rate {limits.rate[k]:g} is not positive"
            )
