"""Pages as JSON and back: what the store keeps of a result and the workbench draws."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

import numpy as np

from estimica.base import view as show
from estimica.base.errors import ReportError
from estimica.base.thinning import thin_page

FORMAT = 1
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        show.Page, show.Section, show.Table, show.Listing, show.Curves, show.Panel, show.Curve,
        show.Band, show.Ribbon, show.Across, show.Heat, show.Bars, show.Bar, show.Parallel,
        show.Upright,
    )
}  # fmt: skip
_DTYPES = {"f8": np.dtype("<f8"), "b1": np.dtype("?")}


def page_to_json(page: show.Page) -> dict[str, Any]:
    """The page as an object of plain JSON, below 2 MB: curves thinned with extremes kept.

    Numbers that JSON does not know and arrays are objects of their own: `{"number": "nan"}`,
    `{"rounded": 0.1234, "decimals": 2}`, `{"f8": base64 of little-endian doubles, "shape"}`.
    """
    return {"format": FORMAT, **_encoded(thin_page(page))}


def page_from_json(content: Mapping[str, Any]) -> show.Page:
    """The page that `page_to_json` has written."""
    if content.get("format") != FORMAT:
        raise ReportError(
            "P020",
            f"this page has the format {content.get('format')!r}, not {FORMAT}; it was written by "
            "another version of Estimica: run the command again",
        )
    try:
        page = _decoded({k: v for k, v in content.items() if k != "format"})
    except (KeyError, TypeError, ValueError) as error:
        raise ReportError("P021", f"the stored page cannot be read: {error}") from None
    if not isinstance(page, show.Page):
        raise ReportError("P021", "the stored page cannot be read: it is not a page")
    return page


def _encoded(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        kept = {f.name: _encoded(getattr(value, f.name)) for f in fields(value) if _given(value, f)}
        return {"kind": type(value).__name__, **kept}
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, (tuple, list)):
        return [_encoded(v) for v in value]
    return _cell(value)


def _given(value: Any, field: Field[Any]) -> bool:
    """Whether a field says anything: not where it is as it is anyway."""
    if field.default is MISSING:
        return True
    own = getattr(value, field.name)
    return not (type(own) is type(field.default) and own == field.default)


def _array(value: np.ndarray) -> dict[str, Any]:
    name = "b1" if value.dtype == np.bool_ else "f8"
    raw = np.ascontiguousarray(value, dtype=_DTYPES[name]).tobytes()
    encoded: dict[str, Any] = {name: b64encode(raw).decode("ascii")}
    return encoded if value.ndim == 1 else {**encoded, "shape": list(value.shape)}


def _cell(value: object) -> Any:
    if isinstance(value, show.Rounded) and math.isfinite(value):
        return {"rounded": float(value), "decimals": value.decimals}
    if value is None or isinstance(value, (str, bool)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"number": str(number)}
    return str(value)


def _require_texts(part: Any) -> None:
    """What is a text here is one: a store from elsewhere may hold anything in its place."""
    for field in fields(part):
        own = getattr(part, field.name)
        if field.type in ("tuple[str, ...]", "tuple[str, str]"):
            is_text = isinstance(own, tuple) and all(isinstance(v, str) for v in own)
        else:
            is_text = field.type != "str" or isinstance(own, str)
        if not is_text:
            raise TypeError(f"{field.name} of a {type(part).__name__} is not a text")


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(v) for v in value)
    if not isinstance(value, Mapping):
        return value
    if "kind" in value:
        kind = _KINDS[value["kind"]]
        part = kind(**{name: _decoded(v) for name, v in value.items() if name != "kind"})
        _require_texts(part)
        return part
    if "rounded" in value:
        return show.Rounded(value["rounded"], value["decimals"])
    if "number" in value:
        return float(value["number"])
    (name,) = _DTYPES.keys() & value.keys()
    # a copy: what is read from bytes cannot be written to
    array = np.frombuffer(b64decode(value[name]), _DTYPES[name]).astype(
        _DTYPES[name].newbyteorder("=")
    )
    return array.reshape(value["shape"]) if "shape" in value else array
