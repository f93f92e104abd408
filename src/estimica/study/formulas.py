"""Formulas of outputs: what is wrong with them before any model is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem
from estimica.compiled.model.interface import Model
from estimica.source.formula import parse_formula
from estimica.study.case import Case

TABLE = "[outputs]"


def unreadable_formulas(
    model: Model, outputs: Mapping[str, str], cases: Iterable[Case]
) -> list[Problem]:
    """Formulas that cannot be read, or whose output has the name of something else."""
    cases = list(cases)
    if not outputs and not any(case.expressions for case in cases):
        return []
    roles = {q.name: q.role for q in model.quantities()}
    every = {*outputs, *(n for case in cases for n in case.expressions)}
    found = list(_unreadable(TABLE, outputs, roles, every))
    for case in cases:
        found += _unreadable(f"case '{case.name}'", case.expressions, roles, every)
        for name in case.expressions:
            if name in outputs:
                message = f"output '{name}' has an expression here and in {TABLE} too"
                found.append(Problem("C061", f"case '{case.name}'", message, "leave out one"))
    return found


def names_in_cases(cases: Iterable[Case]) -> frozenset[str]:
    """All names in expressions of cases that can be read."""
    found: set[str] = set()
    for case in cases:
        for text in _texts(case):
            try:
                found |= set(parse_formula(text).names)
            except EstimicaError:  # told where the case is checked
                continue
    return frozenset(found)


def _texts(case: Case) -> Iterator[str]:
    """Every expression of a case."""
    yield from case.followed.values()
    yield from case.expressions.values()
    for change in case.change:
        yield from (v for v in (*change.add.values(), *change.set_.values()) if isinstance(v, str))
    rest = case.staging.rest
    yield from (v for _, v in (() if rest is None else rest.parameters) if isinstance(v, str))


def _unreadable(
    where: str, formulas: Mapping[str, str], roles: Mapping[str, str], every: set[str]
) -> Iterator[Problem]:
    for name, text in formulas.items():
        if name in roles:
            what = "parameter" if roles[name] in ("parameter", "constant") else "variable"
            message = f"output '{name}' is a formula, and the model has a {what} of that name"
            yield Problem("C060", where, message, f"choose another name, as '{name}_measured'")
            continue
        try:
            used = parse_formula(text, f"output '{name}'").names
        except EstimicaError as error:
            yield Problem(error.code, where, error.message)
            continue
        for other in used:
            if other in every:
                message = f"output '{name}': '{other}' in '{text}' is a formula itself"
                yield Problem("C062", where, message, "write it out in model variables")
