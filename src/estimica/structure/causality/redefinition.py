"""Redefinition of causality: variables that become inputs, and the equations that make room.

A class is taken as it is, unconnected. The equations that set the flows of its open connectors to
zero are dropped, and variables that the user names take the places of what a test rig would fix.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from estimica.base.errors import StructureError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.modelica_text import write_equation
from estimica.flat.system import Equation, FlatSystem, Kind, Origin, Variability, Variable
from estimica.structure.causality.choice import listed, singular_inputs_error
from estimica.structure.causality.demand import Causality, slope_name
from estimica.structure.causality.graph import CausalityGraph
from estimica.structure.causality.inflows import mentioned, require_flows
from estimica.structure.causality.room import Room, make_room
from estimica.structure.parameters import is_parameter


@dataclass(frozen=True, slots=True)
class BackCausality:
    """Inputs that data give, names to compute, and relations that do not hold.

    Of the measured outputs `among` as many are inputs too as the class needs.
    """

    inputs: tuple[str, ...]
    compute: tuple[str, ...]
    leave_out: tuple[str, ...] = ()
    among: tuple[str, ...] = ()

    def of(self, flat: FlatSystem) -> Causality:
        """The same for one class, where parameters to be computed become unknowns."""
        for name in self.compute:
            if name not in flat.by_name:
                hint = did_you_mean(name, list(flat.by_name)) or "; see `estimica inspect`"
                raise StructureError(
                    "E207", f"'{name}' cannot be computed: '{flat.name}' has no such name{hint}"
                )
            if name in self.inputs:
                raise StructureError(
                    "E207", f"'{name}' is given by the data; there is nothing to compute"
                )
        unknowns = tuple(n for n in self.compute if is_parameter(flat.by_name[n]))
        chosen = Causality(self.inputs, unknowns, self.leave_out)
        return _completed(flat, chosen, [n for n in self.among if n not in self.compute])


def redefine(flat: FlatSystem, causality: Causality, slopes: Collection[str] = ()) -> FlatSystem:
    """The flat system with another causality; refused with the reason where it is singular.

    An input whose derivative stands in an equation gets a companion `der(input)`, an input too,
    and so do those of `slopes`.
    """
    declared = {v.name for v in flat.variables if v.causality == "input"}
    inputs = tuple(n for n in dict.fromkeys(causality.inputs) if n not in declared)
    if not (inputs or causality.unknowns or causality.leave_out):
        return flat
    freed = _with_unknowns(flat, causality.unknowns)
    freed = _without(freed, causality.leave_out)
    _check_names(freed, inputs)
    graph = CausalityGraph.of(freed)
    room = make_room(graph, inputs)
    if room is None:
        raise singular_inputs_error(graph, inputs)
    require_flows(graph, room.inflows)
    return _rewritten(freed, inputs, room, causality, slopes)


#: choices among measured outputs that are tried; chosen: 3 of 20 are 1140, which take a second
CHOICES = 1000


def _completed(flat: FlatSystem, causality: Causality, among: Sequence[str]) -> Causality:
    """With as many of `among` as inputs as are needed, the first ones that go together."""
    freed = _without(_with_unknowns(flat, causality.unknowns), causality.leave_out)
    graph = CausalityGraph.of(freed)
    inputs = [n for n in dict.fromkeys(causality.inputs) if n in graph.unknowns]
    given = [n for n in inputs if n not in graph.inflows]
    candidates = [n for n in dict.fromkeys(among) if n in graph.unknowns and n not in inputs]
    missing = min(graph.needed - len(given), len(candidates))
    if missing <= 0:
        return causality
    for further in islice(combinations(candidates, missing), CHOICES):
        if make_room(graph, [*inputs, *further]) is not None:
            return replace(causality, inputs=(*causality.inputs, *further))
    return replace(causality, inputs=(*causality.inputs, *candidates))


def missing_inputs_error(flat: FlatSystem, causality: Causality) -> StructureError | None:
    """Why a choice is singular where too few inputs left a flow of an open connector at zero."""
    freed = _without(_with_unknowns(flat, causality.unknowns), causality.leave_out)
    graph = CausalityGraph.of(freed)
    inputs = tuple(n for n in dict.fromkeys(causality.inputs) if n in graph.unknowns)
    given = [n for n in inputs if n not in graph.inflows]
    return singular_inputs_error(graph, inputs) if len(given) < graph.needed else None


# --- inputs --------------------------------------------------------------------------------------


def _check_names(flat: FlatSystem, inputs: Sequence[str]) -> None:
    varying = [v.name for v in flat.variables if not is_parameter(v)]
    for name in inputs:
        v = flat.by_name.get(name)
        if v is not None and is_parameter(v):
            raise StructureError(
                "E203",
                f"'{name}' cannot become an input: it is a {v.variability}; give it a value "
                "instead",
            )
        if v is None or v.kind is Kind.STRING:
            raise StructureError(
                "E203",
                f"'{name}' cannot become an input: the model has no such variable"
                f"{did_you_mean(name, varying)}",
            )


def _rewritten(
    flat: FlatSystem,
    inputs: Sequence[str],
    room: Room,
    causality: Causality,
    slopes: Collection[str],
) -> FlatSystem:
    gone = {id(e) for e in room.gone}
    equations = [e for e in flat.equations if id(e) not in gone]
    initial = [e for e in flat.initial_equations if not _settled(e, flat, inputs)]
    initial = room.inflows.without_unknown(initial)
    equations, initial = _with_slopes(equations, inputs), _with_slopes(initial, inputs)
    variables = [
        replace(v, causality="input", fixed=False) if v.name in inputs else v
        for v in flat.variables
        if v.name not in room.inflows.unknown
    ]
    roots = [s for e in (*equations, *initial) for s in (e.lhs, e.rhs)]
    used = ex.names_in(*roots)
    for name in inputs:
        if slope_name(name) in used or name in slopes:
            variables.append(_slope(flat.by_name[name]))
    return replace(
        flat,
        variables=tuple(variables),
        equations=tuple(equations),
        initial_equations=tuple(initial),
        assertions=tuple(
            a for a in flat.assertions if not mentioned(a.condition) & room.inflows.unknown
        ),
        notes=(*flat.notes, *_notes(inputs, room, causality)),
    )


def _notes(inputs: Sequence[str], room: Room, c: Causality) -> list[str]:
    notes = []
    if inputs:
        freed = f"; freed: {', '.join(f.name for f in room.flows)}" if room.flows else ""
        notes.append(f"made inputs: {', '.join(inputs)}{freed}")
    if room.inflows.lacking:
        names = sorted(room.inflows.unknown - set(room.inflows.lacking))
        others = f", and with it {listed(names)}" if names else ""
        notes.append(f"not given: {listed(room.inflows.lacking)}{others}")
    if c.unknowns:
        notes.append(f"made unknowns: {', '.join(c.unknowns)}")
    if c.leave_out:
        notes.append(f"left out: {', '.join(c.leave_out)}")
    return notes


def _settled(e: Equation, flat: FlatSystem, inputs: Sequence[str]) -> bool:
    """Whether an initial equation speaks of inputs only: data decide about them."""
    names = {
        leaf.target
        for leaf in ex.walk(e.lhs, e.rhs)
        if leaf.op in ("name", "der") and not is_parameter(flat.by_name[leaf.target])
    }
    return bool(names) and names <= set(inputs)


def _with_slopes(equations: Sequence[Equation], inputs: Sequence[str]) -> list[Equation]:
    """The equations with companions instead of the derivatives of inputs."""
    slopes: dict[Expression, Expression] = {ex.der(n): ex.name(slope_name(n)) for n in inputs}
    memo: dict[Expression, Expression] = {}
    rewritten = []
    for e in equations:
        lhs, rhs = ex.rewrite((e.lhs, e.rhs), lambda x: slopes.get(x, x), memo)
        rewritten.append(e if (lhs, rhs) == (e.lhs, e.rhs) else replace(e, lhs=lhs, rhs=rhs))
    return rewritten


def _slope(v: Variable) -> Variable:
    unit = f"{v.unit}/s" if v.unit and v.unit != "1" else "1/s" if v.unit else ""
    return Variable(
        slope_name(v.name),
        causality="input",
        unit=unit,
        description=f"time derivative of {v.name}",
        protected=True,
    )


# --- unknowns and relations that are left out ----------------------------------------------------


def _with_unknowns(flat: FlatSystem, names: Sequence[str]) -> FlatSystem:
    """Parameters as variables; parameters that follow from them become variables with them."""
    if not names:
        return flat
    for name in names:
        _check_unknown(flat, name)
    moved = set(names)
    while True:
        following = {
            v.name
            for v in flat.variables
            if is_parameter(v) and v.binding is not None and v.name not in moved
            and ex.names_in(v.binding) & moved
        }  # fmt: skip
        if not following:
            break
        for name in sorted(following):
            _check_unknown(flat, name, f" (it follows from {', '.join(names)})")
        moved |= following
    variables, equations = [], []
    for v in flat.variables:
        if v.name not in moved:
            variables.append(v)
            continue
        free = v.name in names
        variables.append(
            replace(
                v,
                variability=Variability.CONTINUOUS,
                binding=None,
                fixed=False,
                final=False,
                start=_guess(v, flat) if free else v.start,
            )
        )
        if not free and v.binding is not None:
            origin = Origin(f"{v.name} = …", v.origin.component, "binding", v.origin.file)
            equations.append(Equation(ex.name(v.name), v.binding, origin))
    return replace(flat, variables=tuple(variables), equations=(*flat.equations, *equations))


def _guess(v: Variable, flat: FlatSystem) -> Expression | None:
    """Where the search for a parameter begins: the value that it would have."""
    names = ex.names_in(v.binding) if v.binding is not None else set()
    parameters = all(is_parameter(flat.by_name[n]) for n in names)
    return v.binding if v.binding is not None and parameters else v.start


def _check_unknown(flat: FlatSystem, name: str, why: str = "") -> None:
    v = flat.by_name.get(name)
    known = [p.name for p in flat.variables if is_parameter(p)]
    if v is None:
        raise StructureError(
            "E205",
            f"'{name}' cannot be computed: the model has no such parameter"
            f"{did_you_mean(name, known)}",
        )
    reason = ""
    if not is_parameter(v):
        reason = "it is a variable already, ask for it as an output"
    elif v.variability is Variability.CONSTANT:
        reason = "it is a constant"
    elif v.kind is not Kind.REAL:
        reason = f"it is of type {v.kind}"
    elif v.evaluated:
        reason = f"it is structural: {v.evaluated}"
    if reason:
        raise StructureError("E205", f"'{name}' cannot be computed: {reason}{why}")


def _without(flat: FlatSystem, names: Sequence[str]) -> FlatSystem:
    gone = {id(_named_equation(flat, n)) for n in names}
    return replace(flat, equations=tuple(e for e in flat.equations if id(e) not in gone))


def _named_equation(flat: FlatSystem, name: str) -> Equation:
    """The equation that `name` means: by its text, or by a name that stands in it alone."""
    spelt = [e for e in flat.equations if _squeezed(name) in _spellings(e)]
    matching = spelt or [e for e in flat.equations if name in _names(e)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        listed = "; ".join(f'"{equation_text(e)}"' for e in matching[:8])
        raise StructureError(
            "E206",
            f"leave_out '{name}' stands in {len(matching)} equations; write the one that does not "
            f"hold: {listed}",
        )
    near = did_you_mean(name, [*flat.by_name, *map(equation_text, flat.equations)])
    raise StructureError(
        "E206", f"leave_out: no equation reads '{name}', and no variable is called so{near}"
    )


def equation_text(e: Equation) -> str:
    """The equation in full names, as `leave_out` takes it."""
    return write_equation(e, spell=str)


def _spellings(e: Equation) -> set[str]:
    own = {_squeezed(equation_text(e))}
    if e.origin.text:
        before = f"{e.origin.component}:" if e.origin.component else ""
        own |= {_squeezed(e.origin.text), _squeezed(before + e.origin.text)}
    return own


def _squeezed(text: str) -> str:
    return "".join(text.split()).rstrip(";")


def _names(e: Equation) -> set[str]:
    return {x.target for x in ex.walk(e.lhs, e.rhs) if x.op in ("name", "der")}
