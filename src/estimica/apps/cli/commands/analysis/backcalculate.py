"""`estimica backcalculate`: what a relation hides, computed from data, and the law in it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import requested_outputs, require_outputs
from estimica.apps.cli.options import AsJson, NoStore, Quiet, ReportPath, StorePath, StudyPath
from estimica.apps.cli.session import (
    AnalysisProgressLine,
    begin_run,
    deliver_result,
    finish_run,
    stored,
)
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.infer.backcalculation.result import BackCalculation


def backcalculate(
    study: StudyPath,
    compute: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Variables or parameters to be computed."),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(help="A variable or column that they may depend on; may be repeated."),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="An equation that does not hold: its text, or a name that only it has."),
    ] = None,
    law: Annotated[
        list[str] | None, typer.Option(help="A law to be tried; may be repeated. By default all.")
    ] = None,
    errors: Annotated[str | None, typer.Option(help="absolute or relative.")] = None,
    axes: Annotated[
        str | None, typer.Option(help="Draw only these: linear, lin-log, log-lin or log-log.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write the points to this CSV or Parquet file.")
    ] = None,
    report: ReportPath = None,
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Leave a relation out, let data drive the rest, and see what it hides and which law it is."""
    with reported("backcalculate", as_json):
        from estimica.infer.backcalculation.present import require_axes
        from estimica.infer.backcalculation.run import backcalculate as calculate
        from estimica.study.file.read import read_study
        from estimica.study.tables.inference import backcalculate_table

        require_outputs(csv, page=report)
        if axes is not None:
            require_axes(axes)
        given: dict[str, Any] = {
            "compute": compute or None,
            "against": against or None,
            "leave_out": leave_out or None,
            "laws": law or None,
            "errors": errors,
        }
        given = {n: v for n, v in given.items() if v is not None}
        backcalculate_table(given)  # complains before a file is read
        asked = read_study(study, asked={"backcalculate": given})
        run = begin_run(
            "backcalculate",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=None,
            given={},
            settings=given,
        )
        with run.writer as writer, AnalysisProgressLine(quiet, "computing …", writer):
            found = finish_run(calculate(asked, **given), writer)
        stored(writer)
    files = requested_outputs((csv, found.write), (report, partial(found.report, axes=axes)))
    deliver_result(found, _texts(found), files, as_json=as_json, quiet=quiet)


def _texts(found: BackCalculation) -> list[str]:
    from estimica.infer.backcalculation.present import tables

    return [text(table) for table in tables(found)]
