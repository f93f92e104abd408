"""Session: what every command that works on a study does around its analysis.

It reads and checks the study, begins a run in the store or takes one up, shows progress, ends the
run with its result, and delivers: tables or JSON, files, what to do next. A command itself only
turns options into settings, calls the analysis and says what to print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from estimica.apps.cli.console import reported, say
from estimica.apps.cli.delivery import Delivery, Writer, deliver, keep_page, requested_outputs
from estimica.apps.cli.progress import ProgressLine
from estimica.base.errors import StoreError
from estimica.base.files.read import read_text
from estimica.base.result import Outcome
from estimica.base.view import status_line

if TYPE_CHECKING:
    from estimica.base.problems import Problem
    from estimica.estimate.fit.result import Fit
    from estimica.estimate.run.one_start import Progress as FitProgress
    from estimica.execute.runs.record import Status
    from estimica.execute.runs.store import Store
    from estimica.execute.runs.writer import RunWriter
    from estimica.study.study import Study

DESIGNING = ("optimise", "sweep", "montecarlo")  # commands about criteria of a design
ESTIMATE = "estimate"  # the checkpoint that holds a fit
#: ends of a search that went its way, though its best design is not good enough to be used
COMPLETE = ("not met", "evaluation limit")

AnyResult = TypeVar("AnyResult", bound=Any)  # a Result, which is a dataclass with a run


@dataclass(frozen=True, eq=False)
class Session:
    """One command at work on the study at `path`, with the options that all of them share."""

    command: str
    path: Path
    store: Path | None = None
    no_store: bool = False
    resume: str | None = None
    quiet: bool = False
    as_json: bool = False

    def reported(self) -> AbstractContextManager[None]:
        """Where an error that the user can fix ends the command with one message."""
        return reported(self.command, self.as_json)

    def checked_study(self, path: Path | None = None) -> Study:
        """The study, or that at `path`; everything that is wrong with it is one error."""
        from estimica.base.problems import raise_all
        from estimica.study.check.run import check
        from estimica.study.file.read import read_study

        study = read_study(path or self.path)
        if self.command in DESIGNING:
            from estimica.optimise.design import require_criteria

            require_criteria(study)
        problems = check(study)
        raise_all(problems)
        say_problems(problems)
        return study

    def own_table(self, study: Study) -> Mapping[str, Any]:
        """What the study says under the name of this command."""
        table = study.tables.get(self.command, {})
        return table if isinstance(table, dict) else {}

    @contextmanager
    def run(
        self, study: Study, settings: Mapping[str, Any], given: Iterable[str] = ()
    ) -> Iterator[ActiveRun]:
        """A new run with these settings, or one taken up again with its own.

        `given` names the settings that stand on the command line: they must agree with those of a
        run that is taken up. Where the run could not be stored, that is told at its end.
        """
        run = self._begun(study, settings, given)
        with run.writer:
            yield run
        if run.writer.trouble:
            say(f"warning: the run is not stored: {run.writer.trouble}")

    def _begun(self, study: Study, settings: Mapping[str, Any], given: Iterable[str]) -> ActiveRun:
        from estimica.execute.runs.provenance import fingerprint, require_unchanged
        from estimica.execute.runs.store import Store
        from estimica.execute.runs.writer import NoRunWriter

        if self.resume is not None and self.no_store:
            raise StoreError("B020", "--resume needs the store; leave --no-store out")
        if self.no_store:
            return ActiveRun(NoRunWriter(), settings, self.quiet)
        store = Store.of(self.path, self.store)
        if self.resume is None:
            begin = store.begin if self.store else store.begin_if_possible  # one named must work
            noted = {**settings, "fingerprint": fingerprint(study)}
            content = read_text(self.path, "utf-8-sig")
            writer = begin(self.command, name=study.name, study=content, settings=noted)
            return ActiveRun(writer, settings, self.quiet)
        run = stored_run(store, self.command, self.resume)
        for name in given:
            if run.settings.get(name) != _as_stored(settings[name]):
                raise StoreError(
                    "B022",
                    f"run '{run.id}' was begun with {name.replace('_', ' ')} "
                    f"{run.settings.get(name)}; leave --{name.replace('_', '-')} out, or begin a "
                    "new run",
                )
        require_unchanged(run.id, run.settings.get("fingerprint", {}), fingerprint(study))
        own = {n: v for n, v in run.settings.items() if n != "fingerprint"}
        writer = store.resume(run.id)
        _say_damaged(writer)
        return ActiveRun(writer, own, self.quiet)

    def deliver(
        self,
        result: Any,
        texts: Callable[[], Iterable[str]],
        *outputs: tuple[Path | None, Writer],
        more: Mapping[str, object] | None = None,
        resumable: bool = True,
    ) -> None:
        """Print the result, write the files that were asked for, and tell what was written.

        `more` is what the JSON has beside the result's own.
        """
        outcome: Outcome = result.outcome
        goes_on = resumable and outcome.status == "interrupted"
        delivery = Delivery(
            result=lambda: {**result.to_dict(), **(more or {})},
            texts=texts,
            outputs=requested_outputs(*outputs),
            run=result.run,
            hint=f"; go on with --resume {result.run}" if goes_on else "",
            failure="" if outcome.ok else status_line(outcome.status, outcome.message),
        )
        deliver(delivery, as_json=self.as_json, quiet=self.quiet)


@dataclass(frozen=True, eq=False)
class ActiveRun:
    """A run that has begun, or was taken up again, and the settings it goes by."""

    writer: RunWriter
    settings: Mapping[str, Any]
    quiet: bool = field(default=False, repr=False)

    def progress(self, first: str = "fitting …") -> ProgressLine:
        """The line that tells how far it is."""
        return ProgressLine(first, quiet=self.quiet, writer=self.writer)

    def fit(self, study: Study, workers: int | None) -> Fit:
        """The fit that an analysis builds on.

        An interrupt ends the whole command: what builds on half a fit is not of an optimum.
        """
        from estimica.estimate.run.fit import fit

        def note(progress: FitProgress) -> None:
            one = progress.iteration
            text = f"fitting: iteration {one.number}  cost {one.cost:.7g}"
            self.writer.progress(None, text)

        estimate = fit(study, workers=workers, progress=note, run=self.writer)
        if estimate.outcome.status == "interrupted":
            raise KeyboardInterrupt
        return estimate

    def checkpointed_fit(self, study: Study, workers: int | None) -> Fit:
        """The same; one that the run has noted is not searched again."""
        from estimica.infer.fit_checkpoint import checkpoint_of, fit_from_checkpoint

        known = self.writer.checkpoints().get(ESTIMATE)
        if known is not None:
            return fit_from_checkpoint(study, known)
        estimate = self.fit(study, workers)
        note = checkpoint_of(estimate)
        if note is None:
            return estimate
        self.writer.checkpoint(ESTIMATE, note)
        self.writer.flush()
        return fit_from_checkpoint(study, self.writer.checkpoints().get(ESTIMATE, note))

    def finish(self, result: AnyResult) -> AnyResult:
        """The result with its run, which is ended with it."""
        result = replace(result, run=self.writer.id)
        outcome: Outcome = result.outcome
        keep_page(result, self.writer)
        self.writer.finish(_stored_status(outcome), outcome.message, result.to_dict())
        return result


def given_options(**options: Any) -> dict[str, Any]:
    """Those options that stand on the command line."""
    return {name: value for name, value in options.items() if value is not None}


def stored_run(store: Store, command: str, which: str) -> Any:
    """A run of this command: the newest where `which` is `last`, as others may have run since."""
    if which == "last":
        runs = store.runs(1, command)
        if not runs:
            raise StoreError("B010", f"there is no run of '{command}' in '{store.path}' to take up")
        which = runs[0].id
    run = store.run(which)
    if run.summary.command != command:
        raise StoreError(
            "B021", f"run '{run.id}' is of '{run.summary.command}', not of '{command}'"
        )
    return run


def say_problems(problems: Iterable[Problem]) -> None:
    """One line for each on stderr."""
    for problem in problems:
        say(f"{problem.severity} {problem.code}: {problem.text}")


def _stored_status(outcome: Outcome) -> Status:
    from estimica.execute.runs.record import Status

    if outcome.status == "interrupted":
        return Status.INTERRUPTED
    return Status.DONE if outcome.ok or outcome.status in COMPLETE else Status.FAILED


def _as_stored(value: object) -> object:
    """A setting as it comes back from the store, to be compared with it."""
    from estimica.execute.runs.payload import from_text, to_text

    return from_text(to_text(value))


def _say_damaged(writer: RunWriter) -> None:
    writer.checkpoints()
    if writer.damaged:
        count, first = len(writer.damaged), writer.damaged[0]
        what = f"{count} checkpoints of run '{writer.id}' are" if count > 1 else "a checkpoint is"
        say(f"warning B040: {what} damaged ('{first}'); that part of the work is done again")
