"""The compiler's refusals as errors with a file, a line and one clear message."""

from __future__ import annotations

import re

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.source.libraries.search import library_folders
from estimica.source.request import Request
from estimica.source.rumoca.process import RUMOCA_VERSION, Refusal
from estimica.source.rumoca.worker import DOCUMENT

_PLACE = re.compile(rf"\[{re.escape(DOCUMENT)}:(\d+):\d+\]")
_UNRESOLVED = re.compile(r"unresolved (?:\w+ )?(?:reference|call): '([^']+)'")
_MISSING = re.compile(r"(?:unresolved [\w ]+|base class not found): ['`]([\w.]+)['`]")
#: refusals that have nothing to do with what is there and what is not
_UNRELATED = re.compile(r"unsupported `|is not allowed \(MLS")
_NOISE = (
    re.compile(r"^\w+ failed: "),
    re.compile(r"^\S+ could not be compiled: "),
    re.compile(r"^\S+ failed in \w+: "),
)


def explained(refusal: Refusal, request: Request) -> SourceError:
    """The error that tells the user what the compiler did not accept, and where."""
    where = f"class '{request.class_name}' ({request.label or 'text'}{_line(refusal, request)})"
    message = _tidied(refusal.message)
    unresolved = _UNRESOLVED.search(message)
    if unresolved is not None:
        return SourceError("S031", f"{where}: {_unknown(unresolved.group(1), request)}")
    if "failed in ToDae" in refusal.message:
        return SourceError(
            "S032",
            f"{where}: the Modelica compiler (rumoca {RUMOCA_VERSION}) does not support it: "
            f"{message}; rewrite that part with other means of the language",
        )
    return SourceError("S030", f"{where}: {message}")


def may_lack_files(refusal: Refusal) -> bool:
    """Whether the compiler might accept the same source with more of a library's files."""
    return "failed in ToDae" not in refusal.message and not _UNRELATED.search(refusal.message)


def unknown_names(refusal: Refusal) -> list[str]:
    """The names that the compiler did not find."""
    return list(dict.fromkeys(name for name in _MISSING.findall(refusal.message) if name))


def _unknown(name: str, request: Request) -> str:
    head = name.partition(".")[0]
    known = {t.text for t in request.outlined.tokens if t.kind == "name"} - {name}
    if head in ("Modelica", "ModelicaServices", "Complex") and not any(
        library.name == head for library in request.libraries
    ):
        folders = ", ".join(str(f) for f in library_folders()) or "none"
        return (
            f"'{name}' is of a library that was not found (library folders: {folders}); "
            "set MODELICAPATH to the folder that holds it"
        )
    return f"nothing is called '{name}'{did_you_mean(name, known)}"


def _line(refusal: Refusal, request: Request) -> str:
    for text in (refusal.message, *refusal.findings):
        found = _PLACE.search(text)
        if found is not None:
            return f", line {found.group(1)}"
    unresolved = _UNRESOLVED.search(refusal.message)
    if unresolved is not None and request.document:
        last = unresolved.group(1).rpartition(".")[2]
        for token in request.outlined.tokens:
            if token.text == last:
                return f", line {request.text.count(chr(10), 0, token.start) + 1}"
    return ""


def _tidied(message: str) -> str:
    text = message.split("\nRelated failures")[0]
    for noise in _NOISE:
        text = noise.sub("", text)
    return " ".join(_PLACE.sub("", text).split())
