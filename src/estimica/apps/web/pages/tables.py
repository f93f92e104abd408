"""Tables: the form of one table of a study, such as [estimate]; of several, as [[criterion]],
a list and a page each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count

from nicegui import ui

from estimica.apps.web.parts.form import FormView
from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.parts.notifications import try_or_notify
from estimica.apps.web.parts.runs import command_of, run_button
from estimica.apps.web.parts.suggestions import equations, equations_note, suggestions
from estimica.apps.web.session.page_words import COMMAND_TABLES, in_page_words
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import WebError
from estimica.study.form.fields import text_from_value

TABLES = ("estimate", "solver", "execute", "static", "reading", *COMMAND_TABLES)


async def show_table(workbench: Workbench, desk: StudySession, name: str) -> None:
    """The fields of the table and what they mean."""
    form = desk.form((name,))
    with ui.row().classes("w-full items-center"):
        ui.label(form.title).classes("est-title")
        ui.space()
        run_button(workbench, desk, name)
    command = command_of(name)
    about = command[3] if command else in_page_words(form.description)
    if about:
        ui.label(about).classes("est-lead")
    known = await suggestions(desk)
    count = 0
    if any(f.item and f.item.offers == "equation" for f in form.fields):
        known["equation"], count = await equations(desk)
    with ui.column().classes("est-card"):
        FormView(desk, (name,), form, known).show()
        equations_note(len(known.get("equation", ())), count)
    if name in desk.tables:

        def away() -> None:
            if try_or_notify(lambda: desk.remove((name,))):
                ui.navigate.reload()

        ui.button("Back to the defaults", icon="restart_alt", on_click=away).props(
            "flat no-caps color=primary"
        ).tooltip("Takes all of these settings out of the study")


TITLES = {"criterion": ("Criteria", "criterion"), "indicator": ("Indicators", "indicator")}


def show_of(table: str) -> Callable[[Workbench, StudySession, str], Awaitable[None]]:
    """The pages of one such table."""

    async def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
        if rest:
            await _one(desk, table, rest)
        else:
            _all(desk, table)

    return show


def _all(desk: StudySession, table: str) -> None:
    title, word = TITLES[table]
    ui.label(title).classes("est-title")
    ui.label(in_page_words(desk.form((table, "*")).description)).classes("est-lead")
    entries = desk.entries((table,))
    with ui.column().classes("est-card"):
        if not entries:
            ui.label(f"No {word} yet.").classes("est-empty")
        for k, entry in enumerate(entries):
            with ui.row().classes("w-full items-center"):
                ui.link(
                    str(entry.get("name", f"{word} {k + 1}")),
                    study_address(desk.name, f"{table}/{k}"),
                )
                about = ", ".join(
                    f"{n} {text_from_value(v)}" for n, v in entry.items() if n != "name"
                )
                ui.label(about).classes("est-soft").style("overflow-wrap: anywhere")

        def add() -> None:
            taken = {e.get("name") for e in entries}
            name = next(n for k in count(1) if (n := f"{word} {k}") not in taken)
            if try_or_notify(lambda: desk.append((table,), {"name": name})):
                ui.navigate.to(study_address(desk.name, f"{table}/{len(entries)}"))

        ui.button(
            f"Add {'an' if word[0] in 'aeiou' else 'a'} {word}", icon="add", on_click=add
        ).props("flat no-caps color=primary")


async def _one(desk: StudySession, table: str, rest: str) -> None:
    if not rest.isdecimal() or int(rest) >= len(desk.entries((table,))):
        raise WebError("G009", f"the study has no {TITLES[table][1]} number '{rest}'")
    place = (table, int(rest))
    ui.label(str(desk.value((*place, "name"), TITLES[table][1]))).classes("est-title")
    form = desk.form((table, "*"))
    ui.label(in_page_words(form.description)).classes("est-lead")
    with ui.column().classes("est-card"):
        FormView(desk, place, form, await suggestions(desk)).show()

    def away() -> None:
        if try_or_notify(lambda: desk.remove(place)):
            ui.navigate.to(study_address(desk.name, table))

    ui.button("Remove", icon="delete", on_click=away).props("flat no-caps color=negative")
