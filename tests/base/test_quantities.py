"""Tables of quantities keep the kinds of their values."""

from __future__ import annotations

from estimica.base.quantities import COLUMNS, Quantity, as_table


def test_table_has_one_row_for_each_quantity_indexed_by_name() -> None:
    table = as_table([Quantity("R", 2.0, "Ohm", "Resistance", min=0.0, tunable=True)])
    assert list(table.columns) == list(COLUMNS)
    assert table.loc["R", "unit"] == "Ohm"
    assert table.index.name == "name"


def test_values_of_different_kinds_are_not_coerced() -> None:
    table = as_table([Quantity("n", 3), Quantity("on", True), Quantity("x", 0.5), Quantity("y")])
    assert table.value["n"] == 3
    assert isinstance(table.value["n"], int)
    assert table.value["on"] is True
    assert table.value["y"] is None


def test_empty_table_still_has_its_columns() -> None:
    assert list(as_table([]).columns) == list(COLUMNS)
