"""ExactResponse: one record through the filter of a linear model, at many values of the tuners."""

from __future__ import annotations

from dataclasses import dataclass

from estimica.base.arrays import Vector
from estimica.compiled.linear_filter import LinearNoise
from estimica.simulate.engine.result import Run
from estimica.simulate.filter.differences.response import DifferenceResponse
from estimica.simulate.filter.exact.run import StepTable, exact_columns
from estimica.simulate.filter.response import FilterConfiguration, FilterResponse


@dataclass(frozen=True, eq=False)
class ExactRun:
    """The columns of a run by exact steps."""

    times: Vector
    Y: Vector
    YS: Vector
    notes: tuple[str, ...] = ()
    ok: bool = True
    text: str = "reached the end"


class ExactResponse:
    """The columns of a filter without integration; the engine tells why one is not finite."""

    def __init__(self, full: FilterResponse, system: LinearNoise, table: StepTable) -> None:
        self.full, self._system, self._table = full, system, table

    @property
    def configuration(self) -> FilterConfiguration:
        """As the filter by the engine."""
        return self.full.configuration

    @property
    def times(self) -> Vector:
        """The stamps."""
        return self.full.times

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which it was set up."""
        return self.full.tuners

    def at(self, theta: Vector | None = None) -> ExactRun | Run:
        """The filter at tuner values `theta`."""
        full = self.full
        begun = full.begun(full.values_at(theta))
        found = exact_columns(
            self._system, self._table, full.pieces, len(full.times), begun.point.P, begun.run.x,
            begun.run.S,
        )  # fmt: skip
        if found is None:
            return full.at(theta)
        return ExactRun(full.times, found.Y, found.YS, begun.point.notes)


def quickest(
    response: FilterResponse | DifferenceResponse,
) -> FilterResponse | ExactResponse | DifferenceResponse:
    """The filter by exact steps where its model is linear and its record has few lengths of steps,
    so that their exponentials cost less than integrating."""
    if isinstance(response, DifferenceResponse):
        return response
    system = response.configuration.linear
    if system is None or response.options.step:
        return response
    table = StepTable.of(response.pieces, response.times)
    return ExactResponse(response, system, table) if table.is_worth else response
