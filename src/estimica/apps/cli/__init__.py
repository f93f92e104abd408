"""The command line: `estimica COMMAND ...`. It holds no numerics and calls the public functions."""

from __future__ import annotations

import sys
from _thread import interrupt_main
from threading import Timer
from typing import Any

from estimica.apps.cli.native_output import keep_results_apart
from estimica.base.python_child import leave_current_folder


def main() -> None:
    """Run the command line; Ctrl-C ends it with exit code 130 and no traceback."""
    leave_current_folder()
    sys.unraisablehook = _raised_again
    keep_results_apart()
    try:
        from estimica.apps.cli.app import app

        app()
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _interrupted()
        raise


INTERRUPTED = 130
LATER = 0.01  # seconds


def _raised_again(lost: Any) -> None:
    """Ctrl-C within a callback or destructor, where Python only prints it, counts as well."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        Timer(LATER, interrupt_main).start()  # at once it would be lost here too
    else:
        sys.__unraisablehook__(lost)


def _interrupted() -> None:
    print("interrupted", file=sys.stderr)
    sys.exit(INTERRUPTED)
