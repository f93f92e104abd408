"""Trusting: a study that would run Python or an FMU asks before it does."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from nicegui import ui

from estimica.apps.web.parts.notifications import notify_error
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError
from estimica.study.file.trust import NamedCode, untrusted_code

ABOUT = (
    "This study runs code on the machine of the workbench, with all that its user may do. Agree "
    "only if you know where these files come from. A file that changes is asked about again."
)
CODE = (
    "The terminal in which the workbench was started shows a code now, with these files: type it "
    "here. Whoever cannot see that terminal cannot agree."
)
AGAIN = "G024"  # the code was wrong, and there are tries left

Look = Callable[[], tuple[NamedCode, ...]]
Go = Callable[[], Awaitable[None] | None]


async def when_trusted(workbench: Workbench, desk: StudySession, go: Go) -> None:
    """Do something, after asking where foreign code would run."""
    codes = await asyncio.to_thread(workbench.listing.untrusted, desk.path)
    await ask_first(workbench, desk.name, codes, lambda: untrusted_code(desk.path), go)


async def ask_first(
    workbench: Workbench, study: str, codes: tuple[NamedCode, ...], look: Look, go: Go
) -> None:
    """Do something at once where there is no foreign code, otherwise if the user agrees.

    `look` finds the code once more, when it is agreed to.
    """
    if codes:
        ApprovalDialog(workbench, study, codes, look, go).show()
    else:
        await _done(go)


async def trust_card(workbench: Workbench, desk: StudySession) -> bool:
    """A card that asks, in the place of what cannot be shown yet; whether it is there."""
    codes = await asyncio.to_thread(workbench.listing.untrusted, desk.path)
    if not codes:
        return False

    async def agree() -> None:
        await when_trusted(workbench, desk, ui.navigate.reload)

    with ui.column().classes("est-card"):
        with ui.row().classes("items-center"):
            ui.icon("gpp_maybe", size="26px").classes("est-warn")
            ui.label("Run code of this study?").classes("est-h2")
        _listed(workbench, codes)
        ui.button("Agree …", on_click=agree).props("outline no-caps color=negative")
    return True


class ApprovalDialog:
    """The dialog of one question: the files, and a field for the code that the terminal shows."""

    def __init__(
        self, workbench: Workbench, study: str, codes: tuple[NamedCode, ...], look: Look, go: Go
    ) -> None:
        self.workbench, self.study = workbench, study
        self.codes, self.look, self.go = codes, look, go
        self.busy = False  # with an answer: a second click is none

    def show(self) -> None:
        """Ask; the code is printed now."""
        try:
            self.token = self.workbench.agreements.ask(self.study, self.codes)
        except EstimicaError as error:
            notify_error(error)
            return
        with ui.dialog().props("persistent") as self.dialog, ui.card().classes("gap-3 est-ask"):
            with ui.row().classes("items-center gap-2 no-wrap"):
                ui.icon("gpp_maybe", size="26px").classes("est-warn")
                ui.label("Run code of this study?").classes("est-h2")
            _listed(self.workbench, self.codes)
            ui.label(CODE).style("max-width: 46em")
            self.box = ui.input("Code", placeholder="ABC-DEF").props(
                "outlined dense autofocus autocomplete=off spellcheck=false hide-bottom-space "
                "maxlength=12 input-class=est-code"
            )
            self.box.classes("w-64").on("keydown.enter", self.agree)
            command = f"estimica trust {self.study.rpartition('/')[2]}"
            with ui.column().classes("gap-0"):
                ui.label("Or agree at any terminal, in the folder of the study, with").classes(
                    "est-soft"
                )
                ui.label(command).classes("est-mono")
            with ui.row().classes("w-full justify-end"):
                ui.button("No", on_click=self.refuse).props("flat no-caps color=primary")
                ui.button("I trust these files", on_click=self.agree).props(
                    "unelevated no-caps color=negative"
                )
        self.dialog.open()

    def refuse(self) -> None:
        """Close it; the code is worth nothing any more."""
        self.workbench.agreements.withdraw(self.token)
        self.dialog.close()

    async def agree(self) -> None:
        """Take the code, and go on where it is the right one."""
        if self.busy:
            return
        self.busy = True
        try:
            now = await asyncio.to_thread(self.look)
            self.workbench.agreements.answer(self.token, self.box.value or "", now)
        except EstimicaError as error:
            if error.code == AGAIN:
                self.box.props["error"], self.box.props["error-message"] = True, error.message
                self.box.update()
                return
            self.dialog.close()
            notify_error(error)
            return
        finally:
            self.busy = False
        self.dialog.close()
        await _done(self.go)


async def _done(go: Go) -> None:
    work = go()
    if inspect.isawaitable(work):
        await work


def _listed(workbench: Workbench, codes: tuple[NamedCode, ...]) -> None:
    ui.label(ABOUT).classes("est-soft").style("max-width: 46em")
    for code in codes:
        inside = workbench.folder.holds(code.path)
        name = workbench.folder.name_of(code.path) if inside else code.path.name
        ui.label(f"{name} ({code.kind}, sha256 {code.sha256[:16]}…)").classes("est-mono")
