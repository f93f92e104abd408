"""`estimica design-input`: which input would tell most about the tuners."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from estimica.apps.cli.delivery import require_outputs
from estimica.apps.cli.options import (
    AsJson,
    BeginWith,
    ExecutorName,
    NoStore,
    Quiet,
    ReportPath,
    Resume,
    StorePath,
    StudyPath,
    UseRun,
    Workers,
)
from estimica.apps.cli.session import (
    Session,
    given_options,
    say_problems,
)
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.base.result import Progress
    from estimica.study.study import Study


def design_input(
    study: StudyPath,
    kind: Annotated[
        str | None, typer.Option(help="class, multisine or free; as in the study unless told.")
    ] = None,
    criterion: Annotated[
        str | None, typer.Option(help="What chooses: R, S_min, D, A or E.")
    ] = None,
    refine: Annotated[
        bool, typer.Option("--refine", help="Search on between the values that are tried.")
    ] = False,
    begin_with: BeginWith = None,
    use: UseRun = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write the designed input to this CSV file.")
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
    """Find the input that would tell most about the tuners, before the experiment is made."""
    session = Session(
        "design-input",
        study,
        store,
        no_store=no_store,
        resume=resume,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
    )
    with session.reported():
        from estimica.experiment.design_input import design_input as design

        require_outputs(csv, page=report)
        readable = session.at_values(_readable(session))
        given = given_options(kind=kind, criterion=criterion, refine=refine or None)
        with (
            session.run(readable, _settings(readable, given), given) as run,
            run.progress() as line,
        ):

            def tell(p: Progress) -> None:
                line.tell(f"{p.done} of {p.count}  {p.text}".strip(), p.done / max(p.count, 1))

            result = design(
                readable,
                {n: v for n, v in run.settings.items() if n in ("kind", "criterion", "refine")},
                workers=workers,
                executor=executor,
                progress=tell,
                run=run.writer,
            )
            result = run.finish(result)
    session.deliver(
        result,
        lambda: [text(result.table())],
        (None if result.outcome.status == "failed" else csv, result.write_csv),
        (report, result.report),
    )


def _readable(session: Session) -> Study:
    """The study; it needs no data, but what it has must be right."""
    from estimica.base.problems import raise_all
    from estimica.study.check.names import check_names
    from estimica.study.check.run import check

    study = session.read()
    problems = check(study) if study.active_cases else check_names(study)
    raise_all([p for p in problems if p.code != "Q008"])  # an experiment may only validate
    say_problems(p for p in problems if p.warning)
    return study


def _settings(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a run goes by, as the store can keep them."""
    from estimica.study.tables.input_design import input_design_table

    own = study.tables.get("input_design", {})
    table = input_design_table(own if isinstance(own, Mapping) else {}, given)
    return {"kind": table.kind, "criterion": table.criterion, "refine": table.refine}
