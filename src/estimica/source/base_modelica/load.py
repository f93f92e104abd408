"""Base Modelica as OpenModelica writes it (`//! base 0.1.0`): the second door to a FlatSystem."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.system import FlatSystem, Variability, Variable
from estimica.source.base_modelica.document import BaseText
from estimica.source.base_modelica.model import BaseModel, chosen_model
from estimica.source.base_modelica.parser import parse
from estimica.source.cache import key_of, read_flat, write_flat
from estimica.source.fixed_values import FixedValue, check_fixed_names, with_elements
from estimica.source.flatten.system import flattened
from estimica.source.instance.classes import Class
from estimica.source.instance.modifiers import merged
from estimica.source.instance.world import World
from estimica.source.libraries.missing import Missing
from estimica.source.loading import loading
from estimica.source.lookup.table import ClassTable
from estimica.source.syntax import tree
from estimica.source.syntax.contents import experiment_of

_BUILT_IN = "OpenModelica has built its value into the equations"
_UNUSED = "no equation uses it; OpenModelica may have built its value in"


def load_base_modelica(
    source: BaseText,
    class_name: str | None = None,
    *,
    fix: Mapping[str, FixedValue] | None = None,
    cache: bool = True,
) -> FlatSystem:
    """The model of a Base Modelica text; arguments as those of `load_flat`."""
    fixed = sorted((k, type(v).__name__, v) for k, v in (fix or {}).items())
    key = key_of("base modelica", class_name, source.text, source.label, fixed)
    system = read_flat(key) if cache else None
    if system is None:
        system = base_modelica_system(source.text, source.label, class_name, fix)
        if cache:
            write_flat(key, system)
    return system.named(key if cache else "")


def base_modelica_system(
    text: str,
    label: str = "",
    class_name: str | None = None,
    fix: Mapping[str, FixedValue] | None = None,
) -> FlatSystem:
    """The model of a Base Modelica text as scalar variables and equations.

    label: the file's name, for messages. class_name: needed where the text holds several models.
    fix: values of parameters, by name.
    """
    name = Path(label).name if label else "text"
    model = chosen_model(parse(text.removeprefix("\ufeff"), name), class_name, name)
    with loading(model.definition.name):
        system = _flattened(model, {})
        if fix:
            check_fixed_names(fix, system)
            _refuse_built_in(fix, system)
            system = with_elements(
                _flattened(model, fix), {k: v for k, v in fix.items() if model.path_of(k) is None}
            )
    return dataclasses.replace(system, source=label or "text")


def _flattened(model: BaseModel, fix: Mapping[str, FixedValue]) -> FlatSystem:
    world = World(ClassTable((model.file,), _nowhere, _unread), Missing(alone=True))
    found = world.root.find(model.package) if model.package else world.root
    assert isinstance(found, Class)
    found = found.find(model.definition.name)
    assert isinstance(found, Class)
    changes = merged(model.modifiers(fix, found, world.root), found.modifiers)
    system = flattened(world, Class(found.definition, found.outer, changes, world))
    equated = model.equated()
    return dataclasses.replace(
        _with_built_in(system, model.evaluated()),
        name=model.definition.name,
        # an equation says what the value of a record's field is, not the record's default
        equations=tuple(
            e
            for e in system.equations
            if not (e.origin.kind == "binding" and e.lhs.op == "name" and e.lhs.target in equated)
        ),
        experiment=experiment_of(model.definition),
    )


def _nowhere(name: str) -> Path | None:
    """There are no libraries: the text is all there is."""
    return None


def _unread(path: Path) -> tree.File:
    raise FileNotFoundError(path)


def _refuse_built_in(fix: Mapping[str, FixedValue], system: FlatSystem) -> None:
    """Refuse values that would have no effect, because the writer of the text used others."""
    for name in fix:
        variable = system.by_name.get(name)
        if variable is not None and variable.evaluated in (_BUILT_IN, _UNUSED):
            raise SourceError(
                "S210",
                f"fix: '{name}' cannot be changed in Base Modelica: {variable.evaluated}; set it "
                "in the Modelica source and write the text again",
            )


def _with_built_in(system: FlatSystem, evaluated: frozenset[str]) -> FlatSystem:
    """Parameters that have no effect any more say so, lest they be tuned."""
    used = _used_names(system)
    return dataclasses.replace(
        system, variables=tuple(_judged(v, used, evaluated) for v in system.variables)
    )


def _judged(v: Variable, used: set[str], evaluated: frozenset[str]) -> Variable:
    if v.variability is not Variability.PARAMETER:
        return v
    if v.name in evaluated or v.name.partition("[")[0] in evaluated:
        return dataclasses.replace(v, evaluated=_BUILT_IN)
    if not v.evaluated and v.name not in used and not v.text:
        return dataclasses.replace(v, evaluated=_UNUSED)
    return v


def _used_names(system: FlatSystem) -> set[str]:
    """The names that equations, events and start values depend on."""
    roots = [
        side for e in (*system.equations, *system.initial_equations) for side in (e.lhs, e.rhs)
    ]
    roots += [e for when in system.whens for e in when.expressions]
    roots += [a.condition for a in system.assertions]
    roots += [v.start for v in system.variables if v.start is not None]
    used = set(ex.names_in(*roots))
    open_names = list(used)
    while open_names:
        variable = system.by_name.get(open_names.pop())
        if variable is not None and variable.binding is not None:
            new = ex.names_in(variable.binding) - used
            used |= new
            open_names += new
    return used
