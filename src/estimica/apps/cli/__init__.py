"""The command line: `estimica COMMAND ...`. It holds no numerics and calls the public functions."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it with exit code 130 and no traceback."""
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


def _interrupted() -> None:
    print("interrupted", file=sys.stderr)
    sys.exit(INTERRUPTED)
