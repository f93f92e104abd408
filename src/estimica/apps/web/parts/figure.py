"""Figure: a Plotly figure in the theme of the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nicegui.element import Element

from estimica.base.view import Bars, Curves, Heat, Parallel, figure


class Figure(Element, component="figure.js"):
    """A figure given as data, or fetched from an address once it comes near on the page."""

    def __init__(
        self, data: dict[str, Any] | None = None, *, src: str = "", label: str = "figure"
    ) -> None:
        super().__init__()
        self._props["label"] = label
        if src:
            self._props["src"] = src
        if data is not None:
            self._props["figure"] = data

    def show(self, data: dict[str, Any]) -> None:
        """Draw other data in its place."""
        self._props["figure"] = data
        self.update()


def figure_data(shown: Curves | Heat | Bars | Parallel) -> dict[str, Any]:
    """What a result shows, as the data of a figure."""
    data: dict[str, Any] = json.loads(figure(shown).to_json())
    return data


class Live(Element, component="live.js"):
    """Progress, cost, values and curves of a run; tells when it has ended."""

    def __init__(self, src: str, on_ended: Callable[[], None]) -> None:
        super().__init__()
        self._props["src"] = src
        self.classes("w-full")
        self.on("ended", lambda: on_ended())
