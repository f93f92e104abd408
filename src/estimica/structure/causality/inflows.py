"""What flows into a component through its open connectors, and what can be told without it.

Around an open connector there is what flows out of it, where that comes from somewhere: from
another connector whose inflow is given, or from a store within. Otherwise the inflow is not known,
and neither is all that depends on it; a valve whose flow does not depend on it needs none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, FlatSystem
from estimica.structure.causality.graph import CausalityGraph, OpenStream, open_streams_of


@dataclass(frozen=True, slots=True)
class Inflows:
    """Open streams whose equations are kept, and what cannot be computed for lack of others."""

    kept: tuple[OpenStream, ...] = ()
    lacking: tuple[str, ...] = ()  # inflows
    unknown: frozenset[str] = frozenset()  # variables that depend on them, and they themselves
    asked: str = ""  # the first of the lacking on which more depends than what flows out

    def without_unknown(self, equations: Sequence[Equation]) -> list[Equation]:
        """The equations that speak of nothing unknown."""
        if not self.unknown:
            return list(equations)
        return [e for e in equations if not mentioned(e.lhs, e.rhs) & self.unknown]


def mentioned(*roots: Expression) -> set[str]:
    """Names of variables in expressions, those of derivatives too."""
    return {x.target for x in ex.walk(*roots) if x.op in ("name", "der")}


def settle_inflows(
    graph: CausalityGraph, determined_by: Mapping[str, Equation], inputs: Sequence[str]
) -> Inflows:
    """What becomes of the inflows; `determined_by` is the equation of each other unknown."""
    given = set(inputs) | set(determined_by)
    open_ = [s for s in graph.open_streams if s.inflow not in given]
    if not open_:
        return Inflows()
    inflows = {s.inflow for s in graph.open_streams}
    at_once = {n: e for n, e in determined_by.items() if not _is_balance(e)}
    reached = {s.stream: _reached(s.stream, at_once, inflows) for s in open_}
    known = {s.inflow for s in graph.open_streams if s.inflow in given}
    kept: list[OpenStream] = []
    while True:
        ready = [
            s
            for s in open_
            if s not in kept and (not reached[s.stream] or reached[s.stream] & known)
        ]
        if not ready:
            break
        kept += ready
        known |= {s.inflow for s in ready}
    missing = {s.inflow for s in open_ if s not in kept}
    while spoilt := {s.inflow for s in kept if reached[s.stream] & missing} - missing:
        missing |= spoilt
    lacking = tuple(s.inflow for s in open_ if s.inflow in missing)
    depending = {n: _reached(n, determined_by, missing) for n in determined_by} if missing else {}
    unknown = {n for n, inflows in depending.items() if inflows}
    streams = {s.stream for s in graph.open_streams}
    wanted = {i for n, inflows in depending.items() if n not in streams for i in inflows}
    return Inflows(
        tuple(s for s in kept if s.inflow not in missing),
        lacking,
        frozenset(unknown | missing),
        next((n for n in lacking if n in wanted), ""),
    )


def missing_inflows(original: FlatSystem, turned: FlatSystem) -> list[str]:
    """The inflows of a class that another causality left out."""
    return [s.inflow for s in open_streams_of(original) if s.inflow not in turned.by_name]


def one_of(names: Sequence[str]) -> str:
    """Names as a choice, the first few of them."""
    return " or ".join(f"'{n}'" for n in names[:3])


def require_flows(graph: CausalityGraph, settled: Inflows) -> None:
    """Refuse inputs with which a potential or flow of an open connector is not known."""
    streams = {s.stream for s in graph.open_streams} | set(graph.inflows)
    connectors = {f.connector for f in graph.open_flows if f.own}
    members = [
        n
        for n in graph.unknowns
        if n in settled.unknown and n not in streams and n.rpartition(".")[0] in connectors
    ]
    if members:
        raise StructureError(
            "E208",
            f"'{members[0]}' of '{graph.flat.name}' depends on what flows in: make "
            f"{one_of(settled.lacking)} an input too; a number will do",
        )


def _is_balance(equation: Equation) -> bool:
    """Whether an equation says how something changes that is stored."""
    return any(x.op == "der" for x in ex.walk(equation.lhs, equation.rhs))


def _reached(name: str, determined_by: Mapping[str, Equation], among: Set[str]) -> set[str]:
    """Those of `among` on which a variable depends."""
    seen, queue, found = {name}, [name], set()
    for current in queue:
        if current in among:
            found.add(current)
        equation = determined_by.get(current)
        if equation is None:
            continue
        for other in mentioned(equation.lhs, equation.rhs) - seen:
            seen.add(other)
            queue.append(other)
    return found
