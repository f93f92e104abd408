"""What the commands print: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

import numpy as np
import typer
from rich.console import Console

from estimica.base.errors import EstimicaError, SimulationError

FAILED = 1
WRONG_INPUT = 2


@contextmanager
def reported(command: str, as_json: bool) -> Iterator[None]:
    """Turn an error that the user can mend into one message and an exit code."""
    try:
        yield
    except EstimicaError as error:
        failed = isinstance(error, SimulationError)
        if as_json:
            status = "failed" if failed else "wrong input"
            outcome = {"status": status, "code": error.code, "message": error.message}
            print_json({"command": command, "outcome": outcome})
        _end(f"error {error}", FAILED if failed else WRONG_INPUT)


def say(message: str) -> None:
    """A line of progress."""
    print(message, file=sys.stderr)


def stdout() -> Console:
    """The console for results; it follows the terminal's width, or uses 100 where there is none."""
    return Console() if sys.stdout.isatty() else Console(width=100)


def print_text(text: str) -> None:
    """A result as it is, without markup."""
    stdout().print(text, markup=False, highlight=False)


def print_json(value: Mapping[str, object]) -> None:
    """One JSON object on stdout; numbers that are not finite become null."""
    print(json.dumps(_plain(value), allow_nan=False))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _end(message: str, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(code)
