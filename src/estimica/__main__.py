"""`python -m estimica`: the command line."""

from __future__ import annotations

import os
import signal

from estimica.apps.cli.process import run


def _hear_signals() -> None:
    """Let the process that started this one stop it in order.

    A shell has what it starts in the background ignore Ctrl-C, and children inherit that; one that
    leads a session of its own gets no Ctrl-C but from whoever wants to stop it.
    """
    if hasattr(os, "getsid") and os.getsid(0) == os.getpid():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGBREAK"):  # Windows sends it to a group of processes
        signal.signal(signal.SIGBREAK, signal.default_int_handler)


if __name__ == "__main__":
    _hear_signals()
    run()
