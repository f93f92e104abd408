"""Trusting: a study that would run Python or an FMU asks before it does."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from estimica.apps.web.desk import Desk
from estimica.apps.web.telling import told
from estimica.apps.web.workbench import Workbench
from estimica.base.errors import EstimicaError
from estimica.study.trust import Code, Trust, untrusted

ABOUT = (
    "This study runs code on the machine of the workbench, with all that its user may do. Agree "
    "only if you know where these files come from. A file that changes is asked about again."
)


def when_trusted(workbench: Workbench, desk: Desk, go: Callable[[], None]) -> None:
    """Do something, after asking where foreign code would run."""
    ask_first(workbench, untrusted(desk.path), go)


def ask_first(workbench: Workbench, codes: tuple[Code, ...], go: Callable[[], None]) -> None:
    """Do something at once where there is no foreign code, otherwise if the user agrees."""
    if not codes:
        go()
        return
    with ui.dialog().props("persistent") as dialog, ui.card().classes("gap-2"):
        ui.label("Run code of this study?").classes("est-h2")
        _listed(workbench, codes)
        with ui.row().classes("w-full justify-end"):
            ui.button("No", on_click=dialog.close).props("flat no-caps color=primary autofocus")

            def agree() -> None:
                dialog.close()
                if _agree(codes):
                    go()

            ui.button("I trust these files", on_click=agree).props(
                "unelevated no-caps color=negative"
            )
    dialog.open()


def trust_card(workbench: Workbench, desk: Desk) -> bool:
    """A card that asks, in the place of what cannot be shown yet; whether it is there."""
    codes = untrusted(desk.path)
    if not codes:
        return False
    with ui.column().classes("est-card"):
        with ui.row().classes("items-center"):
            ui.icon("gpp_maybe", size="26px").classes("est-warn")
            ui.label("Run code of this study?").classes("est-h2")
        _listed(workbench, codes)

        def agree() -> None:
            if _agree(codes):
                ui.navigate.reload()

        ui.button("I trust these files", on_click=agree).props("unelevated no-caps color=negative")
    return True


def _listed(workbench: Workbench, codes: tuple[Code, ...]) -> None:
    ui.label(ABOUT).classes("est-soft").style("max-width: 46em")
    for code in codes:
        inside = workbench.folder.holds(code.path)
        name = workbench.folder.name_of(code.path) if inside else code.path.name
        ui.label(f"{name} ({code.kind}, sha256 {code.sha256[:16]}…)").classes("est-mono")


def _agree(codes: tuple[Code, ...]) -> bool:
    try:
        Trust().add(codes)
    except EstimicaError as error:
        told(error)
        return False
    return True
