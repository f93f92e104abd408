"""Joint walks: the sides of all profiles walked in step, so that their refits are members of one
batch.

Each walk is a thread of which one runs at a time: it runs until it wants a refit, then the next
one does, and when all of them wait or have ended, what they want is searched together. Walks know
nothing of each other, and who waits with whom follows from what they ask alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.objective.cost import Point
from estimica.estimate.search.run import SearchResult, Status
from estimica.execute.outcome import failed_item
from estimica.infer.profile.branch import Ending, branch_of
from estimica.infer.refit import SETTLED, FitContext

if TYPE_CHECKING:
    from estimica.estimate.batch.fits import BatchFits

#: sides from which on they are walked in step without being asked for. Chosen: a group of the
#: widest vectors; fewer leave most of it empty
WORTH = 8
#: a walk of plain values: the context and an item in, a branch out
Walk = Callable[[FitContext, Any], dict[str, Any]]


@dataclass(eq=False)
class JointPlace:
    """Where walks go, and what searches their refits."""

    place: FitContext
    fits: BatchFits
    left: int = 0  # refits that have to be searched one by one


@dataclass(frozen=True, eq=False)
class Wish:
    """A refit that a walk waits for."""

    start: Vector
    held: Flags
    near: bool


@dataclass(eq=False)
class _Walker:
    """One walk in a thread of its own, which runs only when it is let."""

    walk: Walk
    place: FitContext
    item: Any
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    waits: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    wish: Wish | None = None
    answer: SearchResult | None = None
    branch: dict[str, Any] | None = None
    stopped: bool = False

    def begin(self) -> None:
        """Have the thread ready; it does nothing yet."""
        threading.Thread(target=self._run, daemon=True).start()

    def run(self) -> None:
        """Let it run until it wishes for a refit or has ended."""
        self.go.release()
        self.waits.acquire()

    def ask(self, start: Vector, held: Flags, near: bool) -> SearchResult | None:
        """Wait for a refit; None where the walk has to search it alone. Called by the walk."""
        self.wish = Wish(start, held, near)
        self.waits.release()
        self.go.acquire()
        if self.stopped:
            raise KeyboardInterrupt
        return self.answer

    def _run(self) -> None:
        self.go.acquire()
        try:
            if not self.stopped:
                self.branch = self.walk(replace(self.place, joint=self.ask), self.item)
        except KeyboardInterrupt:
            self.stopped = True
        except BaseException as error:  # a panic in compiled code is not an Exception
            message = failed_item(error).error
            self.branch = branch_of(self.item[0]).ended(Ending.FAILED, message).plain()
        finally:
            self.wish = None
            self.waits.release()


def walked_together(joint: JointPlace, walk: Walk, items: Sequence[Any]) -> list[dict[str, Any]]:
    """The branches of all items, in their order."""
    walkers = [_Walker(walk, joint.place, item) for item in items]
    for walker in walkers:
        walker.begin()
    open_ = walkers
    try:
        while open_:
            for walker in open_:
                walker.run()
                if walker.stopped:
                    raise KeyboardInterrupt
            open_ = [w for w in open_ if w.wish is not None]
            for near in (True, False):
                _answer(joint, [w for w in open_ if w.wish is not None and w.wish.near is near])
    except KeyboardInterrupt:
        for walker in open_:
            walker.stopped = True
            walker.go.release()  # it ends where it waits
        raise
    return [w.branch for w in walkers if w.branch is not None]


def _answer(joint: JointPlace, walkers: Sequence[_Walker]) -> None:
    """Search what the walks wish for; the end of each is evaluated as a single search has it."""
    wishes = [w.wish for w in walkers if w.wish is not None]
    if not wishes:
        return
    found = joint.fits.fit(
        np.array([w.start for w in wishes]),
        held=np.array([w.held for w in wishes]),
        near=wishes[0].near,
    ).finished()
    for k, walker in enumerate(walkers):
        walker.answer = None
        if found.proven[k]:
            point = joint.place.objective.at(found.found.q[k])
            if isinstance(point, Point):
                walker.answer = SearchResult(point, Status.CONVERGED, SETTLED, ())
        joint.left += walker.answer is None
