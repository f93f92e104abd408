"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A Modelica file or folder, or a class of a library."),
]
ClassName = Annotated[
    str | None, typer.Argument(metavar="CLASS", help="The class, where there are several.")
]
Fix = Annotated[list[str] | None, typer.Option("--set", help="Set a parameter: NAME=VALUE.")]
Libraries = Annotated[
    list[Path] | None, typer.Option("--library", help="A further folder of Modelica packages.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
