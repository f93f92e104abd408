"""Modifiers on load: `fix={"a.b": 2}` as a class that extends the one asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.flat.system import FlatSystem, Kind, Variability, Variable

FixedValue: TypeAlias = float | bool | int | str
_Tree: TypeAlias = "dict[str, _Tree | str]"

WRAPPER = "EstimicaModified"


def wrapper_text(
    class_name: str, fix: Mapping[str, FixedValue], system: FlatSystem | None, more: str = ""
) -> str:
    """A class that extends `class_name` with the modifiers `fix`; `system` is the class as it is.

    `more` goes into the class as it stands.
    """
    tree: _Tree = {}
    for name, value in fix.items():
        branch = tree
        *path, last = name.split(".")
        for part in path:
            inner = branch.setdefault(part, {})
            if isinstance(inner, str):
                raise SourceError("S020", f"fix: '{name}' and a part of it are both given a value")
            branch = inner
        branch[last] = literal(value, system.by_name.get(name) if system else None)
    extends = f"extends {class_name}{_modification(tree)};"
    return f"model {WRAPPER}\n  {extends}\n{more}end {WRAPPER};\n"


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


def _modification(tree: _Tree) -> str:
    parts = [
        f"{name} = {inner}" if isinstance(inner, str) else f"{name}{_modification(inner)}"
        for name, inner in tree.items()
    ]
    return f"({', '.join(parts)})" if parts else ""
