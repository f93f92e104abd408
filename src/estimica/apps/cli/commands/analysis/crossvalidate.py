"""`estimica crossvalidate`: leave out data in turn and predict them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import requested_outputs, require_outputs
from estimica.apps.cli.options import (
    AsJson,
    ExecutorName,
    NoStore,
    Quiet,
    ReportPath,
    Resume,
    StorePath,
    StudyPath,
    Workers,
)
from estimica.apps.cli.session import (
    AnalysisProgressLine,
    begin_run,
    checked_study,
    checkpointed_fit,
    deliver_result,
    finish_run,
    stored,
)

if TYPE_CHECKING:
    from estimica.base.result import Progress


def crossvalidate(
    study: StudyPath,
    by: Annotated[str | None, typer.Option(help="Leave out whole cases, or time: case, time.")] = (
        None
    ),
    folds: Annotated[
        int | None, typer.Option(help="How many fits; one for each case, or five, unless told.")
    ] = None,
    report: ReportPath = None,
    workers: Workers = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Leave out cases or stretches of time in turn, fit without them, and predict them."""
    with reported("crossvalidate", as_json):
        from estimica.infer.crossvalidation.run import crossvalidate as validate
        from estimica.study.tables.inference import crossvalidate_table

        require_outputs(page=report)
        asked = checked_study(study, "crossvalidate", as_json)
        given = {n: v for n, v in {"by": by, "folds": folds}.items() if v is not None}
        table = asked.tables.get("crossvalidate", {})
        run = begin_run(
            "crossvalidate",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=resume,
            given=given,
            settings=asdict(crossvalidate_table(table if isinstance(table, dict) else {}, given)),
        )
        settings = crossvalidate_table(run.settings)
        with run.writer as writer, AnalysisProgressLine(quiet, writer=run.writer) as line:
            fit = checkpointed_fit(asked, writer, workers)

            def tell(p: Progress) -> None:
                failed = f", {p.failed} failed" if p.failed else ""
                line.tell(f"{p.done} of {p.count} folds{failed}", p.done / p.count)

            found = validate(
                fit,
                settings.folds,
                by=settings.by,
                workers=workers,
                executor=executor,
                progress=tell,
                run=writer,
            )
            found = finish_run(found, writer)
        stored(run.writer)
    files = requested_outputs((report, found.report))
    deliver_result(found, [repr(found)], files, as_json=as_json, quiet=quiet)
