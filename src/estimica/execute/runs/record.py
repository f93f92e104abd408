"""A run as the store has it: its name, what was asked, how it went, what came out."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from estimica.base.errors import StoreError

YEAR_10000 = 253_402_300_800.0  # seconds since 1970: no calendar goes further


class Status(StrEnum):
    """How far a run has come."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"  # by Ctrl-C, or its process was killed


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in a list; times are seconds since 1970, None stands for what there is not yet."""

    id: str
    command: str
    name: str
    status: Status
    message: str
    cost: float | None
    started: float
    ended: float | None
    iterations: int
    label: str = ""  # what the run itself is called; `name` is that of its study

    def __post_init__(self) -> None:
        for moment in (self.started, self.ended):
            if moment is not None and not 0 <= moment < YEAR_10000:
                raise StoreError(
                    "B034",
                    f"run '{self.id}' is damaged: it began or ended {moment:g} s after 1970; "
                    "delete it with `estimica runs delete`, or move the store of runs away",
                )

    @property
    def title(self) -> str:
        """What the run is called, as `fit 3`; runs of older stores have their command and id."""
        return self.label or f"{self.command} {self.id}"

    @property
    def seconds(self) -> float | None:
        """How long it took."""
        return None if self.ended is None else self.ended - self.started


@dataclass(frozen=True, slots=True)
class StoredIteration:
    """One step of a run; a cost that is not a number is NaN."""

    number: int
    cost: float
    at: float
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredProgress:
    """How far a run is: the share that is done, None where nobody can tell, and a few words."""

    share: float | None
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run with all that was stored of it; `result` is the JSON object its command printed."""

    summary: RunSummary
    study: Mapping[str, Any] | str
    settings: Mapping[str, Any]
    environment: Mapping[str, Any]
    result: Mapping[str, Any]
    iterations: tuple[StoredIteration, ...]
    checkpoints: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The run's name in the store."""
        return self.summary.id

    @property
    def status(self) -> Status:
        """How far it has come."""
        return self.summary.status


DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # base 32 without letters that look alike
EPOCH_MS = 1_704_067_200_000  # 2024-01-01; eight digits of milliseconds reach to 2058
TIME_DIGITS = 8
RANDOM_DIGITS = 3


def new_run_id(now: float | None = None) -> str:
    """Eleven letters: the milliseconds of `now` (seconds since 1970), then three at random."""
    milliseconds = int((time.time() if now is None else now) * 1000) - EPOCH_MS
    tail = "".join(secrets.choice(DIGITS) for _ in range(RANDOM_DIGITS))
    return _digits(max(0, milliseconds)) + tail


def is_run_id(text: object) -> bool:
    """Whether this is a name of a run: what a store from elsewhere says may be anything."""
    return (
        isinstance(text, str)
        and len(text) == TIME_DIGITS + RANDOM_DIGITS
        and all(letter in DIGITS for letter in text)
    )


def _digits(number: int) -> str:
    places = range(TIME_DIGITS - 1, -1, -1)
    return "".join(DIGITS[(number >> (5 * place)) & 31] for place in places)
