"""Plain text tables and miniature curves."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from estimica.base.view import Curve, Rounded, Table, trajectories
from estimica.report.text import curves_text, printed, rich_table, sparkline, table_text


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
        (Rounded(-0.0004, 2), "0.00"),
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


@pytest.mark.parametrize("width", [30, 50, 80, 120])
def test_numbers_stay_in_one_line_where_there_is_room_and_are_never_cut(width: int) -> None:
    rows = tuple(
        (f"state {k}", 1.98187e6 + k, 5280.0, "needed: at its lower bound") for k in (0, 1)
    )
    table = Table(("unknown", "value", "std. error", "remark"), rows)
    console = Console(width=width, file=io.StringIO(), legacy_windows=False)
    console.print(rich_table(table))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, text.splitlines())) <= width
    assert ("1.98187e+06" in text) == (width >= 50)
    cells = [line.split("│")[2].strip() for line in text.splitlines() if line.startswith("│")]
    assert "".join(cells) == 2 * "1.98187e+06"
