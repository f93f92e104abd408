"""Flat JSON of the compiler to FlatSystem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from estimica.flat.expression import names_in
from estimica.flat.system import Equation, Experiment, FlatSystem, Origin, Variability, Variable
from estimica.source.decode.algorithms import (
    decode_algorithms,
    decode_initial_algorithms,
    sections_of,
)
from estimica.source.decode.equations import (
    decode_assertions,
    decode_equations,
    decode_initial_equations,
)
from estimica.source.decode.origins import SourceFiles
from estimica.source.decode.sections import FlatSections
from estimica.source.decode.variables import decode_variables
from estimica.source.decode.whens import Whens, decode_whens, discrete_targets
from estimica.source.interpreter.expressions import Interpreter
from estimica.source.syntax.nodes import is_generated


class SectionSource(Protocol):
    """Code that stands beside the flat model."""

    def sections(self, interpreter: Interpreter) -> FlatSections:
        """The code, with the names of the flat model."""


def decode(
    flat: Mapping[str, Any],
    name: str,
    files: SourceFiles,
    source: str = "",
    hidden: SectionSource | None = None,
) -> FlatSystem:
    """The flat model `flat` of class `name` as scalar variables and equations.

    `hidden` are sections that the flat model does not hold.
    """
    interpreter = Interpreter(flat)
    sections = hidden.sections(interpreter) if hidden is not None else FlatSections()
    _mark_selected(interpreter, flat)
    whens = decode_whens(interpreter, [*flat["when_chains"], *sections.whens], files)
    equations = decode_equations(interpreter, flat, files, sections.equations)
    equations += decode_algorithms(
        interpreter, [*sections_of(flat, "algorithms"), *sections.algorithms], files, whens
    )
    initial = decode_initial_equations(interpreter, flat, files, sections.initial_equations)
    initial += decode_initial_algorithms(
        interpreter,
        [*sections_of(flat, "initial_algorithms"), *sections.initial_algorithms],
        files,
        whens,
    )
    decode_assertions(interpreter, flat, files, sections.assertions)
    variables = decode_variables(interpreter, flat, files, discrete_targets(whens))
    unused = _unused_of_buses(interpreter, [*equations, *initial], whens)
    return FlatSystem(
        name=name,
        variables=(
            *(v for v in variables if not is_generated(v.name) and v.name not in unused),
            *whens.flags,
            *_helpers(interpreter),
        ),
        equations=(*equations, *whens.equations),
        initial_equations=tuple(initial),
        whens=tuple(whens.clauses),
        assertions=(*interpreter.assertions.values(), *whens.assertions),
        description=flat["model_description"] or "",
        experiment=Experiment(),
        notes=tuple(dict.fromkeys(interpreter.notes)),
        source=source,
    )


def _unused_of_buses(
    interpreter: Interpreter, equations: Sequence[Equation], whens: Whens
) -> set[str]:
    """Variables of expandable connectors that nobody uses: they do not exist."""
    candidates = {
        name
        for name, owner in interpreter.names.owner.items()
        if owner.raw["from_expandable_connector"] and not owner.is_parameter
    }
    if not candidates:
        return candidates
    roots = [side for e in equations for side in (e.lhs, e.rhs)]
    for branch in (b for w in whens.clauses for b in w.branches):
        roots += branch.conditions
        for action in branch.actions:
            candidates.discard(action.target)
            roots.append(action.value)
    return candidates - names_in(*roots)


def _helpers(interpreter: Interpreter) -> list[Variable]:
    """Parameters that the decoder introduced, such as the slopes of a spline through a table."""
    return [
        Variable(
            name,
            variability=Variability.PARAMETER,
            binding=binding,
            fixed=True,
            protected=True,
            final=True,
            origin=Origin(kind="helper"),
        )
        for name, binding in interpreter.helpers.items()
    ]


_SELECTIONS = {
    "ArrayDimension": "it sets the size of an array",
    "ForRange": "it sets the range of a loop",
    "BranchSelection": "it selects a branch",
    "ConditionalComponent": "it decides whether a component exists",
}


def _mark_selected(interpreter: Interpreter, flat: Mapping[str, Any]) -> None:
    """Parameters that the compiler itself has built in."""
    for selection in flat.get("parameter_branch_selections") or ():
        why = _SELECTIONS.get(selection["kind"], "it shapes the equations")
        for candidates in selection["references"]:
            declared = next(filter(None, map(interpreter.names.declared.get, candidates)), None)
            if declared is not None:
                interpreter.parameters.mark([n for n, _ in declared.elements()], why)
