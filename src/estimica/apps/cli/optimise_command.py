"""`estimica optimise`: find the design that satisfies the demands best."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from estimica.apps.cli.check_command import StudyPath
from estimica.apps.cli.console import FAILED, print_json, print_text, reported, say
from estimica.apps.cli.options import AsJson
from estimica.apps.cli.resumable import (
    Line,
    NoStore,
    Quiet,
    ReportPath,
    StorePath,
    begun,
    checked,
    require_page,
)
from estimica.base.show import ended, text

if TYPE_CHECKING:
    from estimica.optimise.optimiser import Progress


def optimise(
    study: StudyPath,
    method: Annotated[
        str | None,
        typer.Option(help="sqp, quasi-newton, pattern, simplex or genetic; by default sqp."),
    ] = None,
    aggregate: Annotated[
        str | None, typer.Option(help="max, smooth-max or sum; by default max.")
    ] = None,
    max_evaluations: Annotated[
        int | None, typer.Option(help="Most designs that are simulated.")
    ] = None,
    starts: Annotated[int | None, typer.Option(help="Number of starts.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.")] = None,
    report: ReportPath = None,
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the tuners that make the criteria of a study small, all demands at once."""
    with reported("optimise", as_json):
        from dataclasses import replace

        from estimica.execute.run import Status
        from estimica.optimise.optimiser import optimise as search
        from estimica.study.optimise_table import optimise_table

        require_page(report)
        asked = checked(study, "optimise", as_json)
        given: dict[str, Any] = {
            "method": method,
            "aggregate": aggregate,
            "max_evaluations": max_evaluations,
            "starts": starts,
            "seed": seed,
        }
        given = {n: v for n, v in given.items() if v is not None}
        table = asked.tables.get("optimise", {})
        settings = asdict(optimise_table(table if isinstance(table, dict) else {}, given))
        run = begun(
            "optimise",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=None,
            given=given,
            settings=settings,
        )
        most = settings["max_evaluations"] or 2 * settings["max_iterations"]
        with run.writer as writer, Line(quiet) as line:

            def tell(p: Progress) -> None:
                share = min(p.evaluations / most, 1.0)
                line.tell(f"{p.evaluations} designs  best {p.cost:.6g}", share)

            found = replace(search(asked, progress=tell, **given), run=writer.id)
            ends = {"interrupted": Status.INTERRUPTED, "failed": Status.FAILED}
            outcome = found.outcome
            status = ends.get(outcome.status, Status.DONE)
            writer.finish(status, outcome.message, found.to_dict())
        if run.writer.trouble:
            say(f"warning: the run is not stored: {run.writer.trouble}")
        page = found.report(report) if report else None
    if as_json:
        print_json(found.to_dict())
    else:
        print_text(text(found.table()))
        print_text(text(found.criteria_table()))
    if page and not quiet:
        say(f"wrote {page}")
    if found.run and not quiet:
        say(f"stored as run {found.run}")
    if not found.outcome.ok:
        if as_json:
            say(ended(found.outcome.status, found.outcome.message))
        raise typer.Exit(FAILED)
