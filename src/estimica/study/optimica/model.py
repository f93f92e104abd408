"""The model of an Optimica file as Modelica: for studies that name the file as their source.

What reads Modelica is imported for such a file only: a transfer function does not wait for it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from estimica.base.errors import StudyError

if TYPE_CHECKING:
    from estimica.simulate.load import ModelSource

SUFFIX = ".mop"


def in_modelica(named: ModelSource) -> ModelSource:
    """The source with the text that it means in Modelica; one of another kind is left as it is.

    An optimization class becomes a model without objective, residuals and what holds measurements;
    any other class of the file is taken as it stands. What lies beside the file is found as well.
    """
    path = named.path
    if path.suffix.lower() != SUFFIX or not path.is_file():
        return named
    if named.frontend != "estimica":
        raise StudyError(
            "Q005",
            f"source '{named.source}': Estimica reads Optimica itself; leave frontend out, or "
            "write the model alone into a .mo file",
        )
    text, class_ = model_text(path, named.class_)
    return replace(named, text=text, class_=class_, libraries=[*named.libraries, path.parent])


def model_text(path: Path, class_: str | None) -> tuple[str, str | None]:
    """The Modelica text of an Optimica file, and the class of it that is meant."""
    from estimica.source.libraries.files import read_text
    from estimica.source.syntax import tree
    from estimica.study.optimica.problem import read_problem
    from estimica.study.optimica.text import translated

    name, bracket, modification = (class_ or "").partition("(")
    wanted = name.strip() or None
    made = translated(tree.Source(read_text(path), str(path)), constrained=True)
    optimizations = [h.name for h in made.heads]
    plain = wanted is not None and wanted.rpartition(".")[2] not in optimizations
    if plain or not optimizations:
        return made.source.text, class_
    problem = read_problem(path, wanted, freeing=False)
    return problem.modelica, f"{problem.class_}{bracket}{modification}"
