"""Run: a run as it goes, and its result once it has ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from nicegui import ui

from estimica.apps.web.files.recent_runs import lasting, store_in, when
from estimica.apps.web.parts.carry import CarryOn, origin_line
from estimica.apps.web.parts.figure import Figure, Live
from estimica.apps.web.parts.frame import frame, with_error_page
from estimica.apps.web.parts.markup import downloads, fragment, unbroken
from estimica.apps.web.parts.notifications import notify_error
from estimica.apps.web.parts.run_name import RunName
from estimica.apps.web.parts.runs import DESIGNING, FITTING, FOLLOWING, PREDICTING, offered_commands
from estimica.apps.web.session.page_words import COMMAND_TABLES, in_page_words
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError
from estimica.base.view import Bars, Curves, Heat, Page, Parallel, Section, Table
from estimica.base.view_json import page_from_json
from estimica.execute.runs.record import RunSummary, Status
from estimica.execute.runs.store import Store

WORDS = {command: word for command, word, *_ in (*FITTING, *PREDICTING, *FOLLOWING, *DESIGNING)}
#: what is one click away from a result
NEXT = {
    "fit": (
        "release",
        "bootstrap",
        "profile",
        "sample",
        "identifiability",
        "residuals",
        "crossvalidate",
    ),
    "optimise": ("sweep", "montecarlo"),
    "sweep": ("optimise", "montecarlo"),
    "montecarlo": ("optimise", "sweep"),
}


def register(workbench: Workbench) -> None:
    """Put the page in place."""

    @ui.page("/runs/{path:path}")
    @with_error_page(workbench)
    def run(path: str) -> None:
        folder, _, name = path.rpartition("/")
        store = store_in(workbench.folder, folder)
        summary = store.summary(name)
        desk = _desk(workbench, folder, summary.name)
        with frame(workbench, f"{summary.title} of {summary.name}", desk, "runs"):
            _head(workbench, folder, summary)
            if summary.status is Status.RUNNING:
                _going(workbench, folder, summary)
            else:
                _result(workbench, store, folder, summary, desk)


def _desk(workbench: Workbench, folder: str, name: str) -> StudySession | None:
    """The study of a run, where it is still there."""
    try:
        study = f"{folder}/{name}.toml" if folder else f"{name}.toml"
        workbench.folder.existing(study)
        return workbench.desk(study)
    except EstimicaError:
        return None


def _head(workbench: Workbench, folder: str, summary: RunSummary) -> None:
    with ui.row().classes("w-full items-center"):
        plain = summary.command.replace("-", " ").capitalize()
        what = COMMAND_TABLES.get(summary.command, plain)
        title = f"{what} of {summary.name}"
        ui.label(title).classes("est-title").style("overflow-wrap: anywhere")
        if summary.status is not Status.RUNNING:  # what is live says so itself
            ui.label(str(summary.status)).classes(f"est-status {summary.status}")
    RunName(workbench, folder, summary).show()
    took = f", took {lasting(summary.seconds)}" if summary.seconds is not None else ""
    ui.label(f"Run {summary.id}, began {when(summary.started)}{took}").classes("est-soft")


def _going(workbench: Workbench, folder: str, summary: RunSummary) -> None:
    with ui.column().classes("est-card"):
        Live(live_address(folder, summary.id), ui.navigate.reload)

        def stop() -> None:
            job = workbench.jobs.job_of(summary.id)
            if job is None:
                ui.notify("This run was begun elsewhere: stop it there, with Ctrl-C.")
                return
            try:
                workbench.jobs.cancel(job.id)
                ui.notify("It ends in order; the best so far is kept.")
            except EstimicaError as error:
                notify_error(error)

        ui.button("Stop and keep the best so far", icon="stop", on_click=stop).props(
            "outline no-caps color=negative"
        )


def live_address(folder: str, run: str) -> str:
    """The stream of a run."""
    return f"/live/{quote(folder)}/{quote(run)}" if folder else f"/live/{quote(run)}"


def _result(
    workbench: Workbench, store: Store, folder: str, summary: RunSummary, desk: StudySession | None
) -> None:
    if summary.message and summary.status is not Status.DONE:
        with ui.row().classes("est-card items-center no-wrap"):
            ui.icon("info", size="22px").classes("est-warn")
            ui.label(in_page_words(summary.message))
    kept = store.page(summary.id)
    base = f"/results/{quote(folder)}/{summary.id}" if folder else f"/results/{summary.id}"
    with ui.row().classes("gap-2 items-center"):
        if kept:
            ui.label("Download").classes("est-soft")
        for word, icon, file in _downloads(summary.command, desk) if kept else ():
            button = ui.button(word, icon=icon).props("flat no-caps color=primary dense")
            downloads(button, f"{base}/{file}").tooltip(f"Download {file}")
    found = _found(store, summary.id)
    origin_line(folder, found)
    if desk:
        following = NEXT.get(summary.command, ())
        if summary.command == "fit":
            known = {command for command, *_ in offered_commands(desk)}
            later = (*PREDICTING, *FOLLOWING)
            following += tuple(c for c, *_ in later if c in known and c not in following)
        CarryOn(workbench, desk, summary.id, found).show(WORDS, following)
    if kept is None:
        with ui.column().classes("est-card est-empty"):
            ui.label("No page was kept of this run.").classes("est-h2")
            ui.label("Runs that end in an error, or were made by an older version, have none.")
        return
    page_view(page_from_json(kept), f"{base}/figures")


def _found(store: Store, run: str) -> Mapping[str, Any]:
    """The result as it is stored; nothing where it is damaged, as its page may still be whole."""
    try:
        return store.run(run).result
    except EstimicaError:
        return {}


def _downloads(command: str, desk: StudySession | None) -> list[tuple[str, str, str]]:
    """Word, icon and file of what can be taken away."""
    files = [
        ("Report", "description", "report.html"),
        ("Markdown", "notes", "report.zip"),
        ("JSON", "data_object", "result.json"),
    ]
    if command == "fit":
        files.append(("CSV", "table_view", "curves.zip"))
    file = {"fit": "fitted.mo", "optimise": "tuned.mo"}.get(command)
    if file and (desk is None or is_modelica(desk.value(("model", "source")))):
        files.append(("Modelica", "code", file))
    return files


def is_modelica(source: object) -> bool:
    """Whether the source of a model is a Modelica file, or a class of a library by its name, with
    a modification or without."""
    if not isinstance(source, str) or source.endswith((".fmu", ".py", ".bmo")):
        return False
    named = re.fullmatch(r"[^\W\d]\w*(\.\w+)+\s*(\(.*\))?\s*", source, re.DOTALL)
    return source.endswith(".mo") or named is not None


def page_view(page: Page, figures: str) -> None:
    """All sections; figures are fetched from `figures`/section/number when they come near."""
    if page.lead:
        ui.label(in_page_words(page.lead)).classes("est-lead")
    for k, section in enumerate(page.sections):
        _section(section, f"{figures}/{k}")


#: what whoever asked knows already; a report has it in full
FOLDED = ("What was asked", "Settings of the search", "To repeat this")


def _section(section: Section, figures: str) -> None:
    if section.heading in FOLDED:
        with ui.expansion(section.heading).classes("est-card est-fold").props("dense"):
            _content(section, figures)
        return
    with ui.column().classes("est-card"):
        ui.label(section.heading).classes("est-h2").props("role=heading aria-level=2")
        _content(section, figures)


def _content(section: Section, figures: str) -> None:
    with ui.column().classes("w-full gap-2"):
        for paragraph in filter(str.strip, section.text.split("\n\n")):
            text = unbroken(in_page_words(paragraph))
            ui.label(text).style("white-space: pre-line; max-width: 70em")
        for k, shown in enumerate(section.shown):
            if isinstance(shown, (Curves, Heat, Bars, Parallel)):
                Figure(src=f"{figures}/{k}.json", label=section.heading)
            else:
                fragment(
                    replace(shown, note=in_page_words(shown.note))
                    if isinstance(shown, Table)
                    else shown
                )
