"""Live: a run as it goes, drawn by the browser from the stream that all viewers share."""

from __future__ import annotations

from collections.abc import Callable

from nicegui.element import Element


class Live(Element, component="live.js"):
    """Progress, cost, values and curves of a run; tells when it has ended."""

    def __init__(self, src: str, on_ended: Callable[[], None]) -> None:
        super().__init__()
        self._props["src"] = src
        self.classes("w-full")
        self.on("ended", lambda: on_ended())
