"""`estimica identifiability`: which unknowns the data determine, and which no data would."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli import arguments
from estimica.apps.cli.delivery import require_outputs
from estimica.apps.cli.options import (
    AsJson,
    BeginWith,
    NoStore,
    Quiet,
    ReportPath,
    StorePath,
    StudyPath,
    UseRun,
    Workers,
)
from estimica.apps.cli.session import Session
from estimica.base.view import text
from estimica.study.fields.counts import SEED

if TYPE_CHECKING:
    from estimica.infer.identifiability.result import Identifiability


def identifiability(
    study: StudyPath,
    begin_with: BeginWith = None,
    use: UseRun = None,
    report: ReportPath = None,
    seed: Annotated[
        int, typer.Option(min=0, max=SEED, help="Of the random points of the model's structure.")
    ] = 0,
    structural: Annotated[
        bool, typer.Option(help="Ask whether any data could determine the unknowns.")
    ] = True,
    second: Annotated[
        Path | None,
        typer.Option(help="Another study of these tuners: does what is left open matter there?"),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            help="The noise of an output: NAME=FILE[:COLUMN], a record with zero input, or "
            "NAME=NUMBER, its standard deviation; may be repeated."
        ),
    ] = None,
    workers: Workers = None,
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit, and say which unknowns the data determine, which no data would, and what would help."""
    session = Session(
        "identifiability",
        study,
        store,
        no_store=no_store,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
    )
    with session.reported():
        from estimica.infer.identifiability.run import identifiability as judge

        require_outputs(page=report)
        checked = session.checked_study()
        other = session.checked_study(second) if second else None
        levels = arguments.noise(noise, checked) if noise else None
        settings = {
            "seed": seed,
            "structural": structural,
            "second": str(second) if second else None,
            "noise": noise,
        }
        with session.run(checked, settings) as run, run.progress() as line:
            estimate = run.fit(checked, workers)
            line.tell("looking at what the data determine", 0.5)
            judged = judge(estimate, quiet=levels, structural=structural, seed=seed, second=other)
            result = run.finish(judged)
    session.deliver(result, lambda: [_text(result)], (report, result.report))


def _text(result: Identifiability) -> str:
    parts = [text(result.table()), *result.advice, "", text(result.measures.table())]
    if second := result.second:
        parts.append(text(second.table()) if second.directions else second.text)
    return "\n".join(parts)
