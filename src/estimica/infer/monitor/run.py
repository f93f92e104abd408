"""Monitor: recursive estimation while data arrive, with the detection of changes."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from estimica.base.errors import StoreError
from estimica.base.result import DONE, Outcome
from estimica.estimate.fit.result import Fit
from estimica.infer.monitor.channels import Row
from estimica.infer.monitor.charts import Alarm
from estimica.infer.monitor.estimator import Estimator, MonitorStep
from estimica.infer.monitor.follow import GrowingFile
from estimica.infer.monitor.journal import Journal, read_state
from estimica.infer.monitor.result import MonitorResult
from estimica.infer.monitor.settings import MonitorSettings
from estimica.infer.monitor.setup import Frozen, monitor_setup
from estimica.infer.monitor.state import MonitorState
from estimica.study.study import Study

THE_FIT = "the fit"


class Monitor:
    """Estimates that follow data as they arrive.

    States are followed by the filter of the study, tuners by the recursive prediction error method
    with exact derivatives. It begins at the starts of a study's tuners, or where a fit ends, whose
    data the rows continue then.

    Args:
        study: A study, or a fit of one. Its case says which columns are inputs and outputs.
        case: The name of the case; the first by default.
        memory: Seconds after which a sample counts 1/e of a new one; all count alike by default.
        drift: By tuner, the standard deviation by which it wanders in one second, in its unit.
        wild: Values so many standard deviations from their prediction are not taken in.
        wild_run: So many wild values in a row are a change, and are taken in.
        shift: The change of the mean, in standard deviations, that charts find fastest.
        ratio: The change of the spread, as a factor, that charts find fastest.
        change: The change of a tuner, as a share of its value, that charts find fastest.
        false_alarm: One false alarm in so many samples; by default in 30 days.
        settle: Samples before wild values and changes are looked for.
        relearn: After an alarm standard errors are multiplied by this, so that tuners move faster.
        state: A file in which the state is kept; work is taken up where it ended.
        restart: Begin anew though there is a state.
        fresh: Rows do not continue the data of the fit: states begin at their start values.
    """

    def __init__(
        self,
        study: Study | Fit,
        *,
        case: str | None = None,
        memory: float = math.inf,
        drift: Mapping[str, float] | None = None,
        wild: float = 6.0,
        wild_run: int = 3,
        shift: float = 1.0,
        ratio: float = 1.5,
        change: float = 0.1,
        false_alarm: float | None = None,
        settle: int | None = None,
        relearn: float = 1.0,
        state: str | PathLike[str] | None = None,
        restart: bool = False,
        fresh: bool = False,
    ) -> None:
        self.settings = MonitorSettings(
            memory=memory, drift=dict(drift or {}), wild=wild, wild_run=wild_run, shift=shift,
            ratio=ratio, change=change, false_alarm=false_alarm, settle=settle, relearn=relearn,
        )  # fmt: skip
        self._given = study
        self._journal: Journal | None = None
        self._belongs: dict[str, Any] | None = None  # worked out once: data are read for it
        path = None if state is None else Path(state)
        before = None if path is None or restart or not path.exists() else read_state(path)
        frozen = None if before is None else Frozen(**before[1]["frozen"])
        self._setup = monitor_setup(study, case, fresh, frozen)
        self._estimator = Estimator(self._setup, self.settings)
        if before is None:
            self._estimator.begin()
        if path is not None:
            self._keep_in(path, restart, before)

    # --- what arrives -----------------------------------------------------------------------------

    def push(self, row: Mapping[str, object]) -> MonitorStep:
        """Take in one row: a time and values by the names of their columns. For callbacks."""
        return self._accept(self._setup.channels.row(row))

    def take(self, rows: Iterable[Mapping[str, object]]) -> MonitorResult:
        """Take in rows until there are no more: of an iterator, a generator, a list."""
        for row in rows:
            self.push(row)
        self.save()
        return self.result()

    def follow(
        self,
        path: str | PathLike[str],
        *,
        once: bool = False,
        poll: float = 0.2,
        on_step: Callable[[Monitor, MonitorStep], object] | None = None,
        on_news: Callable[[str], object] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> MonitorResult:
        """Follow a text file to which another program appends, until Ctrl-C.

        With `once` it ends at the end of the file. `on_step` is called after each row, `on_news`
        with a line where there is something to tell of the file: that it is waited for, or that it
        has begun anew; `stop` says whether to end and is asked every `poll` seconds.
        """
        outcome = DONE
        try:
            for row in self._rows(Path(path), once, poll, on_news or _silent, stop):
                step = self._accept(row)
                if on_step is not None:
                    on_step(self, step)
        except KeyboardInterrupt:
            outcome = Outcome("ended", "ended by the user")
        self.save()
        return self.result(outcome)

    def _rows(
        self,
        path: Path,
        once: bool,
        poll: float,
        tell: Callable[[str], object],
        stop: Callable[[], bool] | None,
    ) -> Iterator[Row]:
        case, state = self._setup.record.case, self._estimator.state
        reading = None if case.reading is None else case.reading.options(case.time)
        begun = (path, self._setup.channels, state.position, state.head)
        file = GrowingFile(*begun) if reading is None else GrowingFile(*begun, reading)
        told = ""
        try:
            while True:
                for row in file.rows(once):
                    self._note_file(file, tell)
                    yield row
                self._note_file(file, tell)
                if file.waits != told:
                    told = file.waits
                    tell(f"waits: {told}" if told else f"reads '{path}'")
                if once or (stop is not None and stop()):
                    return
                clock.sleep(poll)
        finally:
            file.close()

    def _note_file(self, file: GrowingFile, tell: Callable[[str], object]) -> None:
        """Remember which file it is; one that began anew is noted at once."""
        state = self._estimator.state
        if state.head == file.head and not file.restarted:
            return
        state.head = file.head
        if file.restarted:
            tell(f"'{file.path}' is shorter or another file than before: read from its beginning")
        state.counts["restarted"] += file.restarted
        file.restarted = 0
        self.save()

    def _accept(self, row: Row) -> MonitorStep:
        if self._journal is not None:
            self._journal.note(self._estimator.state.number + 1, row)
        step = self._estimator.process(row)
        if self._journal is not None and self._journal.is_due:
            self.save()
        return step

    # --- what is known ----------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Of the last row that was taken in; NaN before the first."""
        return math.nan if self._estimator.state.point is None else self._estimator.state.point.time

    @property
    def origin(self) -> str:
        """The instant of 0 s where the data have dates; else nothing."""
        return self._setup.record.origin

    @property
    def values(self) -> dict[str, float]:
        """Estimates of all unknowns, tuners first."""
        return self._setup.unknowns.named(self._estimator.recursion.values)

    @property
    def stderr(self) -> dict[str, float]:
        """Their standard errors."""
        return self._setup.unknowns.named(self._estimator.recursion.stderr)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows were taken in, and how many were not and why."""
        return dict(self._estimator.state.counts)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All changes so far."""
        return tuple(self._estimator.state.alarms)

    @property
    def level(self) -> float:
        """How near the charts are to an alarm: 1 is one."""
        return self._estimator.level

    @property
    def standardised(self) -> dict[str, float]:
        """The last innovations over their standard deviations, by output."""
        names = self._setup.channels.output_names
        return {n: float(z) for n, z in zip(names, self._estimator.state.last_z, strict=True)}

    def states(self) -> dict[str, tuple[float, float]]:
        """The states by name: mean and standard deviation after the last row."""
        point, step = self._estimator.state.point, self._setup.step
        if point is None:
            return {}
        n = step.n
        names = self._setup.step.response.configuration.states
        places = [n + k * (k + 1) // 2 + k for k in range(n)]
        return {
            s: (float(point.x[k]), math.sqrt(max(float(point.x[places[k]]), 0.0)))
            for k, s in enumerate(names)
        }

    def result(self, outcome: Outcome = DONE) -> MonitorResult:
        """All of it as a value of its own: estimates, their course, alarms, counts."""
        setup, estimator = self._setup, self._estimator
        found = estimator.recursion
        return MonitorResult(
            setup.study, setup.unknowns.items, found.values, found.stderr,
            setup.channels.output_names, estimator.course.kept.copy(), self.alarms, self.counts,
            self.time, estimator.charts.design, asdict(self.settings), setup.record.origin, outcome,
        )  # fmt: skip

    # --- on disk ----------------------------------------------------------------------------------

    def _keep_in(
        self, path: Path, restart: bool, before: tuple[MonitorState, dict[str, Any]] | None
    ) -> None:
        setup = self._setup
        journal = Journal(path, setup.step.nu, setup.step.ny)
        if before is not None:
            found = read_state(path)  # again, now that nobody else writes it
            try:
                self._require_same(path, found[1])
            except StoreError:
                journal.close()
                raise
            self._estimator.restore(found[0])
            for row in journal.since(self._estimator.state.number):
                self._estimator.process(row)
        self._journal = journal
        self.save()

    def _require_same(self, path: Path, about: Mapping[str, Any]) -> None:
        from estimica.execute.runs.provenance import changes

        now = self._about()
        earlier = dict(about["fingerprint"])
        if THE_FIT not in now["fingerprint"]:  # where it began is known without it
            earlier.pop(THE_FIT, None)
        changed = changes(earlier, now["fingerprint"])
        before, settings = about["settings"], now["settings"]
        changed += [
            f"{n} was {before[n]} and is {settings[n]}"
            for n in settings
            if before[n] != settings[n]
        ]
        if changed:
            raise StoreError(
                "B073",
                f"'{path}' cannot be taken up: since it was written {', '.join(changed)}; undo "
                "that, name another state, or begin anew with restart",
            )

    def _about(self) -> dict[str, Any]:
        """What the state belongs to."""
        return {
            "fingerprint": _fingerprint(self._given),
            "settings": {n: repr(v) for n, v in asdict(self.settings).items()},
            "frozen": asdict(self._setup.frozen),
        }

    def save(self) -> None:
        """Write the whole state, where there is a file for it."""
        if self._journal is None:
            return
        if self._belongs is None:
            self._belongs = self._about()
        self._journal.write(self._estimator.saved(), self._belongs)

    def close(self) -> None:
        """Write the state and let go of its file."""
        if self._journal is not None:
            self.save()
            self._journal.close()
            self._journal = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except StoreError:
            if kind is None:  # an error that is on its way says more
                raise


def _silent(_: str) -> None:
    """Tell nobody."""


def _fingerprint(given: Study | Fit) -> dict[str, str]:
    """Codes of all that a state depends on; data may grow."""
    from estimica.execute.runs.provenance import fingerprint

    study = given.study if isinstance(given, Fit) else given
    codes = {n: c for n, c in fingerprint(study).items() if not n.startswith("the data of")}
    for name in study.noise_names:  # a fit has given those starts that had none
        codes.pop(f"tuner '{name}'", None)
    if isinstance(given, Fit):
        codes[THE_FIT] = given.values.tobytes().hex()
    return codes
