"""Study file: the text itself, for those who like to write it."""

from __future__ import annotations

from nicegui import ui

from estimica.apps.web.parts.notifications import notify_error
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError, WebError


def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """The text in an editor; what is wrong with it stands below."""
    ui.label("Study file").classes("est-title")
    ui.label(
        f"{desk.name}: the pages read and write this file, and commands at a terminal read it too. "
        "Comments are kept."
    ).classes("est-lead")
    known = {"text": desk.text}
    with ui.column().classes("est-card").props("data-renews"):
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
            if box.value == known["text"]:  # nothing is typed: show what was changed elsewhere
                box.value = known["text"] = desk.text
            wrong.clear()
            with wrong:
                if desk.text not in (known["text"], box.value):
                    ui.label("The file was changed elsewhere since you began to write.")
                for problem in desk.problems:
                    place = ".".join(map(str, problem.place))
                    ui.label(f"{place}: {problem.message}" if place else problem.message)

        def save() -> None:
            try:
                if desk.text not in (known["text"], box.value):
                    raise WebError(
                        "G052",
                        "the file was changed elsewhere since this page was opened; copy what you "
                        "wrote, reload the page, and write it again",
                    )
                desk.replace(box.value or "")
                known["text"] = desk.text
                ui.notify("Saved", type="positive")
            except EstimicaError as error:
                notify_error(error)

        box.value = desk.text
        tell()
        ui.context.client.on_delete(desk.listen(tell))
        ui.button("Save", icon="save", on_click=save).props("unelevated no-caps")
