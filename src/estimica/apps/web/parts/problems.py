"""Problems: what is wrong with a study, each with the way to where it can be fixed."""

from __future__ import annotations

from nicegui import ui

from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.session.study import Place, StudySession
from estimica.base.errors import EstimicaError
from estimica.study.file.located import LocatedProblem


def problems_card(desk: StudySession) -> None:
    """A card that checks the study with its model and data, and again after every edit."""
    card = ui.column().classes("est-card").style("gap: 6px")
    ended = {"is": False}

    def end() -> None:
        ended["is"] = True

    async def look() -> None:
        text = desk.text
        with card:
            card.clear()
            with ui.row().classes("items-center"):
                ui.spinner(size="sm")
                ui.label("Checking model and data …").classes("est-soft")
        try:
            found = await desk.check()
        except EstimicaError as error:
            found = (LocatedProblem((), error.code, error.message),)
        if ended["is"] or text != desk.text:
            return
        card.clear()
        with card:
            _shown(desk, found)

    # beside the card, not in it: a timer ends with what it stands in, and the card is cleared
    around = ui.column().classes("hidden")

    def changed() -> None:
        with around:
            ui.timer(0.05, look, once=True)

    stop = desk.listen(changed)
    ui.context.client.on_delete(stop)
    ui.context.client.on_delete(end)
    changed()


def _shown(desk: StudySession, found: tuple[LocatedProblem, ...]) -> None:
    errors = [p for p in found if not p.warning]
    if not found:
        with ui.row().classes("items-center gap-2"):
            ui.icon("check_circle", size="22px").classes("est-good")
            ui.label("The study is in order: it can run.")
        return
    if errors:
        count = len(errors)
        ui.label(f"{count} thing{'s' if count > 1 else ''} to fix before it can run").classes(
            "est-h2"
        )
    for problem in [*errors, *(p for p in found if p.warning)]:
        with ui.row().classes("items-start no-wrap gap-2 w-full"):
            ui.icon("warning" if problem.warning else "error", size="20px").classes(
                "est-warn" if problem.warning else "est-bad"
            )
            with ui.column().classes("gap-0"):
                where = place_in_words(desk, problem.place)
                told = problem.message.replace(f"{desk.folder.root}/", "")
                ui.label(f"{where}: {told}" if where else told).classes("est-pre")
                if problem.suggestion:
                    ui.label(problem.suggestion).classes("est-soft")
            ui.space()
            at = address_of(problem.place)
            if at:
                ui.link("Fix", study_address(desk.name, at)).classes("est-soft")


def place_in_words(desk: StudySession, place: Place) -> str:
    """A place as the user knows it: the tuner, the case by its name, the table, the field."""
    if not place:
        return ""
    head, *rest = place
    if head == "tune" and rest:
        words, rest = f"tuner {rest[0]}", rest[1:]
    elif len(rest) and isinstance(rest[0], int):
        name = desk.value((head, rest[0], "name"), rest[0] + 1)
        words, rest = f"{head} {name}", rest[1:]
    else:
        words = f"[{head}]"
    return ", ".join([words, *map(str, rest)])


def address_of(place: Place) -> str:
    """The page on which a place can be edited; the text itself where it is about all of it."""
    if not place:
        return "file"
    if place[0] in ("tune", "case", "criterion", "indicator") and len(place) > 1:
        return f"{place[0]}/{place[1]}"
    return str(place[0])
