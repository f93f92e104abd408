"""`estimica map`: the criterion over two tuners, its valleys and holes."""

from __future__ import annotations

from typing import Annotated

import typer

from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import requested_outputs, require_outputs
from estimica.apps.cli.options import (
    AsJson,
    ExecutorName,
    NoStore,
    Quiet,
    ReportPath,
    StorePath,
    StudyPath,
    Workers,
)
from estimica.apps.cli.session import (
    AnalysisProgressLine,
    begin_run,
    checked_study,
    deliver_result,
    finish_run,
    stored,
)
from estimica.base.errors import FitError
from estimica.base.view import text
from estimica.study.fields.counts import MAP_POINTS


def map_(
    study: StudyPath,
    first: Annotated[str, typer.Argument(metavar="A", help="The tuner to the right.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The tuner upwards.")],
    points: Annotated[int, typer.Option(max=MAP_POINTS, help="Points along each tuner.")] = 31,
    range_: Annotated[
        list[str] | None,
        typer.Option("--range", help="Ends of the map: NAME=LOW:HIGH; may be repeated."),
    ] = None,
    refit: Annotated[
        bool, typer.Option("--refit", help="Find the other unknowns anew at every point.")
    ] = False,
    at_start: Annotated[
        bool, typer.Option("--at-start", help="Around the start values, without a fit.")
    ] = False,
    differences: Annotated[
        bool, typer.Option("--differences", help="The true Hessian instead of Gauss-Newton's.")
    ] = False,
    report: ReportPath = None,
    workers: Workers = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compute the cost over two tuners; valleys show what the data do not tell apart."""
    with reported("map", as_json):
        from estimica.infer.criterion_map.run import criterion_map

        require_outputs(page=report)
        ranges = dict(map(_range, range_ or []))
        asked = checked_study(study, "map", as_json)
        settings = {"tuners": [first, second], "points": points, "refit": refit}
        run = begin_run(
            "map",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=None,
            given={},
            settings={**settings, "at_start": at_start, "differences": differences},
        )
        with run.writer as writer, AnalysisProgressLine(quiet, "fitting …", writer) as line:
            found = criterion_map(
                asked,
                first,
                second,
                points=points,
                ranges=ranges,
                refit=refit,
                at_start=at_start,
                hessian="differences" if differences else "gauss-newton",
                workers=workers,
                executor=executor,
                progress=lambda done, count: line.tell(f"{done} of {count} rows", done / count),
            )
            found = finish_run(found, writer)
        stored(run.writer)
    told = f"{text(found.table())}\n{found.text}"
    if found.holes:
        told += f"\n{len(found.holes)} of {found.cost.size} points failed and are holes"
    files = requested_outputs((report, found.report))
    deliver_result(found, [told], files, as_json=as_json, quiet=quiet)


def _range(given: str) -> tuple[str, tuple[float, float]]:
    """`NAME=LOW:HIGH`."""
    name, _, ends = given.partition("=")
    low, _, high = ends.partition(":")
    try:
        return name.strip(), (float(low), float(high))
    except ValueError:
        raise FitError(
            "F088", f"--range '{given}': write NAME=LOW:HIGH, as in J_c=0.001:0.002"
        ) from None
