"""Start values of stretches behind gaps, and of one of several files, carry on as others do."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.room import SOURCE, room_data, without
from typer.testing import CliRunner, Result

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.estimate.setup import prepare

HOLE = (48.0, 58.0)
STUDY = """[model]
source = "Room.mo"

[tune]
Ca = { start = 3e6, min = 1e5, max = 1e8, scale = "log" }
Cw = { start = 3e7, min = 1e6, max = 1e9, scale = "log" }

[[case]]
name = "%s"
data = "%s"  # as the logger wrote it
free_start = { Ta = { start = 19, min = 0, max = 40 }, Tw = { min = 0, max = 40 } }
inputs = { Q = "heat", To = "outside" }
outputs = { Ta = { column = "air"%s } }
fix = { R1 = 0.005, R2 = 0.01 }
"""


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(w) for w in words])


def told(*words: object) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def with_gap(folder: Path, more: str = "") -> Path:
    (folder / "Room.mo").write_text(SOURCE)
    columns = ["time", "heat", "outside", "air"]
    without(room_data(), HOLE)[columns].to_csv(folder / "room.csv", index=False)
    path = folder / "room.toml"
    path.write_text(STUDY % ("room", "room.csv", more))
    return path


def of_days(folder: Path, more: str = "") -> Path:
    (folder / "Room.mo").write_text(SOURCE)
    (folder / "logs").mkdir()
    data = room_data()[["time", "heat", "outside", "air"]]
    for name, begin in (("mon", 0), ("tue", 1)):
        part = data[(data.time >= 86400 * begin) & (data.time < 86400 * (begin + 1))]
        part.to_csv(folder / "logs" / f"{name}.csv", index=False)
    path = folder / "days.toml"
    path.write_text(STUDY % ("day *", "logs/*.csv", more))
    return path


def begun(study: es.Study) -> dict[str, dict[str, float | None]]:
    """Where the search of each case and stretch begins."""
    ready = prepare(study)
    return {
        r.case.name: {n: s.start for n, s in r.case.start_values.items()} for r in ready.records
    }


def found(fit: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        case: {n: e["value"] for n, e in own.items()} for case, own in fit["start_values"].items()
    }


def agree(one: dict[str, dict[str, float | None]], other: dict[str, dict[str, float]]) -> None:
    assert one.keys() == other.keys()
    for case, own in other.items():
        assert one[case] == pytest.approx(own, rel=1e-8)


def test_states_behind_a_gap_are_written_and_taken_back(tmp_path: Path) -> None:
    path = with_gap(tmp_path)
    before = path.read_text()
    fit = told("fit", path)
    assert set(fit["start_values"]) == {"room", "room/2"}
    done = run("use", "last", path)
    assert done.exit_code == 0, done.output
    assert "start of Tw in room/2: the model's value →" in " ".join(done.output.split())
    case = tomllib.loads(path.read_text())["case"][0]
    assert list(case["own_starts"]) == ["room/2"]
    assert "# as the logger wrote it" in path.read_text()
    agree(begun(es.read_study(path)), found(fit))
    again = told("fit", path)
    assert len(again["iterations"]) <= 3 < len(fit["iterations"])
    assert run("use", "--undo", path).exit_code == 0
    assert path.read_text() == before


def test_a_fit_that_begins_with_a_run_begins_there_in_every_stretch(tmp_path: Path) -> None:
    path = with_gap(tmp_path)
    fit = es.fit(es.read_study(path))
    agree(begun(es.read_study(path).use(fit)), found(fit.to_dict()))


def test_each_of_several_files_has_start_values_of_its_own(tmp_path: Path) -> None:
    path = of_days(tmp_path)
    fit = told("fit", path)
    assert set(fit["start_values"]) == {"day mon", "day tue"}
    assert run("use", "last", path).exit_code == 0
    agree(begun(es.read_study(path)), found(fit))
    assert set(tomllib.loads(path.read_text())["case"][0]["own_starts"]) == {"day mon", "day tue"}
    assert run("check", path).exit_code == 0


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    path = of_days(tmp_path, ", disturbance = true")
    told("fit", path)
    words = " ".join(run("use", "last", path).output.split())
    assert "disturbance of Ta in day mon is not written" in words
    assert "the next fit finds it anew" in words
    gap = tmp_path / "gap"
    gap.mkdir()
    path = with_gap(gap, ", disturbance = true")
    told("fit", path)
    words = " ".join(run("use", "last", path).output.split())
    assert "the disturbance of 'Ta' in 'room/2' is not carried over: the next fit finds" in words


def test_names_that_mean_no_stretch_or_state_are_told(tmp_path: Path) -> None:
    path = with_gap(tmp_path)
    text = path.read_text() + 'own_starts = { "rom/2" = { Ta = 20, Tx = 3 } }\n'
    path.write_text(text)
    words = " ".join(run("check", path).output.split())
    assert "own_starts: 'rom/2' is not a stretch of this case; behind its first gap it is" in words
    assert "own_starts: the model has no state 'Tx'" in words


def test_a_written_study_keeps_them(tmp_path: Path) -> None:
    path = with_gap(tmp_path)
    fit = es.fit(es.read_study(path))
    there = es.read_study(path).use(fit)
    there.write(tmp_path / "copy.toml")
    agree(begun(es.read_study(tmp_path / "copy.toml")), found(fit.to_dict()))
