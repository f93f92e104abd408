"""Watch: hears of IPOPT's iterations and ends the search where it was interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector

Told = Callable[[Vector, float], None]  # of the variables and the cost


class Watch(ca.Callback):  # type: ignore[misc]  # CasADi ships no types
    """The iteration callback of a search over `size` variables with so many conditions."""

    def __init__(self, size: int, conditions: int, on_iteration: Told) -> None:
        ca.Callback.__init__(self)
        self._size, self._conditions, self._on_iteration = size, conditions, on_iteration
        self.stopped, self.count = False, 0
        self.construct("watch", {})

    def get_n_in(self) -> int:
        """Everything that the solver gives out."""
        return int(ca.nlpsol_n_out())

    def get_n_out(self) -> int:
        """Whether to stop."""
        return 1

    def get_name_in(self, i: int) -> str:
        """As the solver calls it."""
        return str(ca.nlpsol_out(i))

    def get_name_out(self, i: int) -> str:
        """Whether to stop."""
        return "stop"

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        """Variables, conditions and their multipliers as columns."""
        sizes = {"f": 1, "x": self._size, "lam_x": self._size, "g": self._conditions,
                 "lam_g": self._conditions}  # fmt: skip
        return ca.Sparsity.dense(sizes.get(str(ca.nlpsol_out(i)), 0), 1)

    def eval(self, arguments: list[ca.DM]) -> list[ca.DM]:
        """Tell of one iteration."""
        if not self.stopped:
            self.count += 1
            found = dict(zip(ca.nlpsol_out(), arguments, strict=True))
            try:
                self._on_iteration(np.array(found["x"], float).ravel(), float(found["f"]))
            except KeyboardInterrupt:
                self.stopped = True
        return [ca.DM(int(self.stopped))]


@contextmanager
def interruptible(watch: Watch) -> Iterator[None]:
    """Ctrl-C ends the search after its iteration; compiled code would swallow the exception."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if watch.stopped:  # a second time: at once
            raise KeyboardInterrupt
        watch.stopped = True

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
