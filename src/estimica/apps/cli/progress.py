"""Live progress on stderr: a line that renews itself, or plain lines now and then in a log."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from estimica.apps.cli.console import StatusLine, say
from estimica.apps.time_left import TimeLeft
from estimica.base.result import Progress

if TYPE_CHECKING:
    from estimica.estimate.run.one_start import Progress as FitProgress
    from estimica.execute.runs.writer import RunWriter
    from estimica.infer.release.run import ReleaseProgress
    from estimica.study.estimation import Estimation

# chosen: a log stays short, and who watches it still sees that work goes on
EVERY = 2.0  # s between plain lines
EVERY_OF_FIT = 1.0  # s; its lines tell more, and a fit is over sooner
SHOWN = 4  # unknowns whose values are told: what fits into a line of 100 characters
LEAST = 3  # iterations before the time that is left is guessed; three steps make a rate
#: a step over the one before, above which steps tell nothing of the end. Below it guesses are right
#: within a factor of about three; the filters of the examples end after 40 iterations, twenty of
#: them at a rate of 0.98, which would be 900 more (measured)
SHRINKING = 0.5


class ProgressLine:
    """Tells how far work is and how long it may go on.

    A writer notes it too, for those who watch the run from elsewhere.
    """

    def __init__(
        self, first: str, *, quiet: bool, writer: RunWriter | None = None, every: float = EVERY
    ) -> None:
        self._first = first
        self._quiet = quiet
        self._writer = writer
        self._every = every
        self._begun = self._shown = monotonic()
        self._left = TimeLeft()
        self._renewed = StatusLine(first, quiet=quiet)

    def __enter__(self) -> Self:
        self.note(None, self._first)
        self._renewed.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._renewed.stop()

    def counting(self, pieces: str) -> Callable[[Progress], None]:
        """Tell of pieces of work: `12 of 500 replicates, 1 failed`."""

        def tell(progress: Progress) -> None:
            failed = f", {progress.failed} failed" if progress.failed else ""
            text = f"{progress.done} of {progress.count} {pieces}{failed}"
            self.tell(text, progress.done / progress.count)

        return tell

    def tell(self, text: str, share: float | None) -> None:
        """Tell how far it is; `share` of the work is done, None where nobody can tell."""
        self.note(share, text)
        now = monotonic()
        if share is None:
            self.show(f"{text}  {now - self._begun:.0f} s")
            return
        left = self._left.seconds(now, share)
        self.show(f"{text}  about {left:.0f} s left" if left >= 1 else text)

    def note(self, share: float | None, text: str) -> None:
        """Note how far it is in the store; `share` is None where nobody can tell."""
        if self._writer:
            self._writer.progress(share, text)

    def show(self, line: str) -> None:
        """Show a line in place of the last one, or print it where it is time for another."""
        if self._quiet:
            return
        if self._renewed:
            self._renewed.show(line)
            return
        now = monotonic()
        if now - self._shown >= self._every:
            self._shown = now
            say(line)


class FitProgressLine(ProgressLine):
    """Tells iteration, cost, its change, a few values, and the time that is left."""

    def __init__(
        self, estimation: Estimation, *, quiet: bool, writer: RunWriter | None = None
    ) -> None:
        super().__init__("simulating …", quiet=quiet, writer=writer, every=EVERY_OF_FIT)
        self._estimation = estimation
        self._best = math.inf
        self._steps: list[float] = []
        self._ended, self._starts = 0, 1  # starts of a multistart

    def __call__(self, progress: FitProgress) -> None:
        """Tell of one iteration, or of one start that came to its end."""
        self.show(self._line(progress))

    def _line(self, progress: FitProgress) -> str:
        i = progress.iteration
        seconds = monotonic() - self._begun
        values = list(zip(progress.names, i.values, strict=True))[:SHOWN]
        if progress.starts > 1:
            self._ended, self._starts = self._ended + 1, progress.starts
            head = f"start {self._ended} of {progress.starts}"
            left = self._left.seconds(seconds, self._ended / progress.starts)
        else:
            head = f"iteration {i.number}"
            self._steps.append(i.step)
            left = self._seconds_left(seconds)
        self.note(self._share(seconds, left), f"{head}  cost {i.cost:.7g}")
        change = i.cost - self._best if math.isfinite(self._best) else math.nan
        self._best = min(self._best, i.cost)
        parts = [head, f"cost {i.cost:.7g}"]
        if math.isfinite(change):
            parts.append(f"change {change:+.2g}")
        parts.append(f"{seconds:.1f} s")
        if math.isfinite(left) and left >= 1:
            parts.append(f"about {left:.0f} s left")
        return "  ".join([*parts, *(f"{name} {value:.4g}" for name, value in values)])

    def _share(self, seconds: float, left: float) -> float | None:
        """The share that is done: a guess unless starts are counted."""
        if self._ended:
            return self._ended / self._starts
        return seconds / (seconds + left) if math.isfinite(left) and left > 0 else None

    def _seconds_left(self, seconds: float) -> float:
        """Seconds left if steps go on shrinking as they do, at most to the iteration limit; not a
        number where they do not tell."""
        done = len(self._steps)
        most = self._estimation.max_iterations + 1 - done
        recent = [s for s in self._steps[-LEAST:] if s > 0]
        if done <= LEAST or len(recent) < LEAST:
            return math.nan
        rate = (recent[-1] / recent[0]) ** (1 / (LEAST - 1))
        if rate > SHRINKING:
            return math.nan
        needed = math.log(self._estimation.tolerance / recent[-1]) / math.log(rate)
        return seconds / done * min(max(needed, 0.0), most)


class ReleaseProgressLine(ProgressLine):
    """Tells of searches in a line that renews itself, and prints each step that has ended."""

    def __init__(self, *, quiet: bool, writer: RunWriter) -> None:
        super().__init__("simulating …", quiet=quiet, writer=writer, every=math.inf)

    def __call__(self, progress: ReleaseProgress) -> None:
        """Tell of a search, or of a step that has ended."""
        step = progress.chosen
        if step is not None:
            took = step.choice
            gained = f"{took.name}: cost {took.cost:.7g}" if took else "nothing is worth releasing"
            line = f"step {step.number}  {gained}"
        else:
            line = (
                f"step {progress.step}  {progress.done} of {progress.count} searches for "
                f"{progress.candidates} candidates  null model's cost {progress.cost:.7g}"
            )
        self.note(None, line)  # nobody knows how many steps there will be
        if step is None:
            self.show(line)
        elif not self._quiet:
            say(line)
