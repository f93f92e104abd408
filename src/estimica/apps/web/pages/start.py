"""Start: the studies and runs of the folder, and the way to a new study."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from estimica.apps.web.files.folder import ListedFile
from estimica.apps.web.files.recent_runs import FolderRun, folder_of, recent_runs
from estimica.apps.web.parts.frame import frame, study_address, with_error_page
from estimica.apps.web.parts.runs import runs_table
from estimica.apps.web.session.workbench import Workbench
from estimica.base.files.read import read_text
from estimica.base.files.toml import TOML_LIMIT, load_toml

LONGEST = 48  # characters of a model's name on a card: one line of it


def register(workbench: Workbench) -> None:
    """Put the page in place."""

    @ui.page("/")
    @with_error_page(workbench)
    def start() -> None:
        with frame(workbench, "Studies"):
            with ui.row().classes("w-full items-center"):
                ui.label("Studies").classes("est-title")
                ui.space()
                ui.button(
                    "First guesses",
                    icon="straighten",
                    on_click=lambda: ui.navigate.to("/guess"),
                ).props("outline no-caps color=primary")
                ui.button("New study", icon="add", on_click=lambda: ui.navigate.to("/new")).props(
                    "unelevated no-caps"
                )
            listing = workbench.folder.studies()
            names = [f.name for f in listing]
            runs = recent_runs(workbench.folder, names).runs
            _studies(list(listing), runs)
            if listing.note:
                ui.label(listing.note).classes("est-soft")
            with ui.column().classes("est-card").props("id=runs"):
                ui.label("Runs").classes("est-h2")
                runs_table(workbench, names)


def _studies(studies: list[ListedFile], runs: list[FolderRun]) -> None:
    if not studies:
        with ui.column().classes("est-card est-empty items-center"):
            ui.icon("science", size="46px").classes("est-soft")
            ui.label("No study in this folder yet").classes("est-h2")
            ui.label(
                "A study joins a model, measured data and the parameters to be found. Give a model "
                "and a data file, and the workbench proposes the rest."
            ).style("max-width: 34em")
            ui.button("New study", icon="add", on_click=lambda: ui.navigate.to("/new")).props(
                "unelevated no-caps"
            )
        return
    with ui.element("div").classes("w-full grid gap-4 grid-cols-1 sm:grid-cols-2 lg:grid-cols-3"):
        for study in studies:
            _study(study, runs)


def _study(study: ListedFile, runs: list[FolderRun]) -> None:
    about = _about(study)
    stem = study.name.rpartition("/")[2].removesuffix(".toml")
    folder = folder_of(study.name)
    last = next((r for r in runs if (r.folder, r.run.name) == (folder, stem)), None)
    with (
        ui.link(target=study_address(study.name))
        .classes(replace="")
        .classes("est-card column no-wrap")
        .style("text-decoration: none; color: inherit; gap: 6px")
    ):
        ui.label(stem).classes("est-h2 ellipsis")
        ui.label(study.name).classes("est-soft est-mono ellipsis")
        ui.label(about).classes("est-soft")
        if last:
            with ui.row().classes("items-center gap-2"):
                ui.label(str(last.run.status)).classes(f"est-status {last.run.status}")
                cost = "" if last.run.cost is None else f", cost {last.run.cost:.6g}"
                ui.label(f"{last.run.command}{cost}").classes("est-soft")


def _about(study: ListedFile) -> str:
    """What a study consists of, in one line."""
    try:
        tables: dict[str, Any] = load_toml(read_text(study.path, "utf-8-sig", limit=TOML_LIMIT))
    except (OSError, ValueError, RecursionError):
        return "cannot be read as TOML"
    model = tables.get("model")
    model = model if isinstance(model, dict) else {}
    static = tables.get("static")
    law = next(iter(static.values()), "") if isinstance(static, dict) else ""
    name = str(model.get("class") or model.get("source") or law or "no model yet")
    name = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    tuners, cases = tables.get("tune", {}), tables.get("case", [])
    return f"{name} · {_many(tuners, 'tuner')} · {_many(cases, 'case')}"


def _many(found: object, word: str) -> str:
    count = len(found) if isinstance(found, (dict, list)) else 0
    return f"{count} {word}{'' if count == 1 else 's'}"
