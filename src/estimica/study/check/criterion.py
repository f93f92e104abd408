"""Criterion: whether what a study names as its criterion can be used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from estimica.base.code.reference import CodeRefusedError, code_reference, means_code
from estimica.base.code.trusted import CodeMissingError
from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem
from estimica.base.suggest import did_you_mean, did_you_mean_file
from estimica.source.formula import parse_formula
from estimica.study.case import Sigma
from estimica.study.study import Study

NAMED = ("oe", "ml")
#: what an expression may speak of
QUANTITIES = ("residual", "weight", "time", "dt", "measured", "simulated", "sigma")
WHERE = "[estimate]"


def check_criterion(study: Study) -> list[Problem]:
    """What is wrong with the criterion, and what it leaves unused."""
    text = study.estimation.criterion.strip()
    if text in NAMED:
        return list(_unused(study, text))
    if means_code(study.estimation.criterion):
        return list(_function(study))
    return list(_expression(text))


def _expression(text: str) -> Iterator[Problem]:
    hint = did_you_mean(text, NAMED)
    if text.isidentifier() and text not in QUANTITIES:
        known = ", ".join(QUANTITIES)
        message = f"criterion '{text}' is neither 'oe' nor 'ml'{hint}"
        advice = "" if hint else f"write one of them, an expression in {known}, or file.py:function"
        yield Problem("Q010", WHERE, message, advice)
        return
    try:
        used = parse_formula(text, "criterion").names
    except EstimicaError as error:
        yield Problem(error.code, WHERE, error.message)
        return
    for name in used:
        if name not in QUANTITIES:
            hint = did_you_mean(name, QUANTITIES) or f"; there are {', '.join(QUANTITIES)}"
            yield Problem("Q011", WHERE, f"criterion: unknown name '{name}' in '{text}'{hint}")
    if not {"residual", "simulated"} & set(used) and all(n in QUANTITIES for n in used):
        message = f"criterion '{text}' does not depend on the simulation"
        yield Problem("Q012", WHERE, message, "write it in residual or simulated")


def _function(study: Study) -> Iterator[Problem]:
    """Looked at, not run."""
    text = study.estimation.criterion
    try:
        code = study.code_for(text)
    except CodeMissingError:
        path = (study.path.parent if study.path else Path()) / code_reference(text).file
        hint = did_you_mean_file(path)
        yield Problem("Q013", WHERE, f"criterion: there is no file '{path}'{hint}")
        return
    except CodeRefusedError as error:
        yield Problem("Q013", WHERE, f"criterion: {error}")
        return
    path = code.folder / code.entry.name
    try:
        tree = ast.parse(code.entry.content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield Problem("Q013", WHERE, f"criterion: cannot read '{path}': {error}")
        return
    names = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
    names += [
        a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names
    ]
    if code.function not in names:
        hint = did_you_mean(code.function, names) or f"; there are {', '.join(names) or 'none'}"
        message = f"criterion: '{path}' has no function '{code.function}'{hint}"
        yield Problem("Q014", WHERE, message)


def _unused(study: Study, criterion: str) -> Iterator[Problem]:
    if criterion != "oe":
        return
    outputs = [
        (case, name, case.column_of(name))
        for case in study.active_cases
        if case.role == "calibrate"
        for name in case.outputs
    ]
    for case, name, column in outputs:
        if isinstance(column.sigma, Sigma) and column.sigma.column is None:
            what = "bounds of sigma are" if column.sigma.shared is None else "a shared sigma is"
            yield Problem(
                "C033",
                f"case '{case.name}'",
                f"output '{name}': {what} not used by criterion 'oe'",
                'write criterion = "ml", or sigma = a number',
                warning=True,
            )
    without = [n for _, n, c in outputs if c.sigma is None and c.weight is None]
    for tuner in study.active_tuners:
        if tuner.prior is not None and without:
            yield Problem(
                "T015",
                f"tuner '{tuner.name}'",
                f"how much its prior counts depends on the noise, and output '{without[0]}' has "
                "no sigma",
                'give sigma, or write criterion = "ml"',
                warning=True,
            )
