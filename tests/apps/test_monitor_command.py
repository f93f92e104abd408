"""`estimica monitor`: what it prints, where its state is, how it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.infer.test_monitor import MODEL, table
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.execute.runs.store import Store

STUDY = """[model]
source = "Room.mo"
[tune]
R = 0.01
C = 1e6
[process_noise]
T = "s"
[[case]]
name = "a"
data = "room.csv"
inputs = { Ta = "Ta", Q = "Q" }
outputs = { T = "T" }
[estimate]
criterion = "prediction"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame = table(700)
    frame.iloc[:400].to_csv("room.csv", index=False)
    frame.to_csv("live.csv", index=False)
    Path("Room.mo").write_text(MODEL)
    Path("room.toml").write_text(STUDY)
    return tmp_path


def test_it_goes_on_where_it_ended(here: Path) -> None:
    first = CliRunner().invoke(app, ["monitor", "room.toml", "--once", "--json", "--fit", "fit"])
    assert first.exit_code == 0, first.output
    told = json.loads(first.stdout)
    assert told["counts"]["known"] == 400
    words = ["monitor", "room.toml", "--once", "--follow", "live.csv", "--lines"]
    second = CliRunner().invoke(app, words)
    assert second.exit_code == 0, second.output
    lines = [json.loads(line) for line in second.stdout.splitlines() if line.startswith("{")]
    assert sum(line["status"] == "taken" for line in lines) == 300
    assert set(lines[-1]["values"]) == {"R", "C", "sigma_T", "s"}
    assert "goes on" not in second.stderr  # it had taken in nothing but what the fit knew
    third = CliRunner().invoke(app, [*words[:-1], "--json"])
    assert "goes on behind 300 samples" in third.stderr
    assert json.loads(third.stdout)["counts"]["taken"] == 300
    run = Store.beside(here).runs(command="monitor")[0]
    assert str(run.status) == "done"


def test_another_setting_is_refused_until_it_begins_anew(here: Path) -> None:
    words = ["monitor", "room.toml", "--once", "--quiet"]
    assert CliRunner().invoke(app, words).exit_code == 0
    refused = CliRunner().invoke(app, [*words, "--wild", "7"])
    assert refused.exit_code == 2
    assert "wild was 6.0 and is 7.0" in refused.stderr
    assert CliRunner().invoke(app, [*words, "--wild", "7", "--restart"]).exit_code == 0
    wrong = CliRunner().invoke(app, [*words, "--drift", "R=much"])
    assert "'much' is not a number" in wrong.stderr
