"""Who may change when: between events, at events only, or never."""

from __future__ import annotations

from dataclasses import dataclass

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Variability
from estimica.structure.working_system import WorkingSystem


@dataclass(frozen=True, slots=True)
class VariableRoles:
    """The variables that are left after alias removal, by how they change."""

    draft: WorkingSystem
    continuous: frozenset[str]  # Reals that the continuous equations determine
    memories: frozenset[str]  # Reals that change at events only
    logicals: frozenset[str]  # Booleans, Integers and enumerations

    def moves(self, leaf: Expression) -> bool:
        """Whether a leaf may change between events."""
        match leaf.op:
            case "name":
                return leaf.target in self.continuous or self.is_real_input(leaf.target)
            case "der" | "time":
                return True
            case _:
                return False

    def is_real_input(self, name: str) -> bool:
        """Whether `name` is an input that may move continuously."""
        v = self.draft.flat.by_name.get(name)
        return v is not None and name in self.draft.inputs and v.kind is Kind.REAL


def assign_roles(draft: WorkingSystem) -> VariableRoles:
    """Memories are the Reals that a when assigns, and discrete ones that refer to their past."""
    held = draft.assigned_in_whens
    remembered = _remembered(draft)
    memories, logicals, continuous = set[str](), set[str](), set[str]()
    for name in draft.unknowns:
        if not draft.is_real(name):
            logicals.add(name)
        elif name in held or name in remembered:
            memories.add(name)
        else:
            continuous.add(name)
    return VariableRoles(draft, frozenset(continuous), frozenset(memories), frozenset(logicals))


def _remembered(draft: WorkingSystem) -> set[str]:
    """Discrete Reals outside whens whose previous value is asked for and which have an equation."""
    roots = [side for e in draft.equations for side in (e.lhs, e.rhs)]
    roots += [e for when in draft.whens for e in when.expressions]
    referred = set[str]()
    for e in ex.walk(*roots):
        if e.op == "pre":
            referred.add(e.target)
        elif e.op in ("edge", "change"):
            referred |= ex.names_in(e)
    defined = {side.target for e in draft.equations for side in (e.lhs, e.rhs) if side.op == "name"}
    return {
        n
        for n in referred & defined & set(draft.unknowns)
        if draft.is_real(n) and draft.flat.by_name[n].variability is Variability.DISCRETE
    }
