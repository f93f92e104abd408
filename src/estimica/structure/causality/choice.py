"""Which variables of a class could become its inputs, and why others cannot, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.system import Equation, FlatSystem, Kind, Variability
from estimica.structure.causality.graph import CausalityGraph, GrowingMatching
from estimica.structure.causality.room import with_inflows
from estimica.structure.graph.matching import decompose, match

#: variables that are looked at as alternatives, and sets of inputs that are proposed; chosen: more
#: than eight nobody reads, and each is tried out by sorting; three candidates for each leave some
POOL = 24
SETS = 8


@dataclass(frozen=True, slots=True)
class InputChoice:
    """How many inputs a class needs besides its declared ones, and sets of them that will do."""

    needed: int
    connectors: tuple[str, ...]  # those that are open
    proposals: tuple[tuple[str, ...], ...]


def choose_inputs(flat: FlatSystem, prefer: Sequence[str] = ()) -> InputChoice:
    """What to choose from; `prefer` are names that are measured or were asked for."""
    graph = CausalityGraph.of(flat)
    connectors = tuple(dict.fromkeys(f.connector for f in graph.own_flows))
    proposals = tuple(propose(graph, prefer))
    needed = len(proposals[0]) if proposals else max(graph.needed, 0)
    return InputChoice(needed, connectors, proposals)


def propose(graph: CausalityGraph, prefer: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Sets of variables that leave the equations structurally regular, the most wanted first.

    What is wanted least is determined by the equations first; by the exchange property of
    matchings the rest is the best set. Each alternative forces one other variable into it.
    """
    if graph.needed <= 0:
        names = with_inflows(graph, ()) if not graph.needed else ()
        return [names] if names else []
    order = _by_wish(graph, prefer)
    columns = [n for n, _ in order]
    equations = [*graph.equations, *(f.equation for f in graph.kept_flows)]
    rows = graph.rows(equations, columns)
    search = GrowingMatching(rows, len(columns))
    for column in reversed(range(len(columns))):
        search.add_column(column)
    if any(c < 0 for c in search.column_of):
        return []
    free = [c for c in range(len(columns)) if search.row_of[c] < 0]
    sets = [tuple(free)]
    pool = [c for c, (_, wish) in enumerate(order) if wish < _UNWANTED][:POOL]
    for column in pool:
        if column in free:
            continue
        replaceable = [c for c in search.reachable_columns(column) if c in free]
        if replaceable:
            other = min(replaceable, key=lambda c: (_connector(columns, c, column), -c))
            sets.append(tuple(sorted([*(c for c in free if c != other), column])))
    place = {n: k for k, n in enumerate(graph.unknowns)}
    named = [
        tuple(sorted((columns[c] for c in s), key=lambda n: (n not in prefer, place[n])))
        for s in dict.fromkeys(sets)
    ]
    return [with_inflows(graph, names) for names in named[:SETS]]


_UNWANTED = 6  # more than any wish that `_by_wish` gives: what is not Real or is discrete


def _connector(columns: Sequence[str], a: int, b: int) -> bool:
    """False (so that it comes first) where two variables belong to the same connector."""
    own = columns[a].rpartition(".")[0]
    return not own or own != columns[b].rpartition(".")[0]


def _by_wish(graph: CausalityGraph, prefer: Sequence[str]) -> list[tuple[str, int]]:
    """The variables, those first that one would rather give than compute."""
    flat = graph.flat
    open_ = {f.connector for f in graph.own_flows}
    roots = [s for e in flat.equations for s in (e.lhs, e.rhs)]
    differentiated = {x.target for x in ex.walk(*roots) if x.op == "der"}
    chosen = {n: k for k, n in enumerate(prefer)}
    streams = {s.stream for s in graph.open_streams}

    def wish(name: str) -> int:
        v = flat.by_name[name]
        if v.kind is not Kind.REAL or v.variability is Variability.DISCRETE:
            return _UNWANTED + 1
        if name in chosen:
            return 0
        if name in differentiated or v.protected or name in streams:
            return 5
        if name.rpartition(".")[0] in open_:
            return 2 if v.flow else 1
        return 3 if "." not in name else 4

    pairs = [(n, wish(n)) for n in graph.unknowns if n not in graph.inflows]
    place = {n: k for k, n in enumerate(graph.unknowns)}
    # of potentials the last: what a component is measured against stands there
    sign = {1: -1}
    return sorted(pairs, key=lambda f: (f[1], chosen.get(f[0], 0), sign.get(f[1], 1) * place[f[0]]))


_SHOWN = 6  # names that a message lists


def singular_inputs_error(graph: CausalityGraph, inputs: Sequence[str]) -> StructureError:
    """The error for inputs that leave the equations singular: counts, culprits, what would do."""
    columns = [n for n in graph.unknowns if n not in inputs and n not in graph.inflows]
    equations = [*graph.equations, *(f.equation for f in graph.kept_flows)]
    rows = graph.rows(equations, columns)
    matching = match(rows, len(columns))
    parts = decompose(rows, matching)
    over = [equations[i] for i in parts.over_rows if i < len(equations)]
    sentences = [_counts(graph, inputs)]
    if over:
        others = [columns[j] for j in parts.over_columns]
        sentences.append(_tied(over, [n for n in inputs if _stands(n, over)], others))
    under = [columns[j] for j in parts.under_columns]
    if under:
        missing = len(matching.unmatched_columns)
        sentences.append(_undetermined(under, missing))
    proposals = propose(graph, prefer=inputs)
    if proposals:
        sets = "; or ".join(", ".join(p) for p in proposals[:4])
        sentences.append(f"possible: {sets}")
    elif graph.needed <= 0:
        sentences.append(
            "no connector is open: leave an equation out (leave_out), or make a parameter unknown"
        )
    return StructureError("E204", "; ".join(sentences))


def _counts(graph: CausalityGraph, inputs: Sequence[str]) -> str:
    inflows = sum(n in graph.inflows for n in inputs)
    needed, given = max(graph.needed + inflows, 0), len(inputs)
    named = ", ".join(f"'{n}'" for n in inputs) or "none"
    name = f"'{graph.flat.name}'"
    if not needed:
        return f"{name} has no room for the input {named}"
    wanted = f"{name} needs {needed} input{'s' if needed > 1 else ''}"
    if needed == given:
        return f"{wanted}, but these do not go together: {named}"
    return f"{wanted}, not {given}: {named}"


def _stands(name: str, equations: Sequence[Equation]) -> bool:
    return any(
        leaf.op in ("name", "der") and leaf.target == name
        for e in equations
        for leaf in ex.walk(e.lhs, e.rhs)
    )


def _tied(over: Sequence[Equation], named: Sequence[str], others: Sequence[str]) -> str:
    shown = listed([str(e.origin) for e in over])
    through = f" (which determine {_quoted(others)} too)" if others else ""
    if not named:
        return f"too many equations: {shown}{through}"
    if len(named) == 1:
        return f"'{named[0]}' follows already from {shown}{through}"
    return f"{_quoted(named)} are tied to each other by {shown}{through}"


def _undetermined(under: Sequence[str], missing: int) -> str:
    if len(under) == 1:
        return f"'{under[0]}' is left undetermined"
    if missing == len(under):
        return f"{_quoted(under)} are left undetermined"
    return f"{missing} of {_quoted(under)} is left undetermined"


def _quoted(names: Sequence[str]) -> str:
    quoted = [f"'{n}'" for n in names]
    if len(quoted) > _SHOWN:
        return f"{', '.join(quoted[:_SHOWN])} and {len(quoted) - _SHOWN} more"
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def listed(items: Sequence[str]) -> str:
    """The first few of several texts."""
    first = ", ".join(items[:_SHOWN])
    return first if len(items) <= _SHOWN else f"{first} and {len(items) - _SHOWN} more"
