"""`estimica report`: a document of stored runs, to be handed on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli.commands.runs import StorePath
from estimica.apps.cli.console import NOT_WRITTEN, print_json, print_line, reported, say
from estimica.apps.cli.delivery import (
    Written,
    requested_outputs,
    require_output_folder,
    require_outputs,
    written,
)
from estimica.apps.cli.options import AsJson
from estimica.base.errors import ReportError
from estimica.base.suggest import did_you_mean_file
from estimica.base.visible import is_visible

if TYPE_CHECKING:
    from estimica.base.view import Page
    from estimica.execute.runs.record import RunSummary
    from estimica.execute.runs.store import Store

SEPARATE = "pareto"  # a front is a chapter beside the one best design


@dataclass(frozen=True, eq=False)
class _Chapter:
    """A run and the page about it."""

    run: RunSummary
    page: Page


def report(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY|RUN...",
            help="Study files, of which the newest run of each command is taken, or runs.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The document, .html or .md; by default STUDY_report.html."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Write every figure into this folder as well.")
    ] = None,
    format: Annotated[str, typer.Option(help="Of the figures: svg, png or pdf.")] = "svg",
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Write one document about the stored runs of a study: HTML, Markdown, figures."""
    with reported("report", as_json):
        from estimica.apps.run_pictures import with_run_name
        from estimica.base.view import write, write_figures
        from estimica.report.matplotlib.files import require_format
        from estimica.report.write import join_pages

        require_outputs(page=out)
        require_output_folder(figures)
        if figures:
            require_format(format)
        chapters = _chapters(what, store)
        title = ", ".join(dict.fromkeys(c.run.name for c in chapters))
        page = join_pages(f"Report: {title}", [with_run_name(c.page, c.run) for c in chapters])
        path = out or (None if figures else Path(f"{_stem(chapters[0].run.name)}_report.html"))
    drawn = written(requested_outputs((figures, lambda f: write_figures(page, f, format))))
    document = written(requested_outputs((path, lambda p: write(page, p))))
    missing = (*drawn.missing, *document.missing)
    if as_json:
        print_json(_told(chapters, drawn, document))
    else:
        for c in chapters:
            say(f"run {c.run.id}  {c.run.title}  {c.run.command}  {c.run.name}")
        if drawn.files:
            say(f"wrote {len(drawn.files)} figures to {figures}")
        for file in document.files:
            print_line(str(file))
    for one in missing:
        say(f"error {one.code}: {one.message}")
    if missing:
        raise typer.Exit(NOT_WRITTEN)


def _told(chapters: list[_Chapter], drawn: Written, document: Written) -> dict[str, object]:
    message = "a document of " + ", ".join(c.run.command for c in chapters)
    missing = Written((), (*drawn.missing, *document.missing))
    return {
        "command": "report",
        "outcome": {"status": "not written" if missing.missing else "done", "message": message},
        "runs": [c.run.id for c in chapters],
        "out": str(document.files[0]) if document.files else None,
        "figures": [str(f) for f in drawn.files],
        **missing.to_dict(),
    }


def _stem(name: str) -> str:
    """The name of a run as that of a file here: a store from elsewhere may name a path."""
    plain = name.replace("\\", "/").rpartition("/")[2]
    return plain if plain.strip(".") and is_visible(plain) else "run"


def _chapters(what: list[str], store: Path | None) -> list[_Chapter]:
    from estimica.execute.runs.store import Store

    chapters: dict[str, _Chapter] = {}
    for one in what:
        path = Path(one)
        if path.suffix == ".toml" or os.path.isfile(path):
            own = _of_study(path, Store.of(path, store))
        else:
            own = [_of_run(one, Store.of(Path.cwd(), store))]
        chapters |= {c.run.id: c for c in own}
    return list(chapters.values())


def _of_study(path: Path, store: Store) -> list[_Chapter]:
    """The newest run of each command that has a page, in the order of reading."""
    from estimica.report.write import CHAPTER_ORDER

    if not os.path.isfile(path):
        hint = did_you_mean_file(path)
        raise ReportError("P027", f"there is no study file '{path}'{hint}")
    newest: dict[str, _Chapter] = {}
    for run in store.runs():
        page = _page(run.id, store) if run.name == path.stem else None
        if page is None:
            continue
        key = SEPARATE if page.title.startswith("Front") else run.command
        newest.setdefault(key, _Chapter(run, page))
    if not newest:
        raise ReportError(
            "P025",
            f"'{store.path}' holds no finished run of '{path.stem}'; begin with "
            f"`estimica fit {path}`",
        )
    order = {command: k for k, command in enumerate(CHAPTER_ORDER)}
    return sorted(newest.values(), key=lambda c: order.get(c.run.command, len(order)))


def _of_run(which: str, store: Store) -> _Chapter:
    from estimica.execute.runs.names import LAST

    if which == LAST:  # one that only began has nothing to report
        which = next((r.id for r in store.runs() if _page(r.id, store) is not None), which)
    run = store.run(which).summary
    page = _page(run.id, store)
    if page is None:
        why = "is still running" if run.status == "running" else "was stored without its page"
        raise ReportError(
            "P026", f"run '{run.id}' {why}; run `estimica {run.command}` again, or wait for it"
        )
    return _Chapter(run, page)


def _page(run: str, store: Store) -> Page | None:
    from estimica.base.view_json import page_from_json

    content = store.page(run)
    return None if content is None else page_from_json(content)
