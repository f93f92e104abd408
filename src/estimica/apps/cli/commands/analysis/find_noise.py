"""`estimica find-noise`: put noise into one state at a time, and tell where it helps most."""

from __future__ import annotations

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
    SeedOfStarts,
    StorePath,
    StudyPath,
    UseRun,
    Workers,
)
from estimica.apps.cli.progress import ReleaseProgressLine
from estimica.apps.cli.session import Session, given_options
from estimica.base.view import text
from estimica.study.fields.counts import RELEASES


def find_noise(
    study: StudyPath,
    states: Annotated[
        list[str] | None, typer.Argument(help="States to try; all that have no noise if none.")
    ] = None,
    begin_with: BeginWith = None,
    use: UseRun = None,
    report: ReportPath = None,
    steps: Annotated[
        int | None, typer.Option(min=1, max=RELEASES, help="Most steps; until none helps if none.")
    ] = None,
    risk: Annotated[float | None, typer.Option(help="Largest risk; 0.05 unless told.")] = None,
    starts: Annotated[int | None, typer.Option(help="Starts of each search.")] = None,
    seed: SeedOfStarts = None,
    workers: Workers = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the state whose equation is incomplete: noise in it helps most."""
    session = Session(
        "find-noise",
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
        from estimica.infer.find_noise.run import find_noise as one_at_a_time

        require_outputs(page=report)
        checked = session.checked_study()
        given = given_options(
            states=states or None, steps=steps, risk=risk, starts=starts, seed=seed
        )
        with session.run(checked, given, given) as run:
            with ReleaseProgressLine(quiet=quiet, writer=run.writer) as line:
                result = one_at_a_time(
                    checked,
                    settings=run.settings,
                    progress=line,
                    workers=workers,
                    executor=executor,
                    run=run.writer,
                )
            result = run.finish(result)
    session.deliver(
        result,
        lambda: [*map(text, result.tables()), result.outcome.message],
        (report, result.report),
    )
