"""`estimica montecarlo`: the criteria of a design when its parameters scatter."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from estimica.apps.cli.commands.design.assessment import (
    Table,
    as_stored,
    deliver_assessment,
    given_of,
    run_assessment,
)
from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import require_outputs
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
from estimica.apps.cli.session import begin_run, checked_study


def montecarlo(
    study: StudyPath,
    samples: Annotated[
        int | None, typer.Option(help="Simulated designs; 1000 unless the study says otherwise.")
    ] = None,
    sampling: Annotated[str | None, typer.Option(help="random, latin-hypercube or sobol.")] = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="Draw the tuners from: fit, bootstrap, sample, or a stored run of these."
        ),
    ] = None,
    sensitivity: Annotated[
        str | None, typer.Option(help="Which parameters matter: morris, sobol or none.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the draws.")] = None,
    csv: Table = None,
    report: ReportPath = None,
    workers: Workers = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw the parameters of a design: quantiles of its criteria, and how often all is well."""
    with reported("montecarlo", as_json):
        from estimica.optimise.assess.montecarlo import montecarlo as draw
        from estimica.study.tables.optimisation import montecarlo_table

        require_outputs(csv, page=report)
        asked = checked_study(study, "montecarlo", as_json)
        given = given_of(
            {
                "samples": samples,
                "sampling": sampling,
                "source": source,
                "sensitivity": sensitivity,
                "seed": seed,
            }
        )
        table = asked.tables.get("montecarlo", {})
        settings = asdict(montecarlo_table(table if isinstance(table, dict) else {}, given))
        run = begin_run(
            "montecarlo",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=resume,
            given={n: as_stored(settings[n]) for n in given},
            settings=settings,
        )
        work = partial(draw, asked, workers=workers, executor=executor, store=store)
        found = run_assessment(run, quiet, partial(work, **run.settings))
    deliver_assessment(found, csv, report, as_json=as_json, quiet=quiet)
