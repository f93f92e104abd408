"""Which variables of a class can be its inputs: equations, variables, and who determines whom.

A variable counts as present in an equation where it or its derivative stands in it. The equations
of unconnected flows are loose: they make room for inputs. So are those of unconnected streams;
what flows in through the class's own connectors may be given or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from estimica.flat import expression as ex
from estimica.flat.system import Equation, FlatSystem, Kind
from estimica.structure.graph.matching import Matching
from estimica.structure.parameters import is_parameter

UNCONNECTED = "unconnected flow"
OPEN_STREAM = "unconnected stream"


@dataclass(frozen=True, slots=True)
class OpenFlow:
    """The equation that sets the flow of an open connector to zero."""

    equation: Equation
    name: str  # of the flow
    own: bool  # the connector belongs to the class itself, not to a component

    @property
    def connector(self) -> str:
        """The connector that is open."""
        return self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class OpenStream:
    """The equation by which an open connector is surrounded by what flows out of it."""

    equation: Equation
    inflow: str
    stream: str


@dataclass(frozen=True, slots=True)
class CausalityGraph:
    """The equations that hold whatever is connected, and the variables in them."""

    flat: FlatSystem
    unknowns: tuple[str, ...]  # every variable that is not a parameter and no declared input
    equations: tuple[Equation, ...]  # firm: without those of unconnected flows
    open_flows: tuple[OpenFlow, ...]
    open_streams: tuple[OpenStream, ...]
    assigned: tuple[str, ...]  # by when-clauses

    @staticmethod
    def of(flat: FlatSystem) -> CausalityGraph:
        """The graph of a flat system."""
        variables = [v for v in flat.variables if not is_parameter(v) and v.kind is not Kind.STRING]
        loose = [e for e in flat.equations if e.origin.kind == UNCONNECTED]
        components = {e.origin.component.partition(".")[0] for e in flat.equations}
        return CausalityGraph(
            flat,
            tuple(v.name for v in variables if v.causality != "input"),
            tuple(e for e in flat.equations if e.origin.kind not in (UNCONNECTED, OPEN_STREAM)),
            tuple(_open_flow(e, components) for e in loose),
            open_streams_of(flat),
            tuple(dict.fromkeys(name for when in flat.whens for name in when.assigned)),
        )

    @property
    def own_flows(self) -> tuple[OpenFlow, ...]:
        """Open flows of the class's own connectors."""
        return tuple(f for f in self.open_flows if f.own)

    @property
    def kept_flows(self) -> tuple[OpenFlow, ...]:
        """Open flows of components, which stay zero unless a variable beside them is an input."""
        return tuple(f for f in self.open_flows if not f.own)

    @property
    def inflows(self) -> tuple[str, ...]:
        """What flows in through the class's own connectors."""
        return tuple(s.inflow for s in self.open_streams)

    @property
    def needed(self) -> int:
        """How many inputs the class needs when all of its own connectors are left open.

        Besides what flows in, which is given where something depends on it.
        """
        n_equations = len(self.equations) + len(self.kept_flows) + len(self.assigned)
        return len(self.unknowns) - len(self.open_streams) - n_equations

    def rows(self, equations: Iterable[Equation], columns: Sequence[str]) -> list[list[int]]:
        """For each equation the positions of `columns` in it, then one row for each when."""
        position = {n: k for k, n in enumerate(columns)}
        rows = []
        for e in equations:
            leaves = ex.walk(e.lhs, e.rhs)
            rows.append(
                sorted(
                    {
                        position[x.target]
                        for x in leaves
                        if x.op in ("name", "der") and x.target in position
                    }
                )
            )
        return rows + [[position[n]] for n in self.assigned if n in position]


def open_streams_of(flat: FlatSystem) -> tuple[OpenStream, ...]:
    """Streams of the class's own connectors, in the order in which these are declared."""
    place = {v.name: k for k, v in enumerate(flat.variables)}
    streams = [
        OpenStream(e, e.lhs.target, e.rhs.target)
        for e in flat.equations
        if e.origin.kind == OPEN_STREAM
    ]
    return tuple(sorted(streams, key=lambda s: place[s.stream]))


def _open_flow(e: Equation, components: set[str]) -> OpenFlow:
    name = min(ex.names_in(e.lhs, e.rhs), default="")
    first = name.partition(".")[0].partition("[")[0]
    own = first not in {c.partition("[")[0] for c in components if c}
    return OpenFlow(e, name, own)


class GrowingMatching:
    """A matching of columns with rows that grows one column, or one row, at a time."""

    def __init__(self, rows: Sequence[Sequence[int]], n_columns: int) -> None:
        self.rows = [list(r) for r in rows]
        self.holders: list[list[int]] = [[] for _ in range(n_columns)]
        for i, row in enumerate(self.rows):
            for c in row:
                self.holders[c].append(i)
        self.column_of = [-1] * len(self.rows)
        self.row_of = [-1] * n_columns

    @property
    def matching(self) -> Matching:
        """The matching so far."""
        return Matching(tuple(self.column_of), tuple(self.row_of))

    def add_column(self, start: int) -> bool:
        """Match a column, moving others aside; False where they cannot all be matched."""
        before: dict[int, int] = {}  # row -> the column from which it was reached
        queue = [start]
        for column in queue:
            for row in self.holders[column]:
                if row in before:
                    continue
                before[row] = column
                if self.column_of[row] < 0:
                    self._switch(row, before, start)
                    return True
                queue.append(self.column_of[row])
        return False

    def _switch(self, row: int, before: dict[int, int], start: int) -> None:
        while True:
            column = before[row]
            following = self.row_of[column]
            self.column_of[row], self.row_of[column] = column, row
            if column == start:
                return
            row = following

    def reachable_columns(self, start: int) -> list[int]:
        """Free columns that could take the place of matched column `start`, the nearest first."""
        seen, reachable = {start}, []
        queue = [self.row_of[start]]
        for row in queue:
            for column in self.rows[row]:
                if column in seen:
                    continue
                seen.add(column)
                if self.row_of[column] < 0:
                    reachable.append(column)
                else:
                    queue.append(self.row_of[column])
        return reachable
