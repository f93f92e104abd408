"""Room for inputs: which equations of open connectors give way to them, and which stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from estimica.flat.system import Equation
from estimica.structure.causality.graph import CausalityGraph, GrowingMatching, OpenFlow
from estimica.structure.causality.inflows import Inflows, settle_inflows


@dataclass(frozen=True, slots=True)
class Room:
    """What gives way to inputs."""

    flows: tuple[OpenFlow, ...]
    inflows: Inflows
    gone: tuple[Equation, ...]  # of flows, of streams, and of what is not known without inflows


def make_room(graph: CausalityGraph, inputs: Sequence[str]) -> Room | None:
    """The equations that make room for `inputs`, flows near them first; None: they do not fit."""
    # an inflow stands behind all others: it is determined only where nothing else is left
    own = [n for n in graph.unknowns if n not in inputs and n not in graph.inflows]
    columns = [*own, *(n for n in graph.inflows if n not in inputs)]
    far_first = sorted(
        range(len(graph.open_flows)),
        key=lambda k: (graph.open_flows[k].own, _nearness(inputs, graph.open_flows[k].name), -k),
    )
    flows = [graph.open_flows[k] for k in far_first]
    firm = graph.rows(graph.equations, columns)
    loose = graph.rows((f.equation for f in flows), columns)[: len(flows)]
    rows = [*firm, *loose]
    search = _Determined(rows, len(own), len(columns))
    fits = search.add_all(range(len(firm)))
    kept = [k for k in range(len(loose)) if search.add(len(firm) + k)] if fits else []
    if not fits or search.n_open:
        return None
    by_when = [None] * (len(firm) - len(graph.equations))
    equations = [*graph.equations, *by_when, *(f.equation for f in flows)]
    determined = {columns[c]: e for c, r in search.pairs() if (e := equations[r]) is not None}
    settled = settle_inflows(graph, determined, inputs)
    dropped = tuple(f for k, f in enumerate(flows) if k not in kept)
    streams = [s.equation for s in graph.open_streams if s not in settled.kept]
    without = [determined[n] for n in settled.unknown if n in determined]
    gone = (*(f.equation for f in dropped), *streams, *without)
    return Room(dropped, settled, gone)


class _Determined:
    """A matching of equations with variables, those of inflows only where it cannot be helped."""

    def __init__(self, rows: Sequence[Sequence[int]], n_own: int, n_columns: int) -> None:
        self._rows, self._n_own, self._n_columns = rows, n_own, n_columns
        self._used = set(range(n_own))
        self._added: list[int] = []
        self._search = self._growing()

    def _growing(self) -> GrowingMatching:
        # rows are matched as columns of the transposed graph, so that they can be added one by one
        transposed: list[list[int]] = [[] for _ in range(self._n_columns)]
        for k, row in enumerate(self._rows):
            for c in row:
                if c in self._used:
                    transposed[c].append(k)
        return GrowingMatching(transposed, len(self._rows))

    def add(self, row: int) -> bool:
        """Whether a row can be matched beside the others."""
        return self._search.add_column(row)

    def add_all(self, rows: range) -> bool:
        """Whether all rows can be matched, the last ones perhaps with inflows."""
        left = [k for k in rows if not self.add(k)]
        return all(self._add_with_inflow(k) for k in left)

    def _add_with_inflow(self, row: int) -> bool:
        matched = [k for k, c in enumerate(self._search.row_of) if c >= 0]
        for column in range(self._n_own, self._n_columns):
            if column in self._used:
                continue
            self._used.add(column)
            self._search = self._growing()
            for k in matched:
                self._search.add_column(k)
            if self._search.add_column(row):
                return True
            self._used.discard(column)
        return False

    @property
    def n_open(self) -> int:
        """Variables that no equation determines, inflows that nothing needs aside."""
        return sum(self._search.column_of[c] < 0 for c in self._used)

    def pairs(self) -> list[tuple[int, int]]:
        """(column, row) of all that are matched."""
        return [(c, r) for c, r in enumerate(self._search.column_of) if r >= 0]


def _nearness(inputs: Sequence[str], flow: str) -> int:
    """How many leading parts of the dotted names agree at best."""
    best = 0
    for name in inputs:
        common = 0
        for a, b in zip(name.split("."), flow.split("."), strict=False):
            if a != b:
                break
            common += 1
        best = max(best, common)
    return best


def with_inflows(graph: CausalityGraph, inputs: Sequence[str]) -> tuple[str, ...]:
    """Inputs with the inflows on which more depends than what flows out."""
    names = tuple(inputs)
    while graph.open_streams:
        room = make_room(graph, names)
        if room is None or not room.inflows.asked:
            break
        names = (*names, room.inflows.asked)
    return names
