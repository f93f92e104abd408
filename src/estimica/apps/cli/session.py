"""Session: what every command that works on a study does around its analysis.

It reads and checks the study, begins a run in the store or takes one up, shows progress, ends the
run with its result, and delivers: tables or JSON, files, what to do next. A command itself only
turns options into settings, calls the analysis and says what to print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    from estimica.execute.carry import FoundRun
    from estimica.execute.runs.record import Status, StoredRun
    from estimica.execute.runs.store import Store
    from estimica.execute.runs.writer import RunWriter
    from estimica.study.carry.use import UsedValues
    from estimica.study.origin import Origin
    from estimica.study.study import Study

DESIGNING = ("optimise", "sweep", "montecarlo")  # commands about criteria of a design
ESTIMATE = "estimate"  # the checkpoint that holds a fit
LAST = "last"
MADE = ("fit", "bootstrap", "sample")  # in place of a run: it is made first
#: settings of a fit that decide which optimum it is of
CRITERION = ("criterion", "method", "transcription")
#: ends of a search that went its way, though its best design is not good enough to be used
COMPLETE = ("not met", "evaluation limit")

AnyResult = TypeVar("AnyResult", bound=Any)  # a Result, which is a dataclass with a run


@dataclass(frozen=True, eq=False)
class Begun:
    """The run whose values a command begins with, and the study without them."""

    found: FoundRun
    bare: Study


@dataclass(frozen=True, eq=False)
class Session:
    """One command at work on the study at `path`, with the options that all of them share.

    With `fit` it begins with the values of that run; with `use` these are written into the study
    file first.
    """

    command: str
    path: Path
    store: Path | None = None
    no_store: bool = False
    resume: str | None = None
    quiet: bool = False
    as_json: bool = False
    fit: str | None = None
    use: str | None = None
    backend: str | None = None  # in place of what the study says
    _begun_with: list[Begun] = field(default_factory=list, repr=False)
    _origins: list[Origin] = field(default_factory=list, repr=False)

    def reported(self) -> AbstractContextManager[None]:
        """Where an error that the user can fix ends the command with one message."""
        return reported(self.command, self.as_json)

    def checked_study(self, path: Path | None = None) -> Study:
        """The study, or that at `path`; everything that is wrong with it is one error."""
        from estimica.base.problems import raise_all
        from estimica.study.check.run import check

        study = self.read(path)
        if self.command in DESIGNING:
            from estimica.optimise.design import require_criteria

            require_criteria(study)
        problems = check(study)
        raise_all(problems)
        say_problems(problems)
        return study if path else self.at_values(study)

    def read(
        self, path: Path | None = None, asked: Mapping[str, Mapping[str, Any]] | None = None
    ) -> Study:
        """The study, or that at `path`; a run that is given stands before the one it names."""
        from estimica.study.carry.names import RUN, TABLE
        from estimica.study.file.read import read_study

        if path is None and self.use is not None:
            self._use(self.use)
        if path is None and self._source() is not None:
            asked = {**(asked or {}), TABLE: {RUN: ""}}
        if path is None and self.backend is not None:
            asked = {**(asked or {}), "execute": {"backend": self.backend}}
        return read_study(path or self.path, asked=asked)

    def _use(self, which: str) -> None:
        """Write the values of a run into the study file."""
        from estimica.execute.carry import found_run
        from estimica.study.carry.names import RUN, TABLE
        from estimica.study.carry.use import use_values
        from estimica.study.file.read import read_study

        if self.fit is not None or self.resume is not None:
            other = "--fit" if self.fit is not None else "--resume"
            raise StoreError(
                "B065", f"--use writes values into the study, {other} has its own; leave one out"
            )
        study = read_study(self.path, asked={TABLE: {RUN: ""}})
        found = found_run(study, which, self.store, last_of(self.command))
        say_used(use_values(study, found.values))

    def _source(self) -> str | None:
        """The run whose values to begin with: the one that is asked for, or a resumed run's."""
        if self.resume is None or self.no_store:
            return self.fit
        run = stored_run(self._store(), self.command, self.resume, self.path.stem)
        noted = run.settings.get("fit")
        return noted if isinstance(noted, str) and noted not in MADE else self.fit

    def _store(self) -> Store:
        from estimica.execute.runs.store import Store

        return Store.of(self.path, self.store)

    def at_values(self, study: Study) -> Study:
        """The study at the values of the run that was asked for, which is told."""
        from estimica.execute.carry import study_at_run

        source = self._source()
        if source is None or source in MADE:
            if study.origin is not None:
                say_origin(study)
            return study
        carried, found = study_at_run(study, source, self.store, last_of(self.command))
        self._begun_with.append(Begun(found, study))
        say_origin(carried.study)
        return carried.study

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
        from estimica.execute.runs.writer import NoRunWriter

        begun = self._begun_with[-1] if self._begun_with else None
        if self.fit in MADE:
            settings = {**settings, "fit": self.fit}
            given = [*given, "fit"]
        self._origins.extend([study.origin] if study.origin else [])
        if begun is not None:
            settings = {**settings, "fit": begun.found.reference}
            given = [*given, *(["fit"] if self.fit is not None else [])]
        if self.resume is not None and self.no_store:
            raise StoreError("B020", "--resume needs the store; leave --no-store out")
        if self.no_store:
            return ActiveRun(NoRunWriter(), settings, self.quiet, begun, study.origin)
        store = self._store()
        if self.resume is None:
            begin = store.begin if self.store else store.begin_if_possible  # one named must work
            noted = {**settings, "fingerprint": fingerprint(study)}
            content = read_text(self.path, "utf-8-sig")
            writer = begin(self.command, name=study.name, study=content, settings=noted)
            return ActiveRun(writer, settings, self.quiet, begun, study.origin)
        run = stored_run(store, self.command, self.resume, study.name)
        if self.resume == LAST:
            say(f"takes up run {run.id}")
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
        return ActiveRun(writer, own, self.quiet, begun, study.origin)

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
        origin = self._origins[-1] if self._origins else None
        goes_on = resumable and outcome.status == "interrupted"
        delivery = Delivery(
            result=lambda: {**result.to_dict(), **origin_of(result, origin), **(more or {})},
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
    all_settings: Mapping[str, Any]
    quiet: bool = field(default=False, repr=False)
    begun: Begun | None = None
    origin: Origin | None = None

    @property
    def start(self) -> str | None:
        """The run that it begins with, or what is made first in its place."""
        named = self.all_settings.get("fit")
        return named if isinstance(named, str) else None

    @property
    def settings(self) -> dict[str, Any]:
        """What the command itself goes by: without the run that it begins with."""
        return {n: v for n, v in self.all_settings.items() if n != "fit"}

    def progress(self, first: str = "fitting …") -> ProgressLine:
        """The line that tells how far it is."""
        return ProgressLine(first, quiet=self.quiet, writer=self.writer)

    def fit(self, study: Study, workers: int | None) -> Fit:
        """The fit that an analysis builds on: that of the run it begins with, or a new one.

        An interrupt ends the whole command: what builds on half a fit is not of an optimum.
        """
        from estimica.estimate.run.fit import fit

        known = self.known_fit(study)
        if known is not None:
            return known

        def note(progress: FitProgress) -> None:
            one = progress.iteration
            text = f"fitting: iteration {one.number}  cost {one.cost:.7g}"
            self.writer.progress(None, text)

        estimate = fit(study, workers=workers, progress=note, run=self.writer)
        if estimate.outcome.status == "interrupted":
            raise KeyboardInterrupt
        return estimate

    def known_fit(self, study: Study) -> Fit | None:
        """The fit of the run that a command begins with, where study and data are still its own."""
        from estimica.execute.runs.provenance import changes, fingerprint
        from estimica.infer.fit_checkpoint import fit_from_checkpoint

        if self.begun is None:
            return None
        source, bare = self.begun.found.run, self.begun.bare
        note = source.checkpoints.get(ESTIMATE)
        before = source.settings.get("fingerprint")
        if note is None or not source.result or not isinstance(before, Mapping):
            return None
        if source.summary.name != study.name or changes(before, fingerprint(bare)):
            return None
        own = {n: v for n, v in source.settings.items() if n in CRITERION}
        same = bare.with_(estimation=replace(bare.estimation, **own)) if own else bare
        if source.summary.command != "fit" or source.settings.get("fit"):
            return None  # its starts were others, and so are the sizes of its unknowns
        return fit_from_checkpoint(same.with_origin(study.origin), note)

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
        told = {**result.to_dict(), **origin_of(result, self.origin)}
        self.writer.finish(_stored_status(outcome), outcome.message, told)
        return result


def origin_of(result: Any, known: Origin | None) -> dict[str, object]:
    """What the JSON of a result says of the run that it began with."""
    origin = getattr(getattr(result, "study", None), "origin", None) or known
    return {} if origin is None else {"from": origin.to_dict()}


def given_options(**options: Any) -> dict[str, Any]:
    """Those options that stand on the command line."""
    return {name: value for name, value in options.items() if value is not None}


def last_of(command: str) -> Sequence[str]:
    """The commands that the `last` run is looked for among: designs begin with designs too."""
    from estimica.execute.carry import DESIGNS, ESTIMATES

    return DESIGNS if command in DESIGNING or command == "use" else ESTIMATES


def stored_run(store: Store, command: str, which: str, study: str) -> StoredRun:
    """A run of this command to be taken up; the `last` is the newest of the study that can be."""
    from estimica.execute.runs.choice import TO_TAKE_UP, chosen_run

    if which == LAST:
        own = [r for r in store.runs(command=command) if r.name == study]
        if not own:
            raise StoreError(
                "B010",
                f"there is no run of '{command}' of study '{study}' in '{store.path}' to take up",
            )
        if not any(r.status in TO_TAKE_UP for r in own):
            which = own[0].id  # whoever takes it up says why that cannot be
    run = chosen_run(store, which, study=study, commands=(command,), states=TO_TAKE_UP)
    if run.summary.command != command:
        raise StoreError(
            "B021", f"run '{run.id}' is of '{run.summary.command}', not of '{command}'"
        )
    return run


def say_origin(study: Study) -> None:
    """One line on stderr: which run the values are from, and what has to be known of them."""
    origin = study.origin
    if origin is None:
        return
    values = ", ".join(f"{n} = {v:.6g}" for n, v in origin.values.items())
    say(f"from {origin.about}" + (f": {values}" if values else ""))
    for remark in origin.remarks:
        say(f"note: {remark}")


def say_used(used: UsedValues) -> None:
    """What was written into a study file, on stderr."""
    say(f"{used.path.name} has the values of {used.about}; `estimica use --undo` takes them back")
    for change in used.changes:
        say(f"  {change.text}")
    for remark in used.remarks:
        say(f"note: {remark}")


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
