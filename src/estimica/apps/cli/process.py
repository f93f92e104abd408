"""The command line as a process of its own, which ends when its work does.

Python takes everything apart before it ends: it looks for cycles in all that was loaded and frees
it piece by piece, which took a tenth of a fit. Nobody waits for that here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys

from estimica.apps.cli import main


def run() -> None:
    """Run the command line in a process that does nothing else."""
    ending = _Ending()
    # What is registered first is called last: by then threads have ended, and all that others want
    # done at the end (processes to be stopped, files to be removed) is done.
    atexit.register(ending)
    try:
        main()
    except SystemExit as end:
        ending.status = _status(end.code)
        raise
    ending.status = 0


class _Ending:
    """Ends the process with a status; where that is not known, Python ends it as ever."""

    def __init__(self) -> None:
        self.status: int | None = None

    def __call__(self) -> None:
        if self.status is None:
            return
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):  # told before, or closed
                stream.flush()
        os._exit(self.status)


def _status(code: object) -> int | None:
    if code is None:
        return 0
    # of a text Python makes a line on stderr and 1; only so much of a number reaches the shell
    return code & 0xFF if isinstance(code, int) else None
