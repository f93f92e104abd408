"""Joined files × time zones × gaps × dates in a study: what the clock on the wall says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import estimica as es
from estimica.study.check.run import check_file

BERLIN = ZoneInfo("Europe/Berlin")
BEGIN = datetime(2026, 3, 28, 12, tzinfo=BERLIN)  # clocks go forward in the night that follows
STEP = timedelta(minutes=10)
K, TAU = 2.0, 3600.0
STUDY = """\
[model]
source = "K/(1 + tau*s)"
[tune]
K = { start = 1 }
tau = { start = 3000, min = 100, max = 1e5 }
[reading]
timezone = "Europe/Berlin"
[[case]]
name = "days"
data = "logs/*.csv"
join = true
inputs = { u = "u" }
outputs = { y = "y" }
%s
"""


def logs(tmp_path: Path, *, lost: range = range(0)) -> None:
    """Two days of a first-order lag in closed form, a file each, by a clock in Berlin."""
    count = 288
    u = np.random.default_rng(1).integers(0, 2, count // 6).repeat(6)
    y = np.zeros(count)
    for k in range(count - 1):
        y[k + 1] = K * u[k] + (y[k] - K * u[k]) * np.exp(-600 / TAU)
    (tmp_path / "logs").mkdir()
    for day in range(2):
        rows = ["date,u,y"]
        for k in range(day * 144, (day + 1) * 144):
            stamp = (BEGIN.astimezone(UTC) + k * STEP).astimezone(BERLIN)
            if k not in lost:
                rows.append(
                    f"{stamp:%Y-%m-%d %H:%M},{u[k]},{'Err' if k == 150 else repr(float(y[k]))}"
                )
        (tmp_path / "logs" / f"day{day + 1}.csv").write_text("\n".join(rows) + "\n")


def study(tmp_path: Path, extra: str = "") -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY % extra)
    return path


def test_files_of_a_clock_with_a_time_zone_are_joined(tmp_path: Path) -> None:
    logs(tmp_path)
    path = study(tmp_path)
    warnings = [p.text for p in check_file(path)]
    assert len(warnings) == 1
    assert "day1.csv' and 1 file more: 1 cell does not hold a number ('Err' once)" in warnings[0]
    fit = es.fit(es.read_study(path))
    assert fit["tau"] == pytest.approx(TAU, rel=1e-4)  # the hour that clocks skip is none
    assert fit["K"] == pytest.approx(K, rel=1e-4)


def test_a_gap_behind_the_change_is_told_as_the_clock_shows_it(tmp_path: Path) -> None:
    logs(
        tmp_path, lost=range(120, 150)
    )  # 20 h … 25 h after noon, that is from 09:00 summer time on
    (told,) = (p.text for p in check_file(study(tmp_path)) if p.code == "C110")
    assert "a gap of 5.17 h from 2026-03-29 08:50:00 to 2026-03-29 14:00:00" in told


def test_dates_limit_a_record_with_a_gap(tmp_path: Path) -> None:
    logs(tmp_path, lost=range(120, 150))
    limits = 'from = 2026-03-28T18:00:00\nto = "2026-03-30T06:00"\nexclude = [["2026-03-29T20:00", '
    fit = es.fit(es.read_study(study(tmp_path, limits + '"2026-03-29T22:00"]]')))
    assert fit["tau"] == pytest.approx(TAU, rel=1e-4)
    assert len(fit.stretches) == 2
    # 18:00 … 08:50 without the hour that is skipped: 84 samples; 14:00 … 06:00: 97, less 13 and Err
    assert fit.n_samples == 84 + 97 - 13 - 1
