"""`estimica optimise`: find the design that satisfies the demands best, or a front of designs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from estimica.apps.cli.commands.design.live_page import LivePage
from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import (
    Delivery,
    Output,
    deliver,
    keep_page,
    requested_outputs,
    require_outputs,
)
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
    ActiveRun,
    AnalysisProgressLine,
    begin_run,
    checked_study,
    stored,
)
from estimica.base.errors import DesignError
from estimica.base.view import status_line, text

if TYPE_CHECKING:
    from estimica.optimise.optimum.result import Optimised
    from estimica.optimise.optimum.run import Progress
    from estimica.optimise.pareto.result import Front
    from estimica.optimise.pareto.run import FrontProgress
    from estimica.study.study import Study


def optimise(
    study: StudyPath,
    method: Annotated[
        str | None,
        typer.Option(help="sqp, quasi-newton, pattern, simplex or genetic; by default sqp."),
    ] = None,
    aggregate: Annotated[
        str | None, typer.Option(help="max, smooth-max or sum; by default max.")
    ] = None,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="A front of two or three criteria.")
    ] = False,
    criteria: Annotated[
        str | None, typer.Option(help="Criteria of the front, with commas between them.")
    ] = None,
    points: Annotated[int | None, typer.Option(help="Designs along the front.")] = None,
    front: Annotated[
        str | None, typer.Option(help="How the front is searched: epsilon or nsga2.")
    ] = None,
    max_evaluations: Annotated[
        int | None, typer.Option(help="Most designs that are simulated.")
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(help="Most iterations, or generations.")
    ] = None,
    starts: Annotated[int | None, typer.Option(help="Number of starts.")] = None,
    population: Annotated[int | None, typer.Option(help="Designs of a generation.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.")] = None,
    fit: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Start from the values of this run of fit or optimise; `fit` makes one.",
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write the design, or the front, to a CSV file.")
    ] = None,
    modelica: Annotated[
        Path | None, typer.Option(help="Write the tuned model as Modelica to this file.")
    ] = None,
    live: Annotated[
        Path | None,
        typer.Option(help="Keep this HTML page up to date with the indicators of the best design."),
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
    """Find the tuners that make the criteria of a study small, all demands at once."""
    with reported("optimise", as_json):
        from estimica.base.problems import raise_all
        from estimica.optimise.check import check_design
        from estimica.study.tables.optimisation import optimise_table

        require_outputs(csv, modelica, live, page=report)
        _refuse(pareto, modelica, live, criteria, points, front)
        asked = checked_study(study, "optimise", as_json)
        raise_all(check_design(asked))
        given = _given(
            method=method,
            aggregate=aggregate,
            max_evaluations=max_evaluations,
            max_iterations=max_iterations,
            starts=starts,
            population=population,
            seed=seed,
            pareto=_front(asked, criteria, points, front) if pareto else None,
        )
        table = asked.tables.get("optimise", {})
        settings = asdict(optimise_table(table if isinstance(table, dict) else {}, given))
        told = {"fit": fit, "front": pareto}
        run = begin_run(
            "optimise",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=resume,
            given=_stored({n: settings[n] for n in given} | _given(**told)),
            settings=settings | told,
        )
        options: dict[str, Any] = {
            "start": run.settings.get("fit"),
            "workers": workers,
            "executor": executor,
            "store": store,
        }
        own = {n: v for n, v in run.settings.items() if n not in told}
        found: Optimised | Front
        if run.settings.get("front"):
            own.pop("method", None)  # that of one design
            found = _front_found(asked, run, quiet, own | options)
            files = requested_outputs((csv, found.write), (report, found.report))
        else:
            page = LivePage(live, asked) if live else None
            found = _design_found(asked, run, quiet, page, own | options)
            files = requested_outputs(
                (report, found.report),
                (csv, found.write),
                (modelica, found.write_modelica),
                (live if page else None, lambda _: page.last() if page else None),
            )
        stored(run.writer)
    _shown(found, files, as_json, quiet)


def _design_found(
    study: Study, run: ActiveRun, quiet: bool, page: LivePage | None, options: dict[str, Any]
) -> Optimised:
    from estimica.optimise.optimum.run import optimise

    own = run.settings
    per_start = own["population"] * own["max_iterations"]
    most = own["max_evaluations"] or (
        per_start if own["method"] == "genetic" else 2 * own["max_iterations"] * own["starts"]
    )
    names = [t.name for t in study.active_tuners]
    best = math.inf
    with run.writer as writer, AnalysisProgressLine(quiet, "preparing …", writer) as line:

        def tell(p: Progress) -> None:
            nonlocal best
            if p.cost < best:
                best = p.cost
                values = dict(zip(names, map(float, p.best.tuners), strict=True))
                writer.iteration(p.evaluations, p.cost, {"values": values})
            share = min(p.evaluations / most, 1.0)
            line.tell(f"{p.evaluations} designs  {p.text}", share)
            if page:
                page.tell(p)

        found: Optimised = _ended(optimise(study, progress=tell, run=writer, **options), writer)
    return found


def _front_found(study: Study, run: ActiveRun, quiet: bool, options: dict[str, Any]) -> Front:
    from estimica.optimise.pareto.run import pareto

    with run.writer as writer, AnalysisProgressLine(quiet, "preparing …", writer) as line:

        def tell(p: FrontProgress) -> None:
            line.tell(f"{p.evaluations} designs  {p.found} on the front", p.share)

        found: Front = _ended(pareto(study, progress=tell, run=writer, **options), writer)
    return found


def _ended(found: Any, writer: Any) -> Any:
    """The result with its run, which is ended with it."""
    from dataclasses import replace

    from estimica.execute.runs.record import Status

    found = replace(found, run=writer.id)
    ends = {"interrupted": Status.INTERRUPTED, "failed": Status.FAILED}
    status = ends.get(found.outcome.status, Status.DONE)
    keep_page(found, writer)
    writer.finish(status, found.outcome.message, found.to_dict())
    return found


def _shown(found: Any, files: Sequence[Output], as_json: bool, quiet: bool) -> None:
    outcome = found.outcome
    tables = [found.table()]
    if hasattr(found, "criteria_table"):
        tables.append(found.criteria_table())
    delivery = Delivery(
        result=found.to_dict,
        texts=lambda: map(text, tables),
        outputs=files,
        run=found.run,
        hint=f"; go on with --resume {found.run}" if outcome.status == "interrupted" else "",
        failure="" if outcome.ok else status_line(outcome.status, outcome.message),
    )
    deliver(delivery, as_json=as_json, quiet=quiet)


def _refuse(pareto: bool, modelica: Path | None, live: Path | None, *front: object) -> None:
    if pareto and modelica:
        raise DesignError(
            "O090", "--modelica writes one design, --pareto finds many; leave one out"
        )
    if pareto and live:
        raise DesignError("O093", "--live shows one design, --pareto finds many; leave one out")
    if not pareto and any(f is not None for f in front):
        raise DesignError("O091", "--criteria, --points and --front are of a front; add --pareto")


def _front(
    study: Study, criteria: str | None, points: int | None, front: str | None
) -> dict[str, Any]:
    """The table `pareto` with what stands on the command line before it."""
    table = study.tables.get("optimise", {})
    own = table.get("pareto", {}) if isinstance(table, dict) else {}
    names = [n.strip() for n in criteria.split(",")] if criteria else None
    return {**own, **_given(criteria=names, points=points, method=front)}


def _given(**options: Any) -> dict[str, Any]:
    return {n: v for n, v in options.items() if v is not None and v is not False}


def _stored(values: dict[str, Any]) -> dict[str, Any]:
    """Settings as they come back from the store, to be compared with it."""
    from estimica.execute.runs.payload import from_text, to_text

    found: dict[str, Any] = from_text(to_text(values))
    return found
