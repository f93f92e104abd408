"""The model of an Optimica file as Modelica: for studies and programs that name the file itself.

What reads Modelica is imported for such a file only: a transfer function does not wait for it.
"""

from __future__ import annotations

from pathlib import Path

SUFFIX = ".mop"


def is_optimica_file(path: Path) -> bool:
    """Whether a source is a file of Optimica that is there."""
    return path.suffix.lower() == SUFFIX and path.is_file()


def model_text(path: Path, class_: str | None) -> tuple[str, str | None]:
    """The Modelica text of an Optimica file, and the class of it that is meant.

    An optimization class becomes a model without objective, residuals and what holds measurements;
    any other class of the file is taken as it stands.
    """
    from estimica.source.libraries.files import read_text
    from estimica.source.optimica.problem import read_problem
    from estimica.source.optimica.text import translated
    from estimica.source.syntax import tree

    name, bracket, modification = (class_ or "").partition("(")
    wanted = name.strip() or None
    made = translated(tree.Source(read_text(path), str(path)), constrained=True)
    optimizations = [h.name for h in made.heads]
    plain = wanted is not None and wanted.rpartition(".")[2] not in optimizations
    if plain or not optimizations:
        return made.source.text, class_
    problem = read_problem(path, wanted, freeing=False)
    return problem.modelica, f"{problem.class_}{bracket}{modification}"
