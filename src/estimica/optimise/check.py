"""Check of a design: every criterion and indicator in every case, all mistakes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.estimate.setup import parameter_map_of
from estimica.optimise.criteria.experiments import bare_case, experiment_of
from estimica.optimise.criteria.formulas import ValueScorer
from estimica.optimise.criteria.indicators import DrawnIndicators, require_indicator_cases
from estimica.optimise.criteria.score import CriterionInCase
from estimica.optimise.criteria.trajectory import Experiment, TrajectoryScorer
from estimica.optimise.design import require_cases
from estimica.optimise.pareto.run import front_criteria
from estimica.optimise.robust import scenarios_of
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tables.optimisation import optimise_table


def check_design(study: Study) -> list[Problem]:
    """What is wrong with the criteria, indicators and `[optimise]` of a study; nothing is run."""
    if not study.active_criteria:
        return []
    try:
        links, _, held = parameter_map_of(study)
    except EstimicaError as error:
        return [_problem(error)]
    remarks = list(_tables(study))
    names = [c.name for c in study.cases]
    for criterion in study.active_criteria:
        remarks += _tried(partial(require_cases, [criterion], names))
    for indicator in study.indicators:
        remarks += _tried(partial(require_indicator_cases, indicator, names))
    for case in list(study.active_cases) or [bare_case()]:
        remarks += _case(study, case, links, held)
    return list(dict.fromkeys(remarks))


def _case(
    study: Study, case: Case, links: ParameterMap, held: dict[str, float]
) -> Iterator[Problem]:
    model = study.model_of(case)
    try:
        links = links.of_case(case)
        experiment = experiment_of(study, case, held) if model.has_time else None
    except EstimicaError as error:
        yield _problem(error)
        experiment = Experiment(case.name, 0.0, 1.0, {}, {}, {})
        known_end = False
    else:
        known_end = True
    for criterion in study.active_criteria:
        if criterion.cases and case.name not in criterion.cases:
            continue
        if not known_end:
            criterion = replace(criterion, from_=None, to=None)
        place = CriterionInCase(criterion, case.name)

        def criterion_made(place: CriterionInCase = place) -> None:
            if place.criterion.kind == "value" or experiment is None:
                ValueScorer(model, links, {**held, **study.fixed_of(case)}, [place])
            else:
                TrajectoryScorer(model, experiment, links, [place], code_for=study.code_for)

        yield from _tried(criterion_made)
    if experiment is None:
        return
    for indicator in study.indicators:
        if not indicator.cases or case.name in indicator.cases:
            options = study.solver.options
            made = partial(DrawnIndicators, model, experiment, links, [indicator], options)
            yield from _tried(made)


def _tables(study: Study) -> Iterator[Problem]:
    table = study.tables.get("optimise", {})
    try:
        chosen = optimise_table(table if isinstance(table, dict) else {})
    except EstimicaError as error:
        yield _problem(error)
        return
    if chosen.robust is not None and not chosen.robust.covariance:
        robust = chosen.robust
        yield from _tried(lambda: scenarios_of(study, robust, chosen.seed))
    if chosen.pareto is not None and chosen.pareto.criteria:
        names = chosen.pareto.criteria
        yield from _tried(lambda: front_criteria(study, names))


def _tried(work: Callable[[], object]) -> list[Problem]:
    try:
        work()
    except EstimicaError as error:
        return [_problem(error)]
    return []


def _problem(error: EstimicaError) -> Problem:
    return Problem(error.code, "", error.message)
