"""Names: what a study's model and data offer for fields, asked once and kept by the desk."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from nicegui import ui

from estimica.apps.web.files.recent_runs import folder_of
from estimica.apps.web.parts.class_tree import models_in
from estimica.apps.web.session.page_words import in_page_words
from estimica.apps.web.session.study import StudySession
from estimica.base.errors import EstimicaError


async def quantities(desk: StudySession) -> list[dict[str, Any]]:
    """Parameters and variables of the model; none where it cannot be loaded."""
    try:
        known: list[dict[str, Any]] = (await desk.model())["quantities"]
        return known
    except EstimicaError:
        return []


async def model_note(desk: StudySession) -> None:
    """Say so where the model cannot be loaded, since its names cannot be offered then."""
    try:
        await desk.model()
    except EstimicaError as error:
        with ui.row().classes("est-card items-start no-wrap gap-2"):
            ui.icon("warning", size="20px").classes("est-warn")
            with ui.column().classes("gap-0"):
                ui.label("The model cannot be loaded, so this page cannot offer its names.")
                ui.label(in_page_words(error.message)).classes("est-soft est-pre")


async def equations(desk: StudySession) -> tuple[list[str], int]:
    """Equations of the model to choose from, and how many there are; none where it has none."""
    try:
        answer = await desk.ask("equations")
        return list(answer["equations"]), int(answer["count"])
    except EstimicaError:
        return [], 0


def equations_note(offered: int, count: int) -> None:
    """Say so where a list is not the whole."""
    if count > offered:
        ui.label(
            f"The model has {count} equations; the first {offered} are offered to be left out, "
            "any other can be typed."
        ).classes("est-soft")


async def quantity_of(desk: StudySession, name: str) -> dict[str, Any]:
    """What the model says of a name; nothing where it does not know it."""
    return next((q for q in await quantities(desk) if q["name"] == name), {})


async def suggestions(desk: StudySession, columns: list[str] | None = None) -> dict[str, list[str]]:
    """What fields offer: names of the model, columns, files, and names of the study itself."""
    known = await quantities(desk)

    def names(*roles: str) -> list[str]:
        return [q["name"] for q in known if q["role"] in roles]

    return {
        "parameter": names("parameter", "constant"),
        "variable": [q["name"] for q in known if q["role"] not in ("parameter", "constant")],
        "input": names("input"),
        "state": names("state"),
        "output": [q["name"] for q in known if q.get("output")],
        "column": columns or [],
        "data": nearby(desk, [f.name for f in desk.folder.data_files()]),
        "model": nearby(desk, [f.name for f in desk.folder.models()]),
        "class": await asyncio.to_thread(_classes, desk),
        "tuner": list(desk.table(("tune",))),
        "case": _named(desk, "case"),
        "criterion": _named(desk, "criterion"),
    }


def _classes(desk: StudySession) -> list[str]:
    """Classes of the file that the study names as its model."""
    source = desk.value(("model", "source"))
    if not isinstance(source, str) or not source.endswith(".mo"):
        return []
    try:
        inside = desk.folder.existing(
            os.path.normpath(f"{folder_of(desk.name)}/{source}").lstrip("/")
        )
    except EstimicaError:
        return []
    return models_in(inside)


def nearby(desk: StudySession, files: list[str]) -> list[str]:
    """Files beside a study or below, as the study names them."""
    folder = desk.name.rpartition("/")[0]
    inside = [n for n in files if not folder or n.startswith(f"{folder}/")]
    return [n.removeprefix(f"{folder}/") for n in inside]


def _named(desk: StudySession, table: str) -> list[str]:
    return [str(e["name"]) for e in desk.entries((table,)) if "name" in e]
