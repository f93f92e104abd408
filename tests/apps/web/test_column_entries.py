"""What a chosen column makes of the entry of an input or output, and what is said of its unit."""

from __future__ import annotations

import pytest

from estimica.apps.web.parts.columns import conversion_hint, entry_with_column, likely_column


@pytest.mark.parametrize(
    ("before", "chosen", "after"),
    [
        (None, "temp", {"column": "temp", "unit": "degC"}),
        ("level", "temp", {"column": "temp", "unit": "degC"}),
        ("level", "bare", "bare"),
        ({"column": "temp", "unit": "degC"}, "bare", "bare"),
        ({"column": "temp", "unit": "degF"}, "bare", {"column": "bare", "unit": "degF"}),
        ({"column": "temp", "weight": 2}, "level", {"column": "level", "weight": 2, "unit": "m"}),
        ({"column": "bare", "scale": 3}, "temp", {"column": "temp", "scale": 3}),
        ("temp", 12.0, 12.0),
    ],
)
def test_the_entry_of_a_chosen_column(before: object, chosen: object, after: object) -> None:
    units = {"temp": "degC", "level": "m", "bare": ""}
    assert entry_with_column(before, chosen, units) == after


@pytest.mark.parametrize(
    ("entry", "wanted", "hint"),
    [
        ("temp", "K", "in degC, converted to K: offset = 273.15"),
        ({"column": "temp", "unit": "K"}, "K", "in K, as the model wants it"),
        ("temp", "m", "in degC; the model wants m, which measures something else"),
        ("temp", "", "in degC; the model gives no unit, and takes the numbers as they are"),
        ({"column": "temp", "unit": "smoot"}, "m", "in smoot, which is not a unit known here; the"),
        ({"column": "temp", "scale": 2}, "K", ""),
        ("bare", "K", ""),
        (3.0, "K", ""),
    ],
)
def test_what_becomes_of_the_numbers(entry: object, wanted: str, hint: str) -> None:
    shown = conversion_hint(entry, {"temp": "degC", "bare": ""}, {"unit": wanted})
    assert shown.startswith(hint)
    assert bool(shown) == bool(hint)


@pytest.mark.parametrize(
    ("name", "unit", "used", "column"),
    [
        ("tank.Level", "K", (), "level"),  # by its name, whatever its unit
        ("T", "K", (), "temp"),
        ("T", "K", ("temp",), "air"),
        ("T", "K", ("temp", "air"), None),
        ("p", "Pa", (), None),
        ("x", "", (), None),
        ("x", "smoot", (), "odd"),  # the same word
        ("x", "cm", (), "level"),
        ("x", "cubit", (), None),
    ],
)
def test_a_new_entry_begins_with_a_column_that_fits(
    name: str, unit: str, used: tuple[str, ...], column: str | None
) -> None:
    units = {"time": "s", "bare": "", "level": "m", "temp": "degC", "air": "degF", "odd": "smoot"}
    assert likely_column(name, {"unit": unit}, units, used) == column
