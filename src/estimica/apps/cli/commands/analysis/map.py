"""`estimica map`: the criterion over one or two tuners, its valleys and holes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, TypedDict

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
    StorePath,
    StudyPath,
    UseRun,
    Workers,
)
from estimica.apps.cli.session import Session
from estimica.base.errors import FitError
from estimica.base.result import Progress
from estimica.base.view import text
from estimica.study.fields.counts import CURVE_POINTS

if TYPE_CHECKING:
    from estimica.infer.cost_curve.result import CostCurve
    from estimica.infer.criterion_map.hessian import Kind
    from estimica.infer.criterion_map.result import CriterionMap


def map_(
    study: StudyPath,
    first: Annotated[str, typer.Argument(metavar="A", help="The tuner to the right.")],
    second: Annotated[
        str | None,
        typer.Argument(metavar="[B]", help="The tuner upwards; without it a curve over A."),
    ] = None,
    points: Annotated[
        int | None,
        typer.Option(
            max=CURVE_POINTS,
            help="Points along each tuner: 31 of a map, 101 of a curve unless told.",
        ),
    ] = None,
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
    begin_with: BeginWith = None,
    use: UseRun = None,
    report: ReportPath = None,
    workers: Workers = None,
    backend: BackendName = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compute the cost over one or two tuners; valleys show what the data do not tell apart."""
    session = Session(
        "map",
        study,
        store,
        no_store=no_store,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
        backend=backend,
    )
    with session.reported():
        from estimica.infer.cost_curve.run import cost_curve
        from estimica.infer.criterion_map.run import criterion_map

        require_outputs(page=report)
        ranges = dict(map(_range, range_ or []))
        checked = session.checked_study()
        settings = {
            "tuners": [first] if second is None else [first, second],
            "points": points,
            "refit": refit,
            "at_start": at_start,
            "differences": differences,
        }
        with session.run(checked, settings) as run, run.progress() as line:
            tell = line.counting("points" if second is None else "rows")
            shared: _Shared = {
                "refit": refit,
                "at_start": at_start,
                "hessian": "differences" if differences else "gauss-newton",
                "workers": workers,
                "executor": executor,
                "progress": tell,
            }
            result: CriterionMap | CostCurve
            around = checked if at_start else run.known_fit(checked) or checked
            if second is None:
                ends = _only(ranges, first)
                result = cost_curve(around, first, points=points or 101, range=ends, **shared)
            else:
                count = points or 31
                result = criterion_map(around, first, second, points=count, ranges=ranges, **shared)
            result = run.finish(result)
    session.deliver(result, lambda: [_text(result)], (report, result.report))


class _Shared(TypedDict):
    """What a map and a curve take alike."""

    refit: bool
    at_start: bool
    hessian: Kind
    workers: int | None
    executor: str
    progress: Callable[[Progress], None]


def _only(ranges: Mapping[str, tuple[float, float]], name: str) -> tuple[float, float] | None:
    """The range of the one tuner of a curve."""
    for other in ranges:
        if other != name:
            raise FitError("F083", f"ranges: '{other}' is not on the curve, which is over '{name}'")
    return ranges.get(name)


def _text(result: CriterionMap | CostCurve) -> str:
    words = f"{text(result.table())}\n{result.text}"
    if result.holes:
        words += f"\n{len(result.holes)} of {result.cost.size} points failed and are holes"
    return words


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
