"""FlatSystem → SortedSystem: the stages of this room, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.base.errors import StructureError
from estimica.flat.system import FlatSystem, Kind
from estimica.structure.aliases import remove_aliases
from estimica.structure.blocks import sort_blocks
from estimica.structure.causality import with_inputs
from estimica.structure.draft import Draft
from estimica.structure.linear import Safety
from estimica.structure.parameters import is_parameter, order_parameters
from estimica.structure.reduction import Continuous, reduce
from estimica.structure.sorted_system import SortedSystem


def sort_system(flat: FlatSystem, *, inputs: Sequence[str] = ()) -> SortedSystem:
    """Choose states, remove aliases, make events explicit and put the equations in order.

    `inputs` are variables that shall be inputs besides those that the model declares; equations
    of unconnected flows make room for them.
    """
    draft = remove_aliases(with_inputs(_draft(flat), inputs))
    safety = Safety(draft.parameters.values)
    reduced = reduce(_continuous(draft), safety)
    blocks = sort_blocks(reduced.equations, reduced.unknowns, safety)
    if blocks is None:
        raise StructureError("E303", f"model '{flat.name}': no evaluation order was found")
    return SortedSystem(
        flat=flat,
        parameters=draft.parameters.order,
        bindings=draft.parameters.bindings,
        free_parameters=draft.parameters.free,
        inputs=draft.inputs,
        states=reduced.states,
        memories=(),
        logicals=(),
        relations=(),
        blocks=reduced.links + blocks,
        constraints=reduced.constraints,
        aliases=draft.aliases,
        logical_equations=(),
        memory_equations=(),
        reinits=(),
        delays=(),
        initial_equations=draft.initial_equations,
        starts=draft.starts,
        fixed=draft.fixed,
        assertions=draft.assertions,
        notes=draft.notes + reduced.notes,
    )


def _draft(flat: FlatSystem) -> Draft:
    parameters = order_parameters(flat)
    variables = [v for v in flat.variables if not is_parameter(v) and v.kind is not Kind.STRING]
    unknowns = [v for v in variables if v.causality != "input"]
    return Draft(
        flat=flat,
        parameters=parameters,
        inputs=tuple(v.name for v in variables if v.causality == "input"),
        unknowns=tuple(v.name for v in unknowns),
        equations=flat.equations,
        initial_equations=flat.initial_equations,
        whens=flat.whens,
        assertions=flat.assertions,
        starts={v.name: v.start for v in unknowns if v.start is not None},
        fixed=frozenset(v.name for v in unknowns if v.fixed),
        state_select={v.name: v.state_select for v in unknowns},
        aliases={},
        notes=flat.notes + parameters.notes,
    )


def _continuous(draft: Draft) -> Continuous:
    return Continuous(
        flat=draft.flat,
        equations=draft.equations,
        unknowns=draft.unknowns,
        inputs=frozenset(draft.inputs),
        delayed=frozenset(),
        starts=draft.starts,
        fixed=draft.fixed,
        state_select=draft.state_select,
        reinitialised=draft.reinitialised,
    )
