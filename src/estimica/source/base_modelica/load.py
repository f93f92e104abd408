"""Base Modelica as OpenModelica writes it (`//! base 0.1.0`): the second door to a FlatSystem."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.system import Experiment, FlatSystem, Variability
from estimica.source.base_modelica.document import BaseText, Class, Document, Modification
from estimica.source.base_modelica.flat import FlatModel, flat_model
from estimica.source.base_modelica.parser import parse
from estimica.source.cache import key_of, read_flat, write_flat
from estimica.source.decode.origins import SourceFiles
from estimica.source.decode.system import decode
from estimica.source.fixed_values import FixedValue, check_fixed_names
from estimica.source.interpreter.expressions import MISFIT, MISFITS
from estimica.source.interpreter.values import ValueMismatch

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
    document = parse(text.removeprefix("\ufeff"), name)
    model = _chosen(document, class_name, name)
    try:
        system = _decoded(document, model, text, name, label, {})
        if fix:
            check_fixed_names(fix, system)
            _refuse_built_in(fix, system)
            document = parse(text.removeprefix("\ufeff"), name)
            model = _chosen(document, class_name, name)
            system = _decoded(document, model, text, name, label, fix)
    except (ValueMismatch, *MISFITS) as misfit:
        raise SourceError("S211", f"{name}: model '{model.name}': {MISFIT}") from misfit
    except RecursionError:
        raise SourceError(
            "S209", f"{name}: an expression of model '{model.name}' is nested too deeply; split it"
        ) from None
    return system


def _chosen(document: Document, class_name: str | None, label: str) -> Class:
    models = {c.name: c for c in document.classes if c.word in ("model", "class", "block")}
    models = {n: c for n, c in models.items() if c.base != "ExternalObject"}
    if class_name is None:
        if models:
            return models.get(document.name) or list(models.values())[-1]
        raise SourceError("S208", f"{label}: the Base Modelica text holds no model")
    matching = [c for n, c in models.items() if class_name in (n, n.rpartition(".")[2])]
    if not matching:
        hint = did_you_mean(class_name, models)
        raise SourceError("S208", f"{label}: no model '{class_name}' in the text{hint}")
    return matching[0]


def _decoded(
    document: Document,
    model: Class,
    text: str,
    name: str,
    label: str,
    fix: Mapping[str, FixedValue],
) -> FlatSystem:
    built = flat_model(document, model, name, fix)
    files = SourceFiles(text, name)
    system = decode(built.flat, model.name, files, label or "text", built.sections)
    return dataclasses.replace(
        _with_built_in(system, built),
        experiment=_experiment(model.annotation.at("experiment")),
        notes=(*system.notes, *built.notes),
    )


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


def _with_built_in(system: FlatSystem, built: FlatModel) -> FlatSystem:
    """Parameters that have no effect any more say so, lest they be tuned."""
    used = _used_names(system)
    variables = []
    for v in system.variables:
        if v.variability is Variability.PARAMETER and not v.evaluated:
            if v.name in built.evaluated:
                v = dataclasses.replace(v, evaluated=_BUILT_IN)
            elif v.name not in used and not v.text:
                v = dataclasses.replace(v, evaluated=_UNUSED)
        variables.append(v)
    return dataclasses.replace(system, variables=tuple(variables))


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


def _experiment(annotation: Modification) -> Experiment:
    def number(name: str) -> float | None:
        node = annotation.at(name).value or {}
        sign = -1.0 if "Unary" in node else 1.0
        node = node["Unary"]["rhs"] if "Unary" in node else node
        value = (node.get("Literal") or {}).get("value") or {}
        given = value.get("Real", value.get("Integer"))
        return None if given is None else sign * float(given)

    return Experiment(
        start=number("StartTime") or 0.0,
        stop=number("StopTime"),
        tolerance=number("Tolerance"),
        interval=number("Interval"),
    )
