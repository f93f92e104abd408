"""DesignProblem: an experiment before it is made: model, samples, outputs, unknowns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError, SimulationError
from estimica.base.signals import Signal
from estimica.base.suggest import did_you_mean
from estimica.base.text import listed
from estimica.compiled.model.interface import Model
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.estimate.objective.predictor import split
from estimica.estimate.setup import parameter_map_of, prepare
from estimica.estimate.unknowns import Unknown
from estimica.experiment.signals import make
from estimica.experiment.signals import times as stamps
from estimica.simulate.engine.options import Options
from estimica.study.case import Case, Sigma
from estimica.study.formulas import tuners_of_noise, without_noise_tuners
from estimica.study.noise.process import PREDICTION, output_sigma
from estimica.study.record.samples import Record
from estimica.study.study import Study
from estimica.study.tables.input_design import InputDesignTable, names_of

#: 80 MB for each signal. Chosen: far more than a design needs; most often a unit was mistaken
MOST_SAMPLES = 10_000_000


@dataclass(frozen=True, eq=False)
class PredictedOutput:
    """What would be measured, with derivatives by all unknowns; or why there is nothing."""

    Y: Vector  # (samples, outputs)
    YS: Vector  # (samples, outputs, unknowns)
    error: str = ""


@dataclass(frozen=True, eq=False)
class DesignProblem:
    """Everything that stays while the input is chosen.

    Unknowns are the tuners, then the free start values and the disturbances of the case, which
    are found along with them. `counted` are the places of the tuners whose accuracy counts.
    """

    name: str
    model: Model
    designed: tuple[str, ...]
    outputs: tuple[str, ...]
    times: Vector  # of the samples
    links: ParameterMap
    unknowns: tuple[Unknown, ...]
    values: Vector  # nominal, of all unknowns
    counted: tuple[int, ...]
    weights: Vector  # of the counted tuners
    sigma: Vector | None  # noise of each output, where it is known
    others: Mapping[str, Signal]  # the inputs that are not designed
    parameters: Mapping[str, float]  # fixed
    start: Mapping[str, float]  # fixed
    options: Options
    precision: float  # relative, of derivatives

    @property
    def step(self) -> float:
        """Seconds between samples."""
        return float(self.times[1] - self.times[0])

    @property
    def duration(self) -> float:
        """Seconds, the last sample included."""
        return self.step * len(self.times)

    @property
    def sizes(self) -> Vector:
        """What changes of the unknowns are relative to: values, or typical sizes of zeros."""
        pairs = zip(self.values, self.unknowns, strict=True)
        return np.array([v if v != 0 else u.scale for v, u in pairs], np.float64)

    @property
    def names(self) -> tuple[str, ...]:
        """The tuners that count."""
        return tuple(self.unknowns[k].name for k in self.counted)

    @property
    def units(self) -> dict[str, str]:
        """Units of all that the model has."""
        return {q.name: q.unit for q in self.model.quantities()}

    def answer(self, inputs: Mapping[str, Signal]) -> PredictedOutput:
        """What would be measured with these signals at the designed inputs."""
        m = len(self.links.tuners)
        begun = [u.name for u in self.unknowns if u.kind == "start"]
        theta, chain = self.links.at(self.values[:m])
        try:
            run = self.model.response(
                self.times,
                {**self.others, **inputs},
                self.parameters,
                self.start,
                outputs=self.outputs,
                wrt=[*self.links.parameters, *begun],
                begin=float(self.times[0]),
                options=self.options,
            ).at(np.concatenate([theta, self.values[m : m + len(begun)]]))
        except SimulationError as error:
            return self._nothing(error.message)
        if not run.ok:
            return self._nothing(run.text)
        p = len(self.links.parameters)
        parts = [run.YS[:, :, :p] @ chain, run.YS[:, :, p:], self._disturbances()]
        return PredictedOutput(np.array(run.Y, np.float64), np.concatenate(parts, axis=2))

    def _disturbances(self) -> Vector:
        """∂y/∂d of free constants that are added to outputs: (samples, outputs, disturbances)."""
        added = [u.name for u in self.unknowns if u.kind == "disturbance"]
        one = [[float(name == output) for name in added] for output in self.outputs]
        columns = np.array(one, np.float64).reshape(len(self.outputs), len(added))
        return np.broadcast_to(columns, (len(self.times), *columns.shape))

    def _nothing(self, why: str) -> PredictedOutput:
        shape = (len(self.times), len(self.outputs))
        return PredictedOutput(
            np.full(shape, np.nan), np.full((*shape, len(self.unknowns)), np.nan), why
        )


def design_problem(
    study: Study,
    table: InputDesignTable,
    values: Mapping[str, float] | None = None,
    sigma: Mapping[str, float] | None = None,
) -> DesignProblem:
    """The experiment that `table` plans; `values` and `sigma` stand in for those of the study."""
    model = study.model
    if not model.has_time:
        raise ExperimentError(
            "W060", f"'{model.name}' has no time, so that there is no course of an input to design"
        )
    of_noise = tuners_of_noise(study)
    values = {n: v for n, v in (values or {}).items() if n not in of_noise}
    study = without_noise_tuners(study)
    case = _case(study, table.case)
    record, links, unknowns, fixed = _unknowns(study, case)
    if not links.tuners:
        raise ExperimentError(
            "W061", f"study '{study.name}' has no active tuner; an input is designed for tuners"
        )
    parameters, start = split(model, fixed)
    designed = _designed(model, table)
    times = _times(table, record, designed)
    outputs = names_of(table.outputs) or _measured(model, case)
    if not outputs:
        raise ExperimentError(
            "W062", f"'{model.name}' has no outputs; say what is measured: outputs = [...]"
        )
    _require_known(model, outputs)
    counted = _counted(links.tuners, table)
    sizes = tuple(u.scale for u in unknowns if u.kind != "disturbance")
    direct = links.is_one_to_one
    options = study.solver.options
    return DesignProblem(
        name=study.name,
        model=model,
        designed=designed,
        outputs=outputs,
        times=times,
        links=links,
        unknowns=unknowns,
        values=_values(unknowns, values),
        counted=counted,
        weights=np.array([table.weights.get(links.tuners[k], 1.0) for k in counted], np.float64),
        sigma=_sigma(table, case, outputs, sigma),
        others=_others(model, table, record, designed, times),
        parameters=parameters,
        start=start,
        options=replace(options, tuner_scales=sizes) if direct else options,
        precision=max(model.precision or study.solver.rtol, 1e-12),
    )


# --- the study -----------------------------------------------------------------------------------


def _case(study: Study, wanted: str) -> Case | None:
    cases = {c.name: c for c in study.cases}
    if wanted and wanted not in cases:
        hint = did_you_mean(wanted, cases) or f" (cases: {', '.join(cases) or 'none'})"
        raise ExperimentError("W063", f"case: there is no case '{wanted}'{hint}")
    active = study.active_cases
    return cases[wanted] if wanted else active[0] if active else None


def _measured(model: Model, case: Case | None) -> tuple[str, ...]:
    """Outputs of the case; of a frequency response `y/u` the output y."""
    if case is None:
        return tuple(model.output_names())
    names = [n.rpartition("/")[0] or n if case.is_frequency else n for n in case.outputs]
    return tuple(dict.fromkeys(names))


def _require_known(model: Model, outputs: tuple[str, ...]) -> None:
    known = [q.name for q in model.quantities() if q.role != "parameter"]
    for name in outputs:
        if name not in known:
            hint = did_you_mean(name, known) or f" (there are {', '.join(known[:12])})"
            raise ExperimentError("W093", f"outputs: '{model.name}' has no variable '{name}'{hint}")


def _unknowns(
    study: Study, case: Case | None
) -> tuple[Record | None, ParameterMap, tuple[Unknown, ...], dict[str, float]]:
    if case is None:
        links, tuners, held = parameter_map_of(study)
        return None, links, tuners, dict(held)
    if case.staging:
        raise ExperimentError(
            "W094",
            f"case '{case.name}' begins in the steady state or has changes, which the design of an "
            "input does not know; leave them out",
        )
    alone = study.with_(cases=[replace(case, role="calibrate", active=True)])
    setup = prepare(alone)
    unknowns = setup.calibration().unknowns.items
    links = setup.links.of_case(case)
    return setup.records[0], links, unknowns, {**setup.held, **study.fixed_of(case)}


def _values(unknowns: tuple[Unknown, ...], given: Mapping[str, float] | None) -> Vector:
    own = {u.label: u.start for u in unknowns}
    for name in given or {}:
        if name not in own:
            hint = did_you_mean(name, own) or f" (there are {', '.join(own)})"
            raise ExperimentError("W064", f"values: there is no tuner '{name}'{hint}")
    return np.array([(given or {}).get(label, start) for label, start in own.items()], np.float64)


def values_of_fit(fit: Fit) -> dict[str, float]:
    """The estimates by label."""
    return {u.label: float(v) for u, v in zip(fit.unknowns.items, fit.values, strict=True)}


def noise_of_fit(fit: Fit) -> dict[str, float]:
    """The estimated standard deviations of the outputs: of measuring alone, where it can be told
    apart from what noise in the states does to predictions."""
    if fit.criterion == PREDICTION:
        return _measuring_noise(fit)
    return {n: math.sqrt(noise.variance) for n, noise in fit.noise.items()}


def _measuring_noise(fit: Fit) -> dict[str, float]:
    values = {t.name: t.start for t in fit.study.tuners if not t.active} | fit.estimates
    found: dict[str, float] = {}
    for case in fit.study.active_cases:
        for name, column in case.columns_of_outputs.items():
            level = output_sigma(name, column)
            value = values.get(level) if isinstance(level, str) else level
            has_own = isinstance(column.sigma, Sigma) and column.sigma.column is not None
            if value is not None and not has_own:
                found.setdefault(name, value)
    return found


def unregarded(study: Study) -> tuple[str, ...]:
    """What a design leaves out of account, in words."""
    noisy = [n for n, level in study.process_noise.items() if level != 0]
    if study.estimation.criterion != PREDICTION or not noisy:
        return ()
    return (
        f"Noise in {listed(noisy)} is left out of account: the experiment is simulated, and "
        "standard errors are those for noise of measuring alone; with noise in the states they are "
        "larger",
    )


# --- the table -----------------------------------------------------------------------------------


def _designed(model: Model, table: InputDesignTable) -> tuple[str, ...]:
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    if not inputs:
        raise ExperimentError(
            "W065",
            f"'{model.name}' has no input, so that there is nothing to design; "
            "declare one with `input Real u;`",
        )
    wanted = table.input_names
    for name in wanted:
        if name not in inputs:
            hint = did_you_mean(name, inputs) or f" (inputs: {', '.join(inputs)})"
            raise ExperimentError("W066", f"input: '{model.name}' has no input '{name}'{hint}")
    if not wanted and len(inputs) > 1:
        raise ExperimentError(
            "W067",
            f"'{model.name}' has several inputs ({', '.join(inputs)}); "
            f'say which is designed: input = "{inputs[0]}"',
        )
    return wanted or tuple(inputs)


def _times(table: InputDesignTable, record: Record | None, designed: tuple[str, ...]) -> Vector:
    """The stamps of the samples; what the table leaves open is as in the data."""
    first, step, duration = 0.0, table.step, table.duration
    in_time = record is not None and record.outputs and not record.is_frequency
    measured = record.outputs[0].time if record is not None and in_time else np.zeros(0)
    columns = record is not None and any(
        len(s.time) > 1 for n, s in record.inputs.items() if n not in designed
    )
    if record is not None and columns:
        first = record.begin  # columns of the other inputs hold at their own times
    if step is None and len(measured) > 1:
        step = float(np.median(np.diff(measured)))
    if duration is None and step is not None and len(measured) > 1:
        duration = float(np.ptp(measured)) + step
    if step is None or duration is None:
        missing = " and ".join(n for n, v in (("step", step), ("duration", duration)) if v is None)
        raise ExperimentError(
            "W068", f"say what {missing} is, in seconds, in [input_design]: there are no data"
        )
    count = round(duration / step)
    if not 2 <= count <= MOST_SAMPLES:
        raise ExperimentError(
            "W069",
            f"duration {duration:g} s with a step of {step:g} s makes {count:g} samples; take a "
            + ("shorter step" if count < 2 else f"longer step: {MOST_SAMPLES:g} is the most"),
        )
    return stamps(step, count, first)


def _counted(tuners: tuple[str, ...], table: InputDesignTable) -> tuple[int, ...]:
    wanted = names_of(table.tuners)
    for key, names in (("tuners", wanted), ("weights", tuple(table.weights))):
        for name in names:
            if name not in tuners:
                hint = did_you_mean(name, tuners) or f" (tuners: {', '.join(tuners)})"
                raise ExperimentError("W070", f"{key}: there is no active tuner '{name}'{hint}")
    return tuple(k for k, n in enumerate(tuners) if not wanted or n in wanted)


def _others(
    model: Model,
    table: InputDesignTable,
    record: Record | None,
    designed: tuple[str, ...],
    times: Vector,
) -> dict[str, Signal]:
    others = dict(record.inputs) if record else {}
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    for name, given in table.others.items():
        if name in designed:
            raise ExperimentError("W071", f"others: '{name}' is the input that is designed")
        if name not in inputs:
            hint = did_you_mean(name, inputs) or f" (inputs: {', '.join(inputs)})"
            raise ExperimentError("W066", f"others: '{model.name}' has no input '{name}'{hint}")
        if isinstance(given, dict):
            kind = given.get("signal")
            if not isinstance(kind, str):
                raise ExperimentError(
                    "W072", f'others: {name}: say which: {{ signal = "square", … }}'
                )
            own = {n: v for n, v in given.items() if n != "signal"}
            others[name] = make(kind, own).held(times)
        else:
            others[name] = Signal.constant(given)
    return {n: s for n, s in others.items() if n not in designed}


def _sigma(
    table: InputDesignTable,
    case: Case | None,
    outputs: tuple[str, ...],
    known: Mapping[str, float] | None,
) -> Vector | None:
    given = table.sigma
    if isinstance(given, float | int):
        return np.full(len(outputs), float(given))
    own: dict[str, float] = dict(known or {})
    if case is not None and not case.is_frequency:
        columns = case.columns_of_outputs
        own |= {n: c.sigma for n, c in columns.items() if isinstance(c.sigma, float)}
    for name in given or {}:
        if name not in outputs:
            hint = did_you_mean(name, outputs) or f" (outputs: {', '.join(outputs)})"
            raise ExperimentError("W073", f"sigma: '{name}' is not an output{hint}")
    own |= given or {}
    missing = [n for n in outputs if n not in own]
    if missing and given:
        raise ExperimentError("W074", f"sigma: say that of output '{missing[0]}' too")
    return None if missing else np.array([own[n] for n in outputs], np.float64)
