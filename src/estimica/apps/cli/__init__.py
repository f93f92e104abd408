"""The command line: `estimica COMMAND ...`. It holds no numerics and calls the public functions."""

from __future__ import annotations

import gc
import os
import sys
from _thread import interrupt_main
from threading import Timer
from typing import Any

from estimica.apps.cli.streams import guard, redirect_native_output
from estimica.base.process import leave_current_folder, let_idle_threads_sleep


def main() -> None:
    """Run the command line; Ctrl-C ends it with exit code 130, nothing with a traceback."""
    leave_current_folder()
    let_idle_threads_sleep()
    gc.set_threshold(SELDOM)
    # what checks arguments and studies would look for plugins in all that is installed
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.unraisablehook = _raised_again
    redirect_native_output()
    out = guard()
    try:
        from estimica.apps.cli.commands.app import app

        app()
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _interrupted()
        out.flush()
        if out.lost and end.code in (0, None):
            from estimica.apps.cli.console import NOT_WRITTEN, say

            why = out.trouble.strerror if out.trouble else ""
            say(f"error P004: cannot write to stdout: {why}; {STORED}")
            sys.exit(NOT_WRITTEN)
        raise
    except Exception as error:
        from estimica.apps.cli.console import report_internal_error

        sys.exit(report_internal_error(error, sys.argv[1:]))


#: objects made, more than are let go of, before the collector looks for what is no longer used. A
#: command makes thousands that stay and few that go: with Python's 700 it looked 270 times during a
#: fit, for a tenth of its time; with this number never. They are some 30 MB
SELDOM = 200_000
INTERRUPTED = 130  # as shells have it: 128 + SIGINT, 2
STORED = "what was stored is shown by `estimica runs show last --json`"
LATER = 0.01  # seconds; chosen: the callback is left by then, and nobody notices


def _raised_again(lost: Any) -> None:
    """Ctrl-C within a callback or destructor, where Python only prints it, counts as well."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        Timer(LATER, interrupt_main).start()  # at once it would be lost here too
    else:
        sys.__unraisablehook__(lost)


def _interrupted() -> None:
    print("interrupted", file=sys.stderr)
    sys.exit(INTERRUPTED)
