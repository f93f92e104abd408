"""The front end: from a class that is asked for to a FlatSystem."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from estimica.base.code.numeric import NumericCode
from estimica.base.errors import SourceError, UnsupportedError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.system import FlatSystem, Variability
from estimica.source.fixed_values import (
    FixedValue,
    check_fixed_names,
    modification,
    with_elements,
)
from estimica.source.flatten.function_model import function_as_model
from estimica.source.flatten.system import flattened
from estimica.source.instance.classes import Class
from estimica.source.instance.modifiers import merged, written
from estimica.source.instance.world import World
from estimica.source.request import Request
from estimica.source.syntax.contents import experiment_of
from estimica.source.syntax.file import parse_modification
from estimica.source.vanishing_rates import without_vanishing_rates


def read_class(
    request: Request,
    fix: Mapping[str, FixedValue],
    inputs: Sequence[str],
    functions: Mapping[str, NumericCode] | None = None,
) -> FlatSystem:
    """The class that is asked for as scalar variables and equations, with the values of `fix`.

    `functions` are those that Python computes, by their full names.
    """
    if not fix:
        return _flattened(request, {}, None, inputs, functions)
    try:
        plain = _flattened(request, {}, None, inputs, functions)
    except (SourceError, UnsupportedError):
        plain = None  # it may need the values to make sense
    if plain is not None:
        check_fixed_names(fix, plain)
    whole = {k: v for k, v in fix.items() if "[" not in k}
    elements = {k: v for k, v in fix.items() if "[" in k}
    system = plain
    if whole or system is None:
        system = _flattened(request, whole, plain, inputs, functions)
    return with_elements(system, elements)


def _flattened(
    request: Request,
    fix: Mapping[str, FixedValue],
    plain: FlatSystem | None,
    inputs: Sequence[str],
    functions: Mapping[str, NumericCode] | None,
) -> FlatSystem:
    world = World(request.table(), request.missing())
    cls = _class_of(world, request)
    name = cls.name
    is_function = cls.is_a("function", "operator function")
    definition = cls.definition
    if request.modification:
        cls = _modified(cls, request.modification, "modification of the class", world)
    if is_function:
        cls = function_as_model(cls, inputs)
    if fix:
        cls = _modified(cls, modification(fix, plain), "fix", world)
    system = without_vanishing_rates(flattened(world, cls, functions))
    system = dataclasses.replace(
        system,
        name=name,
        experiment=experiment_of(definition),
        source=request.label or "text",
        modification=request.modification,
        libraries=tuple(lib.label for lib in request.libraries_of(world.table.top_names())),
    )
    return of_function(system, inputs) if is_function else system


def _modified(cls: Class, text: str, where: str, world: World) -> Class:
    changes = written(parse_modification(text, where), world.root)
    modifiers = merged(changes, cls.modifiers)
    return Class(cls.definition, cls.outer, modifiers, world, None, cls.extended)


def _class_of(world: World, request: Request) -> Class:
    found: Class = world.root
    names = request.class_name.split(".")
    for k, part in enumerate(names):
        inner = found.find(part)
        if not isinstance(inner, Class):
            if world.missing.within(found.definition.source.label):
                said = found.why_without(part)
                raise SourceError("S002", f"class '{request.class_name}' not found{said}")
            known = [".".join([*names[:k], n]) for n in found.member_names()]
            where = request.label or "the text"
            raise SourceError(
                "S002",
                f"no class '{request.class_name}' in {where}"
                f"{did_you_mean('.'.join(names[: k + 1]), known)}",
            )
        found = inner
    if found.is_a("package") or found.leaf() is not None:
        raise SourceError(
            "S085",
            f"'{request.class_name}' is a {found.definition.word}; name a model, block or function",
        )
    return found


def of_function(system: FlatSystem, inputs: Sequence[str] = ()) -> FlatSystem:
    """The model of a function; what it is not given is not a number until it is tuned.

    Fields of records and elements of arrays that are named among `inputs` vary, the others do not.
    """
    fields = {n for n in inputs if "." in n or "[" in n}
    for name in sorted(fields - set(system.by_name)):
        first = name.partition(".")[0].partition("[")[0]
        known = [n for n in system.by_name if n.partition(".")[0].partition("[")[0] == first]
        hint = did_you_mean(name, known) or f" (there are {', '.join(known)})"
        raise SourceError("S051", f"function '{system.name}' has no input '{name}'{hint}")
    variables = []
    for v in system.variables:
        if v.name in fields:
            v = dataclasses.replace(
                v, variability=Variability.CONTINUOUS, causality="input", binding=None, fixed=False
            )
        elif v.variability is Variability.PARAMETER and v.binding is None:
            v = dataclasses.replace(v, binding=ex.const(float("nan")))
        variables.append(v)
    return dataclasses.replace(system, of_function=True, variables=tuple(variables))
