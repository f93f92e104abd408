"""What the commands print: results on stdout, progress and errors on stderr.

Nothing else of the command line prints: what a study, a model or a store calls things passes here
and cannot steer the terminal.
"""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, NoReturn, TextIO

import numpy as np
import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from estimica.base.errors import EstimicaError, LostWorkersError, SimulationError, WriteError
from estimica.base.visible import visible

if TYPE_CHECKING:
    from rich.status import Status

FAILED = 1
WRONG_INPUT = 2  # as command lines that cannot be parsed
NOT_WRITTEN = 3  # the work is done, and what was to be written of it is not


@contextmanager
def reported(command: str, as_json: bool) -> Iterator[None]:
    """Turn an error that the user can fix into one message and an exit code.

    With `as_json` nothing else gets to stdout than the one object: what the user's own code and
    libraries print goes to stderr.
    """
    try:
        with one_object() if as_json else nullcontext():
            yield
    except EstimicaError as error:
        status, code = _ending(error)
        if as_json:
            outcome = {"status": status, "code": error.code, "message": error.message}
            print_json({"command": command, "outcome": outcome})
        _end(f"error {error}", code)


_stdout: TextIO | None = None  # while `sys.stdout` is stderr


@contextmanager
def one_object() -> Iterator[None]:
    """Whatever is printed meanwhile goes to stderr, but the one object of `print_json`."""
    global _stdout
    before, _stdout = _stdout, _stdout or sys.stdout
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _stdout = before


def say(message: str) -> None:
    """A line of progress."""
    print(visible(message), file=sys.stderr, flush=True)


class VisibleStream:
    """A stream through which nobody steers the terminal: for a server, whose libraries log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, its hidden characters as codes."""
        self._stream.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


class VisibleConsole(Console):
    """A console whose own codes steer the terminal, and none of a text's."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The pieces of a text, their hidden characters as codes."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)


def stdout() -> Console:
    """The console for results; it follows the terminal's width, or uses 100 where there is none."""
    return VisibleConsole() if sys.stdout.isatty() else VisibleConsole(width=100)


def print_text(text: str) -> None:
    """A result as it is, without markup."""
    console = stdout()
    # Rich ends the process where a pipe is closed; what follows would be lost
    with console.capture() as printed:
        console.print(visible(text), markup=False, highlight=False, emoji=False)
    print(printed.get(), end="")


def print_line(text: str) -> None:
    """A line for programs, however long: neither folded nor coloured."""
    print(visible(text))


class StatusLine:
    """A line on stderr that renews itself; none where there is no terminal, or if `quiet`."""

    def __init__(self, first: str, *, quiet: bool) -> None:
        console = VisibleConsole(stderr=True)
        self._width = console.width - 3  # beside the spinner
        self._status: Status | None = None
        if console.is_terminal and not quiet:
            from rich.status import Status

            self._status = Status(Text(first), console=console)

    def __bool__(self) -> bool:
        return self._status is not None

    def start(self) -> None:
        """Begin to show it."""
        if self._status:
            self._status.start()

    def stop(self) -> None:
        """Take it away."""
        if self._status:
            self._status.stop()

    def show(self, line: str) -> None:
        """Another text in its place, cut where the terminal ends; marks of Rich are not obeyed."""
        if self._status:
            line = visible(line)
            cut = line if len(line) <= self._width else line[: self._width - 1] + "…"
            self._status.update(Text(cut))


def print_json(value: Mapping[str, object]) -> None:
    """One JSON object on stdout; numbers that are not finite become null."""
    print(json.dumps(_plain(value), allow_nan=False), file=_stdout or sys.stdout)


def _ending(error: EstimicaError) -> tuple[str, int]:
    if isinstance(error, (SimulationError, LostWorkersError)):
        return "failed", FAILED
    if isinstance(error, WriteError):
        return "not written", NOT_WRITTEN
    return "wrong input", WRONG_INPUT


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
    say(message)
    raise typer.Exit(code)


FAULT = 70  # as sysexits.h numbers an internal software error
DEBUG = "ESTIMICA_DEBUG"
CODE, WANT_OF_MEMORY = "Z001", "Z002"


def report_internal_error(error: Exception, arguments: Sequence[str]) -> int:
    """One honest line, and one JSON object with --json; the traceback where it is asked for."""
    code, message = _words(error, arguments)
    if "--json" in arguments:
        command = next((a for a in arguments if not a.startswith("-")), "")
        outcome = {"status": "fault", "code": code, "message": message}
        print_json({"command": command, "outcome": outcome})
    if os.environ.get(DEBUG, "").strip() not in ("", "0"):
        traceback.print_exception(error)
    say(f"error {code}: {message}")
    return FAULT


def _words(error: Exception, arguments: Sequence[str]) -> tuple[str, str]:
    if isinstance(error, MemoryError):
        return WANT_OF_MEMORY, (
            "there is not enough memory for this; ask for less at once (points, samples, starts), "
            "or close other programs"
        )
    message = " ".join(str(error).split())[:200]
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    again = " ".join(["estimica", *arguments[:1], "…"])
    return CODE, (
        f"this is a fault of Estimica, not of yours ({what}, {_place(error)}); please report it, "
        f"with what `{DEBUG}=1 {again}` prints and the files that show it"
    )


def _place(error: Exception) -> str:
    """The last place in our own sources."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f"{os.sep}estimica{os.sep}" in f.filename] or frames
    return f"{os.path.basename(ours[-1].filename)} line {ours[-1].lineno}" if ours else "no place"
