"""Markup: the one place where a text of a user's becomes HTML, a style or a handler of a page.

`.props("…")` reads a language of its own, in which `:name="…"` is JavaScript, and slots, handlers
and HTML are programs as well. So everywhere else they are constants, which a test of all files
holds, and a value is given as data: `element.props["aria-label"] = text`.
"""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from estimica.base.view import Listing, Table, html

STEP = 18  # pixels that a line of a tree stands further in for each level


def fragment(shown: Table | Listing) -> None:
    """A table or a text by the templates of reports, which escape what they show.

    The browser sanitises it once more, should a template ever forget.
    """
    with ui.element("div").classes("est-wide w-full"):
        ui.html(html(shown), sanitize=True).classes("w-full")


def downloads(button: ui.button, address: str) -> ui.button:
    """Have a click fetch a file; the address is data, no part of the handler."""
    button.props["data-address"] = address
    button.on(
        "click", js_handler="(e) => estimica.download(e.currentTarget.dataset.address)"
    )  # as it is written here: no text comes in
    return button


def accepts(upload: ui.upload, endings: Sequence[str]) -> None:
    """Have a field for files offer those with these endings."""
    upload.props["accept"] = ",".join(endings)


def indented(element: ui.element, depth: int, more: int = 0) -> ui.element:
    """A line of a tree, so many levels in."""
    element.style(f"padding-left: {STEP * int(depth) + int(more)}px")
    return element
