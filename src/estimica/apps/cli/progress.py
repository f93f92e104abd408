"""Live progress of a fit on stderr: a line that renews itself, or plain lines in a log."""

from __future__ import annotations

import math
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from estimica.apps.cli.console import StatusLine, say
from estimica.apps.time_left import TimeLeft

if TYPE_CHECKING:
    from estimica.estimate.run.one_start import Progress
    from estimica.execute.runs.writer import RunWriter
    from estimica.study.estimation import Estimation

SHOWN = 4  # unknowns whose values are told
EVERY = 1.0  # s between plain lines
LEAST = 3  # iterations before the time that is left is guessed


class ProgressLine:
    """Tells iteration, cost, its change, a few values, and the time that is left.

    A writer notes the same for those who watch the run from elsewhere.
    """

    def __init__(
        self, estimation: Estimation, *, quiet: bool, writer: RunWriter | None = None
    ) -> None:
        self._estimation = estimation
        self._quiet = quiet
        self._writer = writer
        self._begun = self._told = monotonic()
        self._best = math.inf
        self._steps: list[float] = []
        self._ended, self._starts = 0, 1  # starts of a multistart
        self._starts_left = TimeLeft()
        self._renewed = StatusLine("simulating …", quiet=quiet)

    def __enter__(self) -> Self:
        if self._writer:
            self._writer.progress(None, "simulating …")
        self._renewed.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._renewed.stop()

    def __call__(self, progress: Progress) -> None:
        """Tell of one iteration, or of one start that came to its end."""
        line = self._line(progress)
        now = monotonic()
        if self._quiet:
            return
        if self._renewed:
            self._renewed.show(line)
        elif now - self._told >= EVERY:
            self._told = now
            say(line)

    def _line(self, progress: Progress) -> str:
        i = progress.iteration
        seconds = monotonic() - self._begun
        values = zip(progress.names, i.values, strict=True)
        told = [f"{name} {value:.4g}" for name, value in list(values)[:SHOWN]]
        if progress.starts > 1:
            self._ended, self._starts = self._ended + 1, progress.starts
            head = f"start {self._ended} of {progress.starts}"
            left = self._starts_left.seconds(seconds, self._ended / progress.starts)
        else:
            head = f"iteration {i.number}"
            self._steps.append(i.step)
            left = self._left(seconds)
        self._note(head, i.cost, left)
        change = i.cost - self._best if math.isfinite(self._best) else math.nan
        self._best = min(self._best, i.cost)
        parts = [head, f"cost {i.cost:.7g}"]
        if math.isfinite(change):
            parts.append(f"change {change:+.2g}")
        parts.append(f"{seconds:.1f} s")
        if math.isfinite(left) and left >= 1:
            parts.append(f"about {left:.0f} s left")
        return "  ".join([*parts, *told])

    def _note(self, head: str, cost: float, left: float) -> None:
        """Note how far it is; the share that is done is a guess unless starts are counted."""
        if self._writer is None:
            return
        seconds = monotonic() - self._begun
        share = seconds / (seconds + left) if math.isfinite(left) and left > 0 else None
        if self._ended:
            share = self._ended / self._starts
        self._writer.progress(share, f"{head}  cost {cost:.7g}")

    def _left(self, seconds: float) -> float:
        """Seconds left if steps go on shrinking as they do, at most to the iteration limit."""
        done = len(self._steps)
        most = self._estimation.max_iterations + 1 - done
        recent = [s for s in self._steps[-LEAST:] if s > 0]
        if done <= LEAST or len(recent) < LEAST:
            return math.nan
        rate = (recent[-1] / recent[0]) ** (1 / (LEAST - 1))
        needed = float(most)
        if rate < 1:
            needed = math.log(self._estimation.tolerance / recent[-1]) / math.log(rate)
        return seconds / done * min(max(needed, 0.0), most)
