"""Consent: commands ask before they run Python code or an FMU that a study names.

What the user names on the command line is the user's own choice and does not ask.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from estimica.apps.cli.console import reported, say
from estimica.base.errors import StudyError

if TYPE_CHECKING:
    from estimica.base.code.consent import Guard, NamedCode

Command = Callable[..., None]
_BY_NAME = inspect.Parameter.KEYWORD_ONLY
Trusting = Annotated[
    bool,
    typer.Option("--trust", help="Run the Python code or FMU that the study names, from now on."),
]


def with_consent(command: Command) -> Command:
    """The command with an option --trust, which asks before it runs code of its study."""
    hints = get_type_hints(command, include_extras=True) | {"trust": Trusting}
    parameters = dict(inspect.signature(command).parameters)
    parameters["trust"] = inspect.Parameter("trust", _BY_NAME, default=False)

    @functools.wraps(command)
    def asked(**given: Any) -> None:
        from estimica.base.code.consent import code_guard

        trust = given.pop("trust")
        name = command.__name__.strip("_").replace("_", "-")
        with code_guard(_guard(trust, given)):
            with reported(name, bool(given.get("as_json"))):
                for study in _files(given):  # early: nobody waits for the question
                    _look_at(study)
            command(**given)

    asked.__annotations__ = hints
    asked.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=_BY_NAME, annotation=hints[n]) for n, p in parameters.items()]
    )
    return asked


def _guard(trust: bool, given: Mapping[str, Any]) -> Guard:
    from estimica.apps.web.files.containment import SERVED, ServedFolderGuard

    if root := os.environ.get(SERVED):
        return ServedFolderGuard(Path(root))
    return Consent(trust, {n: v for n, v in given.items() if isinstance(v, str)})


def _files(given: Mapping[str, Any]) -> Iterator[Path]:
    """Every file that was given: any of them may be read as a study."""
    for value in given.values():
        for path in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(path, Path) and os.path.isfile(path):
                yield path


def _look_at(study: Path) -> None:
    """Ask now what is asked again, and then decided, whenever the study is read."""
    from estimica.base.code.consent import admit_study
    from estimica.study.file.trust import code_named_in

    tables, codes = code_named_in(study)
    if codes:
        admit_study(study, tables, codes)


class Consent:
    """The guard of a command: code that is known may run, `trust` is given, or the user says so.

    `own` are texts of the command line, by their options: what they name is the user's own choice.
    """

    def __init__(self, trust: bool, own: Mapping[str, str] | None = None) -> None:
        self._trust = trust
        self._own = dict(own or {})
        self._agreed: set[str] = set()
        self._no: StudyError | None = None

    def admit(self, study: Path, tables: Mapping[str, Any], codes: Sequence[NamedCode]) -> None:
        """Ask about the code of a study that is not known yet, and remember the answer."""
        from estimica.study.file.trust import Trust, code_of

        self._agreed |= {c.sha256 for c in code_of({"command line": self._own}, study.parent)}
        unknown = self._unknown(codes)
        if not unknown:
            return
        if self._no is not None:  # asked once is enough
            raise self._no
        if not self._trust:
            if not at_terminal():
                raise StudyError("Q050", refused(study, unknown))
            self._ask(study, unknown)
        self._agreed |= {code.sha256 for code in unknown}
        try:
            Trust().add(unknown)
        except StudyError as error:
            say(f"warning {error}")

    def require_agreed(self, codes: Sequence[NamedCode]) -> None:
        """What is about to run is what was agreed to."""
        unknown = self._unknown(codes)
        if unknown:
            named = ", ".join(code.text for code in unknown)
            raise StudyError(
                "Q053",
                f"{named} is not what was agreed to: it has changed since, or was not listed; "
                "begin again to be asked about it",
            )

    def _unknown(self, codes: Sequence[NamedCode]) -> tuple[NamedCode, ...]:
        from estimica.study.file.trust import not_trusted

        return not_trusted(code for code in codes if code.sha256 not in self._agreed)

    def _ask(self, study: Path, codes: Sequence[NamedCode]) -> None:
        say(f"study '{study}' runs code on your machine:")
        for code in codes:
            say(f"  {code.text}")
        if not typer.confirm("Run it?", default=False, err=True):
            self._no = StudyError("Q051", f"study '{study}' was not run: its code is not trusted")
            raise self._no


def refused(study: Path, codes: Sequence[NamedCode]) -> str:
    """Why nothing runs where nobody can be asked."""
    named = ", ".join(code.text for code in codes)
    return (
        f"study '{study}' runs code on your machine: {named}; read it, then say --trust, or answer "
        "the question at a terminal"
    )


def at_terminal() -> bool:
    """Whether somebody can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()
