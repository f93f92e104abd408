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

StudyPath = Annotated[Path, typer.Argument(metavar="STUDY", help="A study file.")]

ReportPath = Annotated[Path | None, typer.Option(help="Write a page to this HTML file.")]

Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Processes that share the work; by default one for each processor."),
]

ExecutorName = Annotated[
    str, typer.Option(help="Who does the work: local, serial, dask, or dask=ADDRESS.")
]

BackendName = Annotated[
    str | None,
    typer.Option(
        "--backend",
        help="What simulates many members: auto, scalar, vector or cuda; by default as [execute] "
        "of the study says.",
    ),
]

StorePath = Annotated[
    Path | None, typer.Option(help="The store of runs; by default beside the study.")
]

NoStore = Annotated[bool, typer.Option("--no-store", help="Do not store the run.")]

Resume = Annotated[
    str | None, typer.Option(metavar="RUN", help="Take up this run, or the `last` one.")
]

BeginWith = Annotated[
    str | None,
    typer.Option(
        "--fit",
        metavar="RUN",
        help="Begin with the values of this run, or of the `last` one that fits.",
    ),
]
UseRun = Annotated[
    str | None,
    typer.Option(
        "--use", metavar="RUN", help="Write the values of this run into the study file first."
    ),
]

Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
Starts = Annotated[int | None, typer.Option(help="Number of starts.")]
SeedOfStarts = Annotated[int | None, typer.Option(help="Seed of the starts.")]
SampleTime = Annotated[
    float | None, typer.Option(help="Of a transfer function in z: seconds between samples.")
]
Samples = Annotated[Path | None, typer.Option(help="Write the samples to this CSV file.")]
