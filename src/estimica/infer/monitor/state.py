"""MonitorState: all that a monitor knows, as a value that a file holds bit for bit."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.infer.monitor.charts import Alarm
from estimica.infer.monitor.step import FilterPoint

#: raised when a file of the new form cannot be read by the programs before
VERSION = 1
#: rows that are kept at most: enough for a curve on any screen
MOST = 4096
COUNTS = {
    "taken": "taken in",
    "missing": "values that were missing",
    "missing_inputs": "rows without a value of an input, which kept its last one",
    "waiting": "rows before all inputs were known",
    "late": "rows older than the one before",
    "duplicate": "rows with the time of the one before",
    "known": "rows that the fit has seen already",
    "wild": "wild values, not taken in",
    "unreadable": "rows that could not be read",
    "failed": "rows at which the filter failed",
    "restarted": "times that the file began anew",
}
_ARRAYS = (
    "q", "root", "charts", "since", "tuner_charts", "tuner_since", "wild_runs", "wild_since",
    "course", "last_z",
)  # fmt: skip
_POINT = ("x", "S", "z", "d", "u")


@dataclass(eq=False)
class MonitorState:
    """What changes with every row."""

    q: Vector
    root: Vector
    charts: Vector  # values of the charts
    since: Vector
    tuner_charts: Vector
    tuner_since: Vector
    wild_runs: Vector  # wild values in a row, by output
    wild_since: Vector
    point: FilterPoint | None = None  # None before the first row
    number: int = 0  # of rows that came
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    failures: int = 0  # in a row
    alarms: list[Alarm] = field(default_factory=list)
    position: int = 0  # in the file that is followed, behind the last row
    head: str = ""  # how that file begins: a code of its first bytes
    course: Vector = field(default_factory=lambda: np.zeros((0, 0)))
    stride: int = 1
    last_z: Vector = field(default_factory=lambda: np.zeros(0))


def to_bytes(state: MonitorState, about: Mapping[str, Any]) -> bytes:
    """The state and what it belongs to."""
    arrays = {n: getattr(state, n) for n in _ARRAYS}
    told: dict[str, Any] = {
        "version": VERSION, "about": about, "number": state.number, "counts": state.counts,
        "failures": state.failures, "alarms": [asdict(a) for a in state.alarms],
        "position": state.position, "head": state.head, "stride": state.stride,
        "time": None if state.point is None else state.point.time,
    }  # fmt: skip
    if state.point is not None:
        arrays |= {f"point_{n}": getattr(state.point, n) for n in _POINT}
    arrays["told"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def from_bytes(content: bytes) -> tuple[MonitorState, dict[str, Any]]:
    """The state, and what it belongs to."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        told = json.loads(bytes(arrays["told"]))
        if told["version"] != VERSION:
            raise ValueError(f"it is of form {told['version']}, not {VERSION}")
        point = None
        if told["time"] is not None:
            point = FilterPoint(told["time"], *(arrays[f"point_{n}"] for n in _POINT))
        return (
            MonitorState(
                **{n: arrays[n] for n in _ARRAYS},
                point=point,
                number=told["number"],
                counts=told["counts"],
                failures=told["failures"],
                alarms=[Alarm(**a) for a in told["alarms"]],
                position=told["position"],
                head=told["head"],
                stride=told["stride"],
            ),
            told["about"],
        )


class Course:
    """Every so many samples one row: time, values, standard errors, innovations over their
    standard deviations, level of the charts. When it is full, every second row goes."""

    def __init__(self, width: int) -> None:
        self.rows = np.empty((MOST, width))
        self.count, self.stride = 0, 1

    def is_due(self, sample: int) -> bool:
        """Whether the sample of this number has a row."""
        if sample % self.stride:
            return False
        if self.count == MOST:
            self.rows[: MOST // 2] = self.rows[::2]
            self.count, self.stride = MOST // 2, 2 * self.stride
        return sample % self.stride == 0

    def note(self, row: Vector) -> None:
        """The row of a sample that is due."""
        self.rows[self.count] = row
        self.count += 1

    @property
    def kept(self) -> Vector:
        """The rows so far."""
        return self.rows[: self.count]

    def restore(self, rows: Vector, stride: int) -> None:
        """Go on from what was saved."""
        self.count, self.stride = len(rows), stride
        self.rows[: self.count] = rows
