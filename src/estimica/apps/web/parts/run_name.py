"""RunName: what a run is called, changed where it stands."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from estimica.apps.web.files.recent_runs import run_address, store_in
from estimica.apps.web.parts.notifications import notify_error
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError
from estimica.execute.runs.names import LONGEST
from estimica.execute.runs.record import RunSummary


class RunName:
    """The name with a pencil; a click on it makes a field, Enter keeps what was typed."""

    def __init__(
        self,
        workbench: Workbench,
        folder: str,
        run: RunSummary,
        *,
        linked: bool = False,
        typing: Callable[[bool], None] = lambda on: None,
    ) -> None:
        self._workbench, self._folder, self._run = workbench, folder, run
        self._linked, self._typing = linked, typing
        self._name = run.title
        self._edited = False

    @ui.refreshable_method
    def show(self) -> None:
        """The name, or the field in its place."""
        if self._edited:
            self._field()
            return
        with ui.row().classes("items-center no-wrap gap-1 est-run-name"):
            if self._linked:
                ui.link(self._name, run_address(self._folder, self._run.id)).tooltip(self._run.id)
            else:
                ui.label(self._name).classes("est-h2")
            pencil = ui.button(icon="edit", on_click=lambda: self._turn(True))
            pencil.props("flat round dense size=xs color=grey-7").classes("est-quiet")
            pencil.props["aria-label"] = f"Rename {self._name}"

    def _field(self) -> None:
        box = ui.input(value=self._name).props("outlined dense autofocus hide-bottom-space")
        box.props["maxlength"], box.props["aria-label"] = LONGEST, "Name of the run"
        box.classes("w-56")

        def keep() -> None:
            if not self._edited:  # Enter came before the field was left
                return
            text = (box.value or "").strip()
            if text and text != self._name:
                try:
                    store = store_in(self._workbench.folder, self._folder)
                    self._name = store.rename(self._run.id, text)
                except EstimicaError as error:
                    notify_error(error)
                    return
            self._turn(False)

        box.on("blur", keep).on("keydown.enter", keep)
        box.on("keydown.escape", lambda: self._turn(False))

    def _turn(self, on: bool) -> None:
        self._edited = on
        self._typing(on)
        self.show.refresh()
