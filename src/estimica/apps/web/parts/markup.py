"""Markup: the one place where a text of a user's becomes HTML, a style or a handler of a page.

`.props("…")` reads a language of its own, in which `:name="…"` is JavaScript, and slots, handlers
and HTML are programs as well. So everywhere else they are constants, which a test of all files
holds, and a value is given as data: `element.props["aria-label"] = text`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from nicegui import ui

from estimica.base.view import Listing, Table, html

FIRM = "\u00a0"  # a space at which no line ends
WHOLE = 36  # letters of a cell that are one line; chosen: a value, its error and its unit
#: the spaces around signs between numbers, and before units and per cent
_AROUND = re.compile(
    r"(?<=[±≤≥=…−<>]) (?=[\d.+\-−])|(?<=\d) (?=[±≤≥…%°Ωµ]|[A-Za-z/^0-9·]{1,6}(?![\w]))"
)
STEP = 18  # pixels that a line of a tree stands further in for each level


def fragment(shown: Table | Listing) -> None:
    """A table or a text by the templates of reports, which escape what they show.

    The browser sanitises it once more, should a template ever forget.
    """
    with ui.element("div").classes("est-wide w-full"):
        unbroken = unbroken_table(shown) if isinstance(shown, Table) else shown
        ui.html(html(unbroken), sanitize=True).classes("w-full")


def unbroken_table(table: Table) -> Table:
    """The table with cells whose numbers stay in one line, however narrow the page is."""
    rows = tuple(tuple(unbroken(c) if isinstance(c, str) else c for c in r) for r in table.rows)
    return replace(table, columns=tuple(map(unbroken, table.columns)), rows=rows)


def unbroken(text: str) -> str:
    """A text that no line ends within a number: whole where it is short, else around its signs."""
    if len(text) <= WHOLE and any(c.isdigit() for c in text):
        return text.replace(" ", FIRM)
    return _AROUND.sub(FIRM, text)


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
