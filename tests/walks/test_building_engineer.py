"""A building engineer: weekly logger files with °C, kW and a clock that goes forward, to a report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import expm
from tests.walks.desk import Desk

import estimica as es

TRUE = {"R": 0.005, "Rm": 0.002, "C": 4e6, "Cm": 4e7}
STEP = 900.0  # seconds
ROOM = """\
model Room "A room with walls"
  parameter Real R(unit = "K/W", min = 1e-4) = 0.01 "Resistance to outside";
  parameter Real Rm(unit = "K/W", min = 1e-4) = 0.005 "Resistance between air and walls";
  parameter Real C(unit = "J/K", min = 1e4) = 2e6 "Heat capacity of the air";
  parameter Real Cm(unit = "J/K", min = 1e4) = 2e7 "Heat capacity of the walls";
  input Real T_out(unit = "K") "Temperature outside";
  input Real P(unit = "W") "Heating power";
  Real T(unit = "K", start = 293.15, fixed = true) "Temperature of the air";
  Real Tm(unit = "K", start = 293.15, fixed = true) "Temperature of the walls";
equation
  C*der(T) = (T_out - T)/R + (Tm - T)/Rm + P;
  Cm*der(Tm) = (T - Tm)/Rm;
end Room;
"""


def write_logs(folder: Path, begin: str, days: int, files: int) -> None:
    """A file for each part of the time by a clock in Berlin, ten hours and some cells lost."""
    random, n = np.random.default_rng(1), days * 96
    t = STEP * np.arange(n)
    outside = 278.15 + 6 * np.sin(2 * np.pi * (t / 86400 - 0.4))
    heat = 3000.0 * random.integers(0, 2, n // 12 + 1).repeat(12)[:n]
    p = TRUE
    A = np.array(
        [
            [-(1 / p["R"] + 1 / p["Rm"]) / p["C"], 1 / (p["Rm"] * p["C"])],
            [1 / (p["Rm"] * p["Cm"]), -1 / (p["Rm"] * p["Cm"])],
        ]
    )
    B = np.array([[1 / (p["R"] * p["C"]), 1 / p["C"]], [0, 0]])
    M = expm(np.block([[A, B], [np.zeros((2, 4))]]) * STEP)
    x, air = np.array([293.0, 292.0]), np.empty(n)
    for k in range(n):  # exact: inputs are held between samples
        air[k] = x[0]
        x = M[:2, :2] @ x + M[:2, 2:] @ np.array([outside[k], heat[k]])
    stamps = pd.date_range(begin, periods=n, freq="15min", tz="Europe/Berlin")
    log = pd.DataFrame(
        {
            "Date": stamps.strftime("%d.%m.%Y %H:%M"),
            "T room [°C]": (air - 273.15 + 0.05 * random.standard_normal(n)).round(3),
            "T out [°C]": (outside - 273.15).round(3),
            "Heating [kW]": heat / 1000,
        }
    ).astype(object)
    log.loc[[20, 21, n - 9], "T room [°C]"] = "Err"
    lost = range(n // 3, n // 3 + 40)
    (folder / "logs").mkdir()
    for k in range(files):
        part = log.iloc[k * n // files : (k + 1) * n // files].drop(index=lost, errors="ignore")
        part.to_csv(folder / "logs" / f"week{k + 1}.csv", sep=";", decimal=",", index=False)


def walk(desk: Desk, begin: str, days: int, files: int) -> None:
    """From files to a report."""
    desk.write("Room.mo", ROOM)
    write_logs(desk.folder, begin, days, files)

    told = desk.type("new", "Room.mo", "logs/*.csv", "--output", "room.toml")
    assert f"its {files} files continue each other" in told
    assert "write join = true to make one record of them" in told
    assert "clocks go forward in many places" in told
    assert 'write timezone = "Europe/Berlin"' in told

    draft = (desk.folder / "room.toml").read_text(encoding="utf-8")
    desk.write("room.toml", f'{draft}\n[reading]\ntimezone = "Europe/Berlin"\n')
    desk.edit(
        "room.toml",
        name='name = "march"\njoin = true',
        free_start='free_start = ["T", "Tm"]',
        P='P = { column = "Heating", scale = 1000 }',
        T='T = { column = "T rom", offset = 273.15 }',
    )
    told = desk.type("check", "room.toml", code=2)
    assert "no column 'T rom' in" in told
    assert "did you mean 'T room'" in told
    desk.edit("room.toml", T='T = "T room"')  # °C to K by itself

    told = desk.type("check", "room.toml")
    assert "'Err' 3 times" in told
    assert "a gap of 10.2 h from 2026-03-" in told
    assert "its 2 stretches are simulated apart" in told
    assert "column 'T room' is converted from °C to K for 'T': offset = 273.15" in told

    told = desk.type("fit", "room.toml", "--report", "room.html", "--modelica", "Fitted.mo")
    assert "the residuals look white, as the standard errors take them to be" in told
    assert "start of Tm in march/2" in told
    assert "fit %" in told
    page = (desk.folder / "room.html").read_text(encoding="utf-8")
    assert "a gap of 10.2 h" in page
    assert "extends Room" in (desk.folder / "Fitted.mo").read_text(encoding="utf-8")

    told = desk.type("use", "last", "room.toml")
    assert "R: 0.01 → 0.00" in told
    assert "start of Tm in march" in told
    assert "start of Tm in march/2" in told
    fit = es.fit(es.read_study(desk.folder / "room.toml"))
    for name, value in TRUE.items():
        row = fit.parameters.loc[name]
        assert abs(row["value"] - value) < 3 * row["stderr"], name
    desk.type("use", "--undo", "room.toml")
    assert "R = { start = 0.01" in (desk.folder / "room.toml").read_text(encoding="utf-8")

    told = desk.type("bootstrap", "room.toml", "--fit", "last", "--replicates", "12", "--quiet")
    assert "12 of 12 replicates came to an optimum" in told

    again = fit.load(fit.save(desk.folder / "room.fit"))
    assert len(again.stretches) == 2
    assert again["R"] == fit["R"]

    misspelt = (desk.folder / "room.toml").read_text(encoding="utf-8").replace("\nCm =", "\nCmm =")
    desk.write("misspelt.toml", misspelt)
    assert "no parameter 'Cmm'; did you mean 'Cm'?" in desk.type("fit", "misspelt.toml", code=2)
    desk.write("nothing.toml", misspelt.replace("logs/", "lgs/"))
    told = desk.type("fit", "nothing.toml", code=2)
    assert "there is no folder 'lgs'; did you mean 'logs'?" in told


def test_a_week_of_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walk(Desk(tmp_path, monkeypatch), "2026-03-25", days=7, files=2)


@pytest.mark.slow
def test_a_month_of_weekly_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walk(Desk(tmp_path, monkeypatch), "2026-03-09", days=28, files=4)
