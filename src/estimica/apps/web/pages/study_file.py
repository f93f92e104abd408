"""Study file: the text itself, for those who like to write it."""

from __future__ import annotations

from nicegui import ui

from estimica.apps.web.desk import Desk
from estimica.apps.web.guarded import told
from estimica.apps.web.workbench import Workbench
from estimica.base.errors import EstimicaError


def show(workbench: Workbench, desk: Desk, rest: str) -> None:
    """The text in an editor; what is wrong with it stands below."""
    ui.label("Study file").classes("est-title")
    ui.label(
        f"{desk.name}: the pages read and write this file, and `estimica fit {desk.path.name}` at "
        "a terminal reads the same one. Comments are kept."
    ).classes("est-lead")
    with ui.column().classes("est-card"):
        box = (
            ui.textarea(value=desk.text)
            .props(
                "outlined autogrow input-class=est-mono spellcheck=false "
                'aria-label="Text of the study file"'
            )
            .classes("w-full")
        )
        wrong = ui.column().classes("gap-0 est-bad")

        def tell() -> None:
            wrong.clear()
            with wrong:
                for problem in desk.problems:
                    place = ".".join(map(str, problem.place))
                    ui.label(f"{place}: {problem.message}" if place else problem.message)

        def save() -> None:
            try:
                desk.replace(box.value or "")
                ui.notify("Saved", type="positive")
            except EstimicaError as error:
                told(error)

        tell()
        ui.context.client.on_delete(desk.listen(tell))
        ui.button("Save", icon="save", on_click=save).props("unelevated no-caps")
