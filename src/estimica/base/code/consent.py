"""Consent: whether code that a study names may run in this process, asked where it is about to run.

A program of one's own has no guard: what it reads runs. Commands and the workbench set one before
they read a study. It belongs to the process, not to a thread: threads that are started later must
not be without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from estimica.base.visible import visible_line


@dataclass(frozen=True)
class NamedCode:
    """One program: where the study names it, what it is, and what it holds."""

    where: str  # "[estimate] criterion"
    name: str  # as the study writes it
    path: Path
    kind: str  # "Python", "FMU", "Modelica with native code"
    sha256: str

    @property
    def text(self) -> str:
        """In words, with the beginning of the hash."""
        place = f" in {visible_line(self.where)}" if self.where else ""
        return f"{self.kind} '{visible_line(self.name)}' (sha256 {self.sha256[:12]}…){place}"


class Guard(Protocol):
    """Who is asked; each raises an error of the user's where the answer is no."""

    def admit(self, study: Path, tables: Mapping[str, Any], codes: Sequence[NamedCode]) -> None:
        """A study was read and its code too; may both be used?"""

    def require_agreed(self, codes: Sequence[NamedCode]) -> None:
        """This very content is about to run; did the user agree to it?"""


_guard: Guard | None = None


@contextmanager
def code_guard(guard: Guard) -> Iterator[None]:
    """Within, every study and every program is asked about."""
    global _guard
    before, _guard = _guard, guard
    try:
        yield
    finally:
        _guard = before


def has_code_guard() -> bool:
    """Whether this process asks at all."""
    return _guard is not None


def admit_study(study: Path, tables: Mapping[str, Any], codes: Sequence[NamedCode]) -> None:
    """Ask about a study that was just read, before anything of it is used."""
    if _guard is not None:
        _guard.admit(study, tables, codes)


def require_agreed(codes: Sequence[NamedCode]) -> None:
    """Ask about programs whose content is known and is about to run."""
    if _guard is not None and codes:
        _guard.require_agreed(codes)
