"""Variables turned into inputs, and the equations that make room for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from estimica.base.errors import StructureError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.system import Equation
from estimica.structure.draft import Draft


def with_inputs(draft: Draft, names: Sequence[str]) -> Draft:
    """Make inputs of `names`; each replaces the equation of an unconnected flow.

    The flow of the same connector is freed first, then any other, the nearest in the hierarchy
    first; where there are too few, the error says how many are missing.
    """
    extra = [n for n in dict.fromkeys(names) if n not in draft.inputs]
    for name in extra:
        if name not in draft.unknowns:
            raise StructureError(
                "E203",
                f"'{name}' cannot become an input: the model has no such variable"
                f"{did_you_mean(name, draft.unknowns)}",
            )
    if not extra:
        return draft
    open_flows = [e for e in draft.equations if e.origin.kind == "unconnected flow"]
    dropped: list[Equation] = []
    for name in extra:
        candidates = [e for e in open_flows if e not in dropped]
        if candidates:
            dropped.append(max(candidates, key=lambda e: _nearness(name, e)))
    _check_room(draft, extra, dropped)
    freed = ", ".join(f"'{n}'" for e in dropped for n in sorted(ex.names_in(e.lhs, e.rhs)))
    return replace(
        draft,
        inputs=draft.inputs + tuple(extra),
        unknowns=tuple(n for n in draft.unknowns if n not in extra),
        equations=tuple(e for e in draft.equations if e not in dropped),
        fixed=draft.fixed - set(extra),
        notes=(*draft.notes, f"made inputs: {', '.join(extra)}; freed: {freed}"),
    )


def _check_room(draft: Draft, extra: Sequence[str], dropped: Sequence[Equation]) -> None:
    missing = len(extra) - len(dropped)
    surplus = len(draft.unknowns) - len(draft.equations)
    if missing > max(surplus, 0):
        raise StructureError(
            "E204",
            f"{len(extra)} variables shall become inputs, but only {len(dropped)} open connectors "
            f"can be freed for them; leave {missing} of them out or remove as many equations",
        )


def _nearness(name: str, e: Equation) -> tuple[int, int]:
    """How many leading parts of the dotted names agree; the shorter name breaks a tie."""
    best = (0, 0)
    for flow in ex.names_in(e.lhs, e.rhs):
        ours, theirs = name.split("."), flow.split(".")
        common = 0
        for a, b in zip(ours, theirs, strict=False):
            if a != b:
                break
            common += 1
        best = max(best, (common, -len(theirs)))
    return best
