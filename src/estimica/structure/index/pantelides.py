"""How often each equation must be differentiated (Pantelides), on integers only.

Variable v stands in equation e with its derivative of order `orders[e][v]`. Differentiating e
c(e) times raises that by c(e); d(v) is then the highest order of v anywhere. The algorithm finds
the smallest c and d for which the highest derivatives can be matched with the equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from estimica.structure.graph.matching import match

Orders = Sequence[Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class DifferentiationOrders:
    """c: differentiations of every equation; d: highest derivative of every variable."""

    c: tuple[int, ...]
    d: tuple[int, ...]

    @property
    def index(self) -> int:
        """The structural index: 1 where algebraic variables are left, one more for each c."""
        return max(self.c, default=0) + int(0 in self.d)


def differentiation_orders(orders: Orders, n_variables: int) -> DifferentiationOrders:
    """The offsets of a system that is structurally regular."""
    search = _Search(orders, n_variables)
    for e in range(len(orders)):
        if search.column_of[e] < 0:
            search.assign(e)
    return DifferentiationOrders(tuple(search.c), tuple(search.d))


class _Search:
    """The state of the algorithm: offsets so far and the matching of highest derivatives."""

    def __init__(self, orders: Orders, n: int) -> None:
        self.orders = orders
        self.c = [0] * len(orders)
        self.d = [0] * n
        for row in orders:
            for v, order in row.items():
                self.d[v] = max(self.d[v], order)
        rows = [[v for v, order in row.items() if order == self.d[v]] for row in orders]
        matching = match(rows, n)
        self.column_of = list(matching.column_of)
        self.row_of = list(matching.row_of)

    def assign(self, e: int) -> None:
        """Match `e`, differentiating whatever stands in the way."""
        while True:
            equations, variables, free = self._explore(e)
            if free is not None:
                self._augment(free, variables)
                return
            for v in variables:
                self.d[v] += 1
            for other in equations:
                self.c[other] += 1

    def _explore(self, start: int) -> tuple[list[int], dict[int, int], int | None]:
        """Breadth first along alternating paths: (equations, variable → equation, a free one)."""
        queue, variables = [start], dict[int, int]()
        for e in queue:
            for v, order in self.orders[e].items():
                if order + self.c[e] != self.d[v] or v in variables:
                    continue
                variables[v] = e
                owner = self.row_of[v]
                if owner < 0:
                    return queue, variables, v
                queue.append(owner)
        return queue, variables, None

    def _augment(self, v: int, reached_from: dict[int, int]) -> None:
        while True:
            e = reached_from[v]
            previous = self.column_of[e]
            self.column_of[e], self.row_of[v] = v, e
            if previous < 0:
                return
            v = previous
