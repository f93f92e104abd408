"""Which parameters can change after loading, and why the others cannot."""

from __future__ import annotations

from estimica.flat import expression as ex
from estimica.flat.system import Kind, Variability, Variable
from estimica.structure.sorted_system import SortedSystem

MOST_SOURCES = 3  # chosen: as many names as a line of a table has room for


def why_not_tunable(system: SortedSystem, name: str) -> str:
    """Why parameter `name` cannot be changed after loading, as a clause; empty where it can."""
    v = system.flat.by_name[name]
    if v.variability is Variability.CONSTANT:
        return "it is a constant"
    if v.evaluated:
        return v.evaluated
    if v.final:
        return "it is declared final" + _followed(system, v)
    if v.kind is not Kind.REAL:
        return f"it is of type {v.kind}"
    if name in system.free_parameters:
        return "initial equations give its value (fixed = false)"
    return ""


def _followed(system: SortedSystem, variable: Variable) -> str:
    """Which tunable parameters a final one follows, as the rest of the clause."""
    sources = sources_of(system, variable)
    if not sources:
        return ""
    named = [f"'{n}'" for n in sources[:MOST_SOURCES]]
    more = len(sources) - MOST_SOURCES
    return " and follows " + ", ".join(named) + (f" and {more} more" if more > 0 else "")


def sources_of(system: SortedSystem, variable: Variable) -> list[str]:
    """The nearest parameters that can be tuned and from which a variable's value follows."""
    found: list[str] = []
    seen = {variable.name}
    stack = [variable]
    while stack:
        binding = stack.pop().binding
        if binding is None:
            continue
        for name in sorted(ex.names_in(binding) - seen):
            seen.add(name)
            source = system.flat.by_name.get(name)
            if source is None:
                continue
            if source.final:
                stack.append(source)
            elif not why_not_tunable(system, name):
                found.append(name)
    return found
