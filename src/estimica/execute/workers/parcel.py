"""Parcels: what travels to a worker and back, as bytes; troubles with them in the user's words."""

from __future__ import annotations

import pickle
from typing import Any

from estimica.base.errors import ExecuteError
from estimica.execute.outcome import Kind, Outcome, error_text


def pickled(value: object, what: str) -> bytes:
    """A value on its way to a worker; `what` is its name where it cannot travel."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise ExecuteError(
            "X002",
            f"{what} cannot be sent to a worker process: {error_text(error)}; define functions at "
            "the top of a module, or use 1 worker",
        ) from error


def outcome_of(content: bytes) -> Outcome[Any]:
    """What a worker has sent back."""
    try:
        outcome: Outcome[Any] = pickle.loads(content)
    except Exception as error:
        text = f"the result of a worker process cannot be read: {error_text(error)}"
        return Outcome(None, text, "X014", Kind.FAILED)
    return outcome
