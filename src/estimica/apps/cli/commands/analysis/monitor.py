"""`estimica monitor`: follow data as they arrive, estimate, and see changes."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from estimica.apps.cli.arguments import assignments
from estimica.apps.cli.console import print_line, say
from estimica.apps.cli.delivery import require_outputs
from estimica.apps.cli.options import (
    AsJson,
    BeginWith,
    NoStore,
    Quiet,
    ReportPath,
    StorePath,
    StudyPath,
    Workers,
)
from estimica.apps.cli.session import ActiveRun, Session
from estimica.base.errors import InferError
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.apps.cli.progress import ProgressLine
    from estimica.infer.monitor.estimator import MonitorStep
    from estimica.infer.monitor.run import Monitor
    from estimica.study.study import Study

EVERY = 0.5  # s between two states of the line, and of the page in the workbench
SHOWN = 4  # tuners that are told in the line: what fits into it


def monitor(
    study: StudyPath,
    follow: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The text file that grows; by default the data of the case."
        ),
    ] = None,
    case: Annotated[
        str | None, typer.Option(help="The case whose columns it has; by default the first.")
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="End at the end of the file, and do not wait for more.")
    ] = False,
    memory: Annotated[
        float | None, typer.Option(help="Seconds after which a sample counts 1/e of a new one.")
    ] = None,
    drift: Annotated[
        list[str] | None,
        typer.Option(help="How far a tuner wanders in one second: NAME=STANDARD_DEVIATION."),
    ] = None,
    wild: Annotated[
        float, typer.Option(help="Values so many standard deviations off are not taken in.")
    ] = 6.0,
    false_alarm: Annotated[
        float | None,
        typer.Option(help="One false alarm in so many samples; by default in 30 days."),
    ] = None,
    relearn: Annotated[
        float, typer.Option(help="After an alarm standard errors are multiplied by this.")
    ] = 1.0,
    state: Annotated[
        Path | None, typer.Option(help="Where the state is kept; by default STUDY.monitor.")
    ] = None,
    no_state: Annotated[
        bool, typer.Option("--no-state", help="Keep no state: the next time begins anew.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew though there is a state.")
    ] = False,
    lines: Annotated[
        bool, typer.Option("--lines", help="Print one JSON object for each row on stdout.")
    ] = False,
    begin_with: BeginWith = None,
    report: ReportPath = None,
    workers: Workers = None,
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Follow data as they arrive: estimates that move with them, and alarms where things change.

    Ctrl-C ends it in good order; called again it goes on where it ended.
    """
    session = Session(
        "monitor", study, store, no_store=no_store, quiet=quiet, as_json=as_json, fit=begin_with
    )
    with session.reported():
        require_outputs(page=report)
        checked = session.checked_study()
        kept = None if no_state else state or study.with_suffix(".monitor")
        settings: dict[str, Any] = {
            "memory": float("inf") if memory is None else memory,
            "drift": {n: _number(n, v) for n, v in assignments("--drift", drift or []).items()},
            "wild": wild,
            "false_alarm": false_alarm,
            "relearn": relearn,
        }
        told = {n: v for n, v in settings.items() if n != "memory"} | {"memory": memory}
        with session.run(checked, told) as run, run.progress("reading …") as progress:
            begun = _begun(checked, kept, restart, workers, run, begin_with is not None)
            from estimica.infer.monitor.run import Monitor

            with Monitor(begun, case=case, state=kept, restart=restart, **settings) as at_work:
                file = follow or _own_file(checked, case)
                if at_work.counts["taken"]:
                    say(f"goes on behind {at_work.counts['taken']} samples of {kept}")
                watch, tell = Watch(at_work, progress, run, lines), _telling(progress, quiet)
                found = at_work.follow(
                    file, once=once, on_step=watch.step, on_news=tell, stop=watch.rest
                )
                result = run.finish(found)
    session.deliver(
        result,
        lambda: [text(t) for t in result.tables()],
        (report, result.report),
        resumable=False,
    )


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InferError("I815", f"--drift {name}={value}: '{value}' is not a number") from None


def _begun(
    study: Study,
    kept: Path | None,
    restart: bool,
    workers: int | None,
    run: ActiveRun,
    fitted: bool,
) -> Any:
    """What a monitor begins with: a fit where one is asked for and no state is there yet."""
    if fitted and (restart or kept is None or not kept.exists()):
        return run.fit(study, workers)
    return study


def _own_file(study: Study, case: str | None) -> Path:
    from estimica.data.table import Data

    for one in study.active_cases:
        source = one.data.source if isinstance(one.data, Data) else one.data
        if case in (None, one.name) and isinstance(source, (str, Path)) and Path(source).is_file():
            return Path(source)
    raise InferError("I816", "the case has no file of its own to follow; write --follow FILE")


def _telling(progress: ProgressLine, quiet: bool) -> Callable[[str], None]:
    """Tell of the file that is followed, here and on the page in the workbench."""

    def tell(line: str) -> None:
        progress.note(None, line)
        if not quiet:
            say(line)

    return tell


class Watch:
    """Tells of every row that has something to tell, and of all rows now and then."""

    def __init__(
        self, monitor: Monitor, progress: ProgressLine, run: ActiveRun, lines: bool
    ) -> None:
        self._monitor, self._progress, self._run, self._lines = monitor, progress, run, lines
        self._last = 0.0  # when something was told
        self._noted = 0
        self._untold: MonitorStep | None = None

    def step(self, monitor: Monitor, step: MonitorStep) -> None:
        """Of one row."""
        from estimica.infer.monitor.present import stamp

        if self._lines:
            print_line(json.dumps(_line(monitor, step)))
            sys.stdout.flush()
        for alarm in step.alarms:
            seen, since = (stamp(monitor.origin, t) for t in (alarm.time, alarm.since))
            say(f"alarm at {seen}: {alarm.name}: {alarm.words}, since about {since}")
        self._untold = step
        if monotonic() - self._last >= EVERY or step.alarms:
            self._tell(step)

    def rest(self) -> bool:
        """Where no more rows are there: the last one is told; it does not end for that."""
        if self._untold is not None and monotonic() - self._last >= EVERY:
            self._tell(self._untold)
        return False

    def _tell(self, step: MonitorStep) -> None:
        self._last, self._untold = monotonic(), None
        self._noted += 1
        news = {"values": self._monitor.values, "monitor": _news(self._monitor, step)}
        self._run.writer.iteration(self._noted, math.nan, news)
        self._progress.tell(_words(self._monitor), None)


def _news(monitor: Monitor, step: MonitorStep) -> dict[str, object]:
    """What the page of a monitor at work shows beside its values."""
    from estimica.base.result import plain_object
    from estimica.infer.monitor.present import stamp

    return plain_object(
        {
            "time": monitor.time,
            "stamp": stamp(monitor.origin, monitor.time),
            "dated": bool(monitor.origin),
            "stderr": monitor.stderr,
            "level": monitor.level,
            "taken": monitor.counts["taken"],
            "alarms": [
                {
                    "seen": stamp(monitor.origin, a.time),
                    "since": stamp(monitor.origin, a.since),
                    "time": a.time,
                    "name": a.name,
                    "change": a.words,
                }
                for a in step.alarms
            ],
        }
    )


def _line(monitor: Monitor, step: MonitorStep) -> dict[str, object]:
    from estimica.base.result import plain_object
    from estimica.infer.monitor.present import alarm_object

    return plain_object(
        {
            "time": step.time,
            "status": step.status,
            "values": monitor.values,
            "stderr": monitor.stderr,
            "innovation": monitor.standardised,
            "level": monitor.level,
            "alarms": [alarm_object(a) for a in step.alarms],
        }
    )


def _words(monitor: Monitor) -> str:
    from estimica.infer.monitor.present import stamp

    values, errors = monitor.values, monitor.stderr
    shown = [f"{n} {values[n]:.5g} ± {errors[n]:.1g}" for n in list(values)[:SHOWN]]
    alarms = f"  {len(monitor.alarms)} alarms" if monitor.alarms else ""
    when = stamp(monitor.origin, monitor.time)
    return f"{when}  {'  '.join(shown)}  level {monitor.level:.2f}{alarms}"
