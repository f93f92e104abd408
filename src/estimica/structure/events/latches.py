"""Values before a tick that only the solution of several equations gives.

pre(y) of an algebraic y is written out where y is given explicitly. Where it is solved for, and the
clause that needs it is one of sample() or follows another clause, y is put into a memory in the
first round of the event iteration, and the clause follows in the next round, still at the same
instant. Clauses of sample() follow all together, so that those of one instant keep their order.

What else happens at that instant, such as the step of an input, is in the value already; a note
says so. Where a relation is crossed, that would be a jump of y itself: such clauses are left alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Action, Branch, Kind, Variability, Variable, When
from estimica.structure.working_system import WorkingSystem

_NOTE = (
    "where '{name}' is sampled, it has what other events of the same instant make of it, because "
    "it is found by solving several equations together"
)


class AlgebraicPast(StructureError):
    """Previous values are needed of variables that are solved for."""

    def __init__(self, names: Collection[str]) -> None:
        first = min(names)
        super().__init__(
            "E406",
            f"pre({first}) cannot be evaluated: '{first}' is neither a state nor discrete, "
            "and it is found by solving several equations together; "
            "store it in a discrete variable",
        )
        self.names = frozenset(names)


def with_latches(draft: WorkingSystem, names: Collection[str]) -> WorkingSystem:
    """The model with pre(y) of all `names` in the actions of when-clauses taken from memories."""
    whens: list[When] = []
    variables: list[Variable] = []
    notes: dict[str, None] = {}
    for number, when in enumerate(draft.whens, 1):
        wanted = sorted(_wanted(when) & set(names))
        if not (_is_sampled(when) or (wanted and _follows(when))):
            whens.append(when)
            continue
        notes |= {_NOTE.format(name=n): None for n in wanted}
        latch = _Latch(when, number, wanted)
        whens += latch.clauses()
        variables += latch.variables()
    return replace(
        draft,
        flat=replace(draft.flat, variables=(*draft.flat.variables, *variables)),
        unknowns=(*draft.unknowns, *(v.name for v in variables)),
        starts=draft.starts | {v.name: ex.ZERO for v in variables},
        fixed=draft.fixed | {v.name for v in variables},
        whens=tuple(whens),
        notes=(*draft.notes, *notes),
    )


def _wanted(when: When) -> set[str]:
    values = [a.value for b in when.branches for a in b.actions]
    return {e.target for e in ex.walk(*values) if e.op == "pre"}


def _is_sampled(when: When) -> bool:
    return all(c.op == "sample" for b in when.branches for c in b.conditions)


def _follows(when: When) -> bool:
    """Whether the conditions tell what has happened in an earlier round."""
    conditions = [c for b in when.branches for c in b.conditions]
    return all(e.op in ("pre", "const") for e in ex.walk(*conditions) if not e.operands)


class _Latch:
    """One when-clause in two: the first remembers, the second acts."""

    def __init__(self, when: When, number: int, wanted: Collection[str]) -> None:
        self._when = when
        self._held = {n: f"$latch{number}({n})" for n in wanted}
        self._count, self._done = f"$latch{number}.count", f"$latch{number}.done"
        self._branch = f"$latch{number}.branch"

    def clauses(self) -> list[When]:
        """Both clauses."""
        origin = self._when.origin
        first, second = [], []
        caught_up = Action(self._done, ex.pre(self._count), origin=origin)
        due = ex.relation("ne", ex.pre(self._count), ex.pre(self._done))
        memo: dict[Expression, Expression] = {}
        for k, branch in enumerate(self._when.branches, 1):
            remembered = [
                Action(self._count, ex.add(ex.pre(self._count), ex.ONE), origin=origin),
                Action(self._branch, ex.const(k), origin=origin),
                *(Action(m, ex.name(n), origin=origin) for n, m in self._held.items()),
            ]
            first.append(Branch(branch.conditions, tuple(remembered)))
            chosen = ex.relation("eq", ex.pre(self._branch), ex.const(k))
            actions = tuple(
                replace(a, value=ex.rewrite([a.value], self._leaf, memo)[0]) for a in branch.actions
            )
            second.append(Branch((ex.logical_and(due, chosen),), (caught_up, *actions)))
        return [When(tuple(first), origin), When(tuple(second), origin)]

    def variables(self) -> list[Variable]:
        """The memories that both clauses need."""
        kinds = dict.fromkeys(self._held.values(), Kind.REAL)
        kinds |= dict.fromkeys((self._count, self._done, self._branch), Kind.INTEGER)
        return [
            Variable(
                name,
                kind,
                Variability.DISCRETE,
                start=ex.ZERO,
                fixed=True,
                protected=True,
                origin=self._when.origin,
            )
            for name, kind in kinds.items()
        ]

    def _leaf(self, e: Expression) -> Expression:
        return ex.pre(self._held[e.target]) if e.op == "pre" and e.target in self._held else e
