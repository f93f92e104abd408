"""`estimica montecarlo`: the criteria of a design when its parameters scatter."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli.commands.design.assessment import Table, deliver_assessment, run_assessment
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
from estimica.study.fields.counts import CURVES

if TYPE_CHECKING:
    from estimica.study.study import Study


def montecarlo(
    study: StudyPath,
    samples: Annotated[
        int | None, typer.Option(help="Simulated designs; 1000 unless the study says otherwise.")
    ] = None,
    sampling: Annotated[str | None, typer.Option(help="random, latin-hypercube or sobol.")] = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="Draw the tuners from: fit, bootstrap, sample, or a stored run of these; of the "
            "`last` one."
        ),
    ] = None,
    sensitivity: Annotated[
        str | None, typer.Option(help="Which parameters matter: morris, sobol or none.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the draws.")] = None,
    curves: Annotated[
        int | None,
        typer.Option(
            min=0, max=CURVES, help="Samples whose signals are drawn over time; 0 for none."
        ),
    ] = None,
    begin_with: BeginWith = None,
    use: UseRun = None,
    csv: Table = None,
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
    """Draw the parameters of a design: quantiles of its criteria, and how often all is well."""
    session = Session(
        "montecarlo",
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
        from estimica.optimise.assess.montecarlo import montecarlo as assess
        from estimica.study.tables.optimisation import montecarlo_table

        require_outputs(csv, page=report)
        checked = session.checked_study()
        given = given_options(
            samples=samples,
            sampling=sampling,
            source=source,
            sensitivity=sensitivity,
            seed=seed,
            curves=curves,
        )
        settings = asdict(montecarlo_table(session.own_table(checked), given))
        if settings["source"] is not None and resume is None:
            settings["source"] = _named(session, checked, settings["source"])
        work = partial(assess, workers=workers, executor=executor, store=store)
        result = run_assessment(session, checked, settings, given, work)
    deliver_assessment(session, result, csv, report)


def _named(session: Session, study: Study, source: str) -> str:
    """The run that a source means, told, so that a run that is taken up draws from the same."""
    from estimica.execute.carry import found_run
    from estimica.optimise.assess.tuner_distribution import SCATTERING

    if source in SCATTERING:
        return source
    found = found_run(study, source, session.store, SCATTERING, with_values=False)
    word = "draws from" if found.run.summary.command in SCATTERING else "from"
    say(f"{word} {found.values.about}")
    return found.reference
