"""Why variables cannot be the inputs together, in words, and which could be."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.system import Equation
from estimica.structure.causality.choice import propose
from estimica.structure.causality.graph import CausalityGraph
from estimica.structure.graph.matching import decompose, match

_SHOWN = 6


def singular_inputs_error(graph: CausalityGraph, inputs: Sequence[str]) -> StructureError:
    """The error for inputs that leave the equations singular: counts, culprits, what would do."""
    columns = [n for n in graph.unknowns if n not in inputs]
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
    needed, given = max(graph.needed, 0), len(inputs)
    listed = ", ".join(f"'{n}'" for n in inputs) or "none"
    name = f"'{graph.flat.name}'"
    if not needed:
        return f"{name} has no room for the input {listed}"
    wanted = f"{name} needs {needed} input{'s' if needed > 1 else ''}"
    if needed == given:
        return f"{wanted}, but these do not go together: {listed}"
    return f"{wanted}, not {given}: {listed}"


def _stands(name: str, equations: Sequence[Equation]) -> bool:
    return any(
        leaf.op in ("name", "der") and leaf.target == name
        for e in equations
        for leaf in ex.walk(e.lhs, e.rhs)
    )


def _tied(over: Sequence[Equation], named: Sequence[str], others: Sequence[str]) -> str:
    listed = _listed([str(e.origin) for e in over])
    through = f" (which determine {_quoted(others)} too)" if others else ""
    if not named:
        return f"too many equations: {listed}{through}"
    if len(named) == 1:
        return f"'{named[0]}' follows already from {listed}{through}"
    return f"{_quoted(named)} are tied to each other by {listed}{through}"


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


def _listed(items: Sequence[str]) -> str:
    shown = ", ".join(items[:_SHOWN])
    return shown if len(items) <= _SHOWN else f"{shown} and {len(items) - _SHOWN} more"
