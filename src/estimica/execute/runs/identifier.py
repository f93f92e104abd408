"""Names of runs: short, unique across processes, and sorted by time."""

from __future__ import annotations

import secrets
import time

DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # base 32 without letters that look alike
EPOCH_MS = 1_704_067_200_000  # 2024-01-01; eight digits of milliseconds reach to 2058
TIME_DIGITS = 8
RANDOM_DIGITS = 3


def new_run_id(now: float | None = None) -> str:
    """Eleven letters: the milliseconds of `now` (seconds since 1970), then three at random."""
    milliseconds = int((time.time() if now is None else now) * 1000) - EPOCH_MS
    tail = "".join(secrets.choice(DIGITS) for _ in range(RANDOM_DIGITS))
    return _digits(max(0, milliseconds)) + tail


def is_run_id(text: object) -> bool:
    """Whether this is a name of a run: what a store from elsewhere says may be anything."""
    return (
        isinstance(text, str)
        and len(text) == TIME_DIGITS + RANDOM_DIGITS
        and all(letter in DIGITS for letter in text)
    )


def _digits(number: int) -> str:
    places = range(TIME_DIGITS - 1, -1, -1)
    return "".join(DIGITS[(number >> (5 * place)) & 31] for place in places)
