"""Opened: a PEtab problem as the model and the tables of a study, read in one go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from estimica.study.petab.build import build
from estimica.study.petab.problem import read_problem
from estimica.study.petab.tables import PetabStudy, study_tables

if TYPE_CHECKING:
    from estimica.flat.system import FlatSystem
    from estimica.simulate.modelica.model import ModelicaModel


def open_problem(path: str | Path) -> PetabStudy:
    """The study that the YAML file of a PEtab problem describes."""
    return study_tables(build(read_problem(path)))


def model_of(flat: FlatSystem) -> ModelicaModel:
    """A flat system as a model, known to caches by its content."""
    from estimica.flat.serialise import to_json
    from estimica.simulate.modelica.model import ModelicaModel
    from estimica.source.cache import content_key

    return ModelicaModel(flat.named(content_key(to_json(flat))))
