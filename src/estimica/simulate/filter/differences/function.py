"""FunctionMover: a Python function with named states, moved by calls over short stretches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.signals import Signal
from estimica.simulate.filter.differences.mover import StoppedError, TrajectoryMover, Tuned
from estimica.simulate.function.call import FunctionCall, function_name
from estimica.simulate.function.model import FunctionModel


class FunctionMover(TrajectoryMover):
    """The function sees the begin and the end of a stretch and all stamps of inputs within."""

    def __init__(
        self,
        model: FunctionModel,
        signals: Sequence[Signal],
        known: Mapping[str, float],
        tuned: Tuned,
        variables: tuple[str, ...],
    ) -> None:
        super().__init__()
        self.model, self._signals = model, signals
        self.states, self.variables = tuned.states, variables
        names = model.parameter_names
        self._base = np.array([known.get(n, np.nan) for n in names])
        self._starts = [names.index(model.begins[n]) for n in self.states]
        own = [n for n in tuned.names if n in tuned.parameters]
        self._columns, self._places = tuned.columns(own), [names.index(n) for n in own]
        begun = [n for n in tuned.names if n in tuned.states]
        self._free = list(zip(tuned.columns(begun), map(self.states.index, begun), strict=True))
        self._calls: dict[tuple[float, float], FunctionCall] = {}
        self._looks: dict[float, FunctionCall] = {}
        self._alone = True  # whether it can be called with a single time
        stamps = [s.time for s in signals if len(s.time) > 1]
        self._stamps = np.unique(np.concatenate(stamps)) if stamps else np.zeros(0)

    def begun(self, theta: Vector) -> Vector:
        """The values of the parameters where states begin."""
        x = self._values(theta)[:, self._starts]
        for column, state in self._free:
            x[:, state] = theta[:, column]
        return x

    def ends(self, begin: float, end: float, x: Vector, theta: Vector) -> Vector:
        """The states at `end`, a call for each row."""
        key = (begin, end)
        if key not in self._calls:
            low, high = np.searchsorted(self._stamps, [begin, end], side="right")
            inside = self._stamps[low:high]
            times = np.concatenate([[begin], inside[inside < end], [end]])
            self._calls[key] = self._call(times, len(times) - 1, self.states)
        return self._called(self._calls[key], x, theta, f"between {begin:g} and {end:g} s")

    def sights(self, time: float, x: Vector, theta: Vector) -> Vector:
        """The variables at a time."""
        where = f"at {time:g} s"
        if self._alone:
            try:
                return self._called(self._look(time), x, theta, where)
            except StoppedError:
                # not all functions can be called with one time only: let it see another one
                self._alone = False
                self._looks.clear()
        return self._called(self._look(time), x, theta, where)

    def _look(self, time: float) -> FunctionCall:
        if time not in self._looks:
            times = np.array([time])
            if not self._alone:
                length = max(abs(time), 1.0) * 1e-3  # chosen: of no consequence for the first time
                times = np.array([time, time + length])
            self._looks[time] = self._call(times, 0, self.variables)
        return self._looks[time]

    def _call(self, times: Vector, row: int, shown: tuple[str, ...]) -> FunctionCall:
        model, names = self.model, self.model.output_names()
        inputs = [s.at(times) for s in self._signals]
        return FunctionCall(
            model.function,
            model.signature.style,
            model.parameter_names,
            names,
            np.column_stack(inputs) if inputs else np.empty((len(times), 0)),
            times,
            np.array([row]),
            tuple(names.index(n) for n in shown),
        )

    def _values(self, theta: Vector) -> Vector:
        values = np.tile(self._base, (len(theta), 1))
        values[:, self._places] = theta[:, self._columns]
        return values

    def _called(self, call: FunctionCall, x: Vector, theta: Vector, where: str) -> Vector:
        values = self._values(theta)
        values[:, self._starts] = x
        found = np.empty((len(x), len(call.shown)))
        for r, one in enumerate(values):
            result = call.at(one)
            if isinstance(result, str):
                listed = ", ".join(
                    f"{n} = {v:g}" for n, v in zip(call.names, one, strict=True)
                )  # fmt: skip
                raise StoppedError(r, f"{result} {where}, with {listed}")
            found[r] = result[0]
        return found

    def wrong_start(self, x: Vector, theta: Vector, begin: float, end: float) -> str:
        """Which state does not begin where its parameter says, in words; "" for none."""
        call = self._call(np.array([begin, end]), 0, self.states)
        found = self._called(call, x, theta, f"between {begin:g} and {end:g} s")[0]
        for k, name in enumerate(self.states):
            # chosen: what is read from a result must be what was given, but for rounding
            if abs(found[k] - x[0, k]) > 1e-9 * max(abs(x[0, k]), abs(found[k])):
                return (
                    f"'{function_name(self.model.function)}' gives {found[k]:g} for state '{name}' "
                    f"at the first time, where '{self.model.begins[name]}' is {x[0, k]:g}"
                )
        return ""
