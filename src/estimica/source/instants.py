"""When a call happens: the when-branch around it, and what impure functions keep between calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from estimica.flat import expression as ex
from estimica.flat.expression import Expression

#: the next state and the number that is drawn with it
Draw = Callable[[Sequence[Expression]], "tuple[list[Expression], Expression]"]


@dataclass(slots=True)
class KeptState:
    """Whole numbers that a when-branch keeps from one of its instants to the next."""

    names: list[str]
    start: list[Expression]
    after: list[Expression]  # at the end of what was read so far


class Instants:
    """Told by the readers of when-clauses, asked by the twins of external functions."""

    def __init__(self) -> None:
        #: of the when-branch that is read; None outside of when-clauses
        self.conditions: tuple[Expression, ...] | None = None
        #: how often a value depended on where its call stands: it is that of no other call
        self.particular = 0
        self._first: dict[float, list[Expression]] = {}
        self._branch: dict[float, KeptState] = {}
        self._count = 0

    @contextmanager
    def branch(self, conditions: tuple[Expression, ...]) -> Iterator[dict[float, KeptState]]:
        """While the actions of a when-branch are read; what it keeps is found in the mapping."""
        before = self.conditions, self._branch
        self.conditions, self._branch = conditions, {}
        try:
            yield self._branch
        finally:
            self.conditions, self._branch = before

    def begin(self, identity: float, state: Sequence[Expression]) -> None:
        """A generator with hidden state is made, or made anew."""
        self._first[identity] = list(state)

    def drawn(self, identity: float, draw: Draw, condition: Expression) -> Expression | None:
        """The next number of a hidden generator where `condition` holds; None for an unknown one.

        Every when-branch has a sequence of its own: the first one that of the generator, so that
        branches at the same instant need no order. Outside of when-clauses it is drawn now.
        """
        self.particular += 1
        if identity not in self._first:
            return None
        if self.conditions is None:
            self._first[identity], number = draw(self._first[identity])
            return number
        kept = self._branch.get(identity)
        if kept is None:
            kept = self._branch[identity] = self._new(identity, draw)
        after, number = draw(kept.after)
        pairs = zip(after, kept.after, strict=True)
        kept.after = [ex.conditional(condition, a, b) for a, b in pairs]
        return number

    def _new(self, identity: float, draw: Draw) -> KeptState:
        self._count += 1
        start = self._first[identity]
        names = [f"$hidden{self._count}[{k + 1}]" for k in range(len(start))]
        self._first[identity] = _another(start, draw)
        return KeptState(names, start, [ex.pre(n) for n in names])


def _another(state: list[Expression], draw: Draw) -> list[Expression]:
    """A state far from `state`: its own random numbers in place of its whole numbers."""
    result = []
    for _ in state:
        state, number = draw(state)
        result.append(ex.const(float(int(number.value * 2.0**32) - 2**31)))
    return result
