"""Runs one over the other: curves from their own pages, criteria as bars, a page and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.apps.run_pictures import criteria_bars, overlaid_curves, run_page, without_curves
from estimica.base.view import Curve, Curves, Page, Panel, Section
from estimica.base.view_json import page_to_json
from estimica.execute.runs.record import Status
from estimica.execute.runs.store import Store

TIME = np.linspace(0.0, 1.0, 5)


def design(store: Store, shift: float) -> str:
    """A stored design whose page draws x before and after, and a reference that nobody changes."""
    curves = [
        Curve("x, before", TIME, TIME, dashed=True),
        Curve("ref, before", TIME, 0 * TIME, dashed=True),
        Curve("x, after", TIME, TIME + shift),
        Curve("ref, after", TIME, 0 * TIME),
    ]
    panel = Panel("way", tuple(curves), group="way in one")
    page = Page("Design", (Section("Indicators", "", (Curves((panel,), "way", "time"),)),))
    score = {"value": 2 * shift, "demand": 1.0, "weighted": 2 * shift, "role": "minimise"}
    result = {
        "command": "optimise",
        "tuners": {"k": {"value": shift}},
        "criteria": {"one": {"error": {**score, "holds": 2 * shift <= 1}}},
    }
    with store.begin("optimise", name="mass", study="", settings={}) as run:
        run.keep_page(page_to_json(page))
        run.finish(Status.DONE, "", result)
    return run.id


def fit(store: Store) -> str:
    curves = (Curve("measured", TIME, TIME, dotted=True), Curve("simulated", TIME, TIME + 0.1))
    panel = Panel("x [m]", curves, group="run 1")
    shown = Section("Measured and simulated", "", (Curves((panel,)),))
    with store.begin("fit", name="mass", study="", settings={}) as run:
        run.keep_page(page_to_json(Page("Fit", (shown,))))
        run.finish(Status.DONE, "", {"command": "fit", "parameters": {}})
    return run.id


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    return Store.beside(tmp_path)


def test_designs_are_overlaid_and_what_they_share_is_drawn_once(store: Store) -> None:
    ids = [design(store, 0.25), design(store, 0.75)]
    pages = [run_page(store, store.run(i)) for i in ids]
    overlaid = overlaid_curves(pages)
    assert overlaid is not None
    (panel,) = overlaid.panels
    assert panel.group == "way in one"
    names = [c.name for c in panel.curves]
    assert names == ["x, start", f"x, {ids[0]}", f"x, {ids[1]}", "ref"]
    assert panel.curves[1].value == pytest.approx(TIME + 0.25)
    assert panel.curves[2].value == pytest.approx(TIME + 0.75)
    assert len({c.colour for c in panel.curves[1:3]}) == 2
    bars = criteria_bars(pages)
    assert bars is not None
    ((label, group),) = bars.groups
    assert label == "error in one"
    assert [(b.value, b.strong) for b in group] == [(0.5, False), (1.5, True)]


def test_fits_share_what_was_measured_and_runs_without_curves_are_named(store: Store) -> None:
    ids = [fit(store), fit(store)]
    with store.begin("sweep", name="grid", study="", settings={}) as run:
        run.finish(Status.DONE, "", {})
    pages = [run_page(store, store.run(i)) for i in (*ids, run.id)]
    overlaid = overlaid_curves(pages)
    assert overlaid is not None
    assert [c.name for c in overlaid.panels[0].curves] == ["measured", "simulated"]  # they agree
    assert without_curves(pages) == [run.id]
    assert overlaid_curves(pages[2:]) is None
    assert criteria_bars(pages) is None


def test_compare_writes_a_page_pictures_and_json(store: Store, tmp_path: Path) -> None:
    ids = [design(store, 0.25), design(store, 0.75)]
    command = ["runs", "compare", *ids, "--report", "both.html", "--figures", "drawn"]
    done = CliRunner().invoke(app, [*command, "--format", "png"])
    assert done.exit_code == 0, done.output
    assert "0.5 (demanded ≤ 1)" in done.stdout
    assert "1.5 (demanded ≤ 1, missed)" in done.stdout
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert ids[0] in page
    assert "Criteria" in page
    assert sorted(p.name for p in (tmp_path / "drawn").iterdir()) == [
        "01_criteria.png",
        "02_curves.png",
    ]
    found = json.loads(CliRunner().invoke(app, ["runs", "compare", *ids, "--json"]).stdout)
    (panel,) = found["curves"]
    assert [c["name"] for c in panel["curves"]][1:3] == [f"x, {i}" for i in ids]
    assert panel["curves"][1]["values"] == pytest.approx(list(TIME + 0.25))
    assert found["cautions"] == []


def test_a_wrong_format_or_ending_is_told_before_anything_is_read(store: Store) -> None:
    ids = [design(store, 0.25), design(store, 0.75)]
    told = CliRunner().invoke(app, ["runs", "compare", *ids, "--figures", "f", "--format", "gif"])
    assert told.exit_code == 2
    assert "there is no format 'gif' of figures" in told.stderr
    told = CliRunner().invoke(app, ["runs", "compare", *ids, "--report", "both.pdf"])
    assert told.exit_code == 2
    assert "both.pdf" in told.stderr
