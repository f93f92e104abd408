"""The inside of a bench's process: it answers one question after the other, in JSON.

A question and an answer are a line with their length in bytes, then as many bytes.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, Any

NICE = 2  # runs go first, but whoever waits for a page is not starved


def main() -> None:
    """Answer until the other side closes."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not stand between the answers
    if hasattr(os, "nice"):
        os.nice(NICE)
    study, *root = map(Path, sys.argv[1:])
    while (question := read(sys.stdin.buffer)) is not None:
        reply = answer(study, question, root[0] if root else None)
        content = json.dumps(reply, allow_nan=False).encode()
        answers.write(b"%d\n" % len(content) + content)
        answers.flush()


def read(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next question; None at the end."""
    head = stream.readline()
    if not head:
        return None
    question: dict[str, Any] = json.loads(stream.read(int(head)))
    return question


def answer(study: Path, question: dict[str, Any], root: Path | None) -> dict[str, Any]:
    """The answer of a task; what is asked about must be inside `root`, and its code trusted.

    The server has looked before, but files may have changed since: it is decided here, about the
    very texts that are used.
    """
    from estimica.apps.web.files.containment import ServedFolderGuard, require_safe_task
    from estimica.apps.web.worker.tasks import TASKS
    from estimica.base.code.consent import code_guard
    from estimica.base.errors import EstimicaError
    from estimica.execute.outcome import error_text

    try:
        task, args = question["task"], question["args"]
        if root is None:
            return {"found": TASKS[task](study, **args)}
        with code_guard(ServedFolderGuard(root)):
            require_safe_task(task, study, args, root)
            return {"found": TASKS[task](study, **args)}
    except EstimicaError as error:
        return {"code": error.code, "message": error.message}
    except Exception as error:  # a fault of ours must not end the process
        return {"code": "G060", "message": f"'{question['task']}' failed: {error_text(error)}"}


if __name__ == "__main__":
    main()
