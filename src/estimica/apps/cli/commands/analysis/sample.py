"""`estimica sample`: draw from the posterior of the unknowns."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli.delivery import require_outputs
from estimica.apps.cli.options import (
    AsJson,
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


def sample(
    study: StudyPath,
    draws: Annotated[
        int | None, typer.Option(help="Draws of each chain; 1000 unless the study says otherwise.")
    ] = None,
    chains: Annotated[int | None, typer.Option(help="How many chains.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Draws before them, to find steps.")] = None,
    method: Annotated[str | None, typer.Option(help="auto, nuts or ensemble.")] = None,
    acceptance: Annotated[
        float | None, typer.Option(help="Steps that NUTS aims to accept, as 0.9.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the draws.")] = None,
    netcdf: Annotated[
        Path | None, typer.Option(help="Write all draws to this netCDF file, for ArviZ.")
    ] = None,
    begin_with: BeginWith = None,
    use: UseRun = None,
    report: ReportPath = None,
    workers: Workers = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw from the posterior of a study: how probable values are, given data and priors."""
    session = Session(
        "sample",
        study,
        store,
        no_store=no_store,
        resume=resume,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
    )
    with session.reported():
        from estimica.infer.posterior.run import sample as draw
        from estimica.study.tables.inference import sample_table

        require_outputs(netcdf, page=report)
        checked = session.checked_study()
        given = given_options(
            draws=draws,
            chains=chains,
            warmup=warmup,
            method=method,
            acceptance=acceptance,
            seed=seed,
        )
        table = sample_table(session.own_table(checked), given)
        with session.run(checked, asdict(table), given) as run, run.progress() as line:
            settings = sample_table(run.settings)
            fit = run.checkpointed_fit(checked, workers)
            line.tell(f"drawing {settings.chains} chains …", 0.0)
            result = draw(
                fit,
                settings.draws,
                chains=settings.chains,
                warmup=settings.warmup,
                method=settings.method,
                acceptance=settings.acceptance,
                seed=settings.seed,
                workers=workers,
                executor=executor,
                progress=line.counting("chains"),
                run=run.writer,
            )
            result = run.finish(result)
    session.deliver(
        result, lambda: [text(result.table())], (report, result.report), (netcdf, result.write)
    )
