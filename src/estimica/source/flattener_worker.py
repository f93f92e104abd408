"""The process that runs rumoca: reads one request a line, answers each with one framed message.

Run as a script, so that it starts without the rest of the package. A request is a JSON object
{"text", "model", "roots"}; an answer is a header line `kind length` and that many bytes: the flat
JSON (`flat`), or a JSON object that describes what went wrong (`refused`, `crashed`).
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

#: the one document of a session; using the same name again replaces it
DOCUMENT = "input.mo"


def answer_requests(requests: BinaryIO, answers: BinaryIO) -> None:
    """Serve until the requests end."""
    import rumoca

    _send(answers, "ready", rumoca.version().encode())
    sessions: dict[tuple[str, ...], Any] = {}
    for line in requests:
        request = json.loads(line)
        roots = tuple(request["roots"])
        try:
            session = sessions.get(roots) if roots else None
            if session is None:
                sessions.clear()
                session = sessions[roots] = rumoca.Session(roots=list(roots))
            model = session.loads(request["text"], model=request["model"], filename=DOCUMENT)
            kind, content = "flat", model.to_json("flat", pretty=False).encode()
        except rumoca.RumocaError as error:
            findings = rumoca.validate_source(request["text"], filename=DOCUMENT)
            described = {"message": str(error), "findings": [d.message for d in findings]}
            kind, content = "refused", json.dumps(described).encode()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of the compiler is no Exception
            sessions.clear()
            kind, content = "crashed", json.dumps({"message": str(error)}).encode()
        _send(answers, kind, content)


def _send(answers: BinaryIO, kind: str, content: bytes) -> None:
    answers.write(f"{kind} {len(content)}\n".encode())
    answers.write(content)
    answers.flush()


if __name__ == "__main__":
    # whatever the compiler prints must not land between our messages
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    answer_requests(sys.stdin.buffer, channel)
