"""`estimica new`: a commented study file from a model and its data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli.check_command import show_problems
from estimica.apps.cli.console import print_json, reported, say
from estimica.apps.cli.first_guesses import with_first_guesses
from estimica.apps.cli.options import AsJson, Libraries

if TYPE_CHECKING:
    from estimica.compiled.model import Model
    from estimica.study.draft_columns import Table

_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")
_DATA = {
    ".csv",
    ".z",
    ".mpt",
    ".dta",
    ".tsv",
    ".txt",
    ".dat",
    ".parquet",
    ".pq",
    ".xlsx",
    ".xlsm",
    ".xls",
    ".mat",
}


def new(
    source: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A Modelica file or folder, a class of a library, a Python function as "
            "file.py:function, or a transfer function as 'K*exp(-T*s)/(1 + tau*s)'.",
        ),
    ],
    rest: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CLASS] [DATA]...", help="The class, and files of measurements."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write the study.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    library: Libraries = None,
    as_json: AsJson = False,
) -> None:
    """Write a commented study file from a model and the columns of its data."""
    with reported("new", as_json):
        from estimica.data.readers import read_data
        from estimica.experiment.case_starts import case_starts
        from estimica.study.check import check_file
        from estimica.study.draft import (
            draft,
            relative,
            require_new,
            require_one_class,
            write_study,
        )
        from estimica.study.draft_columns import Table

        class_, files = _split(rest or [])
        path = output or Path(f"{_stem(source, class_)}.toml")
        require_new(path, force=force)
        tables = [Table(relative(f, path.parent), read_data(f)) for f in files]
        if class_ is None:
            require_one_class(source)
        columns = [name for t in tables for name in t.data.names]
        model, named = _loaded(source, class_, library or [], path.parent, columns)
        mode = _mode(model, tables)
        folders = [relative(f, path.parent) for f in library or []]
        text = draft(
            model if not mode else _at_points(model, mode),
            named,
            class_,
            tables,
            folders,
            None if mode else lambda *given: case_starts(model, *given),
            mode=mode,
        )
        write_study(path, with_first_guesses(text, [t.data for t in tables]))
        problems = check_file(path)
    if as_json:
        told = {"status": "done", "message": f"wrote {path}"}
        print_json({"command": "new", "outcome": told, "study": str(path)})
    else:
        say(f"wrote {path}")
        if problems:
            say("What is left to do:")
            show_problems(problems)


def _loaded(
    source: str,
    class_: str | None,
    libraries: Sequence[Path],
    folder: Path,
    columns: Sequence[str],
) -> tuple[Model, str]:
    """The model, and how a study file in `folder` names it."""
    from estimica.compiled.function_file import is_function_source
    from estimica.simulate.component import load_component
    from estimica.simulate.function_model import function_model_of_file
    from estimica.simulate.linear_models import is_transfer_function_text, model_in_s
    from estimica.study.draft import relative

    if is_transfer_function_text(source):
        return model_in_s(source), source
    if is_function_source(source):
        file, mark, name = source.partition(".py")
        return function_model_of_file(source, Path()), f"{relative(file, folder)}{mark}{name}"
    named = relative(source, folder) if Path(source).exists() else source
    return load_component(source, class_, libraries=libraries, measured=columns), named


def _mode(model: Model, tables: Sequence[Table]) -> str:
    """How points are computed, where the data of a Modelica class have no time."""
    from estimica.simulate.modelica_model import ModelicaModel
    from estimica.study.draft_columns import has_time

    if not isinstance(model, ModelicaModel) or not tables or any(map(has_time, tables)):
        return ""
    return "steady" if model.system.states else "static"


def _at_points(model: Model, mode: str) -> Model:
    from estimica.simulate.modelica_model import ModelicaModel

    assert isinstance(model, ModelicaModel)
    return model.at_points(mode)


def _split(rest: Sequence[str]) -> tuple[str | None, list[Path]]:
    """A first argument that is no file is the class."""
    first = rest[0] if rest else ""
    is_class = (
        bool(_CLASS.match(first))
        and not Path(first).exists()
        and Path(first).suffix.lower() not in _DATA
    )
    return (first, [Path(f) for f in rest[1:]]) if is_class else (None, [Path(f) for f in rest])


def _stem(source: str, class_: str | None) -> str:
    from estimica.compiled.function_file import is_function_source
    from estimica.simulate.linear_models import is_transfer_function_text

    if class_ is not None:
        return class_.rpartition(".")[2].lower()
    if is_transfer_function_text(source):
        return "transfer_function"
    if is_function_source(source):
        return Path(source.partition(".py")[0]).name.lower()
    return (Path(source).stem if Path(source).exists() else source.rpartition(".")[2]).lower()
