"""Live reader: what the store says of a run that goes on, as plain values for a page."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field
from typing import Any

from estimica.apps.time_left import TimeLeft
from estimica.execute.runs.record import RunSummary, Status, StoredIteration, StoredProgress
from estimica.execute.runs.store import Store
from estimica.study.criterion import not_reached_text

MOST = 400  # iterations that a page is given: about one for two pixels of a curve
LARGEST = 60_000  # bytes of them; chosen: sent with every change to every viewer
FEWEST = 20  # of them, however many unknowns there are: a curve still has a shape
ALARMS = 50  # of a monitor that a page is given: the newest
DIGITS = 8  # more than is read, half as many bytes as all


@dataclass
class LiveReader:
    """Reads a run again and again, each time only what has come since."""

    store: Store
    run: str
    _steps: list[dict[str, Any]] = field(default_factory=list)
    _criteria: list[list[dict[str, Any]]] = field(default_factory=list)  # at first, and now
    _monitor: dict[str, Any] = field(default_factory=dict)  # the newest of what arrives
    _alarms: list[dict[str, Any]] = field(default_factory=list)
    _last: int = -1  # number of the newest iteration
    _at: float = 0.0  # when the newest news was noted
    _left: TimeLeft = field(default_factory=TimeLeft)
    _progress: StoredProgress | None = None
    _eta: float | None = None

    def state(self) -> dict[str, Any]:
        """All there is to know of the run now, without its curves."""
        summary, news, steps = self.store.news(self.run, self._last)
        for one in steps:
            self._steps.append(_step(one))
            self._note_criteria(one)
            self._note_arrivals(one)
            self._last, self._at = one.number, max(self._at, one.at)
        self._look(summary, news)
        progress = self._progress
        running = summary.status is Status.RUNNING
        return {
            "run": summary.id,
            "command": summary.command,
            "name": summary.name,
            "status": str(summary.status),
            "message": summary.message,
            "started": summary.started,
            "ended": summary.ended,
            "share": progress.share if progress else None,
            "text": progress.text if progress else "",
            "eta": self._eta if running else None,
            "at": self._at or summary.started,
            "iterations": _thinned(self._steps),
            "criteria": self._compared_criteria(),
            "monitor": {**self._monitor, "alarms": self._alarms[-ALARMS:]} if self._monitor else {},
        }

    def first_values(self) -> dict[str, float]:
        """The values that the run began with; none where it has noted nothing yet."""
        return dict(self._steps[0]["values"]) if self._steps else {}

    def values(self) -> dict[str, float] | None:
        """The values of which curves tell most: the newest; of several starts the best."""
        if not self._steps:
            return None
        newest = self._steps[-1]
        if "start" in newest:
            known = [s for s in self._steps if s["cost"] is not None]
            newest = min(known, key=lambda s: s["cost"]) if known else newest
        values = newest["values"]
        return values if values and None not in values.values() else None

    def _note_criteria(self, one: StoredIteration) -> None:
        scores = one.payload.get("criteria")
        if isinstance(scores, list) and all(isinstance(s, dict) for s in scores):
            self._criteria = [self._criteria[0] if self._criteria else scores, scores]

    def _note_arrivals(self, one: StoredIteration) -> None:
        """What a monitor tells with its values; alarms are told once and stay."""
        news = one.payload.get("monitor")
        if isinstance(news, dict):
            self._monitor = {k: news.get(k) for k in ("stamp", "dated", "taken")}
            self._alarms += [a for a in news.get("alarms", []) if isinstance(a, dict)]

    def _compared_criteria(self) -> list[dict[str, Any]]:
        """Every criterion of the best design so far, beside what it was at first."""
        if not self._criteria:
            return []
        first = {(s.get("case"), s.get("criterion")): s for s in self._criteria[0]}
        rows = []
        for score in self._criteria[1]:
            before = first.get((score.get("case"), score.get("criterion")), {})
            row = {k: score.get(k) for k in ("case", "criterion", "role", "unit", "holds")}
            row["demand"] = _number(score.get("demand"))
            row["value"], row["first"] = _known(score), _known(before)
            rows.append(row)
        return rows

    def _look(self, summary: RunSummary, news: StoredProgress | None) -> None:
        """Take up how far the run says it is, and guess the seconds that are left."""
        if news is None or (self._progress is not None and news.at == self._progress.at):
            return
        self._progress, self._at = news, max(self._at, news.at)
        if news.share is None or summary.status is not Status.RUNNING:
            self._eta = None
            return
        left = self._left.seconds(news.at, news.share)
        if not left and 0 < news.share < 1:  # seen for the first time
            left = (news.at - summary.started) * (1 - news.share) / news.share
        self._eta = round(max(left - (time.time() - news.at), 0.0), 1) if left else None


def _step(one: StoredIteration) -> dict[str, Any]:
    values = one.payload.get("values")
    step: dict[str, Any] = {
        "number": one.number,
        "cost": _number(one.cost),
        "values": {str(n): _number(v) for n, v in values.items()} if values else {},
    }
    if "start" in one.payload:
        step["start"] = one.payload["start"]
    news = one.payload.get("monitor")
    if isinstance(news, dict):
        step["at"] = str(news.get("stamp")) if news.get("dated") else _number(news.get("time"))
        step["level"] = _number(news.get("level"))
        step["errors"] = {str(n): _number(v) for n, v in (news.get("stderr") or {}).items()}
    return step


def _known(score: dict[str, Any]) -> float | str | None:
    """The value of a criterion, or that its window ends before there is one."""
    value = _number(score.get("value"))
    if value is None and score.get("at_least") is not None:
        return not_reached_text(str(score.get("kind", "")))
    return value


def _number(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def _thinned(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most so many that a page can take them, with the first and the newest."""
    if not steps:
        return []
    most = max(FEWEST, min(MOST, LARGEST // len(json.dumps(steps[-1]))))
    if len(steps) <= most:
        return list(steps)
    stride = math.ceil(len(steps) / (most - 1))
    kept = steps[::stride]
    return kept if (len(steps) - 1) % stride == 0 else [*kept, steps[-1]]
