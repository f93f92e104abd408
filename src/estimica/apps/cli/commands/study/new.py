"""`estimica new`: a commented study file from a model and its data."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli.commands.study.check import show_problems
from estimica.apps.cli.console import print_json, reported, say
from estimica.apps.cli.delivery import require_outputs
from estimica.apps.cli.options import AsJson, Libraries
from estimica.base.errors import StudyError

#: a class, perhaps with a modification
_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\s*\(.*\))?$", re.DOTALL)
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
            help="A Modelica file or folder, a class of a library, an FMU, a PEtab problem "
            "(.yaml), a Python function as file.py:function, or a transfer function as "
            "'K*exp(-T*s)/(1 + tau*s)'.",
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
        from estimica.apps.draft import draft_study
        from estimica.source.optimica.problem import is_optimica
        from estimica.study.check.run import check_file
        from estimica.study.draft.run import require_new, write_study
        from estimica.study.petab.files import is_petab

        class_, files = _split(rest or [])
        path = output or Path(f"{_stem(source, class_)}.toml")
        require_new(path, force=force)
        require_outputs(path)
        notes: tuple[str, ...] = ()
        if is_optimica(source):
            notes = _write_optimica(source, class_, path, files, force=force)
        elif is_petab(source):
            notes = _write_petab(source, path, rest or [], force=force)
        else:
            drafted = draft_study(source, class_, files, path.parent, library or [])
            write_study(path, drafted.text)
            notes = drafted.notes
        problems = check_file(path)
    if as_json:
        outcome = {"status": "done", "message": f"wrote {path}"}
        left = [{"code": p.code, "message": p.text} for p in problems]
        print_json(
            {
                "command": "new",
                "outcome": outcome,
                "study": str(path),
                "problems": left,
                "notes": list(notes),
            }
        )
    else:
        say(f"wrote {path}")
        for note in notes:
            say(f"note: {note}")
        if problems:
            say("What is left to do:")
            show_problems(problems)


def _write_optimica(
    source: str, class_: str | None, path: Path, files: Sequence[Path], *, force: bool
) -> tuple[str, ...]:
    """Write the study of an optimization class and its model; notes come back."""
    from estimica.data.readers import read_data
    from estimica.source.optimica.problem import read_problem
    from estimica.study.draft.columns import Table
    from estimica.study.draft.optimica import model_path, write_optimica_study
    from estimica.study.draft.run import relative, require_new

    problem = read_problem(source, class_)
    tables = [Table(relative(f, path.parent), read_data(f)) for f in files]
    model = model_path(problem, path, source)
    if model is not None:
        require_new(model, force=force)
        require_outputs(model)
    write_optimica_study(problem, path, model, source, tables)
    told = () if model is None else (f"the model without its objective is {model}",)
    return (*told, *problem.notes)


def _write_petab(source: str, path: Path, rest: Sequence[str], *, force: bool) -> tuple[str, ...]:
    """Write the study of a PEtab problem, whose tables name its model and data; notes come back."""
    from estimica.study.draft.run import require_new
    from estimica.study.petab.convert import open_problem, write_petab_study

    if rest:
        raise StudyError(
            "Q108", f"a PEtab problem names its own model and data; leave out '{rest[0]}'"
        )
    model = path.with_suffix(".mo")
    require_new(model, force=force)
    require_outputs(model)
    opened = open_problem(source)
    write_petab_study(opened, path, source)
    return opened.notes


def _split(rest: Sequence[str]) -> tuple[str | None, list[Path]]:
    """A first argument that is not a file is the class."""
    first = rest[0] if rest else ""
    is_class = (
        bool(_CLASS.match(first))
        and not os.path.exists(first)
        and Path(first).suffix.lower() not in _DATA
    )
    return (first, [Path(f) for f in rest[1:]]) if is_class else (None, [Path(f) for f in rest])


def _stem(source: str, class_: str | None) -> str:
    from estimica.simulate.load import ModelSource

    if class_ is not None:
        return class_.partition("(")[0].strip().rpartition(".")[2].lower()
    kind = ModelSource(source).kind
    if kind == "transfer function":
        return "transfer_function"
    if kind == "code":
        return Path(source.rpartition(".py")[0]).name.lower()
    if os.path.exists(source):
        return Path(source).stem.lower()
    return source.partition("(")[0].strip().rpartition(".")[2].lower()
