"""`estimica crossvalidate`: leave out data in turn and predict them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from estimica.apps.cli.delivery import require_outputs
from estimica.apps.cli.options import (
    AsJson,
    BackendName,
    BeginWith,
    ExecutorName,
    NoStore,
    Quiet,
    ReportPath,
    Resume,
    StorePath,
    StudyPath,
    UseRun,
    Workers,
)
from estimica.apps.cli.session import Session, given_options


def crossvalidate(
    study: StudyPath,
    by: Annotated[str | None, typer.Option(help="Leave out whole cases, or time: case, time.")] = (
        None
    ),
    folds: Annotated[
        int | None, typer.Option(help="How many fits; one for each case, or five, unless told.")
    ] = None,
    begin_with: BeginWith = None,
    use: UseRun = None,
    report: ReportPath = None,
    workers: Workers = None,
    backend: BackendName = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Leave out cases or stretches of time in turn, fit without them, and predict them."""
    session = Session(
        "crossvalidate",
        study,
        store,
        no_store=no_store,
        resume=resume,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
        backend=backend,
    )
    with session.reported():
        from estimica.infer.crossvalidation.run import crossvalidate as validate
        from estimica.study.tables.inference import crossvalidate_table

        require_outputs(page=report)
        checked = session.checked_study()
        given = given_options(by=by, folds=folds)
        table = crossvalidate_table(session.own_table(checked), given)
        with session.run(checked, asdict(table), given) as run, run.progress() as line:
            settings = crossvalidate_table(run.settings)
            result = validate(
                run.checkpointed_fit(checked, workers),
                settings.folds,
                by=settings.by,
                workers=workers,
                executor=executor,
                progress=line.counting("folds"),
                run=run.writer,
            )
            result = run.finish(result)
    session.deliver(result, lambda: [repr(result)], (report, result.report))
