"""Unexpected: the last line of the command line, where an error is a fault of Estimica itself."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence

from estimica.apps.cli.console import print_json, say

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
    said = " ".join(str(error).split())[:200]
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
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
