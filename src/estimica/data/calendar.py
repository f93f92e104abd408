"""Calendar: the date of an instant of a record, and the seconds from its beginning to a date.

An origin is the instant of 0 s as ISO text, with the name of its time zone in brackets where it has
one: `2025-10-25T22:00:00+02:00[Europe/Berlin]` (RFC 9557). Seconds are physical: the hour that a
clock shows twice in autumn lasts 3600 s each time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

_ZONED = re.compile(r"(?P<instant>[^\[\]]+)(?:\[(?P<zone>[^\[\]]+)\])?")


class NotAnInstant(ValueError):
    """A text that is not a date, or one that the zone does not have."""


@dataclass(frozen=True)
class Calendar:
    """What 0 s stands for; `zone` is None where the clock's place is not known."""

    origin: datetime
    zone: tzinfo | None = None

    @classmethod
    def of(cls, origin: str) -> Calendar:
        """From the text of an origin."""
        parts = _ZONED.fullmatch(origin)
        if parts is None:
            raise NotAnInstant(origin)
        text = parts["instant"]
        # pandas tells nanoseconds, of which datetime knows the first six digits
        instant = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
        zone: tzinfo | None = ZoneInfo(parts["zone"]) if parts["zone"] else instant.tzinfo
        return cls(instant, zone)

    def at(self, seconds: float) -> datetime:
        """What the clock shows so many seconds after the origin."""
        if self.zone is None:
            return self.origin + timedelta(seconds=seconds)
        instant = self.origin.astimezone(UTC) + timedelta(seconds=seconds)
        return instant.astimezone(self.zone)

    def told(self, seconds: float) -> str:
        """The same as text, to the nearest second; with its offset from UTC where that is known."""
        return self.at(seconds + 0.5).isoformat(" ", "seconds")

    def seconds(self, given: str | date) -> float:
        """Seconds from the origin to a date; one without a zone is of the record's clock."""
        instant = instant_of(given)
        if self.zone is None:
            if instant.tzinfo is not None:
                raise NotAnInstant("has a time zone, and the data have none; leave it out")
            return (instant - self.origin).total_seconds()
        if instant.tzinfo is None:
            instant = self._on_the_clock(instant)
        return (instant.astimezone(UTC) - self.origin.astimezone(UTC)).total_seconds()

    def _on_the_clock(self, instant: datetime) -> datetime:
        first = instant.replace(tzinfo=self.zone, fold=0)
        back = first.astimezone(UTC).astimezone(self.zone).replace(tzinfo=None)
        if back != instant:
            raise NotAnInstant(f"does not exist in {self.zone}: the clocks went forward")
        if first.utcoffset() != first.replace(fold=1).utcoffset():
            shown = first.utcoffset() or timedelta()
            raise NotAnInstant(
                f"is there twice in {self.zone}: write its offset, as in "
                f"{instant.isoformat()}{_offset(shown)}"
            )
        return first


def _offset(shown: timedelta) -> str:
    minutes = int(shown.total_seconds()) // 60
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def instant_of(given: str | date) -> datetime:
    """A date or an instant, from ISO text or from TOML's own dates."""
    if isinstance(given, datetime):
        return given
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day)
    try:
        return datetime.fromisoformat(given.strip())
    except ValueError:
        raise NotAnInstant("is not a date; write it as 2025-03-01 or 2025-03-01T06:00") from None
