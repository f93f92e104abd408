"""Simulated experiments: data with noise from a model, for planning and teaching.

Noise may be coloured: its samples hang together by an AR coefficient or by a filter in s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError, ExperimentError, SimulationError
from estimica.base.signals import Signal, as_signal
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.data.table import Data
from estimica.data.writers import write_csv
from estimica.experiment.waveforms.base import Waveform, stamps
from estimica.simulate.linear.constructors import transfer_function
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.termination import termination_of

_PERCENT = re.compile(r"\s*([0-9.eE+-]+)\s*%\s*$")

#: a standard deviation in the unit of the signal, or a share of its spread such as "2 %"
Sigma = float | str
#: how much of the sample before is left in a sample, or a transfer function such as "1/(1 + 2*s)"
Colour = float | str
#: share of its start that a filter may still have when the first sample is taken, far below what
#: samples tell of the noise, and the most samples that it may take to forget it (80 MB)
FORGOTTEN = 1e-9
LONGEST = 10_000_000


def simulate_experiment(
    model: Model,
    inputs: Mapping[str, object],
    times: Sequence[float] | Vector,
    parameters: Mapping[str, float] | None = None,
    *,
    noise: Sigma | Mapping[str, Sigma] = 0.0,
    colour: Colour | Mapping[str, Colour] = 0.0,
    seed: int = 1,
    outputs: Sequence[str] | None = None,
    drop: float = 0.0,
    start: Mapping[str, float] | None = None,
    hold: str = "previous",
    options: Any = None,
) -> SimulatedData:
    """Measurements of `outputs` at `times` with Gaussian noise, as a table of data.

    `inputs` are numbers, signals of `es.signals`, arrays of a value for each time, or whatever
    `simulate` takes. A signal of `es.signals` is sampled at `times` and held as `hold` says, so
    that a study which reads the data sees the very same input; with hold = "exact" the model gets
    it as it is, also between the samples.

    `noise` is a standard deviation, for all outputs or by name, or a share of the spread of the
    signal such as "2 %". Noise of an input is that of its measurement: the model gets the input
    itself, the data have the noisy one. `colour` says how samples of the noise hang together: how
    much is left of the sample before (0.9), or a filter that white noise goes through
    ("1/(1 + 2*s)"); the standard deviation stays what `noise` says. `drop` is the share of samples
    that are missing, at random. The same `seed` gives the same data.
    """
    grid = stamps(times)
    names = _outputs(model, outputs)
    signals = {n: _signal(n, given, grid, hold) for n, given in inputs.items()}
    respond = model.response(grid, signals, parameters, start, outputs=names, options=options)
    run = respond.at()
    notes = _notes(inputs, grid, hold)
    ended = termination_of(run)
    before = int(np.sum(grid <= ended.time)) if ended is not None else 0
    if ended is not None and before:
        if not run.ok:
            notes.append(f"{ended.text}; {before} of {len(grid)} samples come before that")
        grid = grid[:before]
    elif isinstance(model, ModelicaModel):
        model.require(run, respond)  # type: ignore[arg-type]
    elif not run.ok:
        raise SimulationError("R030", f"'{model.name}' cannot be simulated: {run.text}")
    truth = {n: np.array(run.Y[: len(grid), k], np.float64) for k, n in enumerate(names)}
    given = {n: s.at(grid) for n, s in signals.items()}
    dropped = _share(drop)
    stamp = "time" if model.has_time else "point"
    columns = {stamp: grid} | given
    _require_apart(columns, names)
    sigmas = _sigmas(noise, truth, given)
    tints = colours(colour, sigmas)
    truth |= {n: given[n] for n in sigmas if n in given}
    for n, exact in truth.items():
        columns[n] = exact + sigmas[n] * coloured(n, tints[n], grid, _random(seed, 0, n))
        if dropped and n not in given:
            columns[n][_random(seed, 1, n).random(len(grid)) < dropped] = np.nan
    units = {q.name: q.unit for q in model.quantities() if q.unit and q.name in columns}
    return SimulatedData(
        f"simulation of {model.name}",
        columns,
        units=({"time": "s"} if model.has_time else {}) | units,
        notes=tuple(notes),
        truth=truth,
        noise=sigmas,
        inputs=tuple(signals),
    )


def _outputs(model: Model, wanted: Sequence[str] | None) -> tuple[str, ...]:
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted or ())
    names = names or tuple(model.output_names())
    names = names or tuple(q.name for q in model.quantities() if q.role == "state")
    if not names:
        raise ExperimentError(
            "W020", f"'{model.name}' has no outputs; name some with outputs=[...]"
        )
    return tuple(dict.fromkeys(names))


def _signal(name: str, given: object, grid: Vector, hold: str) -> Signal:
    if isinstance(given, Waveform):
        return given.signal(grid) if hold == "exact" else given.held(grid, hold)
    if isinstance(given, np.ndarray) and given.shape == grid.shape:
        return as_signal(name, (grid, given))
    return as_signal(name, given)


def _notes(inputs: Mapping[str, object], grid: Vector, hold: str) -> list[str]:
    if hold != "exact":
        return []
    exact = [(n, w.signal(grid)) for n, w in inputs.items() if isinstance(w, Waveform)]
    return [
        f"{n} changes between the samples; the column holds its value at each sample"
        for n, signal in exact
        if not np.isin(signal.time, grid).all()
    ]


def _sigmas(
    noise: Sigma | Mapping[str, Sigma], outputs: Mapping[str, Vector], inputs: Mapping[str, Vector]
) -> dict[str, float]:
    """Of every output, and of those inputs that are named."""
    if not isinstance(noise, Mapping):
        return {n: _sigma(n, noise, exact) for n, exact in outputs.items()}
    known = {**outputs, **inputs}
    for n in noise:
        if n not in known:
            hint = did_you_mean(n, known) or f" (outputs: {', '.join(outputs)})"
            raise ExperimentError("W021", f"noise of '{n}', which is not an output or input{hint}")
    named = [*outputs, *(n for n in inputs if n in noise)]
    return {n: _sigma(n, noise.get(n, 0.0), known[n]) for n in named}


def _sigma(name: str, given: Sigma, exact: Vector) -> float:
    """A standard deviation; a percentage is of the root mean square deviation from the mean."""
    scale, value = 1.0, given
    match = _PERCENT.match(given) if isinstance(given, str) else None
    if match:
        scale, value = 0.01 * float(np.std(exact)), match[1]
    try:
        number = scale * float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not (np.isfinite(number) and number >= 0):
        raise ExperimentError(
            "W022",
            f"noise of '{name}': {given!r} is not a standard deviation; "
            'give a number such as 0.02, or a share such as "2 %"',
        )
    return number


def _share(drop: float) -> float:
    if not 0 <= drop < 1:
        raise ExperimentError(
            "W023", f"drop {drop!r} is not a share of the samples, from 0 to below 1"
        )
    return float(drop)


def _require_apart(columns: Mapping[str, Vector], outputs: Sequence[str]) -> None:
    """An input asked for as an output would be two columns of one name."""
    for n in outputs:
        if n in columns:
            raise ExperimentError(
                "W024", f"'{n}' is a column already, the time or an input; leave it out of outputs="
            )


def _random(seed: int, purpose: int, output: str) -> np.random.Generator:
    """A stream for each output, so that noise does not depend on what else is measured."""
    return np.random.default_rng([seed, purpose, crc32(output.encode())])


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


def colours(given: Colour | Mapping[str, Colour], noisy: Mapping[str, float]) -> dict[str, Colour]:
    """A colour for each signal that has noise; white where none is given."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(noisy, given)
    for n in given:
        if n not in noisy:
            hint = did_you_mean(n, noisy) or f" (noise: {', '.join(noisy) or 'none'})"
            raise ExperimentError("W025", f"colour of '{n}', which has no noise{hint}")
    return {n: given.get(n, 0.0) for n in noisy}


def coloured(name: str, colour: Colour, grid: Vector, random: np.random.Generator) -> Vector:
    """Noise of unit standard deviation at the times of `grid`, stationary from the first sample."""
    if isinstance(colour, str):
        b, a = _filter(name, colour, _step(name, grid))
    else:
        if not (np.isfinite(colour) and -1 < colour < 1):
            raise ExperimentError(
                "W026",
                f"colour of '{name}': an AR coefficient is between -1 and 1, not {colour!r}; "
                "0 is white",
            )
        if colour == 0:
            return random.standard_normal(len(grid))
        b, a = np.ones(1), np.array([1.0, -colour])
    return _drawn(name, b, a, len(grid), random)


def _drawn(name: str, b: Vector, a: Vector, count: int, random: np.random.Generator) -> Vector:
    """White noise through b/a, divided by the root of the sum of its squared impulse response."""
    from scipy.signal import lfilter

    largest = float(np.abs(np.roots(a)).max(initial=0.0))
    warm = len(b) + int(np.ceil(np.log(FORGOTTEN) / np.log(max(largest, 0.1))))
    if warm > LONGEST:
        raise ExperimentError("W027", f"colour of '{name}': the filter forgets too slowly")
    impulse = np.zeros(warm)
    impulse[0] = 1.0
    norm = float(np.linalg.norm(lfilter(b, a, impulse)))
    if norm == 0:
        raise ExperimentError("W027", f"colour of '{name}': the filter lets nothing through")
    white = random.standard_normal(count)  # first, so that a slower filter has the same source
    before = random.standard_normal(warm)
    noise = lfilter(b, a, np.concatenate([before, white]))[warm:] / norm
    return np.asarray(noise, np.float64)


def _filter(name: str, text: str, step: float) -> tuple[Vector, Vector]:
    try:
        model = transfer_function(text)
        poles = model.poles()
        sampled = model.discretise(step, "zoh")
    except EstimicaError as error:
        raise ExperimentError("W027", f"colour of '{name}': {error.message}") from None
    if any(np.real(poles) >= 0):
        raise ExperimentError(
            "W027", f"colour of '{name}': '{text}' is not stable, so its noise has no end"
        )
    b, a = sampled.transfer_function()
    return np.asarray(b, np.float64), np.asarray(a, np.float64)


def _step(name: str, grid: Vector) -> float:
    gaps = np.diff(grid)
    if len(gaps) == 0 or np.ptp(gaps) > 1e-6 * gaps[0]:
        raise ExperimentError(
            "W028",
            f"colour of '{name}': a filter needs equal steps of time; give an AR coefficient, "
            "such as 0.9, instead",
        )
    return float(gaps.mean())
