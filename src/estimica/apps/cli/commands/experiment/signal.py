"""`estimica signal`: a signal to excite with, as a CSV file or a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli import arguments
from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import Delivery, deliver, requested_outputs, require_outputs
from estimica.apps.cli.options import AsJson, Samples
from estimica.base.view import Page, Section, text, write
from estimica.study.fields.counts import SIMULATED


def signal(
    kind: Annotated[
        str,
        typer.Argument(
            help="step, staircase, square, square-ramp, sine, multisine, prbs, chirp or noise."
        ),
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...", help="Such as frequency=0.05 amplitude=2 lines=[1,3,5]."
        ),
    ] = None,
    step: Annotated[float, typer.Option(help="Seconds between samples.")] = 0.1,
    samples: Annotated[int, typer.Option(max=SIMULATED, help="Number of samples.")] = 1000,
    name: Annotated[str, typer.Option(help="Name of the column.")] = "u",
    unit: Annotated[str, typer.Option(help="Its unit.")] = "",
    csv: Samples = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it on this HTML page.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write or draw a signal to excite a process with."""
    with reported("signal", as_json):
        from estimica.experiment import signals

        require_outputs(csv, page=plot)
        given = {
            n: _read(v) for n, v in arguments.values(f"signal {kind}", parameters or []).items()
        }
        excitation = signals.make(kind, given)
        times = signals.times(step, samples)
        curves = excitation.curves(times, name, unit)
        plain: dict[str, object] = {"command": "signal"}
        plain["outcome"] = {"status": "done", "message": ""}
        plain |= {"time": times, "values": {name: excitation.samples(times)}}
        if isinstance(excitation, signals.Multisine):
            plain["crest_factor"] = excitation.crest_factor
    page = Page(kind, (Section(repr(excitation), shown=(curves,)),))
    outputs = requested_outputs(
        (csv, lambda path: excitation.to_csv(path, times, name, unit)),
        (plot, lambda path: write(page, path)),
    )
    delivery = Delivery(lambda: plain, lambda: [text(curves)], outputs)
    deliver(delivery, as_json=as_json, quiet=False)


def _read(value: object) -> object:
    """Lists, such as lines=[1,2,3], are written as in JSON, band=[null,2] with an open end."""
    if isinstance(value, str) and value.startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
