"""Streams that never stop the work: what cannot be printed is noted, and the command goes on.

What native libraries print stays off stdout, which is for the results of a command.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from io import TextIOBase
from typing import Any, TextIO


class SafeStream(TextIOBase):
    """A stream in place of stdout or stderr that keeps its trouble in `trouble`."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.trouble: OSError | None = None
        if stream is None:  # closed by who started the process
            self.trouble = OSError(errno.EBADF, os.strerror(errno.EBADF))

    @property
    def lost(self) -> bool:
        """Whether something was not printed that somebody wanted to read.

        A reader that has closed its end of a pipe, as `head` does, wants no more.
        """
        return self.trouble is not None and not isinstance(self.trouble, BrokenPipeError)

    def write(self, text: str) -> int:
        """Print as far as possible."""
        if self._stream is not None and self.trouble is None:
            try:
                self._stream.write(text)
            except OSError as error:
                self._leave(error)
        return len(text)

    def flush(self) -> None:
        """Have it printed as far as possible."""
        if self._stream is not None and self.trouble is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._leave(error)

    def isatty(self) -> bool:
        """Whether somebody sits before it."""
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        """The system's number of the stream."""
        if self._stream is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._stream.fileno()

    def writable(self) -> bool:
        """It is."""
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _leave(self, error: OSError) -> None:
        """What is left in the stream goes nowhere, or it would be tried again at the very end."""
        self.trouble = error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def guard() -> SafeStream:
    """Put safe streams in place of stdout and stderr; returns that of stdout."""
    out, err = SafeStream(sys.stdout), SafeStream(sys.stderr)
    sys.stdout, sys.stderr = out, err
    return out


def redirect_native_output() -> None:
    """Let `sys.stdout` alone reach what the user takes for stdout; descriptor 1 becomes stderr.

    LAPACK, solvers and other native code write to descriptor 1 past Python, at once or when their
    buffers are emptied at the very end. Processes that are started later inherit that.
    """
    if sys.stdout is None or sys.stderr is None:  # closed from the beginning
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        if sys.stdout.fileno() != 1:
            return
        os.fstat(2)  # where it is closed, nothing may land in whatever file is opened as 2 later
        kept = os.dup(1)
        sys.stdout = open(  # noqa: SIM115  it stays open to the end
            kept,
            "w",
            buffering=1 if sys.stdout.line_buffering else -1,
            encoding=sys.stdout.encoding,
            errors=sys.stdout.errors,
        )
        os.dup2(2, 1)
