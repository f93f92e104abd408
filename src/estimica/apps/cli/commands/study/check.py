"""`estimica check`: everything that is wrong with a study, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from estimica.apps.cli.console import WRONG_INPUT, print_json, reported, stdout
from estimica.apps.cli.options import AsJson, StudyPath

if TYPE_CHECKING:
    from estimica.base.problems import Problem


def check(study: StudyPath, as_json: AsJson = False) -> None:
    """Tell everything that is wrong with a study, before any long work."""
    with reported("check", as_json):
        from estimica.optimise.check import check_design
        from estimica.study.check.run import check_file
        from estimica.study.file.read import examine_file

        problems = check_file(study)
        asked = examine_file(study).study
        if asked is not None:
            known = {p.text for p in problems}
            problems += [p for p in check_design(asked) if p.text not in known]
    libraries = asked.model.libraries if asked is not None else ()
    errors = [p for p in problems if not p.warning]
    outcome = _outcome(len(errors), sum(p.severity == "warning" for p in problems))
    if as_json:
        status = "wrong input" if errors else "done"
        ending = {"status": status, "message": outcome}
        answer = {"command": "check", "outcome": ending, "problems": list(map(_plain, problems))}
        print_json({**answer, "libraries": list(libraries)})
    else:
        show_problems(problems)
        for library in libraries:
            stdout().print(f"library: {escape(library)}", highlight=False, soft_wrap=True)
        stdout().print(f"{escape(str(study))}: {outcome}", highlight=False, soft_wrap=True)
    if errors:
        raise typer.Exit(WRONG_INPUT)


def _plain(problem: Problem) -> dict[str, str]:
    return {
        "code": problem.code,
        "where": problem.where,
        "message": problem.message,
        "suggestion": problem.suggestion,
        "severity": problem.severity,
    }


def show_problems(problems: Sequence[Problem]) -> None:
    """One line for each."""
    for problem in problems:
        word = problem.severity
        colour = {"error": "red", "warning": "yellow", "note": "cyan"}[word]
        line = f"[{colour}]{word}[/{colour}] {problem.code}: {escape(problem.text)}"
        stdout().print(line, highlight=False, soft_wrap=True)


def _outcome(errors: int, warnings: int) -> str:
    if not errors and not warnings:
        return "nothing is wrong"
    counts = [(errors, "error"), (warnings, "warning")]
    return ", ".join(f"{n} {word}{'s' if n > 1 else ''}" for n, word in counts if n)
