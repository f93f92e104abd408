"""Names: whether tuners, inputs, outputs and start values mean something in the model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem
from estimica.base.quantities import Quantity
from estimica.base.suggest import close_names, did_you_mean
from estimica.compiled.model.interface import Model
from estimica.compiled.model.observations import TIME
from estimica.simulate.kinds import is_linear
from estimica.simulate.linear.frequency_function import FrequencyFunction
from estimica.source.formula import parse_formula
from estimica.study.case import Case
from estimica.study.formulas import noise_tuners
from estimica.study.noise.process import PREDICTION
from estimica.study.stretch import PART, is_stretch
from estimica.study.study import FIXED, Study
from estimica.study.tuner import Tuner

UNKNOWN_INPUT = "E203"
WITH_START = ("state", "memory", "alias", "logical")

Known = Mapping[str, Quantity]


def known_names(study: Study) -> dict[str, Quantity]:
    """What the model has, by name."""
    return {q.name: q for q in study.model.quantities()}


def known_in_case(study: Study, case: Case) -> dict[str, Quantity]:
    """The same with the inputs that a case names; as declared where they cannot be inputs."""
    return {q.name: q for q in model_in_case(study, case).quantities()}


def model_in_case(study: Study, case: Case) -> Model:
    """The model of a case; that of the study where the case asks for what is not possible."""
    try:
        return study.model_of(case)
    except EstimicaError:  # told by the check of names
        return study.model


def check_names(study: Study) -> list[Problem]:
    """Names that are unknown, of the wrong kind, or used twice."""
    known = known_names(study)
    problems = list(_tuners(study, known))
    for case in study.active_cases:
        problems += _case(study, case, known_in_case(study, case))
    return problems


def start_of(study: Study, tuner: Tuner, known: Known) -> float | None:
    """Where the search begins: the given start, or the model's own value."""
    if tuner.start is not None:
        return tuner.start
    for name, text in study.driven(tuner).items():
        value = known[name].value if name in known else None
        if text.strip() == tuner.name and isinstance(value, (int, float)) and math.isfinite(value):
            return float(value)
    return None


# --- tuners --------------------------------------------------------------------------------------


def _tuners(study: Study, known: Known) -> Iterator[Problem]:
    owner: dict[str, str] = {}
    names = [t.name for t in study.tuners]
    of_noise = noise_tuners(study.tuners, study.noise_names, {*known, *study.formula_names})
    for tuner in study.tuners:
        where = f"tuner '{tuner.name}'"
        if tuner.name in of_noise:
            if tuner.start is None and study.estimation.criterion != PREDICTION:
                message = "stands in a formula of sigma only and has no start"
                yield Problem("T012", where, message, "give one")
            continue
        for parameter, text in study.driven(tuner).items():
            wrong = _not_tunable(parameter, known)
            if wrong:
                code, message, advice = wrong
                yield Problem(code, where, message, advice)
            elif parameter in owner:
                yield Problem(
                    "T010",
                    where,
                    f"parameter '{parameter}' is set by tuner '{owner[parameter]}' already",
                    "let one of them set it",
                )
            owner.setdefault(parameter, tuner.name)
            if text.strip() != tuner.name:
                yield from _driven(where, parameter, text, tuner.name, names)
        yield from _start(study, tuner, where, known)


def _driven(where: str, parameter: str, text: str, own: str, names: list[str]) -> Iterator[Problem]:
    try:
        used = parse_formula(text, f"drives '{parameter}'").names
    except EstimicaError as error:
        yield Problem(error.code, where, error.message)
        return
    for name in used:
        if name not in names:
            hint = did_you_mean(name, names) or f"; the tuners are {', '.join(names)}"
            message = f"drives '{parameter}': '{name}' in '{text}' is not a tuner{hint}"
            yield Problem("T011", where, message)
    if own not in used and all(n in names for n in used):
        message = f"drives '{parameter}': '{text}' does not contain '{own}'"
        yield Problem("T011", where, message, "write an expression in the tuner")


def _not_tunable(name: str, known: Known) -> tuple[str, str, str] | None:
    """(code, why a tuner cannot set `name`, what to do); None where it can."""
    q = known.get(name)
    if q is None:
        return "T016", *_unknown("parameter", name, known, FIXED)
    if q.role == "input":
        advice = "give it in the inputs of a case"
        return "T009", f"'{name}' is an input, not a parameter", advice
    if q.role not in FIXED:
        advice = "to find its start value, put it into free_start of a case"
        return "T009", f"'{name}' is a variable, not a parameter", advice
    if q.tunable:
        return None
    return "T008", f"'{name}' cannot be tuned: {q.why_not}", instead_of_tuning(q)


def instead_of_tuning(q: Quantity) -> str:
    """What to do with a parameter that cannot be tuned."""
    if " final and follows " in q.why_not:
        return "tune what it follows"
    sealed = q.why_not.startswith(("it is declared final", "the FMU ", "initial equations "))
    changeable = q.role != "constant" and not sealed
    return "set it with [model] fix" if changeable else "leave it out, or change the model"


def _start(study: Study, tuner: Tuner, where: str, known: Known) -> Iterator[Problem]:
    if tuner.start is not None or not all(n in known for n in study.driven(tuner)):
        yield from _own_bounds(tuner, where, known)
        return
    value = start_of(study, tuner, known)
    if value is None:
        yield Problem("T012", where, "has no start, and the model has no value for it", "give one")
    elif not tuner.min <= value <= tuner.max:
        side = f"below min {tuner.min:g}" if value < tuner.min else f"above max {tuner.max:g}"
        yield Problem("T005", where, f"the model's value {value:g} is {side}", "give a start")
    elif tuner.scale == "log" and value <= 0:
        message = f"scale 'log' needs a positive start, and the model's value is {value:g}"
        yield Problem("T006", where, message, "give a start")


def _own_bounds(tuner: Tuner, where: str, known: Known) -> Iterator[Problem]:
    """A start that the model itself does not allow."""
    q = known.get(tuner.name)
    if q is None or q.role not in FIXED or tuner.start is None:
        return
    if not q.min <= tuner.start <= q.max:
        side = f"below min {q.min:g}" if tuner.start < q.min else f"above max {q.max:g}"
        message = f"start {tuner.start:g} is {side} that the model declares"
        yield Problem("T013", where, message, "are the units right?", warning=True)


# --- cases ---------------------------------------------------------------------------------------


def _case(study: Study, case: Case, known: Known) -> Iterator[Problem]:
    where = f"case '{case.name}'"
    parameters = {q.name for q in known.values() if q.role in FIXED}
    tuned = {p for t in study.active_tuners for p in study.driven(t) if p in parameters}
    refused = _refused(study, case)
    if refused:  # what is an input and what is none is not known then
        yield refused
        return
    inputs = [n for n in case.inputs if not _not_input(n, known)]
    for name in case.inputs:
        wrong = _not_input(name, known)
        if wrong:
            yield Problem("C020", where, *wrong)
    driven = study.model.driven_by(tuple(inputs))
    for name in case.outputs:
        name = name.rpartition("/")[0] or name if case.is_frequency else name
        why = driven.why_unknown(name)
        wrong = (why, "") if why else _not_output(name, known, has_time=study.model.has_time)
        if wrong:
            yield Problem("C021", where, *wrong)
    for name in case.start_values:
        wrong = _without_start(name, known)
        if wrong:
            yield Problem("C022", where, *wrong)
    yield from _own_starts(case, known)
    for name in case.fix:
        wrong = _not_fixable(name, known)
        if wrong:
            yield Problem("C023", where, *wrong)
        elif name in tuned or name in case.start_values:
            other = "tuned" if name in tuned else "in free_start"
            message = f"fix: '{name}' is {other} too"
            yield Problem("C024", where, message, "leave out one of the two")
    yield from formula_problems(study, case)
    yield from _inputs_left(study, case, known)


def formula_problems(study: Study, case: Case) -> Iterator[Problem]:
    """What is wrong with the names in expressions of a case."""
    yield from _followed(study, case)
    yield from _measured_formulas(study, case)
    yield from _staged(study, case)


def _staged(study: Study, case: Case) -> Iterator[Problem]:
    """Names in expressions of changes that mean nothing."""
    try:
        used = case.staged_names
    except EstimicaError as error:
        yield Problem(error.code, f"case '{case.name}'", f"change: {error.message}")
        return
    every = [q.name for q in study.model.quantities()] if used else []
    known = {*every, *(t.name for t in study.tuners), *case.fix}
    for name in used:
        if name not in known:
            hint = did_you_mean(name, known)
            message = f"change: '{name}' is not a tuner, parameter or state{hint}"
            advice = "" if hint else "add it to [tune]"
            yield Problem("C067", f"case '{case.name}'", message, advice)


def _followed(study: Study, case: Case) -> Iterator[Problem]:
    """Expressions in `fix` that cannot be read, or that name something else than tuners."""
    names = [t.name for t in study.tuners]
    for parameter, text in case.followed.items():
        where = f"case '{case.name}'"
        try:
            used = parse_formula(text, f"fix '{parameter}'").names
        except EstimicaError as error:
            yield Problem(error.code, where, error.message)
            continue
        for name in used:
            if name not in names:
                hint = did_you_mean(name, names) or f"; the tuners are {', '.join(names) or 'none'}"
                yield Problem("C063", where, f"fix '{parameter}': '{name}' is not a tuner{hint}")


def _measured_formulas(study: Study, case: Case) -> Iterator[Problem]:
    """Names in the formulas of a case that neither the model nor a tuner nor `fix` knows."""
    formulas = {**study.formulas, **case.expressions}
    every = [q.name for q in study.bare.quantities()] if formulas else []
    every += study.bare.inflow_names
    held = {p for t in study.tuners for p in study.driven(t)}
    for output in case.outputs:
        if output not in formulas:
            continue
        for name in parse_formula(formulas[output], f"output '{output}'").names:
            if name in every or name in held or name in case.fix or name == TIME:
                continue
            hint = did_you_mean(name, [*every, *(t.name for t in study.tuners)])
            message = f"output '{output}': '{name}' is not a variable of the model or a tuner{hint}"
            yield Problem(
                "C064", f"case '{case.name}'", message, "" if hint else "add it to [tune]"
            )


def _refused(study: Study, case: Case) -> Problem | None:
    """Why the variables that a case names cannot be inputs, where a component has open ones."""
    try:
        study.model_of(case)
    except EstimicaError as error:
        if error.code != UNKNOWN_INPUT and " has no room " not in error.message:
            message = error.message.removeprefix(f"case '{case.name}': ")
            message = message if case.staging else f"inputs: {message}"
            return Problem(error.code, f"case '{case.name}'", message)
    return None


def _not_input(name: str, known: Known) -> tuple[str, str] | None:
    q = known.get(name)
    if q is None:
        return _unknown("input", name, known, ["input"])
    if q.role != "input":
        what = "parameter" if q.role in FIXED else "variable"
        advice = (
            "put it into fix"
            if what == "parameter"
            else "the inputs are " + _listed(known, ["input"])
        )
        return f"'{name}' is a {what}, not an input", advice
    return None


def _not_output(name: str, known: Known, *, has_time: bool) -> tuple[str, str] | None:
    q = known.get(name)
    if q is None:
        varying = ["algebraic", "state", "memory", "logical", "alias"]
        return _unknown("variable", name, known, varying)
    if q.role in FIXED and (has_time or q.role == "constant" or q.kind != "Real"):
        return f"output '{name}' is a {q.role}, which does not change", "measure a variable"
    if q.role == "input":
        return f"output '{name}' is an input, which nothing can change", "put it into inputs"
    return None


def _without_start(name: str, known: Known, place: str = "free_start") -> tuple[str, str] | None:
    q = known.get(name)
    if q is None:
        return _unknown("state", name, known, ["state", "memory"], f"{place}: ")
    if q.role in FIXED:
        return f"{place}: '{name}' is a {q.role}, not a state", "put it into [tune]"
    if q.role not in WITH_START:
        what = "an input" if q.role == "input" else "not a state"
        return (
            f"{place}: '{name}' is {what}, so it has no start value",
            "the states are " + _listed(known, ["state"]),
        )
    return None


def _own_starts(case: Case, known: Known) -> Iterator[Problem]:
    """Start values of stretches: names of them that cannot be, and names that are not states."""
    where = f"case '{case.name}'"
    for part, own in case.own_starts.items():
        if not is_stretch(part, case.name):
            message = f"own_starts: '{part}' is not a stretch of this case"
            advice = f"behind its first gap it is '{case.name}{PART}2'"
            yield Problem("C113", where, message, advice, warning=True)
        for name in own:
            wrong = _without_start(name, known, "own_starts")
            if wrong:
                yield Problem("C022", where, *wrong)


def _not_fixable(name: str, known: Known) -> tuple[str, str] | None:
    q = known.get(name)
    if q is None:
        return _unknown("parameter or state", name, known, [*FIXED, "state"], "fix: ")
    if q.role == "input":
        return f"fix: '{name}' is an input", "put it into inputs: a number holds for the whole case"
    if q.role in FIXED and not q.tunable:
        return f"fix: '{name}' cannot differ between cases: {q.why_not}", "set it with [model] fix"
    if q.role not in (*FIXED, *WITH_START):
        return f"fix: '{name}' is neither a parameter nor a state", "leave it out"
    return None


def _inputs_left(study: Study, case: Case, known: Known) -> Iterator[Problem]:
    left = [q for q in known.values() if q.role == "input" and q.name not in case.inputs]
    if any(n not in known for n in case.inputs):
        return  # one of them is misspelt
    where = f"case '{case.name}'"
    for q in left:
        linear = is_linear(study.bare) or isinstance(study.bare, FrequencyFunction)
        if case.is_frequency and linear:
            return  # the same at every operating point
        if not study.model.has_time:
            yield Problem("C025", where, f"input '{q.name}' is not given", "name its column")
            continue
        value = cast(float, q.value) if isinstance(q.value, (int, float)) else 0.0
        message = f"input '{q.name}' is not given; it keeps its value {value:g}"
        yield Problem("C025", where, message, warning=True)


# --- words ---------------------------------------------------------------------------------------


def _unknown(
    what: str, name: str, known: Known, roles: Iterable[str], place: str = ""
) -> tuple[str, str]:
    roles = list(roles)
    elements = [n for n in known if n.startswith(f"{name}[")]
    if elements:
        return f"{place}'{name}' is an array", f"name an element, as '{elements[0]}'"
    message = f"{place}the model has no {what} '{name}'"
    candidates = [q.name for q in known.values() if q.role in roles]
    near = close_names(name, candidates) or close_names(name, known)
    if near:
        names = [f"'{n}'" for n in near]
        listed = ", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else names[0]
        return message, f"did you mean {listed}?"
    return message, f"there are {_listed(known, roles)}"


def _listed(known: Known, roles: Iterable[str], count: int = 12) -> str:
    roles = list(roles)
    names = [q.name for q in known.values() if q.role in roles]
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return (", ".join(names[:count]) + more) or "none"
