"""Calendar time in studies: dates in from, to and exclude, time zones, and settings of reading."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.study.tank import write_tank

import estimica as es
from estimica.base.errors import CaseError
from estimica.data.calendar import Calendar, NotAnInstant
from estimica.study.check.run import check_file
from estimica.study.file.read import read_study, reading_of
from estimica.study.record.samples import record
from estimica.study.tables.schema import study_schema

BERLIN = "2025-10-25T20:00:00+02:00[Europe/Berlin]"


def test_the_doubled_hour_lasts_an_hour_each_time() -> None:
    """Clocks in Berlin went from 03:00 summer time back to 02:00 on 26 October 2025."""
    calendar = Calendar.of(BERLIN)
    six, seven = calendar.at(6 * 3600.0), calendar.at(7 * 3600.0)
    assert (six.hour, seven.hour) == (2, 2)
    assert [t.utcoffset() for t in (six, seven)] == [timedelta(hours=2), timedelta(hours=1)]
    assert calendar.seconds("2025-10-26T01:00") == 5 * 3600
    assert calendar.seconds("2025-10-26T03:00") == 8 * 3600
    assert calendar.seconds("2025-10-26T02:30+01:00") == 7.5 * 3600
    with pytest.raises(NotAnInstant, match="is there twice in Europe/Berlin: write its offset"):
        calendar.seconds("2025-10-26T02:30")


def test_the_missing_hour_does_not_exist() -> None:
    calendar = Calendar.of("2025-03-29T20:00:00+01:00[Europe/Berlin]")
    assert calendar.seconds("2025-03-30T03:00") == 6 * 3600
    with pytest.raises(NotAnInstant, match="does not exist in Europe/Berlin"):
        calendar.seconds("2025-03-30T02:30")


def test_a_date_with_a_zone_needs_data_with_one() -> None:
    with pytest.raises(NotAnInstant, match="the data have none"):
        Calendar.of("2025-03-29T20:00:00").seconds("2025-03-30T02:30+01:00")


def table(folder: Path, begin: datetime = datetime(2025, 3, 1, tzinfo=UTC)) -> Path:
    rows = [f"{begin + timedelta(hours=k):%Y-%m-%d %H:%M},{k}" for k in range(72)]
    path = folder / "log.csv"
    path.write_text("time,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_from_to_and_exclude_take_dates(tmp_path: Path) -> None:
    case = es.Case(
        "a",
        str(table(tmp_path)),
        outputs={"y": "y"},
        from_="2025-03-01T06:00",
        to="2025-03-03",
        exclude=[("2025-03-01T10:00", "2025-03-02T09:00")],
    )
    (output,) = record(case).outputs
    assert output.value.tolist() == [*range(6, 10), *range(34, 49)]
    assert output.time[0] == 6 * 3600


def test_dates_that_do_not_fit_are_told(tmp_path: Path) -> None:
    path = str(table(tmp_path))
    with pytest.raises(CaseError, match="'March' is not a date; write it as 2025-03-01"):
        es.Case("a", path, outputs={"y": "y"}, from_="March")
    with pytest.raises(CaseError, match="from 2025-03-02T00:00:00 is not before to 2025-03-01"):
        es.Case("a", path, outputs={"y": "y"}, from_="2025-03-02", to="2025-03-01")
    numbers = {"time": np.arange(5.0), "y": np.arange(5.0)}
    with pytest.raises(CaseError, match="the time of the data has no dates; give it in seconds"):
        es.Case("a", numbers, outputs={"y": "y"}, from_="2025-03-02")


STUDY = """
[model]
source = "Tank.mo"
[tune]
a = 0.4
[reading]
missing = [-9999]
unordered = "sort"
[[case]]
name = "run 1"
data = "log.csv"
from = 2025-03-01T00:00:02
inputs = { u = 1 }
outputs = { y = "level" }
reading = { dates = "day-first" }
"""


def tank(folder: Path, study: str = STUDY) -> Path:
    write_tank(folder)
    level = [4 - 3 * np.exp(-0.5 * t) for t in range(10)]
    rows = [f"01/03/2025 00:00:{t:02d},{x:.6f}" for t, x in enumerate(level)]
    rows[5] = "01/03/2025 00:00:05,-9999"
    text = ["stamp,level [m]", *rows[:3], rows[4], rows[3], *rows[5:]]
    (folder / "log.csv").write_text("\n".join(text) + "\n", encoding="utf-8")
    (folder / "study.toml").write_text(study, encoding="utf-8")
    return folder / "study.toml"


def test_a_study_reads_with_its_settings_and_those_of_the_case(tmp_path: Path) -> None:
    study = STUDY.replace('data = "log.csv"', 'data = "log.csv"\ntime = "stamp"')
    path = tank(tmp_path, study)
    assert [p.text for p in check_file(path) if not p.warning] == []
    fit = es.fit(read_study(path))
    (output,) = fit.case("run 1").outputs
    assert output.time.tolist() == [2, 3, 4, 6, 7, 8, 9]
    assert fit.estimates["a"] == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("missing = [-9999]", "missing = true", "missing: true is not a list"),
        ('dates = "day-first"', 'dates = "dayfirst"', "day-first"),
        ('unordered = "sort"', 'unorderd = "sort"', "did you mean 'unordered'?"),
        ("missing = [-9999]", 'timezone = "Europe/Belin"', "did you mean 'Europe/Berlin'"),
        ("missing = [-9999]", 'timezone = "Berlin"', "did you mean 'Europe/Berlin'"),
        ("missing = [-9999]", "bad_cells = 5", "it must be at most 1"),
    ],
)
def test_a_wrong_setting_is_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = tank(tmp_path, STUDY.replace(old, new))
    assert any(told in p.text for p in check_file(path)), [p.text for p in check_file(path)]


def test_a_preview_reads_as_the_study_does(tmp_path: Path) -> None:
    reading = reading_of(tank(tmp_path), "log.csv")
    assert reading == es.Reading(missing=(-9999.0,), unordered="sort", dates="day-first")
    assert reading_of(tmp_path / "missing.toml", "log.csv") == es.Reading()


def test_settings_are_in_the_schema() -> None:
    properties = study_schema()["$defs"]["Reading"]["properties"]
    assert {"timezone", "missing", "dates", "duplicates"} <= set(properties)
