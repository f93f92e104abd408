"""The model of a back-calculation: data drive it, and what they leave open is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from estimica.simulate.modelica.model import ModelicaModel
from estimica.source.load import load_flat
from estimica.structure.causality.back import BackCausality


def load_back_model(
    source: str | Path,
    class_: str | None,
    fix: Mapping[str, float | bool | int | str],
    libraries: Sequence[Path],
    causality: BackCausality,
    *,
    frontend: str = "rumoca",
) -> ModelicaModel:
    """Load a class, taken alone as a component, that data drive; `frontend` reads Modelica."""
    flat = load_flat(source, class_, fix=dict(fix), libraries=list(libraries), frontend=frontend)
    return ModelicaModel(flat, fix, causality.of(flat))


def back_model(model: ModelicaModel, causality: BackCausality) -> ModelicaModel:
    """The same class with the causality of a back-calculation."""
    wanted = causality.of(model.original)
    if set(wanted.inputs) <= set(model.system.inputs) and not (
        set(wanted.unknowns) - set(model.causality.unknowns)
        or set(wanted.leave_out) - set(model.causality.leave_out)
    ):
        return model
    return ModelicaModel(model.original, model.fixed, wanted)
