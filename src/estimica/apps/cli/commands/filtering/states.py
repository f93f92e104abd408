"""`estimica states`: what the data tell of the states, and of what their equations lack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli.console import say
from estimica.apps.cli.delivery import require_outputs
from estimica.apps.cli.options import (
    AsJson,
    BeginWith,
    NoStore,
    Quiet,
    ReportPath,
    StorePath,
    StudyPath,
    UseRun,
    Workers,
)
from estimica.apps.cli.session import Session
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.infer.states.result import States


def states(
    study: StudyPath,
    level: Annotated[float, typer.Option(help="Of the bands.")] = 0.95,
    begin_with: BeginWith = None,
    use: UseRun = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write all curves to this file, CSV or Parquet.")
    ] = None,
    report: ReportPath = None,
    workers: Workers = None,
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a study with noise in its states: filtered and smoothed states, what equations lack."""
    session = Session(
        "states",
        study,
        store,
        no_store=no_store,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
    )
    with session.reported():
        from estimica.infer.states.filters import require_criterion, require_level
        from estimica.infer.states.run import states as analyse

        require_outputs(csv, page=report)
        require_level(level)
        checked = session.checked_study()
        require_criterion(checked, "filtered and smoothed states")
        settings = {"level": level}
        with session.run(checked, settings) as run, run.progress():
            estimate = run.fit(checked, workers)
            if not estimate.outcome.ok:
                say(f"warning: the fit ended early: {estimate.outcome.message}")
            result = run.finish(analyse(estimate, level=level))
    session.deliver(result, lambda: _texts(result), (csv, result.write), (report, result.report))


def _texts(result: States) -> Iterator[str]:
    yield from map(text, result.tables())
    yield f"\n{result.verdict}"
