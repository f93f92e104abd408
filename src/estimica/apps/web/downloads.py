"""Downloads: figures of stored pages, and what can be taken away from a run."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from estimica.apps.run_pictures import with_run_name
from estimica.apps.web.files.recent_runs import store_in
from estimica.apps.web.parts.figure import figure_data
from estimica.apps.web.session.page_words import in_page_words
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError, WebError
from estimica.base.view import Bars, Curves, Heat, Page, Parallel, write
from estimica.base.view_json import page_from_json
from estimica.base.visible import visible
from estimica.execute.runs.store import Store

FOREVER = {"Cache-Control": "private, max-age=86400"}  # the page of an ended run does not change


def routes(workbench: Workbench) -> list[Route]:
    """The addresses below /results."""

    async def answer(request: Request) -> Response:
        try:
            return await _answer(workbench, request.path_params["path"])
        except EstimicaError as error:
            return PlainTextResponse(visible(in_page_words(error.message)), status_code=404)

    return [Route("/results/{path:path}", answer, methods=["GET"])]


async def _answer(workbench: Workbench, path: str) -> Response:
    place, _, rest = path.partition("/figures/")
    if rest:
        folder, _, run = place.rpartition("/")
        return await asyncio.to_thread(_figure, store_in(workbench.folder, folder), run, rest)
    place, _, file = path.rpartition("/")
    folder, _, run = place.rpartition("/")
    store = store_in(workbench.folder, folder)
    if file in MADE:
        kind, make = MADE[file]
        content = await asyncio.to_thread(make, store, run)
        return _file(content, kind, f"{store.summary(run).name}-{file}")
    if file in ("curves.zip", "fitted.mo", "tuned.mo"):
        return await _exported(workbench, store, folder, run, file)
    raise WebError("G048", f"a run has no file '{file}'")


def _page(store: Store, run: str) -> Page:
    kept = store.page(run)
    if kept is None:
        raise WebError("G049", f"no page was kept of run '{run}'")
    return with_run_name(page_from_json(kept), store.summary(run))


def _figure(store: Store, run: str, rest: str) -> Response:
    """Figure `section/number.json` of a page."""
    section, _, number = rest.removesuffix(".json").partition("/")
    page = _page(store, run)
    if not (section.isdigit() and number.isdigit()):
        raise WebError("G048", f"a run has no figure '{rest}'")
    try:
        shown = page.sections[int(section)].shown[int(number)]
    except IndexError:
        raise WebError("G048", f"a run has no figure '{rest}'") from None
    if not isinstance(shown, (Curves, Heat, Bars, Parallel)):
        raise WebError("G048", f"'{rest}' is not a figure")
    return JSONResponse(figure_data(shown), headers=FOREVER)


def _html(store: Store, run: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return write(_page(store, run), Path(folder) / "report.html").read_bytes()


def _markdown(store: Store, run: str) -> bytes:
    """The report as Markdown with its figures, in one archive."""
    with tempfile.TemporaryDirectory() as folder:
        write(_page(store, run), Path(folder) / "report.md")
        return zipped(Path(folder))


def _json(store: Store, run: str) -> bytes:
    return json.dumps(store.run(run).result, indent=1).encode()


def zipped(folder: Path) -> bytes:
    """All files of a folder in one archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())
    return content.getvalue()


MADE: dict[str, tuple[str, Callable[[Store, str], bytes]]] = {
    "report.html": ("text/html; charset=utf-8", _html),
    "report.zip": ("application/zip", _markdown),
    "result.json": ("application/json", _json),
}


async def _exported(
    workbench: Workbench, store: Store, folder: str, run: str, file: str
) -> Response:
    """Curves or the model that was found: the study's own process makes them from the result."""
    summary = store.summary(run)
    study = f"{folder}/{summary.name}.toml" if folder else f"{summary.name}.toml"
    workbench.folder.existing(study)
    with tempfile.TemporaryDirectory() as place:
        args: dict[str, Any] = {"run": run, "what": file.partition(".")[0], "out": place}
        await workbench.desk(study).ask("export", **args)
        files = sorted(p for p in Path(place).rglob("*") if p.is_file())
        if file.endswith(".zip"):
            return _file(zipped(Path(place)), "application/zip", f"{summary.name}-{file}")
        return _file(files[0].read_bytes(), "text/plain; charset=utf-8", files[0].name)


def _file(content: bytes, kind: str, name: str) -> Response:
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{plain}"'}
    )
