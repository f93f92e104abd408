"""`estimica profile`: how the cost rises around the estimate of each unknown; intervals."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

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
    report: ReportPath = None,
    workers: Workers = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Hold each unknown at values around its estimate, fit the others, and see the cost rise."""
    with reported("profile", as_json):
        from estimica.infer.profile.run import profile as walk
        from estimica.study.tables.inference import profile_table

        require_outputs(page=report)
        asked = checked_study(study, "profile", as_json)
        given: dict[str, Any] = {"unknowns": unknowns or None, "level": level, "points": points}
        given = {n: v for n, v in given.items() if v is not None}
        table = asked.tables.get("profile", {})
        settings = asdict(profile_table(table if isinstance(table, dict) else {}, given))
        run = begin_run(
            "profile",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=resume,
            given=given,
            settings={**settings, "unknowns": list(settings["unknowns"])},
        )
        terms = profile_table(run.settings)
        with run.writer as writer, AnalysisProgressLine(quiet, writer=run.writer) as line:
            fit = checkpointed_fit(asked, writer, workers)

            def tell(p: ProfileProgress) -> None:
                told = f"{p.done} of {p.count} sides  {p.stops} refits"
                line.tell(told, p.done / p.count)

            found = walk(
                fit,
                terms.unknowns or None,
                level=terms.level,
                points=terms.points,
                workers=workers,
                executor=executor,
                progress=tell,
                run=writer,
            )
            found = finish_run(found, writer)
        stored(run.writer)
    files = requested_outputs((report, found.report))
    deliver_result(found, [text(found.table())], files, as_json=as_json, quiet=quiet)
