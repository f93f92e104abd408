"""`estimica forecast`: how it goes on after the data, with future inputs."""

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
from estimica.study.fields.counts import PATHS

if TYPE_CHECKING:
    from estimica.infer.forecast.result import Forecast


def forecast(
    study: StudyPath,
    inputs: Annotated[
        Path | None,
        typer.Option(help="A table of the inputs after the data, with the columns of the case."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(help="Where it ends, a time or date; by default with the inputs."),
    ] = None,
    case: Annotated[str | None, typer.Option(help="Which case goes on.")] = None,
    hold: Annotated[
        str | None, typer.Option(help="`last`: keep the last values of inputs that end before.")
    ] = None,
    paths: Annotated[
        int, typer.Option(min=0, max=PATHS, help="Draw so many possible courses.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of these.")] = 1,
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
    """Fit a study with noise in its states and say how it goes on after the data."""
    session = Session(
        "forecast",
        study,
        store,
        no_store=no_store,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
    )
    with session.reported():
        from estimica.infer.forecast.run import forecast as analyse
        from estimica.infer.states.filters import require_criterion, require_level

        require_outputs(csv, page=report)
        require_level(level)
        checked = session.checked_study()
        require_criterion(checked, "forecasts")
        settings = {
            "inputs": None if inputs is None else str(inputs),
            "until": until,
            "case": case,
            "hold": hold,
            "paths": paths,
            "seed": seed,
            "level": level,
        }
        with session.run(checked, settings) as run, run.progress():
            estimate = run.fit(checked, workers)
            if not estimate.outcome.ok:
                say(f"warning: the fit ended early: {estimate.outcome.message}")
            result = run.finish(
                analyse(
                    estimate,
                    inputs,
                    until=until,
                    case=case,
                    hold=hold,
                    paths=paths,
                    seed=seed,
                    level=level,
                )
            )
    session.deliver(result, lambda: _texts(result), (csv, result.write), (report, result.report))


def _texts(result: Forecast) -> Iterator[str]:
    yield from map(text, result.tables())
    for note in result.notes:
        yield f"{note[:1].upper()}{note[1:]}."
