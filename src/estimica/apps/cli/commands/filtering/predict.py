"""`estimica predict`: measured values from those some samples before."""

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
from estimica.study.fields.counts import AHEAD

if TYPE_CHECKING:
    from estimica.infer.prediction.result import Predictions


def predict(
    study: StudyPath,
    ahead: Annotated[int, typer.Option(min=1, max=AHEAD, help="How many samples ahead.")] = 1,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
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
    """Fit a study with noise in its states and predict values from those some samples before."""
    session = Session(
        "predict",
        study,
        store,
        no_store=no_store,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
    )
    with session.reported():
        from estimica.infer.prediction.run import predict as analyse
        from estimica.infer.states.filters import require_criterion, require_level

        require_outputs(csv, page=report)
        require_level(level)
        checked = session.checked_study()
        require_criterion(checked, "predictions")
        settings = {"ahead": ahead, "level": level}
        with session.run(checked, settings) as run, run.progress():
            estimate = run.fit(checked, workers)
            if not estimate.outcome.ok:
                say(f"warning: the fit ended early: {estimate.outcome.message}")
            result = run.finish(analyse(estimate, ahead=ahead, level=level))
    session.deliver(result, lambda: _texts(result), (csv, result.write), (report, result.report))


def _texts(result: Predictions) -> Iterator[str]:
    yield from map(text, result.tables())
