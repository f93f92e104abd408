"""`estimica bootstrap`: repeat a fit on simulated data; biases, standard errors, intervals."""

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
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.base.result import Progress


def bootstrap(
    study: StudyPath,
    replicates: Annotated[
        int | None, typer.Option(help="How many fits; 500 unless the study says otherwise.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Noise: parametric, residual or block.")] = None,
    block_length: Annotated[
        int | None, typer.Option(help="Samples in a block of kind block.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the noise.")] = None,
    report: ReportPath = None,
    workers: Workers = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Repeat the fit of a study on simulated data and see how the estimates scatter."""
    with reported("bootstrap", as_json):
        from estimica.infer.bootstrap.run import bootstrap as repeat
        from estimica.study.tables.inference import bootstrap_table

        require_outputs(page=report)
        asked = checked_study(study, "bootstrap", as_json)
        options = {
            "replicates": replicates,
            "kind": kind,
            "block_length": block_length,
            "seed": seed,
        }
        given = {n: v for n, v in options.items() if v is not None}
        table = asked.tables.get("bootstrap", {})
        run = begin_run(
            "bootstrap",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=resume,
            given=given,
            settings=asdict(bootstrap_table(table if isinstance(table, dict) else {}, given)),
        )
        settings = bootstrap_table(run.settings)
        with run.writer as writer, AnalysisProgressLine(quiet, writer=run.writer) as line:
            fit = checkpointed_fit(asked, writer, workers)

            def tell(p: Progress) -> None:
                failed = f", {p.failed} failed" if p.failed else ""
                line.tell(f"{p.done} of {p.count} replicates{failed}", p.done / p.count)

            found = repeat(
                fit,
                settings.replicates,
                kind=settings.kind,
                seed=settings.seed,
                block_length=settings.block_length,
                workers=workers,
                executor=executor,
                progress=tell,
                run=writer,
            )
            found = finish_run(found, writer)
        stored(run.writer)
    files = requested_outputs((report, found.report))
    deliver_result(found, [text(found.table())], files, as_json=as_json, quiet=quiet)
