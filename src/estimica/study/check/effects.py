"""Effects: one evaluation at the start, which shows whether all that is free does something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem
from estimica.base.quantities import Quantity
from estimica.compiled.model.interface import ModelResponse
from estimica.source.formula import parse_formula
from estimica.study.case import Case
from estimica.study.check.names import start_of
from estimica.study.formulas import noise_tuners, without_noise_tuners
from estimica.study.record.samples import Record
from estimica.study.study import FIXED, Study

NO_EFFECT = "T014"
#: of an output, for a change of a tuner by its own size. Chosen: the sensitivity to a tuner without
#: effect is zero, or rounding (1e-16) where terms cancel, and no data tell the twelfth digit
NOTHING = 1e-12
#: relative range of a signal that is taken as constant. Chosen: of a temperature in kelvin, 0.3 K
FLAT = 1e-3


@dataclass(frozen=True)
class _Setting:
    """Parameters at the start: their values, and how they move with each tuner."""

    parameters: tuple[str, ...]  # that active tuners set
    values: Mapping[str, float]  # of all that tuners set
    slopes: Mapping[str, Mapping[str, float]]  # tuner -> parameter -> derivative

    def moving(self, parameters: Sequence[str]) -> set[str]:
        """The tuners that move one of these parameters."""
        return {n for n, own in self.slopes.items() if any(own.get(p) for p in parameters)}


@dataclass(frozen=True)
class _Effect:
    """Where a free quantity starts, and whether it moves an output."""

    start: float
    moves: bool


def check_effects(
    study: Study, records: Iterable[Record], known: Mapping[str, Quantity]
) -> list[Problem]:
    """Simulate each case once; tell what fails, and which tuners and start values move nothing."""
    of_noise = noise_tuners(study.tuners, study.noise_names, {*known, *study.formula_names})
    starts = {t.name: start_of(study, t, known) for t in study.tuners if t.name not in of_noise}
    if any(v is None for v in starts.values()):
        return []
    study = without_noise_tuners(study)
    begun = {n: v for n, v in starts.items() if v is not None}
    problems: list[Problem] = []
    moved: set[str] = set()
    failed = False
    for record in records:
        setting = _setting(study, begun, record.case)
        where = f"case '{record.case.name}'"
        try:
            effects = _effects(study, record, setting, known)
        except EstimicaError as error:
            problems.append(Problem(error.code, where, f"at the start values: {error.message}"))
            failed = True
            continue
        if isinstance(effects, str):
            message = f"the simulation fails at the start values: {effects}"
            advice = "change the start values of tuners or states" + _zeros(begun)
            if not study.model.has_time:
                message = f"the start values do not suit: {effects}"
                advice = "leave such points out with exclude, or change the start values of tuners"
            problems.append(Problem("C031", where, message, advice))
            failed = True
            continue
        moved |= setting.moving([p for p in setting.parameters if effects[p].moves])
        problems += _start_values(record, effects)
    if not failed:
        problems += _idle(study, moved)
    return problems


def _zeros(starts: Mapping[str, float]) -> str:
    """Tuners that start at zero: an inductance or a mass of zero is what fails most often."""
    named = ", ".join(f"'{n}'" for n, v in starts.items() if v == 0)
    return f": {named} start{'' if ',' in named else 's'} at 0" if named else ""


def reaches(
    study: Study, records: Iterable[Record], known: Mapping[str, Quantity]
) -> Vector | None:
    """How far each tuner moves each sample, (samples, tuners); None where that is not known.

    For a change of the tuner by its own size, relative to how far the output varies by itself, or
    to its size where it hardly does.
    """
    starts = {t.name: start_of(study, t, known) for t in study.tuners}
    begun = {n: v for n, v in starts.items() if v is not None}
    names = [t.name for t in study.tuners]
    blocks = []
    for record in records:
        setting = _setting(study, begun, record.case)
        fixed = {**setting.values, **study.fixed_of(record.case)}
        try:
            response = _response(study, record, fixed, {}, names)
            theta = response.tuners
            run = response.at(theta)
        except EstimicaError:
            return None
        if not run.ok or not np.isfinite(run.YS).all():
            return None
        size = np.where(theta != 0, np.abs(theta), 1.0)
        level, range_ = np.abs(run.Y).max(axis=0), np.ptp(run.Y, axis=0)
        level = np.where(range_ > FLAT * level, range_, level)
        moved = run.YS * size / np.where(level > 0, level, 1.0)[:, None]
        blocks.append(moved.reshape(-1, len(names)))
    return np.vstack(blocks) if blocks else None


def _start_values(record: Record, effects: Mapping[str, _Effect]) -> Iterable[Problem]:
    where = f"case '{record.case.name}'"
    for name, given in record.case.start_values.items():
        value = effects[name].start
        if not effects[name].moves:
            message = f"free_start: '{name}' has no effect on any output of the case"
            yield Problem("C032", where, message, "leave it out")
        if given.start is None and not given.min <= value <= given.max and value == value:
            side = f"below min {given.min:g}" if value < given.min else f"above max {given.max:g}"
            message = f"free_start: '{name}' starts from the model's value {value:g}, {side}"
            yield Problem("C034", where, message, "give a start")


def _idle(study: Study, moved: set[str]) -> Iterable[Problem]:
    for tuner in study.active_tuners:
        if tuner.name not in moved:
            yield Problem(
                NO_EFFECT,
                f"tuner '{tuner.name}'",
                "has no effect on any output at the start values",
                "leave it out (active = false), or measure something that depends on it",
            )


def _setting(study: Study, starts: Mapping[str, float], case: Case) -> _Setting:
    values: dict[str, float] = {}
    slopes: dict[str, dict[str, float]] = {t.name: {} for t in study.active_tuners}
    driven = {p: (t.name, text) for t in study.tuners for p, text in study.driven(t).items()}
    named = {n: (n, n) for n in case.staged_names if n in starts and n not in driven}
    for parameter, (tuner, text) in {**driven, **named, **_followed(case)}.items():
        if text.strip() == tuner:
            values[parameter] = starts[tuner]
            moving = {tuner: 1.0}
        else:
            formula = parse_formula(text)
            values[parameter] = float(formula.at(dict(starts)))
            moving = {n: float(formula.partial(n).at(dict(starts))) for n in formula.names}
        for name, slope in moving.items():
            if name in slopes:
                slopes[name][parameter] = slope
    parameters = tuple(dict.fromkeys(p for s in slopes.values() for p in s))
    return _Setting(parameters, values, slopes)


def _followed(case: Case) -> dict[str, tuple[str, str]]:
    return {parameter: ("", text) for parameter, text in case.followed.items()}


def _effects(
    study: Study, record: Record, setting: _Setting, known: Mapping[str, Quantity]
) -> dict[str, _Effect] | str:
    """What each free quantity of a case does, or why that is not known."""
    case = record.case
    fixed = {**setting.values, **study.fixed_of(case)}
    fixed |= {n: s.start for n, s in case.start_values.items() if s.start is not None}
    is_parameter = {n: n not in known or known[n].role in FIXED for n in fixed}
    free = [*setting.parameters, *case.start_values]
    parameters = {n: v for n, v in fixed.items() if is_parameter[n]}
    starts = {n: v for n, v in fixed.items() if not is_parameter[n]}
    response = _response(study, record, parameters, starts, free)
    theta = response.tuners
    run = response.at(theta)
    if not run.ok:
        return run.text
    width = run.Y.shape[1] // len(record.outputs)  # two columns for a frequency response
    for k, measured in enumerate(record.outputs):
        if not np.isfinite(run.Y[:, width * k : width * (k + 1)]).all():
            return f"output '{measured.name}' is not finite"
    if not free:
        return {}
    size = np.where(theta != 0, np.abs(theta), 1.0)
    reach = np.abs(run.YS).max(axis=0) * size  # (ny, m)
    level = np.abs(run.Y).max(axis=0)[:, None]
    moves = (reach > NOTHING * level).any(axis=0)
    return {n: _Effect(float(v), bool(m)) for n, v, m in zip(free, theta, moves, strict=True)}


def _response(
    study: Study,
    record: Record,
    parameters: Mapping[str, float],
    starts: Mapping[str, float],
    free: Sequence[str],
) -> ModelResponse:
    """The model over the time or the frequencies of a case."""
    transfers = [m.transfer for m in record.outputs if m.transfer is not None]
    if transfers:
        return study.model_of(record.case).frequency_experiment(
            np.unique(np.concatenate([t.omega for t in transfers])),
            {n: float(s.value[0]) for n, s in record.inputs.items()},
            parameters,
            starts,
            transfers=[(t.output, t.input) for t in transfers],
            wrt=free,
            operating_point=record.case.operating_point or "steady",
        )
    return study.model_of(record.case).response(
        np.unique(np.concatenate([m.time for m in record.outputs])),
        dict(record.inputs),
        parameters,
        starts,
        outputs=[m.name for m in record.outputs],
        wrt=free,
        begin=record.begin,
        options=study.solver.options,
    )
