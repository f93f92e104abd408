"""Server: the workbench of one folder on one port, until Ctrl-C."""

from __future__ import annotations

import contextlib
import socket
from importlib.resources import files
from pathlib import Path

from estimica.apps.web.live.outgoing import guard_pages
from estimica.apps.web.session.settings import Settings
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import WebError

STATIC = Path(str(files("estimica.apps.web").joinpath("static")))


def serve(settings: Settings) -> None:
    """Serve the folder until the process is told to end."""
    from nicegui import ui

    _require_free(settings)
    build(settings)
    with contextlib.suppress(KeyboardInterrupt):
        ui.run(
            host=settings.host,
            port=settings.port,
            title="Estimica",
            favicon=STATIC / "favicon.svg",
            dark=None,
            show="/" + settings.address.rpartition("/")[2] if settings.open else False,
            reload=False,
            show_welcome_message=False,
            use_colors=False,  # the terminal shows codes as what they are, also those of logs
            reconnect_timeout=30.0,
            message_history_length=200,
        )


def build(settings: Settings) -> Workbench:
    """The workbench with its gate, files, streams and pages put in place."""
    from nicegui import app
    from nicegui.server import Server
    from plotly import __file__ as plotly

    from estimica.apps.web.downloads import routes as downloads
    from estimica.apps.web.guard import RequestGuard
    from estimica.apps.web.live.feed import routes as streams
    from estimica.apps.web.pages import compare, guess, new, run, start, study

    guard_pages()
    workbench = Workbench.of(settings)
    app.add_middleware(RequestGuard, settings=settings)
    library = Path(plotly).parent / "package_data" / "plotly.min.js"
    app.add_static_file(local_file=library, url_path="/assets/plotly.min.js")
    app.add_static_files("/assets", STATIC)
    app.routes.extend([*streams(workbench.feed, workbench.folder), *downloads(workbench)])
    for page in (start, new, guess, study, run, compare):
        page.register(workbench)
    workbench.feed.wanted = lambda: not Server.instance.should_exit
    app.on_shutdown(workbench.jobs.close)
    app.on_shutdown(workbench.feed.stop)
    app.on_shutdown(workbench.benches.stop)
    return workbench


def _require_free(settings: Settings) -> None:
    """Better one sentence now than a traceback of the server."""
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise WebError(
                "G006",
                f"cannot serve on {settings.host}, port {settings.port}: {error.strerror}; "
                "give another one with --port",
            ) from None
