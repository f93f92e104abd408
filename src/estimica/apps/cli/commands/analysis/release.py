"""`estimica release`: set unknowns free step by step, as long as the data ask for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli.console import say
from estimica.apps.cli.delivery import require_outputs
from estimica.apps.cli.options import (
    AsJson,
    BeginWith,
    ExecutorName,
    NoStore,
    Quiet,
    ReportPath,
    Resume,
    SeedOfStarts,
    StorePath,
    StudyPath,
    UseRun,
    Workers,
)
from estimica.apps.cli.progress import ReleaseProgressLine
from estimica.apps.cli.session import Session, given_options
from estimica.base.errors import InferError
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.infer.release.result import Release, Step


def release(
    study: StudyPath,
    begin_with: BeginWith = None,
    use: UseRun = None,
    report: ReportPath = None,
    risk: Annotated[float | None, typer.Option(help="Largest risk; 0.05 unless told.")] = None,
    starts: Annotated[int | None, typer.Option(help="Starts of each search.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Most steps.")] = None,
    seed: SeedOfStarts = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="Ask at each step which candidate to take.")
    ] = False,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Take the answers from stdin without a terminal.")
    ] = False,
    workers: Workers = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find which unknowns are worth freeing, by likelihood-ratio tests."""
    session = Session(
        "release",
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
        from estimica.infer.release.run import release as step_by_step

        require_outputs(page=report)
        _require_terminal(interactive, stdin)
        checked = session.checked_study()
        given = given_options(risk=risk, starts=starts, max_steps=max_steps, seed=seed)
        with session.run(checked, given, given) as run:
            with ReleaseProgressLine(quiet=quiet or interactive, writer=run.writer) as line:
                result = step_by_step(
                    checked,
                    settings=run.settings,
                    choose=_Asker() if interactive else None,
                    progress=line,
                    workers=workers,
                    executor=executor,
                    run=run.writer,
                )
            result = run.finish(result)
    session.deliver(result, lambda: _texts(result), (report, result.report))


def _require_terminal(interactive: bool, stdin: bool) -> None:
    if stdin and not interactive:
        raise InferError("I121", "--stdin goes with --interactive; add it, or leave both out")
    if interactive and not stdin and not sys.stdin.isatty():
        raise InferError(
            "I120",
            "--interactive asks questions and there is no terminal; add --stdin to take the "
            "answers from stdin, a line for each step, or leave --interactive out",
        )


def _texts(result: Release) -> Iterator[str]:
    for step in result.steps:
        yield text(step.table())
    for table in result.tables():
        yield text(table)
    yield from result.advice


class _Asker:
    """Shows a step on stderr and asks which candidate to take."""

    def __call__(self, step: Step) -> int | None:
        """The place of a candidate, or None for none of them."""
        say(text(step.table()))
        for k, c in enumerate(step.candidates, start=1):
            say(f"  {k}  {c.name}{'  (proposed)' if k - 1 == step.proposed else ''}")
        default = 0 if step.proposed is None else step.proposed + 1
        most = len(step.candidates)
        while True:
            try:
                given = typer.prompt(
                    f"Release which of 1 … {most}, or 0 for none?", default=str(default), err=True
                )
            except typer.Abort:  # the end of the answers, or Ctrl-C
                raise KeyboardInterrupt from None
            if given.strip().isdigit() and int(given) <= most:
                return int(given) - 1 if int(given) else None
            say(f"'{given}' is not a number from 0 to {most}")
