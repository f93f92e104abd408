"""`estimica sample`: draw from the posterior of the unknowns."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
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
    with reported("sample", as_json):
        from estimica.infer.posterior.run import sample as drawn
        from estimica.study.tables.inference import sample_table

        require_outputs(netcdf, page=report)
        asked = checked_study(study, "sample", as_json)
        options = {
            "draws": draws,
            "chains": chains,
            "warmup": warmup,
            "method": method,
            "acceptance": acceptance,
            "seed": seed,
        }
        given = {n: v for n, v in options.items() if v is not None}
        table = asked.tables.get("sample", {})
        run = begin_run(
            "sample",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=resume,
            given=given,
            settings=asdict(sample_table(table if isinstance(table, dict) else {}, given)),
        )
        settings = sample_table(run.settings)
        with run.writer as writer, AnalysisProgressLine(quiet, writer=run.writer) as line:
            fit = checkpointed_fit(asked, writer, workers)

            def tell(p: Progress) -> None:
                failed = f", {p.failed} failed" if p.failed else ""
                line.tell(f"{p.done} of {p.count} chains{failed}", p.done / p.count)

            line.tell(f"drawing {settings.chains} chains …", 0.0)
            found = drawn(
                fit,
                settings.draws,
                chains=settings.chains,
                warmup=settings.warmup,
                method=settings.method,
                acceptance=settings.acceptance,
                seed=settings.seed,
                workers=workers,
                executor=executor,
                progress=tell,
                run=writer,
            )
            found = finish_run(found, writer)
        stored(run.writer)
    files = requested_outputs((report, found.report), (netcdf, found.write))
    deliver_result(found, [text(found.table())], files, as_json=as_json, quiet=quiet)
