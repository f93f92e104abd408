"""Bar: how far long work is, in one line that renews itself, in a terminal or in a notebook.

It goes to stderr, or to the display of the notebook, never to stdout; and nowhere at all where
nobody would see it: a log, a pipe, a test.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from threading import Event, Thread
from time import monotonic
from typing import Any, Protocol

from estimica.base.visible import visible

BEGIN = 0.5  # s: what is over sooner needs no bar
EVERY = 0.25  # s between two updates: the eye follows four a second, and a notebook's file does
PATIENCE = 1.0  # s before a line that says no more than that work goes on
LEAST = 0.02  # of the work: before, nobody can tell what is left
WIDTH = 24  # signs of the bar itself: a line of 80 has room for the words
_CLEAR = "\r\x1b[2K"  # to the beginning of the line, which is erased


class Telling(Protocol):
    """Says how far work is."""

    @property
    def share(self) -> float | None:
        """The share of the work that is done; None where nobody can tell."""

    @property
    def words(self) -> str:
        """How far it is, in words."""


class Line(Protocol):
    """A place for one line of text."""

    def show(self, share: float | None, text: str) -> None:
        """Show it in place of the last one."""

    def close(self, text: str) -> None:
        """End it."""


@contextmanager
def bar_for(name: str, progress: Any) -> Iterator[Callable[..., None] | None]:
    """What work called `name` tells its progress to: the user's function, a bar, or nobody."""
    if callable(progress):
        yield progress
        return
    line = None if progress is False else visible_line()
    if line is None:
        yield None
        return
    bar = Bar(name, line)
    try:
        yield bar.tell
    finally:
        bar.close()


@contextmanager
def waiting_for(name: str) -> Iterator[None]:
    """A line about work that cannot tell how far it is: what it is and how long it lasts."""
    line = visible_line()
    if line is None:
        yield
        return
    ended = Event()
    teller = Thread(target=_wait, args=(name.replace("_", " "), line, ended), daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


def _wait(name: str, line: Line, ended: Event) -> None:
    begun = monotonic()
    if ended.wait(PATIENCE):
        return
    while True:
        line.show(None, f"{name}: {duration(monotonic() - begun)}")
        if ended.wait(EVERY):
            line.close(f"{name}: {duration(monotonic() - begun)}")
            return


class Bar:
    """One line about work that goes on, from its first second to its end."""

    def __init__(self, name: str, line: Line) -> None:
        self._name, self._line = name.replace("_", " "), line
        self._begun = monotonic()
        self._shown = self._begun + BEGIN - EVERY
        self._words = ""
        self._open = False

    def tell(self, progress: Telling) -> None:
        """Show how far it is."""
        now = monotonic()
        share, self._words = progress.share, progress.words
        if now - self._shown < EVERY:
            return
        self._shown, self._open = now, True
        spent = now - self._begun
        left = spent * (1 - share) / share if share and share > LEAST else 0.0
        ending = f", about {duration(left)} left" if left >= 1 else f", {duration(spent)}"
        self._line.show(share, visible(f"{self._name}: {self._words}{ending}"))

    def close(self) -> None:
        """End the line, where there is one."""
        if self._open:
            spent = duration(monotonic() - self._begun)
            self._line.close(visible(f"{self._name}: {self._words}, {spent}"))


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"


# --- where it is shown ---------------------------------------------------------------------------


def visible_line() -> Line | None:
    """Where a line would be seen now; None where it would not."""
    if in_notebook():
        return NotebookLine()
    error = sys.stderr
    return TerminalLine() if error is not None and error.isatty() else None


def in_notebook() -> bool:
    """Whether this program runs in the kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in shell.config


class TerminalLine:
    """The last line of a terminal; it disappears at the end."""

    def show(self, share: float | None, text: str) -> None:
        """Show it in place of the last one."""
        drawn = f"{_drawn(share)} {text}" if share is not None else text
        room = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"{_CLEAR}{drawn[:room]}")
        sys.stderr.flush()

    def close(self, text: str) -> None:
        """Erase it."""
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()


def _drawn(share: float) -> str:
    done = round(WIDTH * min(max(share, 0.0), 1.0))
    return "━" * done + "─" * (WIDTH - done)


class NotebookLine:
    """An output of the cell; what stays at the end is one line of text."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, share: float | None, text: str) -> None:
        """Show it in place of the last one."""
        value = "" if share is None else f' value="{min(max(share, 0.0), 1.0):.4f}"'
        self._put(text, f'<progress{value} style="vertical-align: middle"></progress> ')

    def close(self, text: str) -> None:
        """Leave one line of text."""
        self._put(text, "")

    def _put(self, text: str, before: str) -> None:
        display: Any = import_module("IPython.display").display
        bundle = {
            "text/plain": text,
            "text/html": f'<small style="opacity: 0.7">{before}{escape(text)}</small>',
        }
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)
