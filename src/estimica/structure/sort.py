"""FlatSystem → SortedSystem: the stages of this room, one after the other.

A class with another causality is sorted here too, with derivatives of inputs where it needs them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import FlatSystem, Kind
from estimica.structure.aliases import remove_aliases
from estimica.structure.causality.choice import InputChoice, choose_inputs
from estimica.structure.causality.demand import Causality, slope_name
from estimica.structure.causality.redefinition import missing_inputs_error, redefine
from estimica.structure.events.extract import EventSystem, extract_events, without_algebraic_pre
from estimica.structure.events.latches import AlgebraicPast, with_latches
from estimica.structure.graph.blocks import sort_blocks
from estimica.structure.index.reduction import ContinuousSystem, reduce_system
from estimica.structure.linear import DivisionGuard
from estimica.structure.parameters import (
    Parameters,
    bind_free_parameters,
    is_parameter,
    order_parameters,
)
from estimica.structure.redundancy import split_redundant
from estimica.structure.semilinear import without_zero_flows
from estimica.structure.sorted_system import Assignment, Block, Reinit, SortedSystem
from estimica.structure.working_system import WorkingSystem


def sort_system(flat: FlatSystem, *, inputs: Sequence[str] = ()) -> SortedSystem:
    """Choose states, remove aliases, make events explicit and put the equations in order.

    `inputs` are variables that shall be inputs besides those that the model declares; equations
    of unconnected flows make room for them.
    """
    turned = redefine(flat, Causality(tuple(inputs)))
    draft = _counted(_draft(bind_free_parameters(turned)))
    latched: frozenset[str] = frozenset()
    last = False
    while True:
        try:
            return _sorted(draft, latched, last=last)
        except _VanishingFactors as vanishing:
            draft, last = _with_numbers(draft, vanishing.parameters), True
        except AlgebraicPast as past:
            if past.names <= latched:
                raise
            latched |= past.names


class _VanishingFactors(Exception):
    """Parameters that are zero, where the equations can only be solved if they are not."""

    def __init__(self, parameters: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(parameters)))
        self.parameters = parameters


def _sorted(
    draft: WorkingSystem, latched: frozenset[str] = frozenset(), *, last: bool = False
) -> SortedSystem:
    draft = remove_aliases(draft)
    if latched:
        draft = with_latches(draft, latched)
    draft = replace(draft, equations=without_zero_flows(draft.equations, frozenset(draft.unknowns)))
    events = extract_events(draft)
    safety = DivisionGuard(draft.parameters.values)
    reduced = reduce_system(_continuous(events), safety)
    blocks = sort_blocks(reduced.equations, reduced.unknowns, safety)
    if blocks.zeros and not last:
        raise _VanishingFactors(blocks.zeros)
    _check_reinits(events.reinits, reduced.states)
    actions = without_algebraic_pre(events, reduced.states, blocks.order)
    return SortedSystem(
        flat=draft.flat,
        parameters=draft.parameters.order,
        bindings=draft.parameters.bindings,
        free_parameters=draft.parameters.free,
        inputs=draft.inputs,
        states=reduced.states,
        memories=actions.memories,
        logicals=actions.logicals,
        relations=actions.relations,
        blocks=reduced.links + _without_unused(blocks.order),
        constraints=reduced.constraints,
        aliases=draft.aliases,
        logical_equations=actions.logical_equations,
        memory_equations=actions.memory_equations,
        reinits=actions.reinits,
        delays=actions.delays,
        initial_equations=actions.initial_equations,
        starts=actions.starts,
        fixed=draft.fixed & frozenset(events.unknowns),
        assertions=actions.assertions,
        notes=draft.notes + events.notes + reduced.notes,
    )


def _draft(flat: FlatSystem) -> WorkingSystem:
    parameters = order_parameters(flat)
    variables = [v for v in flat.variables if not is_parameter(v) and v.kind is not Kind.STRING]
    unknowns = [v for v in variables if v.causality != "input"]
    return WorkingSystem(
        flat=flat,
        parameters=parameters,
        inputs=tuple(v.name for v in variables if v.causality == "input"),
        unknowns=tuple(v.name for v in unknowns),
        equations=flat.equations,
        initial_equations=flat.initial_equations,
        whens=flat.whens,
        assertions=flat.assertions,
        starts={v.name: v.start for v in unknowns if v.start is not None} | _guesses(parameters),
        fixed=frozenset(v.name for v in unknowns if v.fixed),
        state_select={v.name: v.state_select for v in unknowns},
        aliases={},
        notes=flat.notes + parameters.notes,
    )


def _guesses(parameters: Parameters) -> dict[str, Expression]:
    """Numbers from which the search for free parameters begins."""
    known = {n: parameters.values[n] for n in parameters.free}
    return {n: ex.const(value) for n, value in known.items() if math.isfinite(value)}


def _counted(draft: WorkingSystem) -> WorkingSystem:
    n_equations = len(draft.equations) + len(draft.assigned_in_whens)
    return replace(draft, counts=(n_equations, len(draft.unknowns)))


def _with_numbers(draft: WorkingSystem, zeros: frozenset[str]) -> WorkingSystem:
    """The model with parameters that are zero built in, and marked as such."""
    reason = "it is zero, and with any other value the equations have another structure"
    variables = tuple(
        replace(v, evaluated=v.evaluated or reason) if v.name in zeros else v
        for v in draft.flat.variables
    )
    numbers = draft.parameters.numbers | dict.fromkeys(sorted(zeros), ex.ZERO)
    listed = ", ".join(f"'{n}'" for n in sorted(zeros))
    return replace(
        draft,
        flat=replace(draft.flat, variables=variables),
        parameters=replace(draft.parameters, numbers=numbers),
        notes=(*draft.notes, f"built in because they are zero: {listed}"),
    )


def _continuous(events: EventSystem) -> ContinuousSystem:
    draft = events.draft
    equations, redundant = split_redundant(events.equations)
    return ContinuousSystem(
        flat=draft.flat,
        counts=draft.counts,
        equations=equations,
        redundant=draft.redundant + redundant,
        unknowns=events.unknowns,
        inputs=frozenset(draft.inputs),
        delayed=frozenset(d.name for d in events.delays),
        starts=draft.starts,
        fixed=draft.fixed,
        state_select=draft.state_select,
        reinitialised=draft.reinitialised,
    )


def _check_reinits(reinits: Iterable[Reinit], states: Sequence[str]) -> None:
    for r in reinits:
        if r.state not in states:
            raise StructureError(
                "E407",
                f"{r.origin}: '{r.state}' is not a state, so it cannot be set; "
                "reinit the state that it follows from",
            )


def _without_unused(
    blocks: Sequence[Assignment | Block],
) -> tuple[Assignment | Block, ...]:
    """The blocks less assignments of second derivatives that nothing needs."""
    needed: set[Expression] = set()
    kept: list[Assignment | Block] = []
    for block in reversed(blocks):
        if isinstance(block, Assignment):
            roots = [block.value]
            if block.unknown.startswith("$rate("):
                continue
            second = block.unknown.startswith("der(der(")
            if second and ex.der(block.unknown[4:-1]) not in needed:
                continue
        else:
            roots = [*block.residuals, *(a.value for a in block.inner)]
        needed |= {e for e in ex.walk(*roots) if e.op == "der"}
        kept.append(block)
    return tuple(reversed(kept))


_NEEDS_DERIVATIVE = "E302"
_SINGULAR = "E202"
#: variables of a class for which proposals are not tried out: sorting 2000 takes a quarter of a
#: second, and there are up to eight proposals
LARGE = 2000


def sort_redefined(flat: FlatSystem, causality: Causality) -> tuple[FlatSystem, SortedSystem]:
    """The flat system with its new causality, and what sorting makes of it."""
    if not causality:
        return flat, _sorted_as_declared(flat)
    turned = redefine(flat, causality)
    try:
        system = sort_system(turned)
    except StructureError as error:
        if error.code == _SINGULAR:
            raise missing_inputs_error(flat, causality) or error from None
        if error.code != _NEEDS_DERIVATIVE:
            raise
        turned = _with_slopes(flat, causality, error)
        system = sort_system(turned)
    loose = _superfluous(system)
    if loose:
        variables = tuple(
            replace(v, fixed=v.fixed and v.name not in loose) for v in turned.variables
        )
        turned = replace(turned, variables=variables)
        system = sort_system(turned)
    return turned, system


def _with_slopes(flat: FlatSystem, causality: Causality, error: StructureError) -> FlatSystem:
    """The system with companions for the derivatives of inputs that sorting needs."""
    try:
        system = sort_system(redefine(flat, causality, slopes=causality.inputs))
    except StructureError:
        raise error from None
    used = _names_used(system)
    return redefine(flat, causality, slopes=[n for n in causality.inputs if slope_name(n) in used])


def _superfluous(system: SortedSystem) -> frozenset[str]:
    """Variables with a fixed start that data determine now: there are fewer states to start."""
    conditions = len(system.fixed) + len(system.initial_equations)
    if conditions <= len(system.states) + len(system.free_parameters):
        return frozenset()
    return system.fixed - frozenset(system.states)


def _names_used(system: SortedSystem) -> set[str]:
    roots = [system.aliases[n] for n in system.aliases]
    for block in system.blocks:
        if isinstance(block, Block):
            roots += [*block.residuals, *(a.value for a in block.inner)]
        else:
            roots.append(block.value)
    return set(ex.names_in(*roots))


def sortable_choice(flat: FlatSystem, prefer: Sequence[str] = ()) -> InputChoice:
    """The inputs to choose from, with sets that sorting refuses left out.

    Structure alone does not see sums that cancel, as in flows around a loop.
    """
    choice = choose_inputs(flat, prefer)
    if len(flat.variables) > LARGE:
        return choice
    sound = []
    for names in choice.proposals:
        try:
            sort_redefined(flat, Causality(names))
        except StructureError:
            continue
        sound.append(names)
    return replace(choice, proposals=tuple(sound))


def _sorted_as_declared(flat: FlatSystem) -> SortedSystem:
    """The sorted system; where a component is open, the error says which inputs it needs."""
    try:
        return sort_system(flat)
    except StructureError as error:
        choice = choose_inputs(flat)
        if not choice.proposals:
            raise
        sets = "; or ".join(", ".join(p) for p in choice.proposals[:4])
        plural = "input" if choice.needed == 1 else "inputs"
        raise StructureError(
            error.code,
            f"{error.message}; taken alone, as a component, it needs {choice.needed} {plural}: "
            f"choose {sets}",
        ) from None
