"""`estimica first-guess`: gain, time constant and delay that data show at first sight."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import Delivery, deliver, requested_outputs, require_outputs
from estimica.apps.cli.options import AsJson
from estimica.base.view import text


def first_guess(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A step response, or a frequency response.")
    ],
    input: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that steps.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that answers.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column with the time stamps.")
    ] = None,
    at: Annotated[
        float | None, typer.Option(help="When the step is; by default the clearest of the input.")
    ] = None,
    size: Annotated[float | None, typer.Option(help="By how much the input steps.")] = None,
    until: Annotated[float | None, typer.Option(help="Where the answer ends.")] = None,
    frequency: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of a frequency response: Hz.")
    ] = None,
    angular_frequency: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of a frequency response: rad/s.")
    ] = None,
    real: Annotated[str | None, typer.Option(metavar="COLUMN", help="Its real part.")] = None,
    imag: Annotated[str | None, typer.Option(metavar="COLUMN", help="Its imaginary part.")] = None,
    magnitude: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Or its magnitude.")
    ] = None,
    phase: Annotated[str | None, typer.Option(metavar="COLUMN", help="And its phase.")] = None,
    magnitude_unit: Annotated[
        str | None, typer.Option(help="1 or dB; by default as the file says.")
    ] = None,
    phase_unit: Annotated[
        str | None, typer.Option(help="deg or rad; by default as the file says.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with the construction lines.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read gain, time constant and delay off a step response or a Bode plot, as with a ruler."""
    with reported("first-guess", as_json):
        from estimica.data.readers import read_data
        from estimica.experiment.guess.of_data import GuessColumns, guess_of_data

        require_outputs(page=report)
        columns = GuessColumns(
            input=input,
            output=output,
            time=time,
            at=at,
            size=size,
            until=until,
            frequency=frequency,
            angular_frequency=angular_frequency,
            real=real,
            imag=imag,
            magnitude=magnitude,
            phase=phase,
            magnitude_unit=magnitude_unit,
            phase_unit=phase_unit,
        )
        guess = guess_of_data(read_data(data), columns)
    status, message = guess.outcome
    outcome = {"status": status, "message": message}
    delivery = Delivery(
        lambda: {"command": "first-guess", "outcome": outcome, **guess.to_dict()},
        lambda: [text(guess.table()), guess.sentence],
        requested_outputs((report, guess.report)),
    )
    deliver(delivery, as_json=as_json, quiet=False)
