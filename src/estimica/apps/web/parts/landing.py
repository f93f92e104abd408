"""Landing: the way from a message to its field, which is scrolled to, opened and highlighted."""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import quote

from nicegui.element import Element

from estimica.apps.web.parts.frame import study_address
from estimica.apps.web.session.study import Place

AnyElement = TypeVar("AnyElement", bound=Element)


def key_of(place: Place) -> str:
    """A place of the study as one word, that of what it stands in being its beginning."""
    return "/".join(quote(str(step), safe="") for step in place)


def at_place(element: AnyElement, place: Place) -> AnyElement:
    """Have an element be where messages about this place lead."""
    element.props["data-place"] = key_of(place)
    return element


def field_address(name: str, place: Place) -> str:
    """The page on which a place can be edited, at its field."""
    address = study_address(name, page_of(place))
    return f"{address}&field={quote(key_of(place), safe='')}" if place else address


def page_of(place: Place) -> str:
    """The page on which a place can be edited; the text itself where it is about all of it."""
    if not place:
        return "file"
    if place[0] in ("tune", "case", "criterion", "indicator") and len(place) > 1:
        return f"{place[0]}/{place[1]}"
    return str(place[0])
