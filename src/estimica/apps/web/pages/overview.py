"""Overview: what a study asks, whether it can run, the commands, and what came out last."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from estimica.apps.web.parts.commands import commands
from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.parts.problems import problems_card
from estimica.apps.web.parts.runs import runs_table
from estimica.apps.web.parts.trust import trust_card
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench


async def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """The study at a glance."""
    stem = desk.path.stem
    with ui.row().classes("w-full items-center"):
        ui.label(stem).classes("est-title")
    ui.label(in_words(desk.tables)).classes("est-lead")
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


def in_words(tables: dict[str, Any]) -> str:
    """What the study asks, in a sentence."""
    tuners = [n for n, t in _table(tables, "tune").items() if not _off(t)]
    cases = [c for c in _list(tables, "case") if not _off(c)]
    fitted = [c for c in cases if c.get("role", "calibrate") == "calibrate"]
    tried = len(cases) - len(fitted)
    if not tuners:
        return "Nothing is searched yet: choose the parameters to be found."
    found = _listed(tuners)
    if _list(tables, "criterion"):
        wanted = len(_list(tables, "criterion"))
        return f"Find {found} so that {wanted} criteria of the design are as good as can be."
    if not fitted:
        return f"Find {found}; there is no case to find them from yet."
    names = _listed([str(c.get("name", "")) for c in fitted])
    text = f"Find {found} so that the model agrees with {names}"
    return text + (f", and try the result on {tried} more." if tried else ".")


def _listed(names: list[str]) -> str:
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _table(tables: dict[str, Any], name: str) -> dict[str, Any]:
    found = tables.get(name, {})
    return found if isinstance(found, dict) else {}


def _list(tables: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = tables.get(name, [])
    return [e for e in found if isinstance(e, dict)] if isinstance(found, list) else []


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
            ui.label(text + (f"  ({' … '.join(bounds)})" if bounds else "")).classes("est-mono")
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
