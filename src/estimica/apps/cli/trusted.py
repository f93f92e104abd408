"""Trusted: commands ask before they run Python code or an FMU that a study names.

What the user names on the command line is the user's own choice and does not ask.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from estimica.apps.cli.console import reported, say
from estimica.base.errors import StudyError

if TYPE_CHECKING:
    from estimica.study.trust import Code

Command = Callable[..., None]
_BY_NAME = inspect.Parameter.KEYWORD_ONLY
Trusting = Annotated[
    bool,
    typer.Option("--trust", help="Run the Python code or FMU that the study names, from now on."),
]


def asking(command: Command) -> Command:
    """The command with an option --trust, which asks before it reads its study."""
    hints = get_type_hints(command, include_extras=True) | {"trust": Trusting}
    parameters = dict(inspect.signature(command).parameters)
    parameters["trust"] = inspect.Parameter("trust", _BY_NAME, default=False)

    @functools.wraps(command)
    def asked(**given: Any) -> None:
        trust = given.pop("trust")
        name = command.__name__.strip("_").replace("_", "-")
        with reported(name, bool(given.get("as_json"))):
            for study in _files(given):
                require_trusted(study, trust)
        command(**given)

    asked.__annotations__ = hints
    asked.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=_BY_NAME, annotation=hints[n]) for n, p in parameters.items()]
    )
    return asked


def _files(given: Mapping[str, Any]) -> Iterator[Path]:
    """Every file that was given: any of them may be read as a study."""
    for value in given.values():
        for path in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(path, Path) and path.is_file():
                yield path


def require_trusted(study: Path, trust: bool) -> None:
    """The code of this study may run: it is known, `trust` is given, or the user says so."""
    from estimica.study.trust import Trust, untrusted

    codes = untrusted(study)
    if not codes:
        return
    if not trust:
        if not _at_terminal():
            raise StudyError("Q050", _refused(study, codes))
        _ask(study, codes)
    try:
        Trust().add(codes)
    except StudyError as error:
        say(f"warning {error}")


def _refused(study: Path, codes: tuple[Code, ...]) -> str:
    named = ", ".join(code.text for code in codes)
    return (
        f"study '{study}' runs code on your machine: {named}; read it, then say --trust, or answer "
        "the question at a terminal"
    )


def _ask(study: Path, codes: tuple[Code, ...]) -> None:
    say(f"study '{study}' runs code on your machine:")
    for code in codes:
        say(f"  {code.text}")
    if not typer.confirm("Run it?", default=False, err=True):
        raise StudyError("Q051", f"study '{study}' was not run: its code is not trusted")


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
