"""What commands share that build on a fit and can be taken up again: study, run, estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from estimica.apps.cli.console import StatusLine, say
from estimica.apps.cli.delivery import Delivery, Output, deliver, keep_page
from estimica.base.errors import StoreError
from estimica.base.files.read import read_text
from estimica.base.view import status_line

if TYPE_CHECKING:
    from estimica.estimate.fit.result import Fit
    from estimica.estimate.run.one_start import Progress as FitProgress
    from estimica.execute.runs.writer import RunWriter
    from estimica.study.study import Study

EVERY = 2.0  # s between plain lines
DESIGNING = ("optimise", "sweep", "montecarlo")  # commands about criteria of a design


@dataclass(frozen=True, eq=False)
class ActiveRun:
    """A run that has begun, or was taken up again, and the settings it goes by."""

    writer: RunWriter
    settings: Mapping[str, Any]


def checked_study(path: Path, command: str, as_json: bool) -> Study:
    """The study; everything that is wrong with it is one error."""
    from estimica.base.problems import raise_all
    from estimica.study.check.run import check
    from estimica.study.file.read import read_study

    study = read_study(path)
    if command in DESIGNING:
        from estimica.optimise.design import require_criteria

        require_criteria(study)
    problems = check(study)
    raise_all(problems)
    for problem in problems:
        say(f"warning {problem.code}: {problem.text}")
    return study


def begin_run(
    command: str,
    study: Study,
    path: Path,
    *,
    store: Path | None,
    no_store: bool,
    resume: str | None,
    given: Mapping[str, object],
    settings: Mapping[str, object],
) -> ActiveRun:
    """A new run with these settings, or one taken up again with its own.

    `given` is what stands on the command line: it must agree with a run that is taken up.
    """
    from estimica.execute.runs.provenance import fingerprint, require_unchanged
    from estimica.execute.runs.store import Store
    from estimica.execute.runs.writer import NoRunWriter

    if resume is not None and no_store:
        raise StoreError("B020", "--resume needs the store; leave --no-store out")
    if no_store:
        return ActiveRun(NoRunWriter(), settings)
    where = Store.of(path, store)
    if resume is None:
        begin = where.begin if store else where.begin_if_possible  # one asked for must work
        noted = {**settings, "fingerprint": fingerprint(study)}
        content = read_text(path, "utf-8-sig")
        return ActiveRun(begin(command, name=study.name, study=content, settings=noted), settings)
    run = where.run(_newest(where, command) if resume == "last" else resume)
    if run.summary.command != command:
        raise StoreError(
            "B021", f"run '{run.id}' is of '{run.summary.command}', not of '{command}'"
        )
    for name, value in given.items():
        if run.settings.get(name) != value:
            raise StoreError(
                "B022",
                f"run '{run.id}' was begun with {name.replace('_', ' ')} "
                f"{run.settings.get(name)}; leave --{name.replace('_', '-')} out, or begin a new "
                "run",
            )
    require_unchanged(run.id, run.settings.get("fingerprint", {}), fingerprint(study))
    own = {n: v for n, v in run.settings.items() if n != "fingerprint"}
    writer = where.resume(run.id)
    _tell_damaged(writer)
    return ActiveRun(writer, own)


def _tell_damaged(writer: RunWriter) -> None:
    writer.checkpoints()
    if writer.damaged:
        count, first = len(writer.damaged), writer.damaged[0]
        what = f"{count} checkpoints of run '{writer.id}' are" if count > 1 else "a checkpoint is"
        say(f"warning B040: {what} damaged ('{first}'); that part of the work is done again")


def _newest(store: Any, command: str) -> str:
    """The newest run of this command: others may have run since."""
    runs = store.runs(1, command)
    if not runs:
        raise StoreError("B010", f"there is no run of '{command}' in '{store.path}' to take up")
    return str(runs[0].id)


def checkpointed_fit(study: Study, writer: RunWriter, workers: int | None) -> Fit:
    """The fit of a study; one that the run has noted is not searched again."""
    from estimica.infer.fit_checkpoint import checkpoint_of, fit_from_checkpoint

    key = "estimate"
    known = writer.checkpoints().get(key)
    if known is not None:
        return fit_from_checkpoint(study, known)
    found = fitted(study, writer, workers)
    note = checkpoint_of(found)
    if note is None:
        return found
    writer.checkpoint(key, note)
    writer.flush()
    return fit_from_checkpoint(study, writer.checkpoints().get(key, note))


def fitted(study: Study, writer: RunWriter, workers: int | None) -> Fit:
    """The fit that something else builds on.

    An interrupt ends the whole command: what builds on half a fit is not of an optimum.
    """
    from estimica.estimate.run.fit import fit
    from estimica.estimate.search.run import Status

    found = fit(study, workers=workers, progress=fitting(writer), run=writer)
    if found.outcome.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return found


def fitting(writer: RunWriter) -> Callable[[FitProgress], None]:
    """Note the iterations of a fit that only comes first."""

    def note(progress: FitProgress) -> None:
        one = progress.iteration
        writer.progress(None, f"fitting: iteration {one.number}  cost {one.cost:.7g}")

    return note


class AnalysisProgressLine:
    """Progress on stderr: a line that renews itself, or plain lines now and then.

    A writer notes it too, for those who watch the run from elsewhere.
    """

    def __init__(
        self, quiet: bool, first: str = "fitting …", writer: RunWriter | None = None
    ) -> None:
        from estimica.apps.time_left import TimeLeft

        self._quiet = quiet
        self._writer = writer
        self._first = first
        self._told = monotonic()
        self._left = TimeLeft()
        self._renewed = StatusLine(first, quiet=quiet)

    def __enter__(self) -> Self:
        if self._writer:
            self._writer.progress(None, self._first)
        self._renewed.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._renewed.stop()

    def tell(self, text: str, share: float) -> None:
        """Tell how far it is; `share` of the work is done."""
        if self._writer:
            self._writer.progress(share, text)
        now = monotonic()
        left = self._left.seconds(now, share)
        if self._quiet or (not self._renewed and now - self._told < EVERY):
            return
        line = f"{text}  about {left:.0f} s left" if left >= 1 else text
        self._told = now
        if self._renewed:
            self._renewed.show(line)
        else:
            say(line)


def finish_run(found: Any, writer: RunWriter) -> Any:
    """The result with its run, which is ended with it."""
    from estimica.execute.runs.record import Status

    found = replace(found, run=writer.id)
    status, message = found.outcome()
    ends = {
        "interrupted": Status.INTERRUPTED,
        "failed": Status.FAILED,
        "not_converged": Status.FAILED,
    }
    keep_page(found, writer)
    writer.finish(ends.get(status, Status.DONE), message, found.to_dict())
    return found


def stored(writer: RunWriter) -> None:
    """Tell where a run could not be stored."""
    if writer.trouble:
        say(f"warning: the run is not stored: {writer.trouble}")


def deliver_result(
    found: Any, texts: Iterable[str], outputs: Sequence[Output], *, as_json: bool, quiet: bool
) -> None:
    """Print the result, write its files, and tell on stderr what was written."""
    status, message = found.outcome()
    delivery = Delivery(
        result=found.to_dict,
        texts=lambda: texts,
        outputs=outputs,
        run=found.run,
        hint=f"; go on with --resume {found.run}" if status == "interrupted" else "",
        failure="" if status == "done" else status_line(status, message),
    )
    deliver(delivery, as_json=as_json, quiet=quiet)
