"""Setup: from a study to its objective: unknowns counted, cases simulated, outputs weighed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError, TunerError
from estimica.base.problems import raise_all
from estimica.base.quantities import Quantity
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.estimate.criteria.block import Outputs, blocks_of
from estimica.estimate.criteria.scoring import criterion_of
from estimica.estimate.noise_starts import with_noise_starts
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.estimate.objective.predictor import (
    CasePredictor,
    FrequencyPredictor,
    Predictor,
    UnknownIndex,
    split,
)
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.objective.total_least_squares import (
    TotalPredictor,
    require_possible,
    total_weights,
    with_inputs,
)
from estimica.estimate.stretch_starts import StretchGuess
from estimica.estimate.unknowns import Unknown, Unknowns, typical_size
from estimica.simulate.engine.options import Options
from estimica.study.case import StartValue
from estimica.study.check.data import check_noise
from estimica.study.check.names import formula_problems, instead_of_tuning
from estimica.study.check.prediction import check_prediction
from estimica.study.estimation import Estimation, Solver
from estimica.study.noise.process import PREDICTION
from estimica.study.record.samples import Record, record_for
from estimica.study.record.stretches import in_stretches
from estimica.study.study import Study
from estimica.study.tuner import Tuner


@dataclass(frozen=True, eq=False)
class Setup:
    """A study whose data are read and whose tuners are linked to the model."""

    study: Study
    records: tuple[Record, ...]
    links: ParameterMap
    tuners: tuple[Unknown, ...]
    held: Mapping[str, float]  # parameters set by inactive tuners
    #: of noise levels that are tuners: values at which there is no noise
    noise_floors: Mapping[str, float] = field(default_factory=dict)

    def of_role(self, role: str) -> tuple[Record, ...]:
        """Records of the cases that calibrate, or that validate."""
        return tuple(r for r in self.records if r.case.role == role)

    @property
    def first_records(self) -> tuple[Record, ...]:
        """One record of each case, the first: without stretches behind gaps."""
        stretches = self.study.partition.stretches
        later = {n for n, s in stretches.items() if s.number > 1}
        return tuple(r for r in self.records if r.case.name not in later)

    def origin_of(self, case: str) -> str:
        """The instant of 0 s of a case or stretch where its stamps are dates; else nothing."""
        return next((r.origin for r in self.records if r.case.name == case), "")

    def whole_record(self, case: str) -> Record:
        """A case as the study has it, with the samples of all its stretches."""
        partition = self.study.partition
        parts = [r for r in self.records if partition.case_of(r.case.name) == case]
        if len(parts) == 1:
            return parts[0]
        outputs = [
            [m for r in parts for m in r.outputs if m.name == n.name] for n in parts[0].outputs
        ]
        joined = [
            replace(
                own[0],
                time=np.concatenate([m.time for m in own]),
                value=np.concatenate([m.value for m in own]),
            )
            for own in outputs
        ]
        return replace(parts[0], outputs=tuple(joined))

    def begun(self, role: str) -> tuple[Record, ...]:
        """The same of the cases that calibrate, or that validate."""
        return tuple(r for r in self.first_records if r.case.role == role)

    def calibration(self, solver: Solver | None = None) -> ResidualFunction:
        """The calibrating cases over all tuners and their own unknowns."""
        return self._cases(self.of_role("calibrate"), self.tuners, self.links, {}, solver)

    def unfitted(self) -> ResidualFunction:
        """Like `calibration`, of the validating cases: to look at them, not to fit them."""
        return self._cases(self.of_role("validate"), self.tuners, self.links, {}, None)

    def validation(self, one: Record, tuners: Vector) -> ResidualFunction:
        """One case over its own unknowns, the tuners held at the given values."""
        links = self.links.of_case(one.case)
        parameters, _ = links.at(tuners)
        held = dict(zip(links.parameters, map(float, parameters), strict=True))
        named = dict(zip(links.tuners, map(float, tuners), strict=True))
        return self._cases((one,), (), ParameterMap((), {**links.fixed, **named}), held, None)

    def _cases(
        self,
        records: Sequence[Record],
        tuners: Sequence[Unknown],
        links: ParameterMap,
        held: Mapping[str, float],
        solver: Solver | None,
    ) -> ResidualFunction:
        study = self.study
        unknowns = list(tuners)
        places = []
        of_case = [links.of_case(r.case) for r in records]
        for one, own_links in zip(records, of_case, strict=True):
            fixed = {**self.held, **held, **study.fixed_of(one.case)}
            model = study.model_of(one.case)
            own = _own_unknowns(model, one, fixed, self._tuned_parameters(own_links, tuners))
            first = len(unknowns)
            starts = {u.name: first + k for k, u in enumerate(own) if u.kind == "start"}
            extra = {u.name: first + k for k, u in enumerate(own) if u.kind == "disturbance"}
            places.append(UnknownIndex(tuple(range(len(tuners))), starts, extra))
            unknowns += own
        options = (solver or study.solver).options
        blocks = blocks_of(
            _outputs(records), study.estimation.criterion, _outputs(self.of_role("calibrate"))
        )
        criterion = criterion_of(study.estimation, blocks, study.code_for)
        predictors: list[Predictor] = []
        for one, place, own_links in zip(records, places, of_case, strict=True):
            sizes = self._sizes(own_links, tuners) + [
                unknowns[k].scale for k in place.starts.values()
            ]
            scaled = replace(options, tuner_scales=tuple(sizes))
            fixed = {**self.held, **held, **study.fixed_of(one.case)}
            model = study.model_of(one.case)
            if one.uncertain:
                counted = [b for b in blocks if b.case == one.case.name]
                weights = total_weights(counted, study.estimation)
                predictors.append(
                    TotalPredictor(model, one, own_links, fixed, place, scaled, weights)
                )
            else:
                predictors.append(self._predictor(one, own_links, fixed, place, scaled))
        return ResidualFunction(Unknowns(unknowns), predictors, blocks, criterion)

    def _predictor(
        self,
        one: Record,
        links: ParameterMap,
        fixed: Mapping[str, float],
        places: UnknownIndex,
        options: Options,
    ) -> Predictor:
        """What evaluates a case: over time, over frequencies, or by a filter."""
        study, model = self.study, self.study.model_of(one.case)
        if study.estimation.criterion == PREDICTION:
            # knows the engine, which other kinds of models have no use for
            from estimica.estimate.objective.filter_predictor import FilterPredictor, filter_noise

            noise = filter_noise(study, one)
            begun = {t.name: t.start for t in self.tuners}
            return FilterPredictor(model, one, links, fixed, places, options, noise, begun)
        if one.is_frequency:
            return FrequencyPredictor(model, one, links, fixed, places)
        return CasePredictor(model, one, links, fixed, places, options)

    def _tuned_parameters(self, links: ParameterMap, tuners: Sequence[Unknown]) -> dict[str, float]:
        values, _ = links.at(np.array([t.start for t in tuners], float))
        return dict(zip(links.parameters, map(float, values), strict=True))

    def _sizes(self, links: ParameterMap, tuners: Sequence[Unknown]) -> list[float]:
        """Typical sizes of the parameters, for the error control of their sensitivities."""
        sizes = np.array([t.scale for t in tuners], float)
        _, chain = links.at(np.array([t.start for t in tuners], float))
        found = np.abs(chain) @ sizes
        return [float(s) if s > 0 and math.isfinite(s) else 1.0 for s in found]


def _outputs(records: Sequence[Record]) -> Outputs:
    """What counts of every case, inputs with errors included."""
    return [(r.case.name, with_inputs(r).outputs) for r in records]


def prepare(study: Study) -> Setup:
    """Read the data of a study, in stretches between gaps, and link its tuners to the model."""
    study = in_stretches(study)
    records = tuple(record_for(c, study.model_of(c), study.shared) for c in study.active_cases)
    study, records, floors = with_noise_starts(study, records)
    links, tuners, held = parameter_map_of(study)
    if not any(r.case.role == "calibrate" for r in records):
        raise FitError("F001", f"study '{study.name}' has no case to calibrate with; add one")
    for one in records:
        require_possible(one, study.estimation)
    require_filterable(records, study.estimation)
    if study.partition.stretches:
        starts = np.array([t.start for t in tuners], float)
        records = StretchGuess(study, links, starts, held).completed(records)
        completed = {r.case.name: r.case for r in records}
        study = study.with_(cases=[completed.get(c.name, c) for c in study.cases])
    names = [t.name for t in study.tuners]
    raise_all([p for p in check_prediction(study) if not p.warning])
    raise_all(
        [
            p
            for one in records
            for p in check_noise(one, study.estimation, names, study.model_of(one.case))
        ]
    )
    return Setup(study, records, links, tuners, held, floors)


def parameter_map_of(study: Study) -> tuple[ParameterMap, tuple[Unknown, ...], dict[str, float]]:
    """(links, active tuners, parameters that inactive ones set): a study without its data."""
    known = {q.name: q for q in study.model.quantities()}
    active = study.active_tuners
    _require_targets(study, known)
    raise_all([p for case in study.active_cases for p in formula_problems(study, case)])
    fixed = {t.name: _start(study, t, known) for t in study.tuners if not t.active}
    links = ParameterMap(active, fixed, study.driven)
    idle = ParameterMap([t for t in study.tuners if not t.active], {}, study.driven)
    values, _ = idle.at(np.array(list(fixed.values()), float))
    held = dict(zip(idle.parameters, map(float, values), strict=True))
    return links, tuple(_unknown(study, t, known) for t in active), held


def _require_targets(study: Study, known: Mapping[str, Quantity]) -> None:
    model, has_sigmas = study.model, bool(study.noise_names)
    tunable = [n for n, q in known.items() if q.role in ("parameter", "constant")]
    for tuner in study.tuners:
        for name in study.driven(tuner):
            q = known.get(name)
            if q is None:
                raise TunerError(
                    "T016",
                    f"tuner '{tuner.name}': model '{model.name}' has no parameter '{name}'"
                    f"{', and no formula of sigma speaks of it' if has_sigmas else ''}"
                    f"{did_you_mean(name, tunable)}",
                )
            if q.role in ("parameter", "constant") and not q.tunable:
                raise TunerError(
                    "T008",
                    f"tuner '{tuner.name}': '{name}' cannot be tuned: {q.why_not}; "
                    f"{instead_of_tuning(q)}",
                )
            if q.role not in ("parameter", "constant"):
                raise TunerError(
                    "T009",
                    f"tuner '{tuner.name}': '{name}' is a variable, not a parameter; to find its "
                    "start value put it into free_start of the case",
                )


def _start(study: Study, tuner: Tuner, known: Mapping[str, Quantity]) -> float:
    """Where the search begins: the given start, else the model's value within the bounds."""
    if tuner.start is not None:
        return tuner.start
    for name, text in study.driven(tuner).items():
        value = known[name].value
        if text.strip() == tuner.name and isinstance(value, (int, float)) and math.isfinite(value):
            if not tuner.min <= value <= tuner.max:
                raise TunerError(
                    "T005",
                    f"tuner '{tuner.name}': the model's value {value:g} is outside its bounds "
                    f"{tuner.min:g} … {tuner.max:g}; give a start",
                )
            return float(value)
    raise TunerError("T012", f"tuner '{tuner.name}': the model has no value for it; give a start")


def _unknown(study: Study, tuner: Tuner, known: Mapping[str, Quantity]) -> Unknown:
    start = _start(study, tuner, known)
    own = known.get(next(iter(study.driven(tuner)), ""))
    nominal = own.nominal if own and tuner.name in known else None
    log = tuner.scale == "log"
    if log and start <= 0:
        raise TunerError(
            "T006", f"tuner '{tuner.name}': scale 'log' needs a positive start, not {start:g}"
        )
    if isinstance(tuner.scale, float):
        size = tuner.scale
    else:
        size = typical_size(start, tuner.min, tuner.max, nominal)
    return Unknown(
        tuner.name,
        "tuner",
        start,
        max(tuner.min, 0.0) if log else tuner.min,
        tuner.max,
        size,
        log,
        prior=tuner.prior,
        unit=tuner.unit or (own.unit if own else ""),
        description=tuner.description or (own.description if own else ""),
    )


def _own_unknowns(
    model: Model, one: Record, fixed: Mapping[str, float], tuned: Mapping[str, float]
) -> list[Unknown]:
    """Free start values and disturbances of a case."""
    case = one.case
    known = {q.name: q for q in model.quantities()}
    unknowns = []
    starts = case.start_values
    guesses = _start_guesses(model, one, fixed, tuned, starts)
    for name, given in starts.items():
        q = known.get(name)
        unknowns.append(_of_case(name, "start", given, guesses[name], case.name, q))
    for measured in one.outputs:
        if measured.disturbance is not None:
            size = replace_nominal(known.get(measured.name), measured.rms)
            unknowns.append(
                _of_case(
                    measured.name,
                    "disturbance",
                    measured.disturbance,
                    measured.disturbance.start or 0.0,
                    case.name,
                    size,
                )
            )
    return unknowns


def replace_nominal(quantity: Quantity | None, size: float) -> Quantity | None:
    """The quantity of a disturbance: its typical size is that of the signal."""
    return Quantity("", nominal=size) if quantity is None else replace(quantity, nominal=size)


def _start_guesses(
    model: Model,
    one: Record,
    fixed: Mapping[str, float],
    tuned: Mapping[str, float],
    starts: Mapping[str, StartValue],
) -> dict[str, float]:
    """Where the search of start values begins: given, or what the model starts with."""
    open_ = [n for n, s in starts.items() if s.start is None]
    guesses = {n: s.start for n, s in starts.items() if s.start is not None}
    if open_:
        parameters, begun = split(model, {**tuned, **fixed})
        response = model.response(
            [one.begin],
            dict(one.inputs),
            parameters,
            begun,
            outputs=[],
            wrt=open_,
            begin=one.begin,
        )
        for name, value in zip(open_, response.tuners, strict=True):
            given = starts[name]
            guesses[name] = min(max(float(value), given.min), given.max)
    return guesses


def _of_case(
    name: str,
    kind: str,
    given: StartValue,
    start: float,
    case: str,
    quantity: Quantity | None,
) -> Unknown:
    nominal = quantity.nominal if quantity else None
    return Unknown(
        name,
        kind,  # type: ignore[arg-type]
        start,
        given.min,
        given.max,
        typical_size(start, given.min, given.max, nominal),
        case=case,
        prior=given.prior,
        unit=quantity.unit if quantity else "",
        description=quantity.description if quantity else "",
    )


def require_filterable(records: Sequence[Record], estimation: Estimation) -> None:
    """Refuse ways to estimate that need every residual to belong to one sample."""
    for one in records:
        for measured in one.outputs:
            if measured.prefilter is None:
                continue
            where = f"case '{one.case.name}', output '{measured.name}': with a prefilter"
            if estimation.transcription != "shooting":
                raise FitError(
                    "F101",
                    f"{where} a residual depends on all samples before it, and "
                    f"'{estimation.transcription}' cuts them apart; use transcription = 'shooting'",
                )
            if estimation.criterion not in ("oe", "ml"):
                raise FitError(
                    "F102", f"{where} the criterion must be 'oe' or 'ml', not an own one"
                )
            if estimation.loss != "squared":
                raise FitError(
                    "F103",
                    f"{where} an outlier is spread over many residuals, which loss = "
                    f"'{estimation.loss}' cannot undo; leave the loss out, or the prefilter",
                )
