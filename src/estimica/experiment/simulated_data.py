"""SimulatedData: what an experiment on a model would have measured, and what is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.data.table import Data
from estimica.data.writers import write_csv


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedData(Data):
    """A table of data like any other, with the signals before noise in `truth`.

    `noise` holds the standard deviation that was added to each of them, `inputs` the names of the
    columns that were given to the model.
    """

    truth: Mapping[str, Vector] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["columns"] = dict(self.columns)
        return type(self), tuple(values.values())

    def to_csv(self, path: str | PathLike[str]) -> Path:
        """Write what was measured, one row a sample, units in the headers; the truth stays here."""
        return write_csv(path, self.columns, units=self.units)

    def curves(self) -> show.Curves:
        """What there is to draw: inputs, and each output as points with the truth as a line."""
        first = next(iter(self.columns))
        stamps = self.columns[first]
        panels = []
        for name, values in self.columns.items():
            unit = self.units.get(name, "")
            if name in self.truth:
                lines = (
                    show.Curve("measured", stamps, values, unit, dotted=True, colour=5),
                    show.Curve(
                        "true",
                        stamps,
                        self.truth[name],
                        unit,
                        stepped=name in self.inputs,
                        colour=0,
                    ),
                )
                panels.append(show.Panel(show.name_with_unit(name, unit), lines))
            elif name != first:
                held = show.Curve(name, stamps, values, unit, stepped=True)
                panels.append(show.Panel(show.name_with_unit(name, unit), (held,)))
        label = show.name_with_unit(first, self.units.get(first, ""))
        return show.Curves(tuple(panels), self.source, label)

    def plot(self) -> object:
        """A Plotly figure with one panel a column."""
        return show.figure(self.curves())
