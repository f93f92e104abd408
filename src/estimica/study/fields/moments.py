"""Moments: points in time of a record: seconds of the model, or dates."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import BeforeValidator, Tag

from estimica.data.calendar import Calendar, NotAnInstant, instant_of
from estimica.study.fields.kinds import NUMBER, TEXT, Finite, field_error, one_of_kinds


def _dated(value: object) -> object:
    """TOML's own dates as the text that they are; a text must be a date."""
    if not isinstance(value, (str, date)):
        return value
    try:
        return instant_of(value).isoformat()
    except NotAnInstant as error:
        raise field_error("C136", f"'{value}' {error}") from None


Moment = Annotated[
    Annotated[Finite, Tag(NUMBER)] | Annotated[str, Tag(TEXT)],
    one_of_kinds("a time in seconds, or a date as 2025-03-01T06:00"),
    BeforeValidator(_dated),
]


def seconds_at(moment: float | str, calendar: Calendar | None, key: str) -> float:
    """A moment in seconds of the model; a date needs data with dates."""
    if not isinstance(moment, str):
        return moment
    if calendar is None:
        raise field_error(
            "C136", f"{key} {moment}: the time of the data has no dates; give it in seconds"
        )
    try:
        return calendar.seconds(moment)
    except NotAnInstant as error:
        raise field_error("C136", f"{key} {moment} {error}") from None


def is_after(one: float | str | None, other: float | str | None) -> bool:
    """Whether one moment is after the other; dates and numbers are compared with data only."""
    if isinstance(one, str) and isinstance(other, str):
        first, second = instant_of(one), instant_of(other)
        return (first.tzinfo is None) == (second.tzinfo is None) and first > second
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return False
    return one > other


def shown_moment(moment: float | str | None) -> str:
    """A moment as messages quote it."""
    return moment if isinstance(moment, str) else f"{moment:g}"


def number_of_moment(moment: float | str) -> float:
    """The seconds of a moment that is no longer a date."""
    assert not isinstance(moment, str)  # dates are seconds where data were read
    return moment
