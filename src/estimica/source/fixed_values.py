"""Values that the user fixes before a class is flattened, by dotted name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TypeAlias

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.system import FlatSystem, Kind, Variability, Variable

FixedValue: TypeAlias = float | bool | int | str
_Tree: TypeAlias = "dict[str, _Tree | str]"

#: the class that extends another one with values
WRAPPER = "EstimicaModified"


def wrapper_text(class_name: str, fix: Mapping[str, FixedValue], system: FlatSystem | None) -> str:
    """A class that extends `class_name` with the values `fix`; `system` is the class as it is."""
    return f"model {WRAPPER}\n  extends {class_name}{modification(fix, system)};\nend {WRAPPER};\n"


def modification(fix: Mapping[str, FixedValue], system: FlatSystem | None) -> str:
    """The values as a modification in Modelica; "" where there are none."""
    return _written(_as_tree(fix, system))


def check_fixed_names(fix: Mapping[str, FixedValue], system: FlatSystem) -> None:
    """Raise for names that are not parameters of `system`, or that may not be changed."""
    problems = []
    parameters = [v.name for v in system.variables if v.variability is Variability.PARAMETER]
    whole = {name.partition("[")[0] for name in parameters}
    for name in fix:
        variable = system.by_name.get(name)
        if variable is None and name not in whole:
            if name.endswith(".start") and name[:-6] in system.by_name:
                continue
            problems.append(f"no parameter '{name}'{did_you_mean(name, [*whole, *parameters])}")
        elif variable is not None and variable.variability is not Variability.PARAMETER:
            problems.append(f"'{name}' is not a parameter but {variable.variability.value}")
        elif variable is not None and variable.final:
            problems.append(f"parameter '{name}' is final; it cannot be changed")
    if problems:
        raise SourceError("S021", f"fix, class {system.name}: " + "; ".join(problems))


def literal(value: FixedValue, variable: Variable | None) -> str:
    """`value` in Modelica, as the kind of `variable` needs it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        if variable is not None and variable.kind is Kind.ENUMERATION:
            return value
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)


def with_elements(system: FlatSystem, elements: Mapping[str, FixedValue]) -> FlatSystem:
    """Single elements of arrays, which no modifier can reach, take their value here."""
    if not elements:
        return system
    variables = []
    for variable in system.variables:
        if variable.name in elements:
            value = elements[variable.name]
            if variable.evaluated:
                raise SourceError(
                    "S022",
                    f"fix: '{variable.name}' cannot be set alone, because {variable.evaluated}; "
                    "set the whole array in the source",
                )
            if isinstance(value, str):
                raise SourceError("S022", f"fix: '{variable.name}' takes a number, not '{value}'")
            variable = dataclasses.replace(variable, binding=ex.const(float(value)))
        variables.append(variable)
    return dataclasses.replace(system, variables=tuple(variables))


def _as_tree(fix: Mapping[str, FixedValue], system: FlatSystem | None) -> _Tree:
    tree_: _Tree = {}
    for name, value in fix.items():
        branch = tree_
        *path, last = name.split(".")
        for part in path:
            inner = branch.setdefault(part, {})
            if isinstance(inner, str):
                raise SourceError("S020", f"fix: '{name}' and a part of it are both given a value")
            branch = inner
        branch[last] = literal(value, system.by_name.get(name) if system else None)
    return tree_


def _written(branch: _Tree) -> str:
    parts = [
        f"{name} = {inner}" if isinstance(inner, str) else f"{name}{_written(inner)}"
        for name, inner in branch.items()
    ]
    return f"({', '.join(parts)})" if parts else ""
