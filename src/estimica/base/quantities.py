"""Quantities: what a model says about a parameter or a variable, and tables of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Quantity:
    """One parameter or variable with its metadata; the fields are the columns of the tables."""

    name: str
    value: float | bool | int | str | None = None
    unit: str = ""
    description: str = ""
    min: float = float("-inf")
    max: float = float("inf")
    nominal: float | None = None
    kind: str = "Real"
    role: str = ""  # parameter, constant, input, state, memory, logical, algebraic or alias
    tunable: bool = False
    why_not: str = ""  # why it is not tunable; "" where it is
    place: str = ""  # file and line of its declaration; "" where there is no source
    #: whether it is a difference, as of two temperatures; None where the model does not say
    difference: bool | None = None


COLUMNS = tuple(f.name for f in fields(Quantity) if f.name not in ("name", "difference"))


def as_table(quantities: Iterable[Quantity]) -> pd.DataFrame:
    """A DataFrame with one row for each quantity, indexed by its name."""
    import pandas as pd

    rows = list(quantities)
    index = pd.Index([q.name for q in rows], name="name", dtype=object)
    data = {column: [getattr(q, column) for q in rows] for column in COLUMNS}
    table = pd.DataFrame(data, index=index, columns=list(COLUMNS))
    # A column of mixed kinds (a number, a truth value, none) must not be coerced to one of them.
    table["value"] = pd.Series([q.value for q in rows], index=index, dtype=object)
    return table
