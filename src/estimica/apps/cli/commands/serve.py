"""`estimica serve`: the workbench in the browser."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli.console import VisibleStream, reported, say
from estimica.base.errors import WebError


def serve(
    folder: Annotated[
        Path, typer.Argument(help="The folder with studies, models and data; it alone is served.")
    ] = Path("."),
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port.")] = 8231,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; any but this machine's own needs a token."),
    ] = "127.0.0.1",
    token: Annotated[
        str, typer.Option(help="Token that a browser must bring; made for you if you give none.")
    ] = "",
    no_token: Annotated[
        bool,
        typer.Option("--no-token", help="Let every user and program of this machine in."),
    ] = False,
    parallel: Annotated[int, typer.Option(min=1, max=64, help="Runs at the same time.")] = 1,
    upload_limit: Annotated[
        int, typer.Option(min=1, max=100_000, help="Largest file that can be uploaded, in MB.")
    ] = 200,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Set up, watch and read studies in the browser."""
    with reported("serve", False):
        if find_spec("nicegui") is None:
            raise WebError("G007", "the workbench needs more packages: pip install 'estimica[web]'")
        from estimica.apps.web.server import serve as run
        from estimica.apps.web.session.settings import MEGABYTE, settings_for

        settings = settings_for(
            folder,
            host=host,
            port=port,
            token=token,
            without_token=no_token,
            parallel=parallel,
            upload_limit=upload_limit * MEGABYTE,
            open=not no_open,
        )
        say(f"Estimica serves '{folder}' at {settings.address}  (Ctrl-C ends it)")
        sys.stdout, sys.stderr = VisibleStream(sys.stdout), VisibleStream(sys.stderr)
        run(settings)
