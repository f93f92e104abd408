"""A PEtab problem as a study: as a model and tables, or as files (Modelica text, tables of data, a
study file)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimica.base.files.write import make_folder, write_text
from estimica.data.writers import write_csv
from estimica.flat.modelica_text import write_class
from estimica.study.petab.build import build
from estimica.study.petab.problem import read_problem
from estimica.study.petab.tables import PetabStudy, study_tables
from estimica.study.toml.write import toml_key, toml_value

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


_ODD = re.compile(r"[^A-Za-z0-9_-]+")


def write_petab_study(opened: PetabStudy, path: Path, origin: str) -> tuple[Path, ...]:
    """Write the study file `path`, its model beside it and its data into a folder.

    The paths of all files come back, the study's first.
    """
    model, folder = path.with_suffix(".mo"), path.parent / f"{path.stem}_data"
    make_folder(folder)
    write_text(model, write_class(opened.flat))
    cases, files = [], []
    taken: set[str] = set()
    for case in opened.tables["case"]:
        name = _unused(_ODD.sub("_", case["name"]) or "case", taken)
        files.append(write_csv(folder / f"{name}.csv", opened.data[case["name"]].columns))
        cases.append({**case, "data": f"{folder.name}/{name}.csv"})
    tables = {**opened.tables, "case": cases}
    tables["model"] = {**tables["model"], "source": model.name}
    write_text(path, "\n".join(_lines(tables, origin)) + "\n")
    return path, model, *files


def _unused(wish: str, taken: set[str]) -> str:
    name, k = wish, 1
    while name.lower() in taken:  # some disks do not tell A from a
        k += 1
        name = f"{wish}_{k}"
    taken.add(name.lower())
    return name


def _lines(tables: Mapping[str, Any], origin: str) -> Iterable[str]:
    yield f"# The PEtab problem {origin} as a study: estimica fit finds its parameters."
    for name in ("model", "tune", "case", "estimate", "solver"):
        content = tables[name]
        for entries in content if isinstance(content, list) else [content]:
            yield ""
            yield f"[[{name}]]" if isinstance(content, list) else f"[{name}]"
            for key, value in entries.items():
                yield from _entry(key, value)


def _entry(key: str, value: object) -> Iterable[str]:
    """One entry; a table of outputs has a line for each."""
    if key != "outputs" or not isinstance(value, dict):
        yield f"{toml_key(key)} = {toml_value(value)}"
        return
    for name, output in value.items():
        yield f"outputs.{toml_key(name)} = {toml_value(output)}"
