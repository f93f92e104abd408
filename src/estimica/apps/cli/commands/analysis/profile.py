"""`estimica profile`: how the cost rises around the estimate of each unknown; intervals."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

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
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.infer.profile.run import ProfileProgress


def profile(
    study: StudyPath,
    unknowns: Annotated[
        list[str] | None,
        typer.Argument(metavar="[UNKNOWN]...", help="Tuners or start values; by default all."),
    ] = None,
    level: Annotated[
        float | None, typer.Option(help="Confidence of the intervals; 0.95 unless told.")
    ] = None,
    points: Annotated[
        int | None, typer.Option(help="Refits between the estimate and either end, about.")
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
    """Hold each unknown at values around its estimate, fit the others, and see the cost rise."""
    session = Session(
        "profile",
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
        from estimica.infer.profile.run import profile as walk
        from estimica.study.tables.inference import profile_table

        require_outputs(page=report)
        checked = session.checked_study()
        given = given_options(unknowns=unknowns or None, level=level, points=points)
        table = asdict(profile_table(session.own_table(checked), given))
        table["unknowns"] = list(table["unknowns"])
        with session.run(checked, table, given) as run, run.progress() as line:
            settings = profile_table(run.settings)

            def tell(p: ProfileProgress) -> None:
                line.tell(f"{p.done} of {p.count} sides  {p.stops} refits", p.done / p.count)

            result = walk(
                run.checkpointed_fit(checked, workers),
                settings.unknowns or None,
                level=settings.level,
                points=settings.points,
                workers=workers,
                executor=executor,
                progress=tell,
                run=run.writer,
            )
            result = run.finish(result)
    session.deliver(result, lambda: [text(result.table())], (report, result.report))
