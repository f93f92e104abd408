"""Plain text tables and miniature curves."""

from __future__ import annotations

import numpy as np
import pytest

from estimica.base.view import Curve, Rounded, Table, trajectories
from estimica.report.text import curves_text, printed, sparkline, table_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (float("nan"), ""),
        (float("inf"), "inf"),
        (1 / 3, "0.333333"),
        (np.float64(2e-9), "2e-09"),
        (Rounded(19.2299, 3), "19.230"),
        (Rounded(float("inf"), 3), "inf"),
        (True, "yes"),
        (12, "12"),
        ("a", "a"),
    ],
)
def test_cells_are_printed_short(value: object, text: str) -> None:
    assert printed(value) == text


def test_sparkline_rises_with_the_signal() -> None:
    assert sparkline(np.arange(8.0), 8) == "▁▂▃▄▅▆▇█"


def test_sparkline_leaves_gaps_and_survives_constants_and_nothing() -> None:
    assert sparkline(np.array([0.0, np.nan, 1.0])) == "▁ █"
    assert sparkline(np.array([2.0, 2.0])) == "▁▁"
    assert sparkline(np.array([np.nan])) == " "
    assert sparkline(np.array([])) == ""


def test_table_keeps_brackets_that_look_like_markup() -> None:
    text = table_text(
        Table(("name [bar]", "note"), (("x[1]", "[bold]not markup[/bold]"),), note="end")
    )
    assert "name [bar]" in text
    assert "x[1]" in text
    assert "[bold]not markup[/bold]" in text
    assert text.endswith("end")


def test_curves_are_summed_up_in_one_line_each() -> None:
    time = np.linspace(0.0, 1.0, 11)
    text = curves_text(
        trajectories([Curve("y", time, time, "V"), Curve("z", time, np.full(11, np.nan))])
    )
    line = next(line for line in text.splitlines() if " y " in line)
    assert "V" in line
    assert " 1 " in line
