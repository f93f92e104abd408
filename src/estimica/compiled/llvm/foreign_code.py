"""The algorithms on whole numbers of `flat/foreign.py` as LLVM assembly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ForeignCode:
    """`void name(ptr arguments, ptr results)`, whole numbers as doubles."""

    name: str
    definition: str
    declarations: tuple[str, ...] = ()


#: by the names of `flat/foreign.py`
FOREIGN_CODE: Mapping[str, ForeignCode] = {}
