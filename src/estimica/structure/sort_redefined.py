"""A class with another causality, sorted; the derivatives of inputs where sorting needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.system import FlatSystem
from estimica.structure.causality.choice import InputChoice, choose_inputs
from estimica.structure.causality.redefinition import (
    Causality,
    missing_inputs_error,
    redefine,
    slope_name,
)
from estimica.structure.sort import sort_system
from estimica.structure.sorted_system import Block, SortedSystem

_NEEDS_DERIVATIVE = "E302"
_SINGULAR = "E202"
LARGE = 2000  # variables of a class for which proposals are not tried out


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
