"""`estimica bootstrap`: repeat a fit on simulated data; biases, standard errors, intervals."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from estimica.apps.cli.console import say
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
from estimica.base.view import text


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
    """Repeat the fit of a study on simulated data and see how the estimates scatter."""
    session = Session(
        "bootstrap",
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
        from estimica.infer.bootstrap.run import bootstrap as repeat
        from estimica.study.tables.inference import bootstrap_table

        require_outputs(page=report)
        checked = session.checked_study()
        given = given_options(
            replicates=replicates, kind=kind, block_length=block_length, seed=seed
        )
        table = bootstrap_table(session.own_table(checked), given)
        with session.run(checked, asdict(table), given) as run, run.progress() as line:
            settings = bootstrap_table(run.settings)
            begin = run.checkpointed_fit(checked, workers)
            said = begin.residual_verdict
            if said.too_small and settings.kind != "block":
                say(f"{said.text.partition(':')[0]}: `--kind block` keeps their colour")
            result = repeat(
                begin,
                settings.replicates,
                kind=settings.kind,
                seed=settings.seed,
                block_length=settings.block_length,
                workers=workers,
                executor=executor,
                progress=line.counting("replicates"),
                run=run.writer,
            )
            result = run.finish(result)
    session.deliver(result, lambda: [text(result.table())], (report, result.report))
