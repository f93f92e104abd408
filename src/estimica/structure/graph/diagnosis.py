"""What to tell the user about equations that do not determine the unknowns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from estimica.base.errors import StructureError
from estimica.flat.system import Equation
from estimica.structure.graph.matching import Decomposition, Matching, decompose

_SHOWN = 6  # names that a message lists


@dataclass(frozen=True, slots=True)
class UnmatchedSystem:
    """Equations that shall determine unknowns; `redundant` ones were left out before."""

    model: str
    counts: tuple[int, int]  # equations and unknowns of the whole model
    equations: Sequence[Equation]
    unknowns: Sequence[str]
    redundant: Sequence[Equation] = ()
    has_flows: bool = False  # connectors with flow variables


def unmatched_error(
    problem: UnmatchedSystem, rows: Sequence[Sequence[int]], matching: Matching
) -> StructureError:
    """The error for a system that has no complete matching: counts, culprits, likely cause."""
    parts = decompose(rows, matching)
    equations, unknowns = problem.equations, problem.unknowns
    counts = f"{_count(problem.counts[0], 'equation')} for {_count(problem.counts[1], 'unknown')}"
    balanced = problem.counts[0] == problem.counts[1]
    fault = "is singular" if balanced else "is not balanced"
    tail = ", but they do not fit together" if balanced else ""
    sentences = [f"model '{problem.model}' {fault}: {counts}{tail}"]
    under = [unknowns[j] for j in parts.under_columns]
    if under:
        sentences.append(_under_words(under, len(matching.unmatched_columns)))
    over = [equations[i] for i in parts.over_rows]
    if over:
        names = [unknowns[j] for j in parts.over_columns]
        sentences.append(_over_words(over, names, len(matching.unmatched_rows)))
    if problem.redundant:
        listed = _listed([str(e.origin) for e in problem.redundant])
        sentences.append(f"says nothing new: {listed}")
    cause = _cause(problem, rows, parts)
    if cause:
        sentences.append(f"likely cause: {cause}")
    return StructureError("E202" if balanced else "E201", "; ".join(sentences))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _listed(items: Sequence[str]) -> str:
    first = ", ".join(items[:_SHOWN])
    return first if len(items) <= _SHOWN else f"{first} and {len(items) - _SHOWN} more"


def _under_words(under: Sequence[str], missing: int) -> str:
    names = _listed([f"'{n}'" for n in under])
    if len(under) == missing:
        return f"no equation determines {names}"
    return f"{_count(missing, 'equation')} missing among those for {names}"


def _over_words(over: Sequence[Equation], names: Sequence[str], surplus: int) -> str:
    listed = _listed([str(e.origin) for e in over])
    if not names:
        return f"no unknown is left in {listed}"
    which = _listed([f"'{n}'" for n in names])
    return f"{_count(surplus, 'equation')} too many for {which} among: {listed}"


def _cause(problem: UnmatchedSystem, rows: Sequence[Sequence[int]], parts: Decomposition) -> str:
    """The first of the common mistakes that fits."""
    equations, unknowns = problem.equations, problem.unknowns
    under = [unknowns[j] for j in parts.under_columns]
    over = [equations[i] for i in parts.over_rows]
    present = {j for row in rows for j in row}
    absent = [unknowns[j] for j in parts.under_columns if j not in present]
    if absent:
        subject = f"'{absent[0]}' stands" if len(absent) == 1 else f"{_listed(absent)} stand"
        return f"{subject} in no equation: connect it, give it a value, or declare it an input"
    balance = problem.has_flows and problem.redundant
    if under and (balance or any(e.origin.kind == "flow sum" for e in over)):
        return (
            "the flows balance by themselves and no potential is given: "
            "connect a ground, a fixed flange or another reference point"
        )
    if over:
        component, n = Counter(e.origin.component for e in over).most_common(1)[0]
        if component and 2 * n > len(over):
            return f"too many equations in component '{component}'"
        return "the same quantity is determined twice; remove one of the equations"
    component = Counter(n.rpartition(".")[0] for n in under).most_common(1)[0][0] if under else ""
    if component:
        return f"an equation or a connection is missing in component '{component}'"
    return "an equation or an input is missing" if under else ""
