"""Axes over time: the unit that suits a record, dates, and what is not over time left alone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from estimica.base.text import axis_unit
from estimica.base.view import Across, Curve, Curves, Panel, Ribbon
from estimica.report.plotly.compact_json import figure_json
from estimica.report.plotly.curves import figure
from estimica.report.time_axes import with_time_axes


def over(end: float, origin: str = "", **more: Any) -> Panel:
    time = np.linspace(0.0, end, 11)
    return Panel("y", (Curve("y", time, time),), origin=origin, **more)


@pytest.mark.parametrize(
    ("end", "unit", "last"),
    [
        (1799, "s", 1799),
        (1800, "min", 30),
        (17_999, "min", 17_999 / 60),
        (18_000, "h", 5),
        (431_999, "h", 431_999 / 3600),
        (432_000, "d", 5),
        (31_536_000, "d", 365),
    ],
)
def test_the_unit_follows_the_length(end: float, unit: str, last: float) -> None:
    shown = figure(Curves((over(end),)))
    assert shown.layout.xaxis.title.text == f"time [{unit}]"
    assert shown.data[0].x[-1] == pytest.approx(last)
    assert f"%{{x:.6g}} {unit}<" in shown.data[0].hovertemplate
    assert axis_unit(end)[1] == unit


def test_all_panels_of_a_figure_have_the_unit_of_the_longest() -> None:
    shown = figure(Curves((over(600.0, group="a"), over(36_000.0, group="b"))))
    assert [t.x[-1] for t in shown.data] == [pytest.approx(1 / 6), 10.0]
    assert shown.layout.xaxis2.title.text == "time [h]"


def test_ribbons_and_gaps_move_along() -> None:
    time = np.linspace(0.0, 36_000.0, 11)
    panel = over(36_000.0, gaps=((3600.0, 7000.0),), ribbons=(Ribbon("r", time, -time, time),))
    moved = with_time_axes(Curves((panel,))).panels[0]
    assert moved.gaps[0] == pytest.approx((1.0, 7000 / 3600))
    assert moved.ribbons[0].time[-1] == 10.0
    assert panel.curves[0].time[-1] == 36_000.0  # the values that were given stay


@pytest.mark.parametrize("label", ["tau [s]", "iteration", "point", "duration [s]"])
def test_what_is_not_over_time_stays(label: str) -> None:
    given = Curves((over(1e6),), "", label)
    assert with_time_axes(given).panels == given.panels
    assert with_time_axes(given).time_label == label
    frequency = Curves((over(1e6, across=Across("frequency [Hz]", log=True)),))
    assert with_time_axes(frequency).panels == frequency.panels
    counted = Curves((over(1e6),), whole=True)
    assert with_time_axes(counted) is counted


def test_lags_of_residuals_have_a_unit_too() -> None:
    shown = with_time_axes(Curves((over(36_000.0),), "", "lag [s], samples times their distance"))
    assert shown.time_label == "lag [h], samples times their distance"


@pytest.mark.parametrize(
    ("origin", "first", "label"),
    [
        ("2025-03-01T06:00:00", "2025-03-01T06:00:00", "time"),
        ("2025-03-01T06:00:00Z", "2025-03-01T06:00:00", "time (UTC)"),
        ("2025-03-01T06:00:00-03:30", "2025-03-01T06:00:00", "time (UTC-03:30)"),
        ("2025-07-01T06:00:00.250000123+02:00[Europe/Berlin]", "2025-07-01T06:00:00.250",
         "time (Europe/Berlin)"),
        ("1969-12-31T23:00:00", "1969-12-31T23:00:00", "time"),
    ],
)  # fmt: skip
def test_dates_are_those_of_the_clock(origin: str, first: str, label: str) -> None:
    shown = figure(Curves((over(7200.0, origin),)))
    x = np.asarray(shown.data[0].x, "datetime64[us]")
    assert x[0] == np.datetime64(first)
    assert x[-1] - x[0] == np.timedelta64(7200, "s")
    assert (shown.layout.xaxis.type, shown.layout.xaxis.title.text) == ("date", label)


def test_a_year_has_the_offset_of_its_beginning_throughout() -> None:
    """Clocks in Berlin are put forward on 30 March and back on 26 October 2025."""
    shown = figure(Curves((over(365 * 86400.0, "2025-01-01T00:00:00+01:00[Europe/Berlin]"),)))
    x = np.asarray(shown.data[0].x, "datetime64[us]")
    assert len(set(np.diff(x).tolist())) == 1
    assert x[-1] == np.datetime64("2026-01-01T00:00")
    assert shown.layout.xaxis.title.text == "time (UTC+01:00)"


@pytest.mark.parametrize(
    "origin", ["soon", "2025-03-01T06:00:00[Nowhere/Land]", "[]", "2025-13-01"]
)
def test_an_origin_that_cannot_be_read_leaves_the_unit(origin: str) -> None:
    assert figure(Curves((over(36_000.0, origin),))).layout.xaxis.title.text == "time [h]"


def test_several_origins_have_axes_of_their_own() -> None:
    dates = ("2025-03-01T06:00:00", "2024-01-01T00:00:00+01:00", "")
    panels = tuple(over(7200.0, d, group=str(k)) for k, d in enumerate(dates))
    shown = figure(Curves(panels))
    axes = [shown.layout[f"xaxis{k}"] for k in ("", "2", "3")]
    assert [a.title.text for a in axes] == ["time", "time (UTC+01:00)", "time [min]"]
    assert [a.type for a in axes] == ["date", "date", None]


@pytest.mark.parametrize("count", [5, 500])
def test_pages_hold_dates_to_the_millisecond(count: int) -> None:
    time = np.arange(count) * 0.123
    panel = Panel("y", (Curve("y", time, time),), origin="2025-03-01T06:00:00")
    told = json.loads(figure_json(figure(Curves((panel,)))))["data"][0]["x"]
    if count == 5:
        x = np.array(told, "datetime64[us]")
    else:
        assert told["dtype"] == "f8"
        from base64 import b64decode

        x = np.round(np.frombuffer(b64decode(told["bdata"])) * 1e3).astype("datetime64[us]")
    expected = np.datetime64("2025-03-01T06:00", "us") + np.round(time * 1e6).astype("m8[us]")
    assert np.abs(x - expected).max() <= np.timedelta64(1, "us")
