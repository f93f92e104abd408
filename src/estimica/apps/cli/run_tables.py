"""Stored runs as tables and as JSON objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from estimica.base.show import Table, ended
from estimica.execute.run import RunSummary, StoredRun
from estimica.report.text import printed, sparkline

FIGURES = ("cost", "n_samples", "n_free", "aic", "bic")
WORDS = {"n_samples": "samples", "n_free": "unknowns", "aic": "AIC", "bic": "BIC"}


def as_list(runs: Sequence[RunSummary]) -> Table:
    """One row for each run."""
    columns = ("run", "command", "name", "status", "cost", "iterations", "started", "took")
    rows = tuple(
        (
            *(r.id, r.command, r.name, str(r.status), r.cost, r.iterations or None),
            *(_moment(r.started), _duration(r.seconds)),
        )
        for r in runs
    )
    return Table(columns, rows)


def summary_object(run: RunSummary) -> dict[str, object]:
    """A run of a list as JSON; times as ISO 8601 with the offset from UTC."""
    return {
        "run": run.id,
        "command": run.command,
        "name": run.name,
        "status": str(run.status),
        "message": run.message,
        "cost": run.cost,
        "iterations": run.iterations,
        "started": _iso(run.started),
        "ended": None if run.ended is None else _iso(run.ended),
        "seconds": run.seconds,
    }


def run_object(run: StoredRun) -> dict[str, object]:
    """A run with all that is stored of it as JSON."""
    return {
        "stored": summary_object(run.summary),
        "study": run.study,
        "settings": run.settings,
        "environment": run.environment,
        "result": run.result,
        "iterations": [
            {"number": i.number, "cost": i.cost, "time": _iso(i.at), **i.payload}
            for i in run.iterations
        ],
        "checkpoints": run.checkpoints,
    }


def about(run: StoredRun) -> Table:
    """What was asked of a run, with what, and how it ended."""
    summary = run.summary
    took = _duration(summary.seconds)
    rows: list[tuple[object, object]] = [
        ("status", ended(summary.status, summary.message) if summary.message else summary.status),
        ("started", _moment(summary.started) + (f", took {took}" if took else "")),
    ]
    rows += [(WORDS.get(n, n), run.result[n]) for n in FIGURES if n in run.result]
    costs = np.array([i.cost for i in run.iterations])
    if len(costs):
        course = f"{len(costs)}, cost {printed(costs[0])} → {printed(costs[-1])}"
        rows.append(("iterations", f"{course}  {sparkline(costs)}"))
    if run.checkpoints:
        rows.append(("checkpoints", len(run.checkpoints)))
    rows += [(name, _short(value)) for name, value in run.settings.items() if value is not None]
    line = run.environment.get("command_line")
    if isinstance(line, list):
        rows.append(("command line", " ".join(map(str, line))))
    versions = ("estimica", "python", "casadi", "numba", "rumoca")
    known = [f"{n} {run.environment[n]}" for n in versions if run.environment.get(n)]
    rows.append(("made with", ", ".join(known)))
    cells = tuple((name, printed(value)) for name, value in rows)
    return Table(("", ""), cells, title=f"{summary.command} of {summary.name}, run {run.id}")


def estimates(run: StoredRun) -> Table | None:
    """The parameters and start values that a run found."""
    found = dict(_estimates(run))
    if not found:
        return None
    rows = tuple(
        (name, e.get("value"), e.get("stderr"), *_interval(e), e.get("at_bound"), _unit(e))
        for name, e in found.items()
    )
    columns = ("unknown", "value", "std. error", "95 % from", "to", "at bound", "unit")
    return Table(columns, rows, title="Estimates")


def comparison(runs: Sequence[StoredRun]) -> Table:
    """Parameters with standard errors, cost and criteria of choice, one column for each run."""
    found = [dict(_estimates(run)) for run in runs]
    names = dict.fromkeys(name for one in found for name in one)
    rows = [(name, *(_with_error(one.get(name)) for one in found)) for name in names]
    rows += [(WORDS.get(n, n), *(printed(run.result.get(n)) for run in runs)) for n in FIGURES]
    head = [
        ("study", *(run.summary.name for run in runs)),
        ("status", *(str(run.status) for run in runs)),
        ("criterion", *(printed(run.result.get("criterion")) for run in runs)),
    ]
    return Table(
        ("", *(run.id for run in runs)),
        tuple(head + rows),
        title="Runs side by side (value ± standard error)",
        note=_caution(runs),
    )


def comparison_object(run: StoredRun) -> dict[str, object]:
    """What is compared of a run, as JSON."""
    return {
        **summary_object(run.summary),
        **{name: run.result.get(name) for name in ("criterion", *FIGURES)},
        "parameters": run.result.get("parameters", {}),
        "start_values": run.result.get("start_values", {}),
    }


def _caution(runs: Sequence[StoredRun]) -> str:
    """Costs of other criteria or other data say nothing about each other."""
    differing = [
        word
        for key, word in (("criterion", "criteria"), ("n_samples", "numbers of samples"))
        if len({printed(run.result.get(key)) for run in runs}) > 1
    ]
    if not differing:
        return ""
    return f"different {' and '.join(differing)}: cost, AIC and BIC cannot be compared"


def _estimates(run: StoredRun) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from _objects(run.result.get("parameters")).items()
    for case, starts in _objects(run.result.get("start_values")).items():
        for name, estimate in _objects(starts).items():
            yield f"start of {name} in {case}", estimate


def _objects(value: object) -> dict[str, Mapping[str, Any]]:
    """Those members of a JSON object that are objects; other commands store other results."""
    if not isinstance(value, Mapping):
        return {}
    return {str(k): v for k, v in value.items() if isinstance(v, Mapping)}


def _with_error(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return ""
    value, error = printed(estimate.get("value")), printed(estimate.get("stderr"))
    return f"{value} ± {error}" if error else value


def _unit(estimate: Mapping[str, Any]) -> object:
    unit = estimate.get("unit")
    return None if unit == "1" else unit


def _interval(estimate: Mapping[str, Any]) -> tuple[object, object]:
    match estimate.get("ci95"):
        case [low, high]:
            return low, high
    return None, None


def _short(value: object) -> str:
    text = printed(value)
    return text if len(text) <= 200 else text[:197] + "..."


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="milliseconds")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
