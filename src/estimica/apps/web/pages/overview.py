"""Overview: what a study asks, whether it can run, the commands, and what came out last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.parts.landing import field_address
from estimica.apps.web.parts.markup import unbroken
from estimica.apps.web.parts.notifications import try_or_notify
from estimica.apps.web.parts.runs import commands, runs_table
from estimica.apps.web.parts.trust import trust_card
from estimica.apps.web.session.page_words import in_page_words, page_title
from estimica.apps.web.session.study import Place, StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError
from estimica.base.problems import Fix
from estimica.study.file.located import LocatedProblem


async def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """The study at a glance."""
    stem = desk.path.stem
    with ui.row().classes("w-full items-center"):
        ui.label(stem).classes("est-title")
    ui.label(in_words(desk.tables)).classes("est-lead")
    _notes(desk)
    commands(workbench, desk)
    if not await trust_card(workbench, desk):
        problems_card(desk)
    with ui.element("div").classes("w-full grid gap-4 grid-cols-1 md:grid-cols-3"):
        _model(desk)
        _tuners(desk)
        _cases(desk)
    with ui.column().classes("est-card"):
        ui.label("Runs").classes("est-h2")
        runs_table(workbench, [desk.name], name=stem)


def _notes(desk: StudySession) -> None:
    """What a proposed study may be wrong in, until somebody has looked at it."""
    if not desk.notes:
        return

    def seen() -> None:
        desk.notes = ()
        card.delete()

    card = ui.column().classes("est-card")
    with card:
        ui.label("Look at this first").classes("est-h2")
        for note in desk.notes:
            ui.label(in_page_words(note)).style("white-space: pre-wrap")
        with ui.row().classes("items-center"):
            ui.link("Columns of the cases", study_address(desk.name, "case"))
            ui.link("Tuners", study_address(desk.name, "tune"))
            ui.button("I have seen it", on_click=seen).props("flat dense no-caps")


def in_words(tables: dict[str, Any]) -> str:
    """What the study asks, in a sentence."""
    tuners = [n for n, t in _table(tables, "tune").items() if not _off(t)]
    cases = [c for c in _list(tables, "case") if not _off(c)]
    fitted = [c for c in cases if c.get("role", "calibrate") == "calibrate"]
    tried = len(cases) - len(fitted)
    if not tuners:
        return "Nothing is searched yet: choose the parameters to be found."
    searched = _listed(tuners)
    if _list(tables, "criterion"):
        wanted = len(_list(tables, "criterion"))
        return f"Find {searched} so that {wanted} criteria of the design are as good as can be."
    if not fitted:
        return f"Find {searched}; there is no case to find them from yet."
    names = _listed([str(c.get("name", "")) for c in fitted])
    text = f"Find {searched} so that the model agrees with {names}"
    return text + (f", and try the result on {tried} more." if tried else ".")


def _listed(names: list[str]) -> str:
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _table(tables: dict[str, Any], name: str) -> dict[str, Any]:
    table = tables.get(name, {})
    return table if isinstance(table, dict) else {}


def _list(tables: dict[str, Any], name: str) -> list[dict[str, Any]]:
    entries = tables.get(name, [])
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def _off(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("active") is False


def _card(title: str, address: str) -> ui.column:
    card = ui.column().classes("est-card")
    with card, ui.row().classes("w-full items-center"):
        ui.label(title).classes("est-h2")
        ui.space()
        ui.link("Edit", address).classes("est-soft")
    return card


def _model(desk: StudySession) -> None:
    model = _table(desk.tables, "model")
    with _card("Model", study_address(desk.name, "model")):
        ui.label(str(model.get("class") or model.get("source") or "none yet")).classes("est-mono")
        if model.get("class"):
            ui.label(str(model.get("source", ""))).classes("est-soft est-mono")
        fixed = _table(model, "fix")
        if fixed:
            ui.label("fixed: " + ", ".join(f"{n} = {v}" for n, v in fixed.items())).classes(
                "est-soft"
            )


def _tuners(desk: StudySession) -> None:
    tuners = _table(desk.tables, "tune")
    with _card("Tuners", study_address(desk.name, "tune")), ui.column().classes("gap-0"):
        for name, entry in list(tuners.items())[:8]:
            full = entry if isinstance(entry, dict) else {"start": entry}
            bounds = [
                f"{full[k]:g}" for k in ("min", "max") if isinstance(full.get(k), (int, float))
            ]
            start = full.get("start")
            text = f"{name} = {start:g}" if isinstance(start, (int, float)) else name
            line = text + (f"  ({' … '.join(bounds)})" if bounds else "")
            ui.label(unbroken(line)).classes("est-mono")
        if len(tuners) > 8:
            ui.label(f"and {len(tuners) - 8} more").classes("est-soft")


def _cases(desk: StudySession) -> None:
    with _card("Cases", study_address(desk.name, "case")), ui.column().classes("gap-1"):
        for case in _list(desk.tables, "case")[:8]:
            ui.label(str(case.get("name", "?")))
            role = case.get("role", "calibrate")
            outputs = ", ".join(_table(case, "outputs"))
            parts = [
                str(role) if case.get("data") else "",
                str(case.get("data", "no data")),
                outputs,
            ]
            ui.label(" · ".join(filter(None, parts))).classes("est-soft")
        rest = len(_list(desk.tables, "case")) - 8
        if rest > 0:
            ui.label(f"and {rest} more").classes("est-soft")


def problems_card(
    desk: StudySession, wanted: Callable[[LocatedProblem], bool] | None = None
) -> None:
    """A card that checks the study with its model and data, and again after every edit.

    With `wanted` it shows only such problems, and nothing at all where there are none.
    """
    card = ui.column().classes("est-card").style("gap: 6px")
    ended = {"is": False}

    def end() -> None:
        ended["is"] = True

    async def look() -> None:
        text = desk.text
        with card:
            card.clear()
            card.set_visibility(wanted is None)
            with ui.row().classes("items-center"):
                ui.spinner(size="sm")
                ui.label("Checking model and data …").classes("est-soft")
        try:
            problems = await desk.check()
        except EstimicaError as error:
            problems = (LocatedProblem((), error.code, error.message),)
        if ended["is"] or text != desk.text:
            return
        card.clear()
        problems = tuple(p for p in problems if wanted is None or wanted(p))
        card.set_visibility(wanted is None or bool(problems))
        with card:
            _shown(desk, problems)

    # beside the card, not in it: a timer ends with what it stands in, and the card is cleared
    around = ui.column().classes("hidden")

    def changed() -> None:
        with around:
            ui.timer(0.05, look, once=True)

    stop = desk.listen(changed)
    ui.context.client.on_delete(stop)
    ui.context.client.on_delete(end)
    changed()


_ICON_CLASSES = {"info": "est-soft", "warning": "est-warn", "error": "est-bad"}


def _shown(desk: StudySession, problems: tuple[LocatedProblem, ...]) -> None:
    errors = [p for p in problems if not p.warning]
    if not problems:
        with ui.row().classes("items-center gap-2"):
            ui.icon("check_circle", size="22px").classes("est-good")
            ui.label("The study is in order: it can run.")
        return
    if errors:
        count = len(errors)
        ui.label(f"{count} thing{'s' if count > 1 else ''} to fix before it can run").classes(
            "est-h2"
        )
    warnings = sorted((p for p in problems if p.warning), key=lambda p: p.note)
    for problem in [*errors, *warnings]:
        with ui.row().classes("items-start no-wrap gap-2 w-full"):
            kind = "info" if problem.note else "warning" if problem.warning else "error"
            ui.icon(kind, size="20px").classes(_ICON_CLASSES[kind])
            with ui.column().classes("gap-0"):
                where = place_in_words(desk, problem.place)
                message = in_page_words(problem.message.replace(f"{desk.folder.root}/", ""))
                ui.label(f"{where}: {message}" if where else message).classes("est-pre")
                if problem.suggestion:
                    ui.label(in_page_words(problem.suggestion)).classes("est-soft")
                _fix_buttons(desk, problem)
            ui.space()
            ui.link("Fix", field_address(desk.name, problem.place)).classes("est-soft")


def _fix_buttons(desk: StudySession, problem: LocatedProblem) -> None:
    """A button for each edit that cures it."""

    def make(fix: Fix) -> None:
        if try_or_notify(lambda: desk.fix(problem, fix)):
            ui.notify("Written into the study; Undo takes it back.")

    with ui.row().classes("gap-2 empty:hidden"):
        for fix in problem.fixes:
            button = ui.button(fix.label, icon="build", on_click=lambda f=fix: make(f))
            button.props("outline dense no-caps size=sm color=primary")


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
        words = page_title(str(head))
    return ", ".join([words, *map(str, rest)])
