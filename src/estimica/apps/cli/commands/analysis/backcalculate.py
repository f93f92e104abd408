"""`estimica backcalculate`: what a relation hides, computed from data, and the law in it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

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
)
from estimica.apps.cli.session import Session, given_options
from estimica.base.view import text


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
    begin_with: BeginWith = None,
    use: UseRun = None,
    report: ReportPath = None,
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Leave a relation out, let data drive the rest, and see what it hides and which law it is."""
    session = Session(
        "backcalculate",
        study,
        store,
        no_store=no_store,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
    )
    with session.reported():
        from estimica.infer.backcalculation.present import require_axes, tables
        from estimica.infer.backcalculation.run import backcalculate as calculate
        from estimica.study.tables.inference import backcalculate_table

        require_outputs(csv, page=report)
        if axes is not None:
            require_axes(axes)
        given = given_options(
            compute=compute or None,
            against=against or None,
            leave_out=leave_out or None,
            laws=law or None,
            errors=errors,
        )
        backcalculate_table(given)  # complains before a file is read
        relations = session.at_values(session.read(asked={"backcalculate": given}))
        with session.run(relations, given) as run, run.progress("computing …"):
            result = run.finish(calculate(relations, **given))
    session.deliver(
        result,
        lambda: map(text, tables(result)),
        (csv, result.write),
        (report, partial(result.report, axes=axes)),
    )
