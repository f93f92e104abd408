"""FmuModel: a Functional Mock-up Unit, for Model Exchange or Co-Simulation, as a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import get_args

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.quantities import Quantity
from estimica.base.saving.packing import restores
from estimica.base.signals import Signal
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.flat.system import Experiment as SuggestedExperiment
from estimica.simulate.engine.options import DEFAULT, METHODS, Options, require_adaptive
from estimica.simulate.fmu.archive import unpack_fmu
from estimica.simulate.fmu.derivatives import FmuDerivatives
from estimica.simulate.fmu.description import (
    INTERFACES,
    FmuDescription,
    Interface,
    quantities_of,
    read_description,
    why_not_tunable,
)
from estimica.simulate.fmu.experiment import FmuExperiment, VariableGroup, next_key
from estimica.simulate.fmu.library import FmuBinary, require_binary
from estimica.simulate.fmu.refusals import WithoutEquations
from estimica.simulate.fmu.response import DerivativeMemory, FmuResponse, FmuSetup, FmuTuner
from estimica.simulate.inputs import pieces_of, signals_of
from estimica.simulate.timed_model import experiment_times, finite_number, known_names

Numbers = Mapping[str, float]

#: error of differences above which it counts beside the tolerances. Chosen: a tenth of rtol unless
#: told
NOTICED = 1e-7


def load_fmu(
    path: str | PathLike[str],
    *,
    fix: Mapping[str, float | bool | int | str] | None = None,
    interface: Interface | None = None,
    communication_step: float | None = None,
) -> FmuModel:
    """The model of an .fmu file.

    `fix` sets parameters for all runs, `interface` is "me" (Model Exchange) or "cs"
    (Co-Simulation), Model Exchange where there are both, `communication_step` is that of
    Co-Simulation in seconds.
    """
    return FmuModel(Path(path), fix or {}, interface, communication_step)


class FmuModel(WithoutEquations):
    """An FMU; its native code runs in a process of its own."""

    def __init__(
        self,
        path: Path,
        fix: Mapping[str, float | bool | int | str],
        interface: Interface | None,
        communication_step: float | None,
    ) -> None:
        self.archive = unpack_fmu(path)
        self.fmu: FmuDescription = read_description(self.archive)
        self.name = self.fmu.name
        self.description = self.fmu.description
        self.interface: Interface = _interface(self.fmu, interface, path)
        self.communication_step = communication_step
        if communication_step is not None and not communication_step > 0:
            raise ModelError(
                "M208", f"communication_step {communication_step} is not a positive time"
            )
        if communication_step is not None and self.interface == "me":
            raise ModelError(
                "M208",
                f"communication_step is for Co-Simulation, and '{path.name}' is used for Model "
                'Exchange; add interface = "cs", or leave the step out',
            )
        own = self.fmu.interfaces[self.interface]
        self.binary = FmuBinary(
            self.name, str(self.archive.folder), self.fmu.fmi, self.interface, own.identifier,
            self.fmu.token, own.once, self.archive.unpacked,
        )  # fmt: skip
        require_binary(path, self.binary)
        self.fixed = dict(fix)
        settable = [v.name for v in self.fmu.variables if v.settable and v.kind != "other"]
        known_names(self, list(fix), settable, "parameter")
        self._fixed = {n: self._number(n, v) for n, v in fix.items()}
        self._memory: DerivativeMemory = {}
        self._step: float | None = None  # of communication

    # -- what there is ---------------------------------------------------------------------------

    @cached_property
    def _quantities(self) -> list[Quantity]:
        return quantities_of(self.fmu)

    def quantities(self) -> list[Quantity]:
        """Every parameter and variable with its metadata."""
        return self._quantities

    def output_names(self) -> tuple[str, ...]:
        """Names of the declared outputs."""
        return self.fmu.outputs()

    @property
    def experiment(self) -> SuggestedExperiment:
        """Start, stop and tolerance that the FMU's author suggests."""
        f = self.fmu
        return SuggestedExperiment(f.start or 0.0, f.stop, f.tolerance, f.step)

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the FMU comes from, in words."""
        made = f", made by {self.fmu.tool}" if self.fmu.tool else ""
        there = " and ".join(INTERFACES[i] for i in self.fmu.interfaces)
        return (f"an FMU of FMI {self.fmu.fmi}.0 for {there}{made}",)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the continuous states."""
        return self.fmu.states

    @property
    def start_states(self) -> tuple[str, ...] | None:
        """The continuous states, where all of them have names and can be set."""
        if len(self.fmu.states) != self.fmu.n_states:
            return None
        settable = self.interface == "me" or (
            bool(self.fmu.states) and all(map(self._early, self.fmu.states))
        )
        return self.fmu.states if settable else None

    @property
    def derivatives(self) -> str:
        """How the derivatives are computed; it is found at the first evaluation."""
        if not self._memory:
            return "not yet needed"
        return max(self._memory.values(), key=lambda found: found.error).text

    @property
    def derivative_memory(self) -> Mapping[tuple[str, ...], FmuDerivatives]:
        """What was found about the derivatives by each set of tuners."""
        return self._memory

    @property
    def fixed_numbers(self) -> dict[str, float]:
        """Parameters that were set for all runs."""
        return dict(self._fixed)

    def read_group(self, outputs: tuple[str, ...]) -> VariableGroup:
        """The group of some variables that are read."""
        known_names(self, outputs, self.fmu.readable(), "output")
        return VariableGroup.of(self.fmu, outputs)

    def forget_derivatives(self) -> None:
        """Verify the derivatives anew with the next evaluation."""
        self._memory.clear()

    @property
    def precision(self) -> float | None:
        """Relative error of the derivatives, as measured; none where the tolerances decide."""
        error = max((found.error for found in self._memory.values()), default=0.0)
        return error if self.interface == "cs" or error > NOTICED else None

    @property
    def communication(self) -> float | None:
        """The step of Co-Simulation in seconds, the longest one that was used."""
        return self._step

    # -- in time ---------------------------------------------------------------------------------

    def respond(self, experiment: Experiment) -> FmuResponse:
        """An experiment set up once; a state's name in `wrt` means its start value."""
        grid, begun = experiment_times(experiment)
        options = experiment.options if isinstance(experiment.options, Options) else DEFAULT
        require_adaptive(options, self.name)
        outputs = (
            self.fmu.outputs()
            if experiment.outputs is None
            else known_names(self, experiment.outputs, self.fmu.readable(), "output")
        )
        tuners = self._tuners(experiment.wrt)
        given = {**self._fixed, **self._given(experiment.parameters)}
        begins = {n: finite_number(n, v) for n, v in experiment.start.items()}
        known_names(self, list(begins), self.fmu.states, "state")
        early = {n for n in (*begins, *tuners) if n in self.fmu.states and self._early(n)}
        named = tuple(
            dict.fromkeys([*given, *(n for n in tuners if n not in self.fmu.states), *early])
        )
        group = VariableGroup.of(self.fmu, named)
        starts = {v.name: v.start for v in self.fmu.variables}
        values = np.array([_first(given.get(n), begins.get(n), starts[n]) for n in group.names])
        late_names = {n for n in (*begins, *tuners) if n in self.fmu.states} - early
        self._require_early(late_names)
        carried = self.fmu.states if self.interface == "me" else ()
        late = np.array([_first(begins.get(n), starts.get(n)) for n in carried])
        run = self._experiment(grid, begun, experiment.inputs, outputs, group, late_names, options)
        places = {n: k for k, n in enumerate(group.names)}
        return FmuResponse(
            FmuSetup(
                run,
                values,
                late,
                tuple(self._tuner(n, places) for n in tuners),
                self._sizes(tuners, values, late, places, options),
                options.max_seconds,
                tuple(run.outputs.names.index(n) for n in outputs),
                self.interface == "me" and not self.binary.once,
                self.fmu.interfaces[self.interface].directional and bool(self.fmu.states),
            ),
            self.binary,
            self._memory,
        )

    def _tuners(self, wrt: Sequence[str]) -> tuple[str, ...]:
        for name in (wrt,) if isinstance(wrt, str) else wrt:
            found = next((v for v in self.fmu.variables if v.name == name), None)
            if found is not None and found.is_parameter and why_not_tunable(found):
                raise ModelError(
                    "M209", f"parameter '{name}' cannot be tuned: {why_not_tunable(found)}"
                )
        every = [v.name for v in self.fmu.variables if v.is_parameter and not why_not_tunable(v)]
        return known_names(self, wrt, (*every, *self.fmu.states), "parameter")

    def _given(self, parameters: Numbers) -> dict[str, float]:
        settable = [v.name for v in self.fmu.variables if v.settable and v.kind != "other"]
        known_names(self, list(parameters), settable, "parameter")
        return {n: self._number(n, v) for n, v in parameters.items()}

    def _number(self, name: str, value: object) -> float:
        """A value for a parameter, whole where its type is."""
        found, variable = finite_number(name, value), self.fmu.named(name)
        if variable.kind == "boolean" and found not in (0.0, 1.0):
            raise ModelError("M217", f"'{name}' is a Boolean; {found:g} is neither true nor false")
        if variable.kind != "real" and found != round(found):
            raise ModelError("M217", f"'{name}' is of type {variable.type}; {found:g} is not whole")
        return found

    def _early(self, state: str) -> bool:
        """Whether a start value is given before initialisation, so that it takes part in it."""
        found = self.fmu.named(state)
        return found.settable and found.initial == "exact"

    def _require_early(self, late: set[str]) -> None:
        if late and self.interface == "cs":
            name = min(late)
            raise ModelError(
                "M214",
                f"the start value of '{name}' cannot be set in Co-Simulation: the FMU calculates "
                "it; use Model Exchange, or the parameter that it is calculated from",
            )

    def _tuner(self, name: str, places: Mapping[str, int]) -> FmuTuner:
        if name in places:
            is_state = name in self.fmu.states
            reference = -1 if is_state else self.fmu.named(name).reference
            return FmuTuner(name, place=places[name], reference=reference)
        return FmuTuner(name, state=self.fmu.states.index(name))

    def _sizes(
        self,
        tuners: Sequence[str],
        values: Vector,
        late: Vector,
        places: Mapping[str, int],
        options: Options,
    ) -> Vector:
        """Typical sizes of the tuners."""
        if len(options.tuner_scales) == len(tuners):
            return np.array(options.tuner_scales, float)
        here = [
            values[places[n]] if n in places else late[self.fmu.states.index(n)] for n in tuners
        ]
        nominal = [self.fmu.named(n).nominal or 1.0 for n in tuners]
        return np.array(
            [abs(v) if np.isfinite(v) and v else z for v, z in zip(here, nominal, strict=True)]
        )

    def _experiment(
        self,
        grid: Vector,
        begun: float,
        inputs: Mapping[str, object] | None,
        outputs: Sequence[str],
        group: VariableGroup,
        late: set[str],
        options: Options,
    ) -> FmuExperiment:
        own = self.fmu.interfaces[self.interface]
        names = VariableGroup.of(self.fmu, self.fmu.inputs())
        held = {n: self.fmu.named(n).start or 0.0 for n in names.names}
        signals = signals_of(names.names, inputs, held)
        pieces = pieces_of(signals, begun, float(grid[-1]))
        points = self._communication(grid, begun, signals, options)
        return FmuExperiment(
            key=next_key(),
            interface=self.interface,
            fmi=self.fmu.fmi,
            n_states=self.fmu.n_states if self.interface == "me" else 0,
            n_indicators=self.fmu.n_indicators if self.interface == "me" else 0,
            wants_steps=own.completed_step,
            times=grid,
            begin=begun,
            starts=pieces.starts,
            values=pieces.values,
            slopes=pieces.slopes,
            parameters=group,
            inputs=names,
            outputs=VariableGroup.of(self.fmu, tuple(dict.fromkeys(outputs))),
            state_references=tuple(self.fmu.named(n).reference for n in self.fmu.states),
            rate_references=self.fmu.derivatives,
            late=tuple(n in late for n in self.fmu.states) if self.interface == "me" else (),
            rtol=options.rtol,
            atol=options.atol,
            method=METHODS[options.method],
            max_step=min(options.max_step, 1e300),
            max_steps=options.max_steps,
            grid=points,
            variable_step=own.variable_step,
        )

    def _communication(
        self, times: Vector, begun: float, signals: Sequence[Signal], options: Options
    ) -> Vector:
        """The communication points of Co-Simulation."""
        if self.interface == "me":
            return np.array([begun])
        stamps = [
            s.time[(s.time > begun) & (s.time < times[-1])] for s in signals if len(s.time) > 1
        ]
        stops = np.unique(np.concatenate([[begun], times, *stamps]))
        wanted = self.communication_step or self.fmu.step
        if options.max_step < np.inf:
            wanted = min(wanted or np.inf, options.max_step)
        own = self.fmu.interfaces["cs"]
        points, step = communication_points(self.name, stops, wanted, own.variable_step)
        self._step = max(step, self._step or 0.0)
        return points

    # -- details ---------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[object, ...]:
        """Another process loads the file anew and knows what was found about derivatives."""
        arguments = (self.archive.path, self.fixed, self.interface, self.communication_step)
        state = {"_memory": dict(self._memory), "_step": self._step}
        return _reloaded, (*arguments, self.archive.digest), state

    def placeless(self) -> tuple[object, ...]:
        """The same without the place of its file and what was found out about it: to tell whether
        it is another model, not to be read again."""
        arguments = ("", self.fixed, self.interface, self.communication_step)
        return _reloaded, (*arguments, self.archive.digest)

    def __repr__(self) -> str:
        kind = INTERFACES[self.interface]
        return (
            f"<FMU {self.name}: FMI {self.fmu.fmi}, {kind}, {self.fmu.n_states} states, "
            f"{', '.join(self.fmu.inputs()) or 'no inputs'} to {', '.join(self.fmu.outputs())}>"
        )


@restores
def _reloaded(
    path: Path,
    fix: Mapping[str, float | bool | int | str],
    interface: Interface,
    communication_step: float | None,
    digest: str,
) -> FmuModel:
    """The model in another process, from the same content."""
    model = FmuModel(path, fix, interface, communication_step)
    if model.archive.digest != digest:
        raise ModelError("M215", f"'{path}' has changed since it was loaded; load it again")
    return model


def _first(*values: float | None) -> float:
    """The first number that is given; NaN for none."""
    return next((float(v) for v in values if v is not None), np.nan)


def _interface(fmu: FmuDescription, wanted: str | None, path: Path) -> Interface:
    if wanted is None:
        return "me" if "me" in fmu.interfaces else "cs"
    if wanted not in get_args(Interface):
        hint = did_you_mean(wanted, get_args(Interface)) or " (me or cs)"
        raise ModelError("M207", f"interface '{wanted}' is none of an FMU{hint}")
    found: Interface = "me" if wanted == "me" else "cs"
    if found not in fmu.interfaces:
        there = " and ".join(INTERFACES[i] for i in fmu.interfaces)
        raise ModelError("M207", f"'{path.name}' offers only {there}, not {INTERFACES[found]}")
    return found


# ----------------------------------------------------------------
# The communication points of Co-Simulation: all samples and input stamps, and steps between.


def communication_points(
    name: str, stops: Vector, step: float | None, variable: bool
) -> tuple[Vector, float]:
    """(points, step): the first of `stops` is the beginning; no step is longer than `step`.

    Where an FMU takes steps of one length only, every stop must be a multiple of it.
    """
    width = np.diff(stops)
    if not len(width):
        return stops, step or 1.0
    if step is None:
        step = float(width.min() if not variable else np.median(width))
    if not variable:
        return _even(name, stops, step), step
    # 1e-9: a width that is whole but for rounding takes no step more
    parts = np.maximum(1, np.ceil(width / step - 1e-9)).astype(int)
    first = np.cumsum(parts) - parts
    within = np.arange(parts.sum()) - np.repeat(first, parts)
    points = np.repeat(stops[:-1], parts) + within * np.repeat(width / parts, parts)
    return np.append(points, stops[-1]), step


def _even(name: str, stops: Vector, step: float) -> Vector:
    count = (stops - stops[0]) / step
    whole = np.rint(count)
    # chosen: stamps in files have six digits or more
    off = np.abs(count - whole) > 1e-6 * np.maximum(1.0, whole)
    if off.any():
        wrong = stops[np.argmax(off)]
        raise ModelError(
            "M210",
            f"'{name}' takes communication steps of one length only, and the time {wrong:g} is "
            f"not a multiple of {step:g} s after {stops[0]:g}; set communication_step to a part of "
            "the distance of the samples",
        )
    points = stops[0] + step * np.arange(int(whole[-1]) + 1)
    points[whole.astype(int)] = stops  # exactly, so that a sample is met
    return points
