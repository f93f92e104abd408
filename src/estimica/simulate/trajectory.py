"""Trajectory and Sensitivities: what a simulation returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.files.write import atomic_replacement
from estimica.base.result import plain_object
from estimica.base.saving.saved import Saved
from estimica.base.suggest import did_you_mean
from estimica.simulate.termination import Termination

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

DATE = "date"  # the column of dates in tables
#: stamps for all signals, or for each signal its own
Times = Sequence[float] | Vector | Mapping[str, Sequence[float] | Vector]


@dataclass(frozen=True, eq=False)
class Trajectory(Saved):
    """Values of named variables over time; `values` is (samples, names)."""

    model: str  # what the model is called
    time: Vector  # s
    names: tuple[str, ...]  # of the variables
    values: Vector  # (samples, names)
    units: Mapping[str, str] = field(default_factory=dict)  # by name
    descriptions: Mapping[str, str] = field(default_factory=dict)  # by name
    statistics: Mapping[str, float] = field(default_factory=dict)  # what the solver counted
    events: tuple[float, ...] = ()  # times of the events, in order
    notes: tuple[str, ...] = ()  # what a reader of the values must know
    termination: Termination | None = None  # where the model has ended the run by `terminate`
    origin: str = ""  # the instant of 0 s, where its inputs were given by dates
    dates: tuple[str, ...] = ()  # what the clock shows at each sample then

    def __getitem__(self, name: str) -> xr.DataArray:
        """One variable with its time axis."""
        self._column(name)
        return self.dataset[name]

    def value(self, name: str) -> Vector:
        """One variable as a plain array."""
        return self.values[:, self._column(name)]

    @property
    def dataset(self) -> xr.Dataset:
        """All variables as an xarray Dataset over `time`."""
        import xarray as xr

        return xr.Dataset(
            {n: ("time", self.values[:, k], self._attributes(n)) for k, n in enumerate(self.names)},
            coords={"time": ("time", self.time, {"units": "s"})},
            attrs={"model": self.model}
            | ({"termination": self.termination.text} if self.termination else {}),
        )

    def until(self, termination: Termination | None, times: Times) -> Self:
        """The same up to where the model has ended the run.

        The values that it has there stand at the end, unless signals have stamps of their own.
        """
        if termination is None:
            return self
        kept = self.time <= termination.time
        time, values = self.time[kept], self.values[kept]
        if not (isinstance(times, Mapping) or (time == termination.time).any()):
            time, values = np.append(time, termination.time), np.vstack([values, termination.y])
        return replace(self, time=time, values=values, termination=termination)

    def at_own_stamps(self, times: Times) -> Self:
        """The same with NaN at stamps that a signal does not have; unchanged for common stamps."""
        if not isinstance(times, Mapping):
            return self
        values = self.values.copy()
        for k, n in enumerate(self.names):
            values[~np.isin(self.time, np.asarray(times[n], float)), k] = np.nan
        return replace(self, values=values)

    def to_frame(self) -> pd.DataFrame:
        """All variables as columns over the time index; dates stand before them, if it has any."""
        import pandas as pd

        frame = pd.DataFrame(
            self.values, index=pd.Index(self.time, name="time"), columns=list(self.names)
        )
        if self.dates:
            frame.insert(0, _free_name(DATE, self.names), list(self.dates))
        return frame

    def to_csv(self, path: str | PathLike[str]) -> Path:
        """Write time and all variables, full precision, one row a sample; where they are."""
        with atomic_replacement(path) as draft:
            self.to_frame().to_csv(draft, float_format="%.17g")
        return Path(path)

    def plot(self) -> object:
        """A Plotly figure with one panel a variable."""
        return show.figure(self.curves())

    def curves(self) -> show.Curves:
        """What there is to draw: one panel a variable."""
        curves = [
            show.Curve(
                n, self.time, self.value(n), self.units.get(n, ""), self.descriptions.get(n, "")
            )
            for n in self.names
        ]
        end = f", {self.termination.text}" if self.termination else ""
        return self._dated(show.trajectories(curves, f"{self.model}{end}"))

    def _dated(self, curves: show.Curves) -> show.Curves:
        """Curves over dates, where the trajectory has them."""
        panels = tuple(replace(p, origin=self.origin) for p in curves.panels)
        return replace(curves, panels=panels) if self.origin else curves

    def to_dict(self) -> dict[str, object]:
        """Plain values: what `estimica simulate --json` prints, but for its outcome."""
        values = {name: self.value(name) for name in self.names}
        ended = self.termination
        return plain_object(
            {
                "model": self.model,
                "time": self.time,
                "values": values,
                "units": dict(self.units),
                "events": list(self.events),
                "termination": {"time": ended.time, "message": ended.message} if ended else None,
                "notes": list(self.notes),
                "statistics": dict(self.statistics),
            }
            | ({"origin": self.origin, "dates": list(self.dates)} if self.origin else {})
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """In a notebook the figure, by Plotly's own way to show one, and no script beside it."""
        return {"text/plain": repr(self), **show.figure(self.curves())._repr_mimebundle_()}

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} … {self.time[-1]:g}" if len(self.time) else "empty"
        names = ", ".join(self.names)
        end = f", {self.termination.text}" if self.termination else ""
        many = f"{names} at {len(self.time)} times"
        return f"<{type(self).__name__} of {self.model}: {many}, {span}{end}>"

    def _column(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            hint = did_you_mean(name, self.names) or f" (there are {', '.join(self.names)})"
            raise ModelError(
                "M030", f"the trajectory holds no '{name}'{hint}; ask for it with outputs=[...]"
            ) from None

    def _attributes(self, name: str) -> dict[str, str]:
        found = {"units": self.units.get(name, ""), "long_name": self.descriptions.get(name, "")}
        return {k: v for k, v in found.items() if v}


@dataclass(frozen=True, eq=False)
class Sensitivities(Trajectory):
    """A trajectory with its derivatives; `jacobian` is (samples, names, tuners)."""

    wrt: tuple[str, ...] = ()  # what was differentiated by
    point: Vector = field(default_factory=lambda: np.zeros(0))  # values of the tuners
    jacobian: Vector = field(default_factory=lambda: np.zeros((0, 0, 0)))

    @classmethod
    def of(
        cls, plain: Trajectory, jacobian: Vector, wrt: tuple[str, ...], point: Vector
    ) -> Sensitivities:
        """A trajectory with the derivatives that belong to it."""
        own = {f.name: getattr(plain, f.name) for f in fields(plain)}
        return cls(**own, jacobian=jacobian, wrt=wrt, point=point)

    def until(self, termination: Termination | None, times: Times) -> Self:
        """The same up to where the model has ended the run.

        Derivatives are at times that stay; `termination.motion` is how the tuners move that end.
        """
        plain = super().until(termination, times)
        if termination is None:
            return plain
        jacobian = self.jacobian[self.time <= termination.time]
        if len(jacobian) < len(plain.time):
            jacobian = np.concatenate([jacobian, termination.slope[None]])
        return replace(plain, jacobian=jacobian)

    def at_own_stamps(self, times: Times) -> Self:
        """The same with NaN, in the derivatives too, at stamps that a signal does not have."""
        plain = super().at_own_stamps(times)
        absent = np.isnan(plain.values) & ~np.isnan(self.values)
        return replace(plain, jacobian=np.where(absent[:, :, None], np.nan, self.jacobian))

    def derivative(self, name: str, tuner: str) -> Vector:
        """d(name)/d(tuner) over time."""
        if tuner not in self.wrt:
            hint = did_you_mean(tuner, self.wrt) or f" (there are {', '.join(self.wrt)})"
            raise ModelError("M031", f"no sensitivity with respect to '{tuner}'{hint}")
        return self.jacobian[:, self._column(name), self.wrt.index(tuner)]

    @property
    def dataset(self) -> xr.Dataset:
        """The variables over `time`, and `d_<name>` over (`time`, `tuner`)."""
        base = super().dataset
        columns = {
            f"d_{n}": (("time", "tuner"), self.jacobian[:, k, :]) for k, n in enumerate(self.names)
        }
        return base.assign_coords(tuner=list(self.wrt)).assign(columns)

    def sensitivity_curves(self) -> show.Curves:
        """One panel a variable y with the curves p·∂y/∂p, all in the unit of y."""
        outputs = [(n, self.units.get(n, "")) for n in self.names]
        tuners = list(zip(self.wrt, map(float, self.point), strict=True))
        title = f"{self.model}: sensitivities"
        panels = sensitivity_panels(self.time, self.jacobian, outputs, tuners, title)
        return self._dated(panels)

    def to_dict(self) -> dict[str, object]:
        """Plain values, with the derivatives under `sensitivities`."""
        of = {n: {p: self.derivative(n, p) for p in self.wrt} for n in self.names}
        return {**super().to_dict(), **plain_object({"sensitivities": of})}

    def to_frame(self) -> pd.DataFrame:
        """Variables and derivatives as columns, the latter named d(y)/d(p)."""
        frame = super().to_frame()
        for n in self.names:
            for p in self.wrt:
                frame[f"d({n})/d({p})"] = self.derivative(n, p)
        return frame


def sensitivity_panels(
    time: Vector,
    jacobian: Vector,
    outputs: Sequence[tuple[str, str]],
    wrt: Sequence[tuple[str, float]],
    title: str = "",
) -> show.Curves:
    """One panel for each output y with the curves p·∂y/∂p, all in the unit of y.

    `jacobian` is (samples, outputs, parameters), `outputs` has names and units, `wrt` names and
    values; a parameter that is zero is shown as ∂y/∂p.
    """

    def curve(i: int, j: int) -> show.Curve:
        (output, unit), (name, value) = outputs[i], wrt[j]
        scaled = value != 0 and np.isfinite(value)
        label = f"{name}·∂{output}/∂{name}" if scaled else f"∂{output}/∂{name}"
        return show.Curve(label, time, jacobian[:, i, j] * (value if scaled else 1.0), unit)

    panels = [
        show.Panel(
            show.name_with_unit(f"p·∂{output}/∂p", unit),
            tuple(curve(i, j) for j in range(len(wrt))),
        )
        for i, (output, unit) in enumerate(outputs)
    ]
    return show.Curves(tuple(panels), title)


def _free_name(name: str, taken: Sequence[str]) -> str:
    """A name of a column that no variable has."""
    while name in taken:
        name = f"{name}_"
    return name


def check_times(times: Sequence[float] | Vector) -> Vector:
    """Output times as a sorted float array, or a clear error."""
    try:
        t = np.atleast_1d(np.asarray(times, float))
    except (TypeError, ValueError):
        raise ModelError("M032", f"times must be numbers, not {times!r}") from None
    if t.ndim != 1 or t.size == 0:
        raise ModelError("M033", "times is empty; give at least one output time")
    if not np.isfinite(t).all():
        raise ModelError("M034", "times holds a value that is not finite")
    back = np.flatnonzero(np.diff(t) < 0)
    if back.size:
        k = int(back[0])
        raise ModelError("M035", f"times must not decrease: {t[k + 1]:g} follows {t[k]:g}")
    return np.ascontiguousarray(t)


def sampling(
    times: Times, outputs: Sequence[str] | None
) -> tuple[Sequence[float] | Vector, Sequence[str] | None]:
    """(all stamps, outputs): where each signal has its own stamps, its name is an output."""
    if not isinstance(times, Mapping):
        return times, outputs
    if outputs is not None:
        raise ModelError("M045", "give outputs= or times by name, not both")
    if not times:
        raise ModelError("M033", "times is empty; give at least one output time")
    return np.unique(np.concatenate([check_times(t) for t in times.values()])), tuple(times)
