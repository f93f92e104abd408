"""One class in a process of its own: loaded, simulated, compared."""

from __future__ import annotations

import json
import re
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from campaign.comparison import Distance, distance
from campaign.outcome import Outcome
from campaign.reference import Reference, listed_signals, plain, read_reference

#: relative tolerance of a run, unless its class asks for a smaller one: that of the references
RTOL = 1e-6
#: absolute tolerance as a share of the relative one; states of size 1 are not told from others
ATOL_SHARE = 1e-2
#: code of a run whose time was over
OUT_OF_TIME = "R114"
#: times of the result where there is no reference
PLAIN_SAMPLES = 501
#: signals that are named where several deviate or are missing
NAMED = 20
_TIME = re.compile(r"\bat time ([-+.\deE]+)")


@dataclass(frozen=True)
class Task:
    """What a process is to do."""

    name: str
    folder: str  # of the reference results
    log: str  # the file that the process writes its stages and its outcome to
    run_seconds: float
    frontend: str = ""  # that of the package, where none is named
    method: str = "auto"


class Log:
    """Tells the campaign how far the process is: one line of JSON for every stage.

    What is known goes with it, for the case that the process is ended or crashes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def stage(self, known: Outcome) -> None:
        """A stage begins."""
        self._write({"known": asdict(known)})

    def outcome(self, found: Outcome) -> None:
        """The end."""
        self._write({"outcome": asdict(found)})

    def _write(self, line: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def main(text: str) -> None:
    """Do the task that the campaign wrote as JSON."""
    task = Task(**json.loads(text))
    log = Log(Path(task.log))
    log.stage(Outcome(task.name, "", stage="import"))
    # before the clock runs, as in a session that is under way
    from estimica import ModelicaModel  # noqa: F401

    log.outcome(replace(Attempt(task, log.stage).outcome(), megabytes=_megabytes()))


class Attempt:
    """Goes from stage to stage and keeps what it has learnt until something fails."""

    def __init__(self, task: Task, tell: Callable[[Outcome], None]) -> None:
        self._task = task
        self._tell = tell
        self._known = Outcome(task.name, "")

    def outcome(self) -> Outcome:
        """How it ends, whatever happens."""
        import estimica as es

        try:
            self._all_stages()
        except es.EstimicaError as error:
            stops = isinstance(error, es.SimulationError)
            verdict = "stops" if stops else "refused"
            found = _TIME.search(error.message)
            self._note(
                verdict="time limit" if error.code == OUT_OF_TIME else verdict,
                code=error.code,
                message=error.message,
                stopped_at=float(found[1].rstrip(".")) if stops and found else None,
            )
        except MemoryError:
            self._note(verdict="memory limit", message="no memory left")
        except Exception as error:
            self._note(verdict="traceback", code=type(error).__name__, message=_last_line(error))
        return self._known

    def _all_stages(self) -> None:
        import estimica as es

        task = self._task
        folder = Path(task.folder)
        self._stage("load")
        clock = Clock()
        chosen: dict[str, Any] = {"frontend": task.frontend} if task.frontend else {}
        model = es.load_model(task.name, **chosen)
        seconds, cpu = clock.read()
        self._note(
            load_seconds=seconds,
            load_cpu=cpu,
            variables=len(model.flat.variables),
            equations=len(model.flat.equations),
            states=len(model.system.states),
        )
        reference = read_reference(folder, task.name)
        wanted = reference.wanted if reference else listed_signals(folder, task.name)
        signals = self._signals(model, wanted)
        times = reference.times if reference else _plain_times(model.experiment)
        self._compare_settings(model.experiment, times)

        self._stage("run")
        clock = Clock()
        rtol = min(RTOL, model.experiment.tolerance or RTOL)
        options = es.Options(
            rtol=rtol, atol=ATOL_SHARE * rtol, max_seconds=task.run_seconds, method=task.method
        )
        run = model.simulate(times, outputs=list(signals.values()) or None, options=options)
        seconds, cpu = clock.read()
        self._note(run_seconds=seconds, run_cpu=cpu, events=len(run.events))

        self._stage("compare")
        if reference is None:
            self._note(verdict="runs")
        else:
            events = np.array(run.events, float)
            self._compare(reference, {n: run.value(ours) for n, ours in signals.items()}, events)

    def _signals(self, model: Any, wanted: Iterable[str]) -> dict[str, str]:
        """Signals of the reference that the model has, with the names that it gives them."""
        import estimica as es

        ours = {plain(v.name): v.name for v in model.flat.variables}
        found: dict[str, str] = {}
        missing: list[str] = []
        not_computed: list[str] = []
        for n in wanted:
            name = ours.get(n, n)
            try:
                model.chosen_outputs([name])
                found[n] = name
            except es.ModelError:
                (not_computed if n.startswith("der(") else missing).append(n)
        self._note(missing=tuple(missing), not_compared=tuple(not_computed))
        return found

    def _compare_settings(self, experiment: Any, times: Any) -> None:
        """Say where the class and the reference are not about the same stretch of time."""
        stop, last = experiment.stop, float(times[-1])
        # the last time may be rounded to single precision
        if stop is not None and abs(stop - last) > 1e-6 * max(abs(stop), abs(last)):
            self._note(notes=(f"the class stops at {stop:g}, the reference at {last:g}",))

    def _compare(self, reference: Reference, values: dict[str, Any], events: Any) -> None:
        found: list[Distance] = []
        late: list[str] = []
        for n, y in values.items():
            curve, ours = reference.curve(n), np.asarray(y, float)
            curve = reference.without_events(curve, events)
            found.append(distance(n, curve, ours, reference.interval))
            strict = distance(n, curve, ours, reference.interval, late_events=False)
            if found[-1].agrees and not strict.agrees:
                late.append(n)
        found.sort(key=lambda d: -d.share)
        off = [d for d in found if not d.agrees]
        incomplete = self._known.missing
        self._note(
            verdict="deviates" if off else "missing signals" if incomplete else "agrees",
            compared=len(found),
            worst=asdict(found[0]) if found else {},
            deviating=tuple(f"{d.signal} ×{d.share:.3g}" for d in off[:NAMED]),
            late=tuple(late),
            message=_about(off, len(found)) if off else _missing(incomplete),
        )

    def _stage(self, name: str) -> None:
        self._note(stage=name)
        self._tell(self._known)

    def _note(self, **changes: Any) -> None:
        self._known = replace(self._known, **changes)


class Clock:
    """Seconds by the clock and of this process since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """(by the clock, of CPU)."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return round(wall, 3), round(cpu, 3)


def _plain_times(experiment: Any) -> Any:
    stop = experiment.stop if experiment.stop is not None else experiment.start + 1.0
    return np.linspace(experiment.start, stop, PLAIN_SAMPLES)


def _about(off: list[Distance], compared: int) -> str:
    d = off[0]
    return (
        f"{len(off)} of {compared} signals; worst {d.signal}: {d.share:.3g} times the tolerance "
        f"at time {d.time:g} ({d.ours:.6g} instead of {d.reference:.6g})"
    )


def _missing(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"not in the model: {', '.join(names[:3])}{more}" if names else ""


def _last_line(error: Exception) -> str:
    """What the traceback ends with, and the innermost place in our code."""
    text = traceback.format_exception_only(error)[-1].strip().splitlines()[0]
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        _, found, inside = frame.filename.rpartition("estimica/")
        if found:
            return f"{text} (estimica/{inside}:{frame.lineno})"
    return text


def _megabytes() -> float:
    """The most memory that the process has had."""
    import resource

    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1)
