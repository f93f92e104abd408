"""How long work goes on, as the command line and the workbench guess it."""

from __future__ import annotations


class TimeLeft:
    """Guesses how long work goes on, from what follows its first part: that one had to compile."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None

    def seconds(self, now: float, share: float) -> float:
        """Seconds left at the time `now` when a `share` of the work is done, 0 if not known yet."""
        if self._first is None:
            self._first = now, share
        begun, before = self._first
        return (now - begun) * (1 - share) / (share - before) if share > before else 0.0
