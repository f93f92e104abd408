"""Axes of fits over time: dates as the file has them, else hours; an hour as long as another."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import estimica as es
from estimica.base.view_json import page_from_json, page_to_json
from estimica.infer.crossvalidation.folds import folds_of
from estimica.report.matplotlib.files import matplotlib_figure

TAU = 72_000.0  # seconds
BERLIN = ZoneInfo("Europe/Berlin")
AUTUMN = datetime(2025, 10, 24, 12, tzinfo=BERLIN)  # clocks go back on the 26th at 03:00
WINTER = datetime(2025, 12, 1, 6, 30, tzinfo=BERLIN)
HOURS = 96


def rows(begin: datetime | None, hole: tuple[int, int] = (0, 0)) -> list[tuple[str, str]]:
    """A step response every hour, exact but for what the fifth digit leaves."""
    hours = [k for k in range(HOURS) if not hole[0] < k < hole[1]]
    if begin is None:
        stamps = [str(3600 * k) for k in hours]
    else:
        clock = [(begin.astimezone(UTC) + timedelta(hours=k)).astimezone(BERLIN) for k in hours]
        stamps = [f"{t:%Y-%m-%d %H:%M}" for t in clock]
    return [(t, f"{1 - np.exp(-3600 * k / TAU):.5f}") for t, k in zip(stamps, hours, strict=True)]


def written(path: Path, table: list[tuple[str, str]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("time", "u", "x"), *((t, "1", x) for t, x in table)])
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("axes")
    written(folder / "autumn.csv", rows(AUTUMN, (30, 42)))
    written(folder / "winter.csv", rows(WINTER, (10, 20)))
    written(folder / "bench.csv", rows(None, (50, 60)))
    return folder


def case(folder: Path, name: str, **more: Any) -> es.Case:
    reading = None if name == "bench" else es.Reading(timezone="Europe/Berlin")
    data = str(folder / f"{name}.csv")
    return es.Case(name, data, inputs={"u": "u"}, outputs={"y": "x"}, reading=reading, **more)


def fitted(*cases: es.Case) -> es.Fit:
    tau = es.Tuner("tau", start=50_000.0, min=1e4, max=1e6)
    return es.fit(es.Study(es.transfer_function("1/(1 + tau*s)"), [tau], list(cases)))


@pytest.fixture(scope="module")
def fit(folder: Path) -> es.Fit:
    return fitted(*(case(folder, n) for n in ("autumn", "winter", "bench")))


def stamps(path: Path) -> list[datetime]:
    with path.open(encoding="utf-8", newline="") as file:
        return [datetime.fromisoformat(row["time"]) for row in csv.DictReader(file)]


def instants(x: Any) -> list[datetime]:
    return list(np.asarray(x, "datetime64[us]").tolist())


def test_the_axis_has_the_stamps_of_the_file(fit: es.Fit, folder: Path) -> None:
    figure = fit.plot()
    layout, measured = figure.layout, [t for t in figure.data if t.name == "measured"]
    assert instants(measured[1].x) == stamps(folder / "winter.csv")
    assert (layout.xaxis2.type, layout.xaxis2.title.text) == ("date", "time (Europe/Berlin)")
    assert "%Y-%m-%d %H:%M" in measured[1].hovertemplate
    assert fit["tau"] == pytest.approx(TAU, rel=1e-3)


def test_the_night_on_which_clocks_go_back_has_its_true_length(fit: es.Fit, folder: Path) -> None:
    figure = fit.plot()
    seen, clock = instants(figure.data[0].x), stamps(folder / "autumn.csv")
    change = clock.index(datetime(2025, 10, 26, 6))
    assert seen[:31] == clock[:31]  # before it, the dates of the file
    assert seen[change:] == [t + timedelta(hours=1) for t in clock[change:]]
    assert figure.layout.xaxis.title.text == "time (UTC+02:00)"  # and this says which ones
    assert seen[-1] - seen[0] == timedelta(hours=HOURS - 1)
    assert clock[-1] - clock[0] == timedelta(hours=HOURS - 2)


def test_a_record_without_dates_has_hours(fit: es.Fit) -> None:
    figure = fit.plot()
    bench = [t for t in figure.data if t.name == "measured"][2]
    assert (bench.x[0], bench.x[-1]) == (0.0, HOURS - 1)
    assert figure.layout.xaxis3.title.text == "time [h]"
    assert "%{x:.6g} h" in bench.hovertemplate


def test_gaps_are_shaded_where_the_axis_has_them(fit: es.Fit) -> None:
    holes = [s for s in fit.plot().layout.shapes if s.yref.endswith("domain")]
    assert [(s.xref, s.x0, s.x1) for s in holes] == [
        ("x", "2025-10-25T18:00:00.000000", "2025-10-26T06:00:00.000000"),
        ("x2", "2025-12-01T16:30:00.000000", "2025-12-02T02:30:00.000000"),
        ("x3", 50.0, 60.0),
    ]


def test_the_table_of_gaps_has_dates_or_the_unit_of_the_axis(fit: es.Fit, folder: Path) -> None:
    section = next(s for s in fit.page().sections if s.heading == "Gaps in the data")
    table: Any = section.shown[0]
    assert table.columns[1:3] == ("from", "to")
    assert [row[1:4] for row in table.rows] == [
        ("2025-10-25 18:00:00+02:00", "2025-10-26 05:00:00+01:00", "12 h"),
        ("2025-12-01 16:30:00+01:00", "2025-12-02 02:30:00+01:00", "10 h"),
        ("50 h", "60 h", "10 h"),
    ]
    alone = fitted(case(folder, "bench"))
    section = next(s for s in alone.page().sections if s.heading == "Gaps in the data")
    table = section.shown[0]
    assert table.columns[1:3] == ("from [h]", "to [h]")
    assert table.rows[0][1:3] == (50.0, 60.0)


def test_messages_tell_gaps_by_the_clock_of_the_place(fit: es.Fit) -> None:
    told = " ".join(" ".join(fit.remarks).split())
    assert "from 2025-10-25 18:00:00 to 2025-10-26 05:00:00" in told


def test_values_and_json_stay_in_seconds(fit: es.Fit) -> None:
    assert fit.case("autumn")["y"].time[-1] == (HOURS - 1) * 3600
    told = json.loads(json.dumps(fit.to_dict()))
    assert told["gaps"]["winter"]["gaps"][0]["begin"] == 36000
    curves: Any = fit.picture()
    assert curves.panels[0].curves[0].time[-1] == (HOURS - 1) * 3600


def test_a_stored_page_keeps_its_dates(fit: es.Fit) -> None:
    page = page_from_json(json.loads(json.dumps(page_to_json(fit.page()))))
    curves = [s for part in page.sections for s in part.shown if hasattr(s, "panels")]
    assert curves[0].panels[0].origin == "2025-10-24T12:00:00+02:00[Europe/Berlin]"


@pytest.mark.parametrize("kind", ["fit", "residuals", "iterations"])
def test_all_pictures_over_time_have_the_same_axes(fit: es.Fit, kind: str) -> None:
    layout = fit.plot(kind).layout
    assert [layout[f"xaxis{k}"].title.text for k in ("", "2", "3")] == [
        "time (UTC+02:00)",
        "time (Europe/Berlin)",
        "time [h]",
    ]


def test_analyses_of_the_fit_have_them_too(fit: es.Fit) -> None:
    expected = [
        "2025-10-24T12:00:00+02:00[Europe/Berlin]",
        "2025-12-01T06:30:00+01:00[Europe/Berlin]",
    ]
    for shown in (es.bands(fit).picture(), es.residuals(fit).picture("residuals")):
        curves: Any = shown
        assert [p.origin for p in curves.panels] == [*expected, ""]


def test_figures_in_files_have_the_same_dates(fit: es.Fit, folder: Path) -> None:
    from matplotlib.dates import num2date

    drawn = matplotlib_figure(fit.picture()).axes
    clock = [t.replace(tzinfo=None) for t in num2date(drawn[1].lines[0].get_xdata())]
    gaps = [abs(a - b) for a, b in zip(clock, stamps(folder / "winter.csv"), strict=True)]
    assert max(gaps) < timedelta(milliseconds=1)
    assert [a.get_xlabel() for a in drawn] == [
        "time (UTC+02:00)",
        "time (Europe/Berlin)",
        "time [h]",
    ]
    assert drawn[2].lines[0].get_xdata()[-1] == HOURS - 1


def test_folds_of_time_are_named_by_dates(folder: Path) -> None:
    first, last = folds_of(fitted(case(folder, "winter", gaps="bridge")).setup, "time", 2)
    assert first.name.startswith("2025-12-01 06:30:00+01:00 … 2025-12-03")
    assert last.name.endswith(" … 2025-12-05 05:30:00+01:00")
