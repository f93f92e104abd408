"""The owner of an FMU: what is in it, a draft, a fit, values for other tools and a report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.fmus.build import EXAMPLE, builder, built
from tests.walks.desk import Desk

import estimica as es

pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not builder.compiler(), reason="no C compiler")

TRUE = {"air.C": 5.2e5, "wall.C": 7.1e6, "wall.R": 3.4e-3, "wall.R_out": 1.25e-2}  # of make_data.py


def test_from_an_fmu_to_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, monkeypatch)
    shutil.copy(built("rcThermal"), tmp_path / "rcThermal.fmu")
    shutil.copy(EXAMPLE / "room.csv", tmp_path)
    shutil.copy(EXAMPLE / "room.toml", tmp_path)

    told = desk.type("inspect", "rcThermal.fmu")
    assert "R_out = " in told
    assert "T_room" in told
    desk.type("new", "rcThermal.fmu", "room.csv", "--output", "draft.toml")
    draft = (tmp_path / "draft.toml").read_text(encoding="utf-8")
    assert '"wall.C" = ' in draft
    assert 'column = "outside"' in draft or '"outside"' in draft

    told = desk.type(
        "fit", "room.toml", "--quiet", "--report", "room.html", "--ssv", "room.ssv", "--json"
    )
    result = json.loads(told[told.index("{") :])
    assert result["outcome"]
    fit = es.fit(es.read_study(tmp_path / "room.toml"))
    assert fit.outcome.ok
    assert "wall.R_out" in (tmp_path / "room.ssv").read_text(encoding="utf-8")
    assert "window.A" in (tmp_path / "room.html").read_text(encoding="utf-8")
    for name, value in TRUE.items():
        row = fit.parameters.loc[name]
        assert abs(row["value"] - value) < 3.5 * row["stderr"], name

    text = (EXAMPLE / "room.toml").read_text(encoding="utf-8")
    desk.write("wrong.toml", text.replace('"wall.R_out" =', '"wall.Rout" ='))
    assert "did you mean 'wall.R_out'" in desk.type("fit", "wrong.toml", code=2)
    desk.write("wrong.toml", text.replace('"room", T_wall', '"rom", T_wall'))
    assert "did you mean 'room'" in desk.type("check", "wrong.toml", code=2)
    desk.write("wrong.toml", text.replace("room.csv", "romm.csv"))
    assert "romm.csv" in desk.type("check", "wrong.toml", code=2)
    (tmp_path / "broken.fmu").write_bytes(b"not a zip file")
    told = desk.type("inspect", "broken.fmu", code=2)
    assert "broken.fmu" in told
