"""Prospect: what better data could make of the directions that these data leave open."""

from __future__ import annotations

from estimica.estimate.conclusion.identifiability import count
from estimica.estimate.identify.invariants import Group
from estimica.infer.identifiability.structural.run import NUMERICAL, Structural, lost_in_words

HELP = "excite the inputs more, or at other speeds, start elsewhere, or measure longer"
SAME = "of the same inputs and outputs"


def prospect(found: Structural | None, group: Group) -> str:
    """How many of a group's open directions better data could determine, in words."""
    if found is None:
        return "whether better data could help was not asked"
    touching = [g for g in found.groups if set(g.names) & set(group.names)]
    if not touching:
        return f"better data can help: the model's structure allows it, so {HELP}"
    lost = min(found.open_among(group.names), group.free)
    if lost == group.free:
        can = "can help" if found.exact else f"seem to help ({NUMERICAL})"
        return f"no better data {SAME} {can}{_measured(found)}"
    words = "; ".join(lost_in_words(g) for g in touching)
    words = words if found.exact else f"{NUMERICAL}, {words}"
    if not lost:
        return f"better data can help in part, so {HELP}; {words}{_measured(found)}"
    return (
        f"of these {count(group.free)} open directions better data can determine "
        f"{count(group.free - lost)}, so {HELP}; {count(lost)} cannot be determined: {words}"
        f"{_measured(found)}"
    )


def _measured(found: Structural) -> str:
    """What else would help if it were measured."""
    whole = [f"'{n}'" for n, rank in found.helpful.items() if rank == found.n]
    helpful = whole or [f"'{n}'" for n in found.helpful]
    return f", but measuring {' or '.join(helpful)} too would" if helpful else ""
