"""TerminalApprovals: code that is new here runs after somebody at the server's terminal has let it.

What clicks in a page may be a script. So each question has a code of its own, which is printed
where `estimica serve` runs and is typed into the page; it holds for the very files that were
shown, once, for a while, and for a few tries.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn

from estimica.apps.cli.console import say
from estimica.base.errors import WebError
from estimica.execute.runs.record import DIGITS
from estimica.study.file.trust import NamedCode, Trust

LASTS = 300.0  # s in which one reads the terminal and types
LETTERS = 6  # of 32: a thousand million codes
TRIES = 5  # for one code: typing errors happen
WRONG = 20  # wrong codes in all before the server asks no more: 2·10⁻⁸ to guess one
ASKED = 20  # questions within LASTS: more would only fill the terminal


@dataclass
class _Question:
    """What was asked, until when, and how often the code may still be wrong."""

    study: str
    codes: tuple[NamedCode, ...]
    code: str
    until: float
    tries: int = TRIES


class TerminalApprovals:
    """The open questions of a server; who asks gets a token that no page ever sees."""

    def __init__(
        self,
        tell: Callable[[str], None] = say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._open: dict[str, _Question] = {}
        self._wrong = 0
        self._asked: list[float] = []

    def ask(self, study: str, codes: Iterable[NamedCode]) -> str:
        """Print a question about these programs with its code; the token to answer it with."""
        now = self._clock()
        self._asked = [at for at in self._asked if now - at < LASTS]
        if self._wrong >= WRONG or len(self._asked) >= ASKED:
            why = "too many wrong codes" if self._wrong >= WRONG else "too many questions"
            raise WebError("G022", f"{why}: agree at a terminal, with `estimica trust {study}`")
        self._asked.append(now)
        self._open = {t: q for t, q in self._open.items() if now < q.until}
        token = secrets.token_urlsafe(16)
        code = "".join(secrets.choice(DIGITS) for _ in range(LETTERS))
        question = _Question(study, tuple(codes), code, now + LASTS)
        self._open[token] = question
        self._print(question)
        return token

    def answer(self, token: str, typed: str, now: Iterable[NamedCode]) -> None:
        """Remember that the programs may run, if the code is right and they are still the same."""
        question = self._open.pop(token, None)
        if question is None or self._clock() >= question.until:
            raise WebError("G023", "this question is over: ask again, and there is a new code")
        if not hmac.compare_digest(_plain(typed).encode(), question.code.encode()):
            self._mistaken(token, question)
        if _contents(now) != _contents(question.codes):
            raise WebError("G025", "a file was changed since it was shown: look at it again")
        Trust().add(question.codes)
        self._tell(f"agreed in the workbench: study '{question.study}' runs {_named(question)}")

    def withdraw(self, token: str) -> None:
        """The question was answered with no."""
        self._open.pop(token, None)

    def _mistaken(self, token: str, question: _Question) -> NoReturn:
        self._wrong += 1
        question.tries -= 1
        self._tell(f"a wrong code was typed in the workbench for study '{question.study}'")
        if question.tries <= 0 or self._wrong >= WRONG:
            raise WebError("G023", "the code was wrong too often: ask again for a new one")
        self._open[token] = question
        left = f"{question.tries} tries are" if question.tries > 1 else "one try is"
        raise WebError("G024", f"this is not the code that the terminal shows; {left} left")

    def _print(self, question: _Question) -> None:
        code = question.code.upper()
        self._tell(
            f"\nThe workbench asks: may study '{question.study}' run this on this machine?\n"
            + "".join(f"  {code.text}\n" for code in question.codes)
            + f"To agree, type this code there within {LASTS / 60:.0f} minutes:  "
            f"{code[:3]}-{code[3:]}\nIf you did not ask for this, do nothing.\n"
        )


def _plain(typed: str) -> str:
    """A code as it was printed, however it is typed."""
    return "".join(typed.lower().replace("-", "").split())


def _contents(codes: Iterable[NamedCode]) -> set[tuple[str, str]]:
    return {(str(code.path), code.sha256) for code in codes}


def _named(question: _Question) -> str:
    return ", ".join(code.text for code in question.codes)
