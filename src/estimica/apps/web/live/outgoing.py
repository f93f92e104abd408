"""Outgoing: all that leaves for a page passes here and carries nothing that it should not.

Texts come from studies, stores, models, data and uploads. In a page they are text only: hidden
characters are written as their codes, and an object that Vue would take for one of its own is an
object without meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimica.base.visible import visible

_VUE = "__v_"  # names by which Vue knows its own objects, such as __v_isVNode


def outgoing(value: Any) -> Any:
    """A value as a page may have it."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {
            visible(k) if isinstance(k, str) else k: outgoing(v)
            for k, v in value.items()
            if not (isinstance(k, str) and k.startswith(_VUE))
        }
    if isinstance(value, (list, tuple)):
        return [outgoing(v) for v in value]
    return value


def guard_pages() -> None:
    """Have NiceGUI send elements, updates and messages through here: it writes all with `dumps`."""
    from nicegui import json

    plain = json.dumps
    if plain.__module__ == __name__:  # it is ours already
        return

    def dumps(obj: Any, *args: Any, **options: Any) -> str:
        return plain(outgoing(obj), *args, **options)

    json.dumps = dumps
