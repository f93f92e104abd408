"""Reading: what the data files of a study do not say of themselves, for all cases or for one."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Literal

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.base.errors import CaseError, DataError
from estimica.data.reading import BAD_CELLS
from estimica.data.reading import Reading as ReadingOptions
from estimica.study.fields.kinds import (
    NUMBER,
    STRICT,
    TEXT,
    ColumnName,
    Finite,
    display_name,
    field_error,
    one_of_kinds,
    with_own_errors,
)

Code = Annotated[
    Annotated[Finite, Tag(NUMBER)] | Annotated[str, Tag(TEXT)],
    one_of_kinds('a number such as -9999, or a text such as "Err"'),
]


@with_own_errors(CaseError, "C001", display_name("reading"))
@dataclass(frozen=True, config=STRICT, kw_only=True)
class Reading:
    """How data files are read where that cannot be found out."""

    separator: Annotated[
        str | None, Field(min_length=1, description="The separator of the cells of a text file.")
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None, Field(description="The decimal sign of a text file.")
    ] = None
    thousands: Annotated[
        Literal[",", ".", " ", "'"] | None,
        Field(description="The sign between thousands, as in 1,234.5."),
    ] = None
    missing: Annotated[
        tuple[Code, ...] | None,
        Field(description='Numbers and texts that mean *not sampled*, as [-9999, "Err"].'),
    ] = None
    bad_cells: Annotated[
        Finite | None,
        Field(
            ge=0,
            le=1,
            description="Share of the cells of a column that may hold words, which are left out; "
            f"by default {BAD_CELLS:g}.",
        ),
    ] = None
    dates: Annotated[
        Literal["day-first", "month-first", "excel", "unix", "unix-ms"] | None,
        Field(
            description="How dates are written: 31/12/2025 or 12/31/2025, Excel's days, seconds or "
            "milliseconds since 1970."
        ),
    ] = None
    clock: Annotated[
        ColumnName | None,
        Field(description="The column with the time of day, where the dates are in another."),
    ] = None
    timezone: Annotated[
        str | None,
        Field(description='Time zone of the logger clock, as "Europe/Berlin", "UTC" or "+01:00".'),
    ] = None
    duplicates: Annotated[
        Literal["replicates", "error", "first", "last", "mean"] | None,
        Field(
            description="Rows with one time stamp: samples of their own (default), an error, or "
            "one row made of them."
        ),
    ] = None
    unordered: Annotated[
        Literal["error", "sort"] | None,
        Field(description="What to do with rows that go back in time."),
    ] = None

    def __post_init__(self) -> None:
        try:
            self.options()
        except DataError as error:
            raise field_error(error.code, error.message) from None

    def options(self, time: str | None = None) -> ReadingOptions:
        """As the readers take it; `time` is the column of the stamps."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return ReadingOptions(time=time, **{n: v for n, v in given.items() if v is not None})

    def over(self, other: Reading | None) -> Reading:
        """The same, with what is not said here as the other says it."""
        if other is None:
            return self
        names = [f.name for f in fields(self)]
        own = {n: getattr(self, n) for n in names if getattr(self, n) is not None}
        return Reading(**{**{n: getattr(other, n) for n in names}, **own})
