"""pre(y) for variables that the engine keeps no past of: written out in states and memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Origin
from estimica.structure.events.extract import EventSystem
from estimica.structure.sorted_system import Assignment, Block, Reinit


def without_algebraic_pre(
    events: EventSystem, states: Sequence[str], blocks: Sequence[Assignment | Block]
) -> EventSystem:
    """`events` without any pre(y) of an algebraic y."""
    known = {*states, *events.memories, *events.logicals}
    equations = (*events.logical_equations, *events.memory_equations)
    roots = [a.value for a in equations]
    roots += [e for r in events.reinits for e in (r.fired, r.value)]
    wanted = {e.target for e in ex.walk(*roots) if e.op == "pre"} - known
    if not wanted:
        return events
    past = _Past(known, blocks)
    for name in sorted(wanted):
        if past.of.get(name) is None:
            raise StructureError(
                "E406",
                f"pre({name}) cannot be evaluated: '{name}' is neither a state nor discrete, "
                "and it is found by solving several equations together; "
                "store it in a discrete variable",
            )
    return past.rewritten(events)


class _Past:
    """Every explicitly assigned variable as it was before the event; None where that is unknown."""

    def __init__(self, known: set[str], blocks: Sequence[Assignment | Block]) -> None:
        self.known = known
        self.of: dict[str, Expression | None] = {}
        self.modes: dict[int, Assignment] = {}
        self.unknown = {n for b in blocks if isinstance(b, Block) for n in b.unknowns}
        self.memo: dict[Expression, Expression] = {}
        for block in blocks:
            if isinstance(block, Assignment):
                self.of[block.unknown] = self._assigned(block)

    def _assigned(self, block: Assignment) -> Expression | None:
        for leaf in ex.walk(block.value):
            if leaf.op in ("name", "der"):
                label = f"der({leaf.target})" if leaf.op == "der" else leaf.target
                if label in self.unknown:
                    self.unknown.add(block.unknown)
                    return None
        return ex.rewrite([block.value], self._leaf, self.memo)[0]

    def _leaf(self, e: Expression) -> Expression:
        if e.op == "name" and e.target in self.known:
            return ex.pre(e.target)
        if e.op == "mode":
            index: int = e.args[0]  # type: ignore[assignment]
            name = f"$held(mode {index})"
            self.modes.setdefault(index, Assignment(name, e, Origin(kind="hidden")))
            return ex.pre(name)
        label = f"der({e.target})" if e.op == "der" else e.target if e.op == "name" else ""
        return self.of.get(label) or e

    def rewritten(self, events: EventSystem) -> EventSystem:
        def leaf(e: Expression) -> Expression:
            return (self.of.get(e.target) or e) if e.op == "pre" else e

        memo: dict[Expression, Expression] = {}

        def new(a: Assignment) -> Assignment:
            return replace(a, value=ex.rewrite([a.value], leaf, memo)[0])

        def renewed(r: Reinit) -> Reinit:
            fired, value = ex.rewrite([r.fired, r.value], leaf, memo)
            return replace(r, fired=fired, value=value)

        reinits = tuple(renewed(r) for r in events.reinits)
        memories = tuple(new(a) for a in events.memory_equations)
        logicals = tuple(new(a) for a in events.logical_equations)
        held = tuple(self.modes[i] for i in sorted(self.modes))
        return replace(
            events,
            logical_equations=logicals + held,
            memory_equations=memories,
            reinits=reinits,
        )
