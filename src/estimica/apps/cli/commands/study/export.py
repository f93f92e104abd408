"""`estimica export`: a study in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli.console import print_json, reported, say
from estimica.apps.cli.delivery import require_output_folder
from estimica.apps.cli.options import AsJson, StudyPath


def export(
    study: StudyPath,
    petab: Annotated[
        Path, typer.Option(help="Write it as a PEtab problem into this folder.", metavar="FOLDER")
    ],
    as_json: AsJson = False,
) -> None:
    """Write a study with an ODE model as a PEtab problem: SBML, tables and a YAML file."""
    with reported("export", as_json):
        from estimica.study.file.read import read_study
        from estimica.study.petab.export import write_petab

        require_output_folder(petab)
        path = write_petab(read_study(study), petab)
    if as_json:
        outcome = {"status": "done", "message": f"wrote {path}"}
        print_json({"command": "export", "outcome": outcome, "problem": str(path)})
    else:
        say(f"wrote {path}")
