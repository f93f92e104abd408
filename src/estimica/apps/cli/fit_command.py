"""`estimica fit`: find the tuners of a study; progress, a table, and the run stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from estimica.apps.cli.check_command import StudyPath
from estimica.apps.cli.console import (
    FAILED,
    WRONG_INPUT,
    print_json,
    print_text,
    reported,
    say,
)
from estimica.apps.cli.kept_page import keep_page
from estimica.apps.cli.options import AsJson
from estimica.base.errors import DesignError, EstimicaError, ReportError
from estimica.base.show import ended, text

if TYPE_CHECKING:
    from estimica.base.problems import Problem
    from estimica.estimate.estimator import Progress
    from estimica.estimate.fit import Fit
    from estimica.execute.run_writer import RunWriter
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
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the tuners of a study from its data and say how far to trust them."""
    with reported("fit", as_json):
        _require_folders(report, csv, modelica, ssv)
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
        asked = _checked(study, {n: v for n, v in settings.items() if v is not None}, as_json)
        with _writer(asked, study, store, no_store) as writer:
            found = _run(asked, writer, workers, quiet)
        if writer.trouble:
            say(f"warning: the run is not stored: {writer.trouble}")
        written = _write(found, report, csv, modelica, ssv, against, by)
    if as_json:
        print_json(found.to_dict())
    else:
        print_text(text(found.table()))
        print_text(text(found.quality()))
        for line in _more(found):
            print_text(line)
    if not quiet:
        for what in written:
            say(f"wrote {what}")
        if found.run:
            say(f"stored as run {found.run}")
    if not found.outcome.ok:
        if as_json:
            say(ended(found.outcome.status, found.outcome.message))
        raise typer.Exit(FAILED)


def _checked(path: Path, settings: Mapping[str, object], as_json: bool) -> Study:
    """The study with the settings of the command line; ends where anything is wrong with it."""
    from estimica.study.check import check, check_file
    from estimica.study.study_file import read_study

    try:
        study = read_study(path)
    except EstimicaError:
        problems = check_file(path)
        if all(p.warning for p in problems):
            raise
        _end_with(problems, as_json)
    if settings:
        study = study.with_(estimation=replace(study.estimation, **settings))  # type: ignore[arg-type]
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
    return study


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


def _require_folders(*paths: Path | None) -> None:
    """What is to be written can be written: better known before the work than after."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise ReportError("P001", f"cannot write '{path}': there is no folder '{path.parent}'")
        if path is not None and path.is_dir():
            raise ReportError("P001", f"cannot write '{path}': it is a folder")


def _writer(study: Study, path: Path, store: Path | None, no_store: bool) -> RunWriter:
    from estimica.execute.run_writer import NoRunWriter
    from estimica.execute.store import Store

    if no_store:
        return NoRunWriter()
    e = study.estimation
    settings = {
        "criterion": e.criterion,
        "method": e.method,
        "transcription": e.transcription,
        "starts": e.starts,
        "seed": e.seed,
        "max_iterations": e.max_iterations,
    }
    where = Store.of(path, store)
    begin = where.begin if store else where.begin_if_possible  # one asked for must work
    content = path.read_text(encoding="utf-8-sig")
    return begin("fit", name=study.name, study=content, settings=settings)


def _run(study: Study, writer: RunWriter, workers: int | None, quiet: bool) -> Fit:
    from estimica.apps.cli.progress import ProgressLine
    from estimica.estimate.estimator import fit as estimate
    from estimica.estimate.search import Status as Ended
    from estimica.execute.run import Status
    from estimica.infer.noted_fit import noted

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
        found = estimate(study, progress=note, workers=workers)
    found = replace(found, run=writer.id)
    interrupted = found.outcome.status is Ended.INTERRUPTED
    status = Status.INTERRUPTED if interrupted else Status.FAILED
    status = Status.DONE if found.outcome.ok else status
    keep_page(found, writer)
    estimate_note = noted(found)
    if estimate_note is not None:  # so that curves and model can be made later
        writer.checkpoint("estimate", estimate_note)
    writer.finish(status, found.outcome.message, found.to_dict())
    return found


def _write(
    found: Fit,
    report: Path | None,
    csv: Path | None,
    modelica: Path | None,
    ssv: Path | None,
    against: str | None,
    by: str | None,
) -> list[Path]:
    written: list[Path] = []
    if report:
        written.append(found.report(report, against=against, by=by))
    if csv and any(c.outputs for c in found.cases):
        written += found.write_csv(csv)
    if modelica and any(c.outputs for c in found.cases):
        written.append(found.write_modelica(modelica))
    if ssv and any(c.outputs for c in found.cases):
        written.append(found.write_ssv(ssv))
    return written


def _more(found: Fit) -> list[str]:
    """What the tables do not say."""
    lines = list(found.identifiability.advice)
    if len(found.starts) > 1:
        best = found.starts[0].cost
        alike = sum(abs(s.cost - best) <= 1e-6 * max(1.0, abs(best)) for s in found.starts)
        lines.append(f"{alike} of {len(found.starts)} starts led to the best cost.")
    return lines
