"""Ticks: boxes and switches of which every click counts, however late the page is redrawn."""

from __future__ import annotations

from nicegui import ui
from nicegui.events import GenericEventArguments


class Tick(ui.checkbox):
    """A box to be ticked.

    The browser sends the opposite of what it shows, and shows what the server answers: two quick
    clicks would both say the same. Here each of them turns the box.
    """

    def _event_args_to_value(self, e: GenericEventArguments) -> bool:
        return not self.value


class Switch(ui.switch):
    """A switch, like `Tick`."""

    def _event_args_to_value(self, e: GenericEventArguments) -> bool:
        return not self.value
