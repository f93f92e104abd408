"""Attempts at a class: as it stands first, then with what the compiler refuses kept from it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass

from estimica.flat.system import FlatSystem
from estimica.source.hidden import PADDING, Hidden, hide
from estimica.source.modifiers import WRAPPER, Fixed, wrapper_text
from estimica.source.outline import outline
from estimica.source.request import Request

_BALANCE = re.compile(r"unbalanced model: .*\(balance = (-?\d+)\)")
#: levels of hiding: nothing, algorithms and function bodies, equations too
_LEVELS = 2


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is sent to the compiler for a request.

    The compiler counts equations before it hands the flat model over; `padding` (equations too few
    if positive, too many if negative) lets it pass, and the structure stage does the counting.
    """

    request: Request
    level: int = 0
    padding: int = 0
    outer: frozenset[str] = frozenset()
    hidden: Hidden | None = None

    def document(self, fix: Mapping[str, Fixed], plain: FlatSystem | None) -> tuple[str, str]:
        """The text for the compiler, and the class in it."""
        text = self.hidden.text if self.hidden is not None else self.request.document
        # libraries are loaded where the text mentions them
        mention = "".join(f"// {library.name}\n" for library in self.request.libraries)
        if fix or not text or self.padding:
            more = _padding(self.padding)
            text += "\n" + wrapper_text(self.request.class_name, fix, plain, more)
            return text + mention, WRAPPER
        return text + ("\n" + mention if mention else ""), self.request.class_name

    def after(self, message: str) -> Attempt | None:
        """The attempt to make after a refusal; None where none is left."""
        balance = _BALANCE.search(message)
        if balance is not None:
            padding = self.padding - int(balance.group(1))
            return dataclasses.replace(self, padding=padding) if padding != self.padding else None
        if "failed in ToDae" not in message or not self.request.document:
            return None
        return self._hiding(self.level + 1)

    def knowing(self, names: set[str]) -> Attempt | None:
        """The attempt to make once `names` are known to be no members; None if they were known."""
        if names <= self.outer:
            return self._hiding(self.level + 1)
        return dataclasses.replace(self, outer=self.outer | names)._hiding(self.level)

    def notes(self) -> tuple[str, ...]:
        """What the user should know about the way the class was read."""
        if self.hidden is None:
            return ()
        what = (
            "algorithms and functions" if self.level == 1 else "algorithms, functions and equations"
        )
        return (f"{what} were read by Estimica itself, because the compiler refuses some of them",)

    def _hiding(self, level: int) -> Attempt | None:
        while level <= _LEVELS:
            document = self.request.document
            hidden = hide(document, outline(document), self.outer, equations=level > 1)
            if hidden is not None:
                return dataclasses.replace(self, level=level, hidden=hidden, padding=0)
            level += 1
        return None


def _padding(count: int) -> str:
    if count == 0:
        return ""
    if count < 0:
        return f"  Real {PADDING}_variable[{-count}];\n"
    equations = " ".join(f"0 = {PADDING}(time + {k});" for k in range(count))
    return (
        f"  pure function {PADDING} input Real x; output Real y; "
        f'external "C" y = {PADDING}(x); end {PADDING};\n'
        f"equation\n  {equations}\n"
    )
