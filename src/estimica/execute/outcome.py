"""What became of one item: its value, or why there is none."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from estimica.base.errors import EstimicaError, ExecuteError

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")

UNEXPECTED = "X001"


class Kind(StrEnum):
    """How the work on an item ended."""

    DONE = "done"
    FAILED = "failed"  # the task raised an error
    CRASHED = "crashed"  # the process that worked on it ended


@dataclass(frozen=True, slots=True)
class ItemOutcome(Generic[R]):
    """The value of an item, or the error with its code; `trace` says where it was raised."""

    value: R | None = None
    error: str = ""
    code: str = ""
    kind: Kind = Kind.DONE
    trace: str = ""

    @property
    def done(self) -> bool:
        """Whether there is a value."""
        return self.kind is Kind.DONE

    def result(self) -> R:
        """The value; where there is none, the error is raised."""
        if self.kind is not Kind.DONE:
            raise ExecuteError(self.code, self.error)
        return self.value  # type: ignore[return-value]  # R itself may allow None


def failed_item(error: BaseException) -> ItemOutcome[R]:
    """The outcome of a task that raised `error`; an EstimicaError keeps its code."""
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, EstimicaError):
        return ItemOutcome(None, error.message, error.code, Kind.FAILED, trace)
    return ItemOutcome(None, error_text(error), UNEXPECTED, Kind.FAILED, trace)


def attempt(task: Callable[[C, T], R], context: C, item: T) -> ItemOutcome[R]:
    """Do one item; whatever goes wrong is its outcome, except Ctrl-C."""
    try:
        return ItemOutcome(task(context, item))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic in compiled code is not an Exception
        return failed_item(error)


def error_text(error: BaseException) -> str:
    """An error in one line, with its type."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
