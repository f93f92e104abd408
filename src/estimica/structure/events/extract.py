"""Draft → continuous equations, and everything that happens at events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Assertion, Equation, Origin
from estimica.structure.events.latches import AlgebraicPast
from estimica.structure.events.logic import order_assignments, solve_logic
from estimica.structure.events.observers import observing
from estimica.structure.events.roles import VariableRoles, assign_roles
from estimica.structure.events.whens import write_whens
from estimica.structure.events.writer import EventWriter
from estimica.structure.sorted_system import Assignment, Block, Delay, Reinit, Relation
from estimica.structure.working_system import WorkingSystem


@dataclass(frozen=True, slots=True)
class EventSystem:
    """A model with its events taken out of the continuous equations."""

    draft: WorkingSystem
    equations: tuple[Equation, ...]
    unknowns: tuple[str, ...]
    relations: tuple[Relation, ...]
    logical_equations: tuple[Assignment, ...]
    memory_equations: tuple[Assignment, ...]
    reinits: tuple[Reinit, ...]
    delays: tuple[Delay, ...]
    initial_equations: tuple[Equation, ...]
    assertions: tuple[Assertion, ...]
    starts: dict[str, Expression]
    notes: tuple[str, ...]

    @property
    def logicals(self) -> tuple[str, ...]:
        """Booleans, Integers, enumerations and hidden ones."""
        return tuple(a.unknown for a in self.logical_equations)

    @property
    def memories(self) -> tuple[str, ...]:
        """Reals that change at events only."""
        return tuple(a.unknown for a in self.memory_equations)


def extract_events(draft: WorkingSystem) -> EventSystem:
    """Part what changes at events from what moves between them."""
    roles = assign_roles(draft)
    writer = EventWriter(roles)
    continuous, logical, remembered = _divided(draft, roles, writer)
    clauses = write_whens(draft.whens, writer)
    _check_targets(draft, roles, clauses.assignments)
    by_when = [a for a in clauses.assignments if a.unknown in roles.logicals]
    memories = [a for a in clauses.assignments if a.unknown in roles.memories] + remembered
    given = {a.unknown for a in by_when}
    open_logicals = [n for n in draft.unknowns if n in roles.logicals and n not in given]
    logicals = [*solve_logic(draft, logical, open_logicals), *by_when]
    starts, initial, at_start, before = _starts(draft, roles, writer)
    logicals = [_from_start(a, at_start) for a in logicals]
    assertions = tuple(_looked_at(a, writer) for a in draft.assertions)
    hidden = writer.hidden
    for copy, original in hidden.copies.items():
        if original in starts:
            starts[copy] = starts[original]
    return EventSystem(
        draft=draft,
        equations=tuple(continuous),
        unknowns=tuple(n for n in draft.unknowns if n in roles.continuous),
        relations=tuple(writer.relations.found),
        logical_equations=order_assignments(
            _with_first_pre([*logicals, *hidden.logicals.values()], before)
        ),
        memory_equations=order_assignments(
            _with_first_pre([*memories, *hidden.memories.values()], before)
        ),
        reinits=clauses.reinits,
        delays=tuple(hidden.delays.values()),
        initial_equations=tuple(initial),
        assertions=assertions,
        starts=starts,
        notes=tuple(writer.notes),
    )


def _looked_at(a: Assertion, writer: EventWriter) -> Assertion:
    """What must hold is looked at after each step; what ends a run does so at an event."""
    write = writer.eventful if a.terminates else writer.silent
    return replace(a, condition=writer.settled(write(a.condition, a.origin)))


def _divided(
    draft: WorkingSystem, roles: VariableRoles, writer: EventWriter
) -> tuple[list[Equation], list[Equation], list[Assignment]]:
    """Continuous equations, logical equations, and those of discrete Reals outside whens."""
    continuous, logical, remembered = list[Equation](), list[Equation](), list[Assignment]()
    held, looked_at = draft.assigned_in_whens, observing(roles)
    for number, e in enumerate(draft.equations):
        write = writer.observed if number in looked_at else writer.eventful
        lhs, rhs = (write(side, e.origin) for side in (e.lhs, e.rhs))
        target = _remembered_target(e, roles, held)
        if target is not None:
            value = rhs if e.lhs is ex.name(target) else lhs
            remembered.append(Assignment(target, value, e.origin))
        elif _is_continuous(lhs, rhs, roles):
            settled = writer.settled(lhs), writer.settled(rhs)
            continuous.append(replace(e, lhs=settled[0], rhs=settled[1]))
        else:
            logical.append(replace(e, lhs=lhs, rhs=rhs))
    return continuous, logical, remembered


def _remembered_target(e: Equation, roles: VariableRoles, held: frozenset[str]) -> str | None:
    for side in (e.lhs, e.rhs):
        if side.op == "name" and side.target in roles.memories and side.target not in held:
            return side.target
    return None


def _is_continuous(lhs: Expression, rhs: Expression, roles: VariableRoles) -> bool:
    """Whether an equation determines a Real, or nothing at all (which is reported there)."""
    leaves = [x for x in ex.walk(lhs, rhs) if x.op in ("name", "der")]
    if any(x.op == "der" or x.target in roles.continuous for x in leaves):
        return True
    return not any(x.target in roles.logicals for x in leaves)


def _check_targets(
    draft: WorkingSystem, roles: VariableRoles, assignments: Sequence[Assignment]
) -> None:
    for a in assignments:
        if a.unknown not in roles.logicals and a.unknown not in roles.memories:
            known = "an input" if a.unknown in draft.inputs else "no variable of the model"
            raise StructureError(
                "E405", f"{a.origin} assigns '{a.unknown}', which is {known}; remove the assignment"
            )


def _starts(
    draft: WorkingSystem, roles: VariableRoles, writer: EventWriter
) -> tuple[dict[str, Expression], list[Equation], dict[str, Expression], dict[str, Expression]]:
    """Start values, initial equations that are left, and logicals that the initial event sets.

    Last, what logicals are before that event, where this depends on others.
    """
    starts, left, at_start = dict(draft.starts), list[Equation](), dict[str, Expression]()
    before: dict[str, Expression] = {}
    parameters = set(draft.parameters.order)
    targets = [_initial_target(e, roles) for e in draft.initial_equations]
    values = {t[0].target: t[1] for t in targets if t and t[0].op == "name" and ex.is_const(t[1])}
    starts |= first_pre_values(draft.initial_equations, draft.equations, values, draft.starts)
    for e in draft.initial_equations:
        if equates_two_pre(e):
            continue
        lhs, rhs = (writer.settled(writer.silent(side, e.origin)) for side in (e.lhs, e.rhs))
        target = _initial_target(e, roles)
        if target is None:
            left.append(replace(e, lhs=lhs, rhs=rhs))
            continue
        leaf, value = target
        value = writer.silent(value, e.origin)
        if all(
            x.op == "const" or _is_among(x, parameters) for x in ex.walk(value) if not x.operands
        ):
            starts[leaf.target] = value
        elif leaf.op == "name" and leaf.target in roles.logicals:
            at_start[leaf.target] = value
        elif leaf.op == "name":
            left.append(replace(e, lhs=lhs, rhs=rhs))
        elif leaf.target in roles.memories:  # what it holds before the first event
            left.append(replace(e, lhs=ex.name(leaf.target), rhs=writer.settled(value)))
        else:
            before[leaf.target] = value
    return starts, left, at_start, before


def _is_among(leaf: Expression, names: set[str]) -> bool:
    return leaf.op == "name" and leaf.target in names


def _from_start(a: Assignment, at_start: dict[str, Expression]) -> Assignment:
    first = at_start.get(a.unknown)
    return a if first is None else replace(a, value=ex.conditional(ex.INITIAL, first, a.value))


def _with_first_pre(
    assignments: list[Assignment], before: Mapping[str, Expression]
) -> list[Assignment]:
    """At the initial event pre(…) is what an initial equation says."""
    if not before:
        return assignments

    def leaf(e: Expression) -> Expression:
        value = before.get(e.target) if e.op == "pre" else None
        return e if value is None else ex.conditional(ex.INITIAL, value, e)

    memo: dict[Expression, Expression] = {}
    return [replace(a, value=ex.rewrite([a.value], leaf, memo)[0]) for a in assignments]


def _initial_target(e: Equation, roles: VariableRoles) -> tuple[Expression, Expression] | None:
    """(leaf, value) where an initial equation gives a discrete variable, or its pre, a value."""
    for one, other in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
        if one.op in ("name", "pre") and one.target in roles.memories | roles.logicals:
            return one, other
    return None


def first_pre_values(
    initial: Sequence[Equation],
    equations: Iterable[Equation],
    values: Mapping[str, Expression],
    starts: Mapping[str, Expression],
) -> dict[str, Expression]:
    """The start value of each variable that an equation between two pre ties to another.

    `values` are those that initial equations give; `starts` are declared.
    """
    groups = _groups([e for e in initial if equates_two_pre(e)])
    if not groups:
        return {}
    known = _from_equations(equations, values)
    first: dict[str, Expression] = {}
    for members in groups:
        given = [source[n] for source in (known, starts) for n in members if n in source]
        first.update(dict.fromkeys(members, given[0] if given else ex.ZERO))
    return first


def equates_two_pre(e: Equation) -> bool:
    """Whether it reads `pre(a) = pre(b)`."""
    return e.lhs.op == "pre" and e.rhs.op == "pre"


def _from_equations(
    equations: Iterable[Equation], values: Mapping[str, Expression]
) -> dict[str, Expression]:
    past_values = {}
    for e in equations:
        for now, past in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
            if now.op == "name" and past.op == "pre" and now.target in values:
                past_values[past.target] = values[now.target]
    return past_values


def _groups(ties: Iterable[Equation]) -> list[list[str]]:
    group_of: dict[str, list[str]] = {}
    for e in ties:
        one, other = (group_of.setdefault(x.target, [x.target]) for x in (e.lhs, e.rhs))
        if one is not other:
            one.extend(other)
            group_of.update(dict.fromkeys(other, one))
    return list({id(g): g for g in group_of.values()}.values())


def without_algebraic_pre(
    events: EventSystem, states: Sequence[str], blocks: Sequence[Assignment | Block]
) -> EventSystem:
    """`events` without any pre(y) of an algebraic y; AlgebraicPast where y is solved for."""
    known = {*states, *events.memories, *events.logicals}
    equations = (*events.logical_equations, *events.memory_equations)
    roots = [a.value for a in equations]
    roots += [e for r in events.reinits for e in (r.fired, r.value)]
    wanted = {e.target for e in ex.walk(*roots) if e.op == "pre"} - known
    if not wanted:
        return events
    past = _Past(known, blocks)
    unknown = [name for name in wanted if past.of.get(name) is None]
    if unknown:
        raise AlgebraicPast(unknown)
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
