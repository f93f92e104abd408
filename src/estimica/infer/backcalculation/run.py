"""Back-calculation: a relation is left out, data drive the rest, and what it hid comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from time import perf_counter

import numpy as np

from estimica.base.errors import InferError
from estimica.base.problems import Problem, raise_all
from estimica.compiled.model.interface import Model
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.infer.backcalculation.points import CasePoints, model_and_case, points_of
from estimica.infer.backcalculation.ranking import KINDS, Laws, fit_laws
from estimica.infer.backcalculation.result import BackCalculation, NamedLaws
from estimica.study.case import Case
from estimica.study.check.names import known_names, start_of
from estimica.study.file.read import read_study
from estimica.study.study import Study
from estimica.study.tables.inference import BackcalculateTable, backcalculate_table

#: inputs that are taken where the user names none. Chosen: pictures and laws are made of each
MOST_AGAINST = 4


def backcalculate(
    study: Study | str | PathLike[str],
    compute: str | Sequence[str] | None = None,
    *,
    against: str | Sequence[str] | None = None,
    leave_out: str | Sequence[str] | None = None,
    laws: Sequence[str] | None = None,
    errors: str | None = None,
    max_degree: int | None = None,
    together: int | None = None,
) -> BackCalculation:
    """Compute variables or parameters at every point of the data, and try laws on them.

    The data of each case drive the model: its inputs, and its measured outputs where these are
    needed. A parameter in `compute` becomes an unknown; `leave_out` names equations that do not
    hold. What is computed is looked at `against` other variables or columns of the data, by
    default the inputs that change. What is not given here stands in `[backcalculate]`.
    """
    began = perf_counter()
    given = {
        "compute": compute,
        "against": against,
        "leave_out": leave_out,
        "laws": laws,
        "errors": errors,
        "max_degree": max_degree,
        "together": together,
    }
    asked = {n: v for n, v in given.items() if v is not None}
    if not isinstance(study, Study):
        backcalculate_table(asked)  # complains before a file is read
        study = read_study(study, asked={"backcalculate": asked})
    written = study.tables.get("backcalculate", {})
    terms = backcalculate_table(written if isinstance(written, Mapping) else {}, asked)
    _require_something(study, terms)
    driven = [model_and_case(study, c, terms.compute, terms.leave_out) for c in study.active_cases]
    terms = replace(terms, against=terms.against or _changing(driven, terms.compute))
    points = [_points(study, model, case, terms) for model, case in driven]
    tried = _laws(points, terms)
    without_laws = {n: why for n, why in tried.items() if isinstance(why, str)}
    seconds = perf_counter() - began
    return BackCalculation(
        study.name,
        terms.compute,
        terms.against,
        tuple(points),
        NamedLaws(
            {n: found for n, found in tried.items() if isinstance(found, Laws)}, without_laws
        ),
        without_laws,
        driven[0][0].has_time,
        seconds,
        origin=study,
    )


def _require_something(study: Study, terms: BackcalculateTable) -> None:
    problems = []
    if not terms.compute:
        advice = 'write compute = "the variable or parameter"'
        problems.append(Problem("I614", "[backcalculate]", "there is nothing to compute", advice))
    if not study.active_cases:
        problems.append(Problem("I615", "", "there is no case with data to compute it from"))
    for name in terms.compute:
        if name in terms.against:
            message = f"'{name}' is to be computed and cannot stand in against"
            problems.append(Problem("I616", "[backcalculate]", message))
    raise_all(problems)


def _changing(driven: Sequence[tuple[Model, Case]], compute: Sequence[str]) -> tuple[str, ...]:
    """Inputs that come from columns: what a law may depend on."""
    names = dict.fromkeys(
        n
        for _, case in driven
        for n, c in case.columns_of_inputs.items()
        if not isinstance(c, float)
    )
    return tuple(n for n in names if n not in compute)[:MOST_AGAINST]


def _points(study: Study, model: Model, case: Case, terms: BackcalculateTable) -> CasePoints:
    known = {q.name: q for q in model.quantities()}
    values = {
        n: v
        for n, v in _tuned(study).items()
        if n in known and known[n].role in ("parameter", "constant")
    }
    options = study.solver.options if model.has_time else None
    return points_of(model, case, values, terms.compute, terms.against, options)


def _tuned(study: Study) -> dict[str, float]:
    """Parameters as the tuners set them where the search would begin."""
    known = known_names(study)
    starts = [start_of(study, t, known) for t in study.tuners]
    kept = [(t, s) for t, s in zip(study.tuners, starts, strict=True) if s is not None]
    if not kept:
        return {}
    links = ParameterMap([t for t, _ in kept], {}, study.driven)
    values, _ = links.at(np.array([s for _, s in kept], float))
    return dict(zip(links.parameters, map(float, values), strict=True))


def _laws(points: Sequence[CasePoints], terms: BackcalculateTable) -> dict[str, Laws | str]:
    """The laws of each computed variable, or why there are none."""
    laws: dict[str, Laws | str] = {}
    columns = {
        n: np.concatenate([p.values[n] for p in points]) for n in (*terms.compute, *terms.against)
    }
    for target in terms.compute if terms.against else ():
        try:
            laws[target] = fit_laws(
                target,
                columns[target],
                {n: columns[n] for n in terms.against},
                kinds=terms.laws or KINDS,
                max_degree=terms.max_degree,
                together=terms.together,
                errors=terms.errors,
            )
        except InferError as error:
            if error.code not in ("I602", "I605"):
                raise
            laws[target] = error.message
    return laws
