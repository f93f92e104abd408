"""Experiments: what each case of a design simulates, from its data or from numbers alone."""

from __future__ import annotations

from collections.abc import Mapping

from estimica.base.errors import DesignError
from estimica.base.signals import Signal
from estimica.estimate.objective.predictor import split
from estimica.optimise.criteria.trajectory import Experiment
from estimica.study.case import Case
from estimica.study.record.samples import record_for
from estimica.study.study import Study


def experiment_of(study: Study, case: Case, held: Mapping[str, float]) -> Experiment:
    """Begin, end, inputs and fixed numbers of a case; inactive tuners hold what they set."""
    if case.staging:
        raise DesignError(
            "O100",
            f"case '{case.name}': a design has no begin = \"steady\" and no change; write them "
            "into the model",
        )
    model = study.model_of(case)
    parameters, start = split(model, {**held, **study.fixed_of(case)})
    begin, end = 0.0, case.stop
    if case.data is None:
        inputs = _numbers(case)
    else:
        own = record_for(case, model, study.shared)
        inputs = dict(own.inputs)
        begin = own.begin
        if end is None:
            end = max((float(m.time[-1]) for m in own.outputs if len(m.time)), default=begin)
    suggested = getattr(model, "experiment", None)
    if case.data is None and suggested is not None and suggested.start is not None:
        begin = float(suggested.start)
    if end is None and suggested is not None and suggested.stop is not None:
        end = float(suggested.stop)
    begin = begin if case.begin_time is None else case.begin_time
    if end is None:
        raise DesignError("O015", f"case '{case.name}' has no end; write stop = 10 for ten seconds")
    if end <= begin:
        raise DesignError("O016", f"case '{case.name}': stop {end:g} is not after {begin:g}")
    return Experiment(case.name, begin, end, inputs, parameters, start)


def bare_case(name: str = "") -> Case:
    """The one case of a study that names none: the model as it is."""
    return Case(name or "design")


def _numbers(case: Case) -> dict[str, Signal]:
    values = {}
    for name, given in case.columns_of_inputs.items():
        if not isinstance(given, (int, float)):
            raise DesignError(
                "O017",
                f"case '{case.name}': input '{name}' takes a column, but the case has no data; "
                "give data, or a number",
            )
        values[name] = Signal.constant(float(given))
    return values
