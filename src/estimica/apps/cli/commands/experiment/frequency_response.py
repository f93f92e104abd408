"""`estimica frequency-response`: the frequency response that a record over time shows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import Delivery, deliver, requested_outputs, require_outputs
from estimica.apps.cli.options import AsJson
from estimica.base.view import text


def frequency_response(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="The file with the record, evenly sampled.")
    ],
    input: Annotated[str, typer.Option(help="The column that was excited.")],
    output: Annotated[str, typer.Option(help="The column that responds.")],
    method: Annotated[
        str, typer.Option(help="multisine (whole periods) or welch (averaged stretches).")
    ] = "multisine",
    time: Annotated[str | None, typer.Option(help="The column with the time stamps.")] = None,
    period: Annotated[
        float | None, typer.Option(help="Multisine: the period in seconds; found by default.")
    ] = None,
    settle: Annotated[
        float | None, typer.Option(help="Seconds at the beginning that are left out.")
    ] = None,
    segment: Annotated[float | None, typer.Option(help="Welch: seconds of a stretch.")] = None,
    hold: Annotated[
        str, typer.Option(help="The input between its samples: previous, linear or none.")
    ] = "previous",
    csv: Annotated[
        Path | None, typer.Option(help="Write the data of a frequency case to this file.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with the Bode plot.")] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate a frequency response with its uncertainty from a record over time."""
    with reported("frequency-response", as_json):
        from estimica.data.readers import read_data
        from estimica.experiment.frequency.run import frequency_estimate

        require_outputs(csv, page=report)
        response = frequency_estimate(
            read_data(data),
            input=input,
            output=output,
            method=method,  # type: ignore[arg-type]  # checked there
            time=time,
            period=period,
            settle=settle,
            segment=segment,
            hold=hold,  # type: ignore[arg-type]
        )
    outcome = {"status": "done", "message": response.text}
    delivery = Delivery(
        lambda: {"command": "frequency-response", "outcome": outcome, **response.to_dict()},
        lambda: [text(response.table())],
        requested_outputs((csv, response.to_csv), (report, response.report)),
    )
    deliver(delivery, as_json=as_json, quiet=False)
