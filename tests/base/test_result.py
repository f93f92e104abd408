"""Outcome, and what all results share."""

from __future__ import annotations

import pytest

from estimica.base.result import Outcome, finite, plain_object


def test_an_outcome_can_be_read_in_all_forms_that_it_has_had() -> None:
    outcome = Outcome("done", "12 of 12 fits", ok=True)
    status, message = outcome
    assert (status, message) == ("done", "12 of 12 fits")
    assert outcome() is outcome
    assert outcome()[1] == "12 of 12 fits"
    assert outcome() == ("done", "12 of 12 fits")
    assert outcome == Outcome("done", "12 of 12 fits")
    assert outcome != Outcome("done", "12 of 12 fits", ok=False)
    assert hash(outcome) == hash(("done", "12 of 12 fits"))


def test_an_outcome_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Outcome("done", "").status = "failed"  # type: ignore[misc]


def test_json_has_no_numbers_that_are_not_finite() -> None:
    assert finite((1.0, float("nan"), [float("inf")])) == [1.0, None, [None]]
    assert plain_object({"a": float("nan"), "b": {"c": 2.0}}) == {"a": None, "b": {"c": 2.0}}
