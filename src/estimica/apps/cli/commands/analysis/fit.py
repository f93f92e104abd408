"""`estimica fit`: find the tuners of a study; progress, a table, and the run stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from estimica.apps.cli.console import WRONG_INPUT, print_json
from estimica.apps.cli.delivery import Writer, require_outputs
from estimica.apps.cli.options import (
    AsJson,
    BackendName,
    BeginWith,
    NoStore,
    Quiet,
    ReportPath,
    Resume,
    SeedOfStarts,
    Starts,
    StorePath,
    StudyPath,
    UseRun,
)
from estimica.apps.cli.session import ESTIMATE, ActiveRun, Session, given_options, say_problems
from estimica.base.errors import DesignError, EstimicaError, ReportError
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.base.problems import Problem
    from estimica.estimate.fit.result import Fit
    from estimica.estimate.run.one_start import Progress
    from estimica.study.study import Study


def fit(
    study: StudyPath,
    begin_with: BeginWith = None,
    use: UseRun = None,
    report: ReportPath = None,
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
    store: StorePath = None,
    no_store: NoStore = False,
    criterion: Annotated[str | None, typer.Option(help="Instead of the study's.")] = None,
    method: Annotated[str | None, typer.Option(help="Instead of the study's.")] = None,
    transcription: Annotated[str | None, typer.Option(help="Instead of the study's.")] = None,
    starts: Starts = None,
    seed: SeedOfStarts = None,
    max_iterations: Annotated[int | None, typer.Option(help="Most steps of the search.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes that share several starts; by default one for each processor."
        ),
    ] = None,
    backend: BackendName = None,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the tuners of a study from its data and say how far to trust them."""
    session = Session(
        "fit",
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
        require_outputs(csv, modelica, ssv, page=report)
        if (against or by) and not report:
            option = "--against" if against else "--by"
            raise ReportError("P010", f"{option} shapes the page: say where with --report")
        given = given_options(
            criterion=criterion,
            method=method,
            transcription=transcription,
            starts=starts,
            seed=seed,
            max_iterations=max_iterations,
        )
        own, changed = _checked(session, given)
        settings = {n: getattr(changed.estimation, n) for n in SETTINGS}
        with session.run(own, settings, given) as run:
            result = _estimated(_with(own, run.settings), run, workers)
    outputs: list[tuple[Path | None, Writer]] = [
        (report, partial(result.report, against=against, by=by))
    ]
    if any(c.outputs for c in result.cases):
        outputs += (
            (csv, result.write_csv),
            (modelica, result.write_modelica),
            (ssv, result.write_ssv),
        )
    session.deliver(result, lambda: _texts(result), *outputs, resumable=bool(result.starts))


SETTINGS = ("criterion", "method", "transcription", "starts", "seed", "max_iterations")


def _checked(session: Session, settings: Mapping[str, object]) -> tuple[Study, Study]:
    """The study as its file has it, and with the settings of the command line.

    Ends where anything is wrong with it.
    """
    from estimica.study.check.run import check, check_file

    as_json = session.as_json
    try:
        study = session.read()
    except EstimicaError:
        problems = check_file(session.path)
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
    say_problems(problems)
    own = session.at_values(own)
    return own, _with(own, settings)


def _with(study: Study, settings: Mapping[str, Any]) -> Study:
    """The study with these settings in place of its own."""
    if not settings:
        return study
    return study.with_(estimation=replace(study.estimation, **settings))


def _end_with(problems: list[Problem], as_json: bool) -> NoReturn:
    say_problems(problems)
    errors = [p for p in problems if not p.warning]
    if as_json:
        message = "; ".join(f"{p.code}: {p.text}" for p in errors)
        outcome = {"status": "wrong input", "code": errors[0].code, "message": message}
        listed = [asdict(p) | {"severity": p.severity} for p in problems]
        print_json({"command": "fit", "outcome": outcome, "problems": listed})
    raise typer.Exit(WRONG_INPUT)


def _estimated(study: Study, run: ActiveRun, workers: int | None) -> Fit:
    from estimica.apps.cli.progress import FitProgressLine
    from estimica.estimate.run.fit import fit as estimate
    from estimica.infer.fit_checkpoint import checkpoint_of

    count = 0

    def note(progress: Progress) -> None:
        nonlocal count
        values = map(float, progress.iteration.values)
        payload: dict[str, object] = {"values": dict(zip(progress.names, values, strict=True))}
        if progress.starts > 1:
            payload["start"] = progress.start
        run.writer.iteration(count, progress.iteration.cost, payload)
        count += 1
        line(progress)

    with FitProgressLine(study.estimation, quiet=run.quiet, writer=run.writer) as line:
        result = estimate(study, progress=note, workers=workers, run=run.writer)
    checkpoint = checkpoint_of(result)
    if checkpoint is not None:  # so that curves and model can be made later
        run.writer.checkpoint(ESTIMATE, checkpoint)
    return run.finish(result)


def _texts(result: Fit) -> Iterator[str]:
    yield text(result.table())
    yield text(result.quality())
    yield from result.advice
    if len(result.starts) > 1:
        from estimica.estimate.identify.twins import best_starts

        worked = f" ({result.worked_by.words})" if result.worked_by.is_worth_a_word else ""
        led = f"{best_starts(result)} of {len(result.starts)} starts led to the best cost"
        yield f"{led}{worked}."
