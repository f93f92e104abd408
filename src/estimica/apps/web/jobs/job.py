"""Job: one command that the workbench was asked to run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class State(StrEnum):
    """How far a job has come."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"  # the command said why
    INTERRUPTED = "interrupted"  # by somebody; the best so far is kept
    CRASHED = "crashed"  # its process ended without a word

    @property
    def ended(self) -> bool:
        """Whether nothing more comes."""
        return self not in (State.QUEUED, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Job:
    """A command, its study, and how far it is; times are seconds since 1970."""

    id: str
    command: str
    study: Path
    options: tuple[str, ...]
    submitted: float
    state: State = State.QUEUED
    run: str = ""  # its run in the store beside the study, once it has begun
    started: float | None = None
    ended: float | None = None
    message: str = ""
    trouble: str = ""  # why its run cannot be found, or was not stored
    output: Path | None = None  # what the command printed: one JSON object
    log: tuple[str, ...] = ()  # the last lines of its progress and its complaints

    def result(self) -> dict[str, Any]:
        """The JSON object that the command printed; empty where there is none."""
        return printed_result(self.output)


def printed_result(output: Path | None) -> dict[str, Any]:
    """The JSON object in a file; empty where there is none."""
    try:
        printed = json.loads(output.read_text(encoding="utf-8")) if output else {}
    except (OSError, ValueError):
        return {}
    return printed if isinstance(printed, dict) else {}
