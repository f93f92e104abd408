"""The tuned model as Modelica: a class that extends the original with the values of a design."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from os import PathLike
from pathlib import Path

import numpy as np

from estimica.base.errors import DesignError
from estimica.base.files.write import write_text
from estimica.estimate.fit.modelica import extended, require_class_name
from estimica.estimate.setup import parameter_map_of
from estimica.simulate.modelica.model import ModelicaModel
from estimica.study.study import Study


def write_tuned_model(
    study: Study,
    values: Mapping[str, float],
    note: str,
    path: str | PathLike[str],
    name: str | None = None,
) -> Path:
    """Write a class with these values of the tuners; `note` says how good they are and how found.

    It is called `name`, or else Tuned and the name of the model.
    """
    model = study.bare
    if not isinstance(model, ModelicaModel):
        raise DesignError(
            "O087", f"model '{model.name}' has no Modelica source that can be extended"
        )
    if name is not None:
        require_class_name(name)
    last = model.name.rpartition(".")[2]
    chosen = name or f"Tuned{last[:1].upper()}{last[1:]}"
    links, tuners, held = parameter_map_of(study)
    parameters, _ = links.at(np.array([values[t.name] for t in tuners], float))
    known = {q.name for q in model.quantities()}
    own = dict(zip(links.parameters, map(float, parameters), strict=True))
    carried = study.origin.held if study.origin else {}
    tuned = {n: v for n, v in {**carried, **own, **held}.items() if n in known}
    comments = [
        f"Tuned by estimica {version('estimica')} on {date.today()}: study '{study.name}', {note}.",
        f"Load it together with {model.name}. Values that cases set are left out.",
    ]
    return write_text(path, extended(model, chosen, tuned, "tuned values", comments))
