"""`estimica optimise`: find the design that satisfies the demands best, or a front of designs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from estimica.apps.cli.commands.design.live_page import LivePage
from estimica.apps.cli.delivery import Writer, require_outputs
from estimica.apps.cli.options import (
    AsJson,
    BackendName,
    BeginWith,
    ExecutorName,
    NoStore,
    Quiet,
    ReportPath,
    Resume,
    Starts,
    StorePath,
    StudyPath,
    UseRun,
    Workers,
)
from estimica.apps.cli.progress import ProgressLine
from estimica.apps.cli.session import ActiveRun, Session, given_options
from estimica.base.errors import DesignError
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.optimise.criteria.score import DesignPoint
    from estimica.optimise.optimum.result import Optimised
    from estimica.optimise.optimum.run import DesignProgress
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
    starts: Starts = None,
    population: Annotated[int | None, typer.Option(help="Designs of a generation.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.")] = None,
    begin_with: BeginWith = None,
    use: UseRun = None,
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
    backend: BackendName = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the tuners that make the criteria of a study small, all demands at once."""
    session = Session(
        "optimise",
        study,
        store,
        no_store=no_store,
        resume=resume,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
        backend=backend,
    )
    with session.reported():
        from estimica.base.problems import raise_all
        from estimica.optimise.check import check_design
        from estimica.study.tables.optimisation import optimise_table

        require_outputs(csv, modelica, live, page=report)
        _refuse(pareto, modelica, live, criteria, points, front)
        checked = session.checked_study()
        raise_all(check_design(checked))
        own_table = session.own_table(checked)
        given = given_options(
            method=method,
            aggregate=aggregate,
            max_evaluations=max_evaluations,
            max_iterations=max_iterations,
            starts=starts,
            population=population,
            seed=seed,
            pareto=_front(own_table, criteria, points, front) if pareto else None,
        )
        settings = asdict(optimise_table(own_table, given)) | {"front": pareto}
        given |= given_options(front=pareto or None)
        options = {"workers": workers, "executor": executor, "store": store}
        page = LivePage(live, checked) if live else None
        result: Optimised | Front
        with session.run(checked, settings, given) as run, run.progress("preparing …") as line:
            search = _search_front if run.settings.get("front") else _search_design
            result = run.finish(search(checked, run, line, page, options))
    session.deliver(result, lambda: _texts(result), *_outputs(result, report, csv, modelica, page))


def _search_design(
    study: Study,
    run: ActiveRun,
    line: ProgressLine,
    page: LivePage | None,
    options: Mapping[str, Any],
) -> Optimised:
    from estimica.optimise.optimum.run import optimise

    names = [t.name for t in study.active_tuners]
    noted: DesignPoint | None = None

    def tell(p: DesignProgress) -> None:
        nonlocal noted
        if noted is None or p.best.tuners.tolist() != noted.tuners.tolist():
            # where limits are missed, a better design may cost more
            noted = p.best
            values = dict(zip(names, map(float, p.best.tuners), strict=True))
            criteria = [score.to_dict() for score in p.best.scores]
            note = {"values": values, "criteria": criteria}
            run.writer.iteration(p.evaluations, p.cost, note)
        where = f"start {p.start} of {p.starts}  " if p.starts > 1 else ""
        line.tell(f"{where}{p.evaluations} designs  {p.text}", p.share)
        if page:
            page.tell(p)

    return optimise(study, progress=tell, run=run.writer, **_arguments(run), **options)


def _search_front(
    study: Study,
    run: ActiveRun,
    line: ProgressLine,
    page: LivePage | None,
    options: Mapping[str, Any],
) -> Front:
    from estimica.optimise.pareto.run import pareto

    def tell(p: FrontProgress) -> None:
        line.tell(f"{p.evaluations} designs  {p.found} on the front", p.share)

    arguments = _arguments(run)
    arguments.pop("method", None)  # that of one design
    return pareto(study, progress=tell, run=run.writer, **arguments, **options)


def _arguments(run: ActiveRun) -> dict[str, Any]:
    """The settings of a run as the searches take them."""
    own = {n: v for n, v in run.settings.items() if n != "front"}
    return own | {"start": run.start}


def _outputs(
    result: Optimised | Front,
    report: Path | None,
    csv: Path | None,
    modelica: Path | None,
    page: LivePage | None,
) -> list[tuple[Path | None, Writer]]:
    from estimica.optimise.optimum.result import Optimised

    if not isinstance(result, Optimised):
        return [(csv, result.write), (report, result.report)]
    outputs: list[tuple[Path | None, Writer]] = [
        (report, result.report),
        (csv, result.write),
        (modelica, result.write_modelica),
    ]
    if page:
        outputs.append((page.path, lambda _: page.last()))
    return outputs


def _texts(result: Optimised | Front) -> Iterator[str]:
    from estimica.optimise.optimum.result import Optimised

    yield text(result.table())
    if isinstance(result, Optimised):
        yield text(result.criteria_table())


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
    own_table: Mapping[str, Any], criteria: str | None, points: int | None, front: str | None
) -> dict[str, Any]:
    """The table `pareto` with what stands on the command line before it."""
    names = [n.strip() for n in criteria.split(",")] if criteria else None
    given = given_options(criteria=names, points=points, method=front)
    return {**own_table.get("pareto", {}), **given}
