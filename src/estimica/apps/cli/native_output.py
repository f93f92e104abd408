"""What native libraries print stays off stdout, which is for the results of a command."""

from __future__ import annotations

import contextlib
import os
import sys


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
