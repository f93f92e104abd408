"""Revision: a text with what it was before and what was undone."""

from __future__ import annotations

from dataclasses import dataclass

MOST = 200  # steps that can be undone


@dataclass(frozen=True, slots=True)
class Revision:
    """A text and its history; every step gives a new one."""

    text: str
    past: tuple[str, ...] = ()
    future: tuple[str, ...] = ()

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier text."""
        return bool(self.past)

    @property
    def can_redo(self) -> bool:
        """Whether something was undone since the last edit."""
        return bool(self.future)

    def edit(self, text: str) -> Revision:
        """Another text; what was undone before cannot be redone. The same text is not a step."""
        if text == self.text:
            return self
        return Revision(text, (*self.past, self.text)[-MOST:])

    def undo(self) -> Revision:
        """The text before the last edit; the same where there was none."""
        if not self.past:
            return self
        return Revision(self.past[-1], self.past[:-1], (self.text, *self.future))

    def redo(self) -> Revision:
        """The text before the last undo; the same where nothing was undone."""
        if not self.future:
            return self
        return Revision(self.future[0], (*self.past, self.text), self.future[1:])
