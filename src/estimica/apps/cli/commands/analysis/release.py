"""`estimica release`: set unknowns free step by step, as long as the data ask for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer

from estimica.apps.cli.console import StatusLine, reported, say
from estimica.apps.cli.delivery import (
    Delivery,
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
from estimica.apps.cli.session import begin_run, checked_study, stored
from estimica.base.errors import InferError
from estimica.base.view import status_line, text

if TYPE_CHECKING:
    from estimica.execute.runs.writer import RunWriter
    from estimica.infer.release.result import Release, Step
    from estimica.infer.release.run import ReleaseProgress
    from estimica.study.study import Study


def release(
    study: StudyPath,
    report: ReportPath = None,
    risk: Annotated[float | None, typer.Option(help="Largest risk; 0.05 unless told.")] = None,
    starts: Annotated[int | None, typer.Option(help="Starts of each search.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Most steps.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the starts.")] = None,
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
    with reported("release", as_json):
        require_outputs(page=report)
        _require_terminal(interactive, stdin)
        asked = checked_study(study, "release", as_json)
        options = {"risk": risk, "starts": starts, "max_steps": max_steps, "seed": seed}
        given = {n: v for n, v in options.items() if v is not None}
        run = begin_run(
            "release",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=resume,
            given=given,
            settings=given,
        )
        with run.writer as writer:
            found = _run(
                asked,
                writer,
                run.settings,
                choose=_Asker() if interactive else None,
                workers=workers,
                executor=executor,
                quiet=quiet,
            )
        stored(writer)
    ok = found.outcome.ok
    delivery = Delivery(
        result=found.to_dict,
        texts=lambda: _texts(found),
        outputs=requested_outputs((report, found.report)),
        run=found.run,
        hint="" if ok else f"; go on with --resume {found.run}",
        failure="" if ok else status_line(found.outcome.status, found.outcome.message),
    )
    deliver(delivery, as_json=as_json, quiet=quiet)


def _require_terminal(interactive: bool, stdin: bool) -> None:
    if stdin and not interactive:
        raise InferError("I121", "--stdin goes with --interactive; add it, or leave both out")
    if interactive and not stdin and not sys.stdin.isatty():
        raise InferError(
            "I120",
            "--interactive asks questions and there is no terminal; add --stdin to take the "
            "answers from stdin, a line for each step, or leave --interactive out",
        )


def _run(
    study: Study,
    writer: RunWriter,
    settings: Mapping[str, object],
    *,
    choose: Callable[[Step], int | None] | None,
    workers: int | None,
    executor: str,
    quiet: bool,
) -> Release:
    from estimica.execute.runs.record import Status
    from estimica.infer.release.result import Ending
    from estimica.infer.release.run import release as step_by_step

    with _Line(quiet or choose is not None, writer) as line:
        found = step_by_step(
            study,
            settings=settings,
            choose=choose,
            progress=line,
            workers=workers,
            executor=executor,
            run=writer,
        )
    found = replace(found, run=writer.id)
    status = Status.INTERRUPTED if found.outcome.status is Ending.INTERRUPTED else Status.DONE
    keep_page(found, writer)
    writer.finish(status, found.outcome.message, found.to_dict())
    return found


def _texts(found: Release) -> Iterator[str]:
    for step in found.steps:
        yield text(step.table())
    yield text(found.table())
    yield text(found.fit.table())
    yield from found.advice


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


class _Line:
    """Progress on stderr: a line that renews itself, and one for each step that has ended."""

    def __init__(self, quiet: bool, writer: RunWriter) -> None:
        self._quiet = quiet
        self._writer = writer
        self._renewed = StatusLine("simulating …", quiet=quiet)

    def __enter__(self) -> Self:
        self._renewed.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._renewed.stop()

    def __call__(self, progress: ReleaseProgress) -> None:
        """Tell of a search, or of a step that has ended."""
        step = progress.chosen
        if step is not None:
            took = step.choice
            gained = f"{took.name}: cost {took.cost:.7g}" if took else "nothing is worth releasing"
            line = f"step {step.number}  {gained}"
        else:
            line = (
                f"step {progress.step}  {progress.done} of {progress.count} searches for "
                f"{progress.candidates} candidates  null model's cost {progress.cost:.7g}"
            )
        self._writer.progress(None, line)  # nobody knows how many steps there will be
        if self._quiet:
            return
        if step is not None:
            say(line)
        else:
            self._renewed.show(line)
