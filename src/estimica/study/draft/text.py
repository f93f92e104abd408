"""Text of a draft: names, numbers and comments as a study file has them."""

from __future__ import annotations

import json
import math
import re

from estimica.base.quantities import Quantity
from estimica.base.view import name_with_unit
from estimica.data.table import Data

_BARE = re.compile(r"[A-Za-z0-9_-]+$")


def comment_of(q: Quantity) -> str:
    """Unit, description and remarks of a quantity, as a comment."""
    parts = [f"[{q.unit}]" if q.unit and q.unit != "1" else "", " ".join(q.description.split())]
    value = number_of(q)
    if q.role == "parameter":
        if value is None:
            parts.append("(the model has no value: 1 is as good as any)")
        elif not q.min <= value <= q.max:
            parts.append(f"(outside its bounds {q.min:g} … {q.max:g})")
        if q.nominal is not None:
            parts.append(f"(nominal {toml_number(q.nominal)})")
    return " ".join(p for p in parts if p)


def number_of(q: Quantity) -> float | None:
    """The value of a quantity where it is a finite number."""
    number = isinstance(q.value, (int, float)) and not isinstance(q.value, bool)
    return float(q.value) if number and math.isfinite(q.value) else None  # type: ignore[arg-type]


def columns_listed(data: Data, count: int = 12) -> str:
    """The columns of a table, the first of them."""
    shown = [name_with_unit(n, data.units.get(n, "")) for n in data.names[:count]]
    return ", ".join(shown).replace("\n", " ") + (", …" if len(data.names) > count else "")


def toml_key(name: str) -> str:
    """A name as a key of TOML."""
    return name if _BARE.match(name) else toml_text(name)


def toml_text(value: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_number(value: float) -> str:
    """A number as TOML writes it, in as few digits as it has."""
    text = f"{value:.15g}"
    return repr(value) if float(text) != value else text
