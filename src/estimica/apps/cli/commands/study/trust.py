"""`estimica trust`: the code that a study would run, with its hashes; agreed to, or forgotten."""

from __future__ import annotations

from typing import Annotated

import typer

from estimica.apps.cli.consent import Consent, Trusting
from estimica.apps.cli.console import print_json, print_text, reported, say
from estimica.apps.cli.options import AsJson, StudyPath
from estimica.base.code.consent import NamedCode
from estimica.base.visible import visible_line


def trust(
    study: StudyPath,
    trust: Trusting = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Ask again before this code runs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the code that a study would run, and agree to it; nothing of it runs here."""
    with reported("trust", as_json):
        from estimica.base.errors import StudyError
        from estimica.study.file.trust import Trust, code_named_in, not_trusted

        if not study.is_file():
            raise StudyError("Q003", f"there is no file '{study}'")
        tables, codes = code_named_in(study)
        if not as_json:
            for code in codes:
                print_text(_line(code))
        if forget:
            Trust().remove(codes)
        else:
            Consent(trust).admit(study, tables, codes)
        unknown = not_trusted(codes)
    message = _outcome(codes, unknown, forget)
    if as_json:
        outcome = {"status": "done", "message": message}
        print_json({"command": "trust", "outcome": outcome, "code": [_plain(c) for c in codes]})
    else:
        say(message)


def _line(code: NamedCode) -> str:
    return f"{code.sha256}  {code.kind}  {visible_line(str(code.path))}  {visible_line(code.where)}"


def _plain(code: NamedCode) -> dict[str, str]:
    return {
        "where": code.where,
        "name": code.name,
        "path": str(code.path),
        "kind": code.kind,
        "sha256": code.sha256,
    }


def _outcome(codes: tuple[NamedCode, ...], unknown: tuple[NamedCode, ...], forget: bool) -> str:
    if not codes:
        return "the study names no code"
    if forget:
        return "forgotten: it is asked about again before it runs"
    return "not trusted" if unknown else "trusted: it runs without a question until it changes"
