"""estimica simulate with inputs whose files have dates: axes, tables, and inputs of two files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner, Result

from estimica.apps.cli.commands.app import app

MODEL = """model Tank
  input Real q;
  input Real p;
  output Real h(start = 0, fixed = true);
equation
  der(h) = (q + p)/3600;
  annotation(experiment(StopTime = 14400));
end Tank;
"""


def simulated(folder: Path, *words: str) -> Result:
    (folder / "Tank.mo").write_text(MODEL)
    return CliRunner().invoke(app, ["simulate", str(folder / "Tank.mo"), *words])


def dated(path: Path, first: str, *rows: tuple[str, float]) -> str:
    lines = "".join(f"{first}T{hour}:00,{value:g}\n" for hour, value in rows)
    path.write_text("date,flow\n" + lines)
    return str(path)


def test_curves_and_table_have_the_dates_of_the_inputs(tmp_path: Path) -> None:
    q = dated(tmp_path / "q.csv", "2026-03-01", ("08:00", 1.0), ("10:00", 0.0), ("12:00", 0.0))
    table, page = tmp_path / "out.csv", tmp_path / "out.html"
    done = simulated(
        tmp_path, "--input", f"q={q}", "--points", "5", "--csv", str(table), "--plot", str(page),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [r["date"] for r in rows] == [f"2026-03-01 {h:02d}:00:00" for h in range(8, 13)]
    assert [float(r["time"]) for r in rows] == [0, 3600, 7200, 10800, 14400]
    assert np.allclose([float(r["h"]) for r in rows], [0, 1, 2, 2, 2], atol=1e-6)
    text = page.read_text(encoding="utf-8")
    assert "from 2026-03-01 08:00:00 to 2026-03-01 12:00:00" in text
    assert '"type":"date"' in text.replace(" ", "")
    assert "time [s]" not in text


def test_inputs_of_two_files_share_one_clock(tmp_path: Path) -> None:
    q = dated(tmp_path / "q.csv", "2026-03-01", ("08:00", 1.0), ("12:00", 1.0))
    p = dated(tmp_path / "p.csv", "2026-03-01", ("10:00", 0.0), ("11:00", 1.0), ("12:00", 1.0))
    done = simulated(
        tmp_path, "--input", f"q={q}", "--input", f"p={p}", "--points", "5", "--json",
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["dates"][0] == "2026-03-01 08:00:00"
    # p is 1 from 11:00 on, not from an hour after 08:00 on
    assert np.allclose(told["values"]["h"], [0, 1, 2, 3, 5], atol=1e-6)


def test_a_zone_in_one_file_only_is_refused(tmp_path: Path) -> None:
    q = dated(tmp_path / "q.csv", "2026-03-01", ("08:00", 1.0), ("12:00", 1.0))
    path = tmp_path / "p.csv"
    path.write_text("date,flow\n2026-03-01T08:00:00+01:00,1\n2026-03-01T12:00:00+01:00,1\n")
    done = simulated(tmp_path, "--input", f"q={q}", "--input", f"p={path}")
    assert done.exit_code != 0
    assert "the dates of 'p' have a time zone, those of 'q' have none" in " ".join(
        done.output.split()
    )


def test_seconds_stay_seconds(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("time,flow\n0,1\n14400,1\n")
    done = simulated(tmp_path, "--input", f"q={path}", "--points", "3", "--json")
    assert "dates" not in json.loads(done.stdout)
