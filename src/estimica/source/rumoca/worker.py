"""The process that runs rumoca: reads one request a line, answers each with one framed message.

Run as a script, so that it starts without the rest of the package. A request is a JSON object
{"text", "document", "model", "roots"}, where the document is a name: the same again replaces it. An
answer is a header line `kind length` and that many bytes: the flat JSON (`flat`), or a JSON object
that describes what went wrong (`refused`, `crashed`).
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, BinaryIO

#: a library takes much memory: after so long without a request it is given back
IDLE_SECONDS = 120.0


def answer_requests(requests: BinaryIO, answers: BinaryIO) -> None:
    """Serve until the requests end."""
    import rumoca

    _send(answers, "ready", rumoca.version().encode())
    sessions: dict[tuple[str, ...], Any] = {}
    watch = _Watch()
    for line in requests:
        watch.pause()
        request = json.loads(line)
        roots = tuple(request["roots"])
        try:
            session = sessions.get(roots) if roots else None
            if session is None:
                sessions.clear()
                session = sessions[roots] = rumoca.Session(roots=list(roots))
            text, name = request["text"], request["document"]
            model = session.loads(text, model=request["model"], filename=name)
            kind, content = "flat", model.to_json("flat", pretty=False).encode()
        except rumoca.RumocaError as error:
            findings = rumoca.validate_source(text, filename=name)
            described = {"message": str(error), "findings": [d.message for d in findings]}
            kind, content = "refused", json.dumps(described).encode()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of the compiler is not an Exception
            sessions.clear()
            kind, content = "crashed", json.dumps({"message": str(error)}).encode()
        _send(answers, kind, content)
        if roots:
            watch.start()


class _Watch:
    """Ends a process that holds a library and has had nothing to do for a while."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        self._timer = threading.Timer(IDLE_SECONDS, os._exit, (0,))
        self._timer.daemon = True
        self._timer.start()

    def pause(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _send(answers: BinaryIO, kind: str, content: bytes) -> None:
    answers.write(f"{kind} {len(content)}\n".encode())
    answers.write(content)
    answers.flush()


if __name__ == "__main__":
    # whatever the compiler prints must not land between our messages
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    answer_requests(sys.stdin.buffer, channel)
