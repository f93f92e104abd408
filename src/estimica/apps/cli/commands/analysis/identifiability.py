"""`estimica identifiability`: which unknowns the data determine, and which no data would."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import requested_outputs, require_outputs
from estimica.apps.cli.options import (
    AsJson,
    NoStore,
    Quiet,
    ReportPath,
    StorePath,
    StudyPath,
    Workers,
)
from estimica.apps.cli.session import (
    AnalysisProgressLine,
    begin_run,
    checked_study,
    deliver_result,
    finish_run,
    fitted,
    stored,
)
from estimica.base.view import text
from estimica.study.fields.counts import SEED


def identifiability(
    study: StudyPath,
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
    workers: Workers = None,
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit, and say which unknowns the data determine, which no data would, and what would help."""
    with reported("identifiability", as_json):
        from estimica.infer.identifiability.run import identifiability as judge

        require_outputs(page=report)
        asked = checked_study(study, "identifiability", as_json)
        other = checked_study(second, "identifiability", as_json) if second else None
        run = begin_run(
            "identifiability",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=None,
            given={},
            settings={
                "seed": seed,
                "structural": structural,
                "second": str(second) if second else None,
            },
        )
        with run.writer as writer, AnalysisProgressLine(quiet, writer=writer) as line:
            estimate = fitted(asked, writer, workers)
            line.tell("looking at what the data determine", 0.5)
            found = judge(estimate, structural=structural, seed=seed, second=other)
            found = finish_run(found, writer)
        stored(run.writer)
    parts = [text(found.table()), *found.advice, "", text(found.measures.table())]
    if found.second:
        parts += (
            [found.second.text] if not found.second.directions else [text(found.second.table())]
        )
    told = "\n".join(parts)
    files = requested_outputs((report, found.report))
    deliver_result(found, [told], files, as_json=as_json, quiet=quiet)
