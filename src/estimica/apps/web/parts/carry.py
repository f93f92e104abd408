"""Carry: what a run has found goes on: into the study, or into the next command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from estimica.apps.web.files.recent_runs import run_address
from estimica.apps.web.parts.notifications import notify_error
from estimica.apps.web.parts.runs import run as run_command
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError
from estimica.study.carry.values import MEMBER, values_of_object

SHOWN = 6  # changes that a message lists; chosen: it stays readable in a corner of the page


class CarryOn:
    """Buttons that begin with the values of a run, and one that writes them into the study."""

    def __init__(
        self, workbench: Workbench, desk: StudySession, run: str, result: Mapping[str, Any]
    ) -> None:
        self._workbench, self._desk, self._run = workbench, desk, run
        self._result = result
        front = result.get("front")
        self._designs = len(front) if isinstance(front, list) else 0
        knee = result.get("knee")
        self._member = knee + 1 if isinstance(knee, int) else 1

    @property
    def reference(self) -> str:
        """The run, or the chosen design of its front; empty where it has found nothing."""
        name = f"{self._run}{MEMBER}{self._member}" if self._designs else self._run
        try:
            chosen = self._member if self._designs else None
            found = values_of_object({"run": self._run, **self._result}, chosen)
        except EstimicaError:
            return ""
        return "" if found.is_empty else name

    def show(self, words: Mapping[str, str], commands: Sequence[str]) -> None:
        """A row with all of them; nothing where there is nothing to do."""
        has_values = bool(self.reference)
        if not (has_values or commands):
            return
        with ui.row().classes("gap-2 items-center"):
            if self._designs:
                self._choice()
            if has_values:
                ui.button("Use these values", icon="input", on_click=self._use).props(
                    "unelevated no-caps color=primary padding='2px 12px'"
                ).tooltip("Writes them into the study as starts and values; Undo takes it back")
            if commands:
                ui.label("Go on with").classes("est-soft")
            for command in commands:
                button = ui.button(words[command], on_click=lambda c=command: self._go_on(c)).props(
                    "outline no-caps color=primary padding='2px 12px'"
                )
                if has_values:
                    button.tooltip("Begins with the values of this run")

    def _choice(self) -> None:
        numbers = list(range(1, self._designs + 1))
        knee = self._result.get("knee")
        names = {n: f"Design {n} (knee)" if n - 1 == knee else f"Design {n}" for n in numbers}
        ui.select(
            names,
            value=self._member,
            label="Of the front",
            on_change=lambda e: setattr(self, "_member", int(e.value)),
        ).props("outlined dense options-dense").classes("w-44")

    async def _go_on(self, command: str) -> None:
        reference = self.reference
        options = ["--fit", reference] if reference else []
        await run_command(self._workbench, self._desk, command, options)

    async def _use(self) -> None:
        try:
            answer = await self._desk.ask("use_values", run=self.reference)
            self._desk.replace(answer["text"])
        except EstimicaError as error:
            notify_error(error)
            return
        changes: list[str] = answer["changes"]
        more = [f"and {len(changes) - SHOWN} more"] if len(changes) > SHOWN else []
        said = ["The study has these values already."]
        if changes:
            said = [
                f"The study has these values now: {', '.join([*changes[:SHOWN], *more])}.",
                "Undo takes it back.",
            ]
        remarks = [f"{r[:1].upper()}{r[1:]}." for r in answer["remarks"]]
        ui.notify(
            " ".join([*said, *remarks]),
            type="positive",
            timeout=0,
            close_button="Close",
            multi_line=True,
        )


def origin_line(folder: str, result: Mapping[str, Any]) -> None:
    """Which run this one began with."""
    origin = result.get("from")
    if not isinstance(origin, Mapping):
        return
    run, what = str(origin.get("run") or ""), f"{origin.get('command')} of {origin.get('study')}"
    with ui.row().classes("gap-1 items-center"):
        ui.label("Began with the values of").classes("est-soft")
        if run and ":" not in run:
            ui.link(f"run {run}", run_address(folder, run.partition(MEMBER)[0]))
            ui.label(f"({what})").classes("est-soft")
        else:
            ui.label(f"{run} {what}".strip()).classes("est-soft")
