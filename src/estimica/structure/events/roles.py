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
    continuous: frozenset[str]  # Reals, and results of functions, of continuous equations
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
    called = _called(draft, held | remembered)
    memories, logicals, continuous = set[str](), set[str](), set[str]()
    for name in draft.unknowns:
        if not draft.is_real(name):
            (continuous if name in called else logicals).add(name)
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


def _called(draft: WorkingSystem, held: frozenset[str] | set[str]) -> set[str]:
    """Whole numbers and truth values that a function gives for arguments that move.

    Nothing inside a function is an event, so that these are computed like Reals.
    """
    definitions = [
        (side.target, other)
        for e in draft.equations
        for side, other in ((e.lhs, e.rhs), (e.rhs, e.lhs))
        if side.op == "name" and side.target in draft.flat.by_name
        if not draft.is_real(side.target) and side.target not in draft.inputs
    ]
    if not any(e.op == "call" for e in ex.walk(*(value for _, value in definitions))):
        return set()
    moving = {n for n in (*draft.unknowns, *draft.inputs) if draft.is_real(n) and n not in held}
    found = set[str]()
    memo: dict[Expression, bool] = {}
    for _ in range(len(definitions)):
        before = len(found)
        memo.clear()
        for name, value in definitions:
            if name not in found and _moves_by_call(value, moving, found, memo):
                found.add(name)
        if len(found) == before:
            break
    return found


def _moves_by_call(
    value: Expression, moving: set[str], found: set[str], memo: dict[Expression, bool]
) -> bool:
    """Whether a call with a moving argument, or a result of one, stands in `value`.

    What stands in a relation alone is frozen between events.
    """
    for e in ex.walk(value):
        if e not in memo:
            leaves = (x for x in ex.walk(e) if x.op in ("name", "der", "time"))
            memo[e] = (
                (e.op == "name" and e.target in found)
                or (e.op not in ex.RELATIONS and any(memo[a] for a in e.operands))
                or (e.op == "call" and any(x.op != "name" or x.target in moving for x in leaves))
            )
    return memo[value]
