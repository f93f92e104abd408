"""Injured classes load or are refused with a place: no traceback, no fault of ours, no hang."""

from __future__ import annotations

import pytest
from tests.fuzz.class_texts import LIBRARY, injured_classes

from estimica.base.errors import EstimicaError
from estimica.source.load import load_flat

#: seconds for one text; a sound one takes a tenth of a second
_LONGEST = 20.0
#: how faults of ours are told
_FAULTS = ("S034", "S005", "S260")


def outcome(seed: int) -> str:
    """How loading ends: "" for a result, else what the error says."""
    text, name = injured_classes(seed)
    try:
        load_flat(text, name, cache=False, time_limit=_LONGEST)
    except EstimicaError as error:
        return str(error)
    return ""


def require_clear(seeds: range) -> None:
    ended = {seed: outcome(seed) for seed in seeds}
    assert [(k, e) for k, e in ended.items() if e.startswith(_FAULTS)] == []
    assert 0 < list(ended.values()).count("") < len(ended), (
        "the injuries are too small or too large"
    )
    read = [e for e in ended.values() if not e.startswith("S200")]
    assert len(read) > len(ended) // 3, "most injuries are no more than mistakes of syntax"


def test_the_classes_are_sound() -> None:
    assert load_flat(LIBRARY, "P.Top", cache=False).equations


def test_injured_classes_load_or_are_refused() -> None:
    require_clear(range(40))


@pytest.mark.slow
def test_300_injured_classes_load_or_are_refused() -> None:
    require_clear(range(40, 340))
