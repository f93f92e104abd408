"""Simulated experiments: data with noise from a model, for planning and teaching."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError, SimulationError
from estimica.base.signals import Signal, as_signal
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.experiment.coloured_noise import Colour, coloured, colours
from estimica.experiment.simulated_data import SimulatedData
from estimica.experiment.waveforms.base import Waveform, stamps
from estimica.simulate.modelica.model import ModelicaModel

_PERCENT = re.compile(r"\s*([0-9.eE+-]+)\s*%\s*$")

#: a standard deviation in the unit of the signal, or a share of its spread such as "2 %"
Sigma = float | str


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
    if isinstance(model, ModelicaModel):
        model.require(run, respond)  # type: ignore[arg-type]
    elif not run.ok:
        raise SimulationError("R030", f"'{model.name}' cannot be simulated: {run.text}")
    truth = {n: np.array(run.Y[:, k], np.float64) for k, n in enumerate(names)}
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
        notes=tuple(_notes(inputs, grid, hold)),
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
