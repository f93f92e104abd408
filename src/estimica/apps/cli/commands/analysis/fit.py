"""`estimica fit`: find the tuners of a study; progress, a table, and the run stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from estimica.apps.cli.console import WRONG_INPUT, print_json, reported, say
from estimica.apps.cli.delivery import (
    Delivery,
    Output,
    deliver,
    keep_page,
    requested_outputs,
    require_outputs,
)
from estimica.apps.cli.options import AsJson, Resume, StudyPath
from estimica.apps.cli.session import begin_run, stored
from estimica.base.errors import DesignError, EstimicaError, ReportError
from estimica.base.view import status_line, text

if TYPE_CHECKING:
    from estimica.base.problems import Problem
    from estimica.estimate.fit.result import Fit
    from estimica.estimate.run.one_start import Progress
    from estimica.execute.runs.writer import RunWriter
    from estimica.study.study import Study


def fit(
    study: StudyPath,
    report: Annotated[Path | None, typer.Option(help="Write a page to this HTML file.")] = None,
    against: Annotated[
        str | None, typer.Option(help="On the page, draw against this input, output or column.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="In such plots, group points by this variable.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write measured and simulated outputs to this CSV file.")
    ] = None,
    modelica: Annotated[
        Path | None, typer.Option(help="Write the fitted model to this Modelica file.")
    ] = None,
    ssv: Annotated[
        Path | None, typer.Option(help="Write the estimates to this SSP parameter set (.ssv).")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="The store of runs; by default beside the study.")
    ] = None,
    no_store: Annotated[bool, typer.Option("--no-store", help="Do not store the run.")] = False,
    criterion: Annotated[str | None, typer.Option(help="Instead of the study's.")] = None,
    method: Annotated[str | None, typer.Option(help="Instead of the study's.")] = None,
    transcription: Annotated[str | None, typer.Option(help="Instead of the study's.")] = None,
    starts: Annotated[int | None, typer.Option(help="Number of starts.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the starts.")] = None,
    max_iterations: Annotated[int | None, typer.Option(help="Most steps of the search.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes that share several starts; by default one for each processor."
        ),
    ] = None,
    resume: Resume = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the tuners of a study from its data and say how far to trust them."""
    with reported("fit", as_json):
        require_outputs(csv, modelica, ssv, page=report)
        if (against or by) and not report:
            option = "--against" if against else "--by"
            raise ReportError("P010", f"{option} shapes the page: say where with --report")
        settings = {
            "criterion": criterion,
            "method": method,
            "transcription": transcription,
            "starts": starts,
            "seed": seed,
            "max_iterations": max_iterations,
        }
        given = {n: v for n, v in settings.items() if v is not None}
        own, asked = _checked(study, given, as_json)
        run = begin_run(
            "fit",
            own,
            study,
            store=store,
            no_store=no_store,
            resume=resume,
            given=given,
            settings={n: getattr(asked.estimation, n) for n in settings},
        )
        with run.writer as writer:
            found = _run(_with(own, run.settings), writer, workers, quiet)
        stored(writer)
    _shown(found, _outputs(found, report, csv, modelica, ssv, against, by), as_json, quiet)


def _shown(found: Fit, outputs: Sequence[Output], as_json: bool, quiet: bool) -> None:
    outcome = found.outcome
    interrupted = outcome.status == "interrupted" and found.starts
    delivery = Delivery(
        result=found.to_dict,
        texts=lambda: [text(found.table()), text(found.quality()), *_more(found)],
        outputs=outputs,
        run=found.run,
        hint=f"; go on with --resume {found.run}" if interrupted else "",
        failure="" if outcome.ok else status_line(outcome.status, outcome.message),
    )
    deliver(delivery, as_json=as_json, quiet=quiet)


def _checked(path: Path, settings: Mapping[str, object], as_json: bool) -> tuple[Study, Study]:
    """The study as its file has it, and with the settings of the command line.

    Ends where anything is wrong with it.
    """
    from estimica.study.check.run import check, check_file
    from estimica.study.file.read import read_study

    try:
        study = read_study(path)
    except EstimicaError:
        problems = check_file(path)
        if all(p.warning for p in problems):
            raise
        _end_with(problems, as_json)
    own, study = study, _with(study, settings)
    if study.active_criteria and not any(c.data is not None for c in study.active_cases):
        raise DesignError(
            "O092",
            f"study '{study.name}' has criteria but no case with data to fit: it is a design; use "
            "`estimica optimise`",
        )
    problems = check(study)
    if any(not p.warning for p in problems):
        _end_with(problems, as_json)
    for problem in problems:
        _tell(problem)
    return own, study


def _with(study: Study, settings: Mapping[str, Any]) -> Study:
    """The study with these settings in place of its own."""
    if not settings:
        return study
    return study.with_(estimation=replace(study.estimation, **settings))


def _end_with(problems: list[Problem], as_json: bool) -> NoReturn:
    for problem in problems:
        _tell(problem)
    errors = [p for p in problems if not p.warning]
    if as_json:
        message = "; ".join(f"{p.code}: {p.text}" for p in errors)
        outcome = {"status": "wrong input", "code": errors[0].code, "message": message}
        told = [asdict(p) | {"severity": _word(p)} for p in problems]
        print_json({"command": "fit", "outcome": outcome, "problems": told})
    raise typer.Exit(WRONG_INPUT)


def _tell(problem: Problem) -> None:
    say(f"{_word(problem)} {problem.code}: {problem.text}")


def _word(problem: Problem) -> str:
    return "warning" if problem.warning else "error"


def _run(study: Study, writer: RunWriter, workers: int | None, quiet: bool) -> Fit:
    from estimica.apps.cli.progress import ProgressLine
    from estimica.estimate.run.fit import fit as estimate
    from estimica.estimate.search.run import Status as Ended
    from estimica.execute.runs.record import Status
    from estimica.infer.fit_checkpoint import checkpoint_of

    count = 0

    def note(progress: Progress) -> None:
        nonlocal count
        values = map(float, progress.iteration.values)
        payload: dict[str, object] = {"values": dict(zip(progress.names, values, strict=True))}
        if progress.starts > 1:
            payload["start"] = progress.start
        writer.iteration(count, progress.iteration.cost, payload)
        count += 1
        line(progress)

    with ProgressLine(study.estimation, quiet=quiet, writer=writer) as line:
        found = estimate(study, progress=note, workers=workers, run=writer)
    found = replace(found, run=writer.id)
    interrupted = found.outcome.status is Ended.INTERRUPTED
    status = Status.INTERRUPTED if interrupted else Status.FAILED
    status = Status.DONE if found.outcome.ok else status
    keep_page(found, writer)
    estimate_note = checkpoint_of(found)
    if estimate_note is not None:  # so that curves and model can be made later
        writer.checkpoint("estimate", estimate_note)
    writer.finish(status, found.outcome.message, found.to_dict())
    return found


def _outputs(
    found: Fit,
    report: Path | None,
    csv: Path | None,
    modelica: Path | None,
    ssv: Path | None,
    against: str | None,
    by: str | None,
) -> tuple[Output, ...]:
    page = requested_outputs((report, partial(found.report, against=against, by=by)))
    if not any(c.outputs for c in found.cases):
        return page
    return page + requested_outputs(
        (csv, found.write_csv), (modelica, found.write_modelica), (ssv, found.write_ssv)
    )


def _more(found: Fit) -> list[str]:
    """What the tables do not say."""
    lines = list(found.advice)
    if len(found.starts) > 1:
        from estimica.estimate.identify.twins import best_starts

        lines.append(f"{best_starts(found)} of {len(found.starts)} starts led to the best cost.")
    return lines
