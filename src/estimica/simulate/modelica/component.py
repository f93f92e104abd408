"""A class taken alone, as a component, with the inputs that a study or its data name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from estimica.base.code.numeric import NumericCode
from estimica.base.errors import StructureError
from estimica.base.suggest import did_you_mean
from estimica.flat.system import FlatSystem
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.modelica.origin import ModelOrigin, origin_of
from estimica.source.load import load_flat
from estimica.structure.causality.demand import Causality
from estimica.structure.parameters import is_parameter

if TYPE_CHECKING:
    from estimica.structure.causality.redefinition import BackCausality

FunctionCodes = Mapping[str, NumericCode]


def load_for_inputs(
    source: str | Path,
    class_: str | None = None,
    *,
    fix: Mapping[str, float | bool | int | str],
    libraries: Sequence[Path] = (),
    inputs: Mapping[str, Sequence[str]],
    leave_out: Sequence[str] = (),
    frontend: str = "estimica",
    functions: FunctionCodes | None = None,
) -> ModelicaModel:
    """Load a class as it is or, where it is open, with the inputs of the first case.

    `inputs` are the names that each case gives, by case; `leave_out` are equations that do not
    hold, `frontend` is what reads Modelica, `functions` are those that Python computes.
    """
    named = list(dict.fromkeys(n for names in inputs.values() for n in names))
    folders = list(libraries)
    flat = load_flat(
        source,
        class_,
        fix=dict(fix),
        libraries=folders,
        inputs=named,
        frontend=frontend,
        functions=functions,
    )
    origin = origin_of(source, class_, folders, frontend, functions)
    try:
        return ModelicaModel(flat, fix, Causality((), (), tuple(leave_out)), origin)
    except StructureError as error:
        if error.code == "E206":  # what is left out is no equation of the class
            raise
        for case, names in inputs.items():
            wanted = _variables(flat, names)
            if wanted:
                causality = Causality(wanted, (), tuple(leave_out))
                return _with_inputs(flat, fix, case, names, causality, origin)
        raise


def load_component(
    source: str | Path,
    class_: str | None = None,
    *,
    fix: Mapping[str, float | bool | int | str] | None = None,
    libraries: Sequence[Path] = (),
    measured: Sequence[str] = (),
    functions: FunctionCodes | None = None,
) -> ModelicaModel:
    """Load a class as it is or, where it is open, with inputs that will do.

    Variables called like one of the columns `measured` are taken first.
    """
    flat = load_flat(
        source, class_, fix=dict(fix or {}), libraries=list(libraries), functions=functions
    )
    origin = origin_of(source, class_, libraries, codes=functions)
    try:
        return ModelicaModel(flat, fix, origin=origin)
    except StructureError as error:
        known = _called_like(flat, measured)
        from estimica.structure.causality.choice import choose_inputs  # few classes are open

        proposals = choose_inputs(flat, known).proposals
        # something that was measured is left to compare with
        for names in sorted(proposals, key=lambda names: bool(known) and set(known) <= set(names)):
            try:
                return ModelicaModel(flat, fix, Causality(names), origin)
            except StructureError:
                continue
        raise error from None


def _called_like(flat: FlatSystem, columns: Sequence[str]) -> list[str]:
    varying = [v.name for v in flat.variables if not is_parameter(v)]
    exact = [c for c in columns if c in varying]
    lower = {c.lower() for c in columns}
    alike = [n for n in varying if n.lower() in lower]
    return list(dict.fromkeys([*exact, *alike]))


def _variables(flat: FlatSystem, names: Sequence[str]) -> tuple[str, ...]:
    found = [flat.by_name[n] for n in names if n in flat.by_name]
    return tuple(v.name for v in found if not is_parameter(v) and v.causality != "input")


def _with_inputs(
    flat: FlatSystem,
    fix: Mapping[str, float | bool | int | str],
    case: str,
    names: Sequence[str],
    causality: Causality,
    origin: ModelOrigin,
) -> ModelicaModel:
    try:
        return ModelicaModel(flat, fix, causality, origin)
    except StructureError as error:
        varying = [v.name for v in flat.variables if not is_parameter(v)]
        unknown = [n for n in names if n not in flat.by_name]
        hint = "".join(
            f"; the model has no variable '{n}'{did_you_mean(n, varying)}" for n in unknown[:1]
        )
        raise StructureError(
            error.code, f"inputs of case '{case}': {error.message}{hint}"
        ) from None


def load_back_model(
    source: str | Path,
    class_: str | None,
    fix: Mapping[str, float | bool | int | str],
    libraries: Sequence[Path],
    causality: BackCausality,
    *,
    frontend: str = "estimica",
    functions: FunctionCodes | None = None,
) -> ModelicaModel:
    """Load a class, taken alone as a component, that data drive; `frontend` reads Modelica."""
    flat = load_flat(
        source,
        class_,
        fix=dict(fix),
        libraries=list(libraries),
        frontend=frontend,
        functions=functions,
    )
    origin = origin_of(source, class_, libraries, frontend, functions)
    return ModelicaModel(flat, fix, causality.of(flat), origin)


def back_model(model: ModelicaModel, causality: BackCausality) -> ModelicaModel:
    """The same class with the causality of a back-calculation."""
    left_out = dict.fromkeys([*model.causality.leave_out, *causality.leave_out])
    wanted = replace(causality, leave_out=tuple(left_out)).of(model.original)
    if set(wanted.inputs) <= set(model.system.inputs) and not (
        set(wanted.unknowns) - set(model.causality.unknowns)
        or set(wanted.leave_out) - set(model.causality.leave_out)
    ):
        return model
    return ModelicaModel(model.original, model.fixed, wanted, model.origin)
