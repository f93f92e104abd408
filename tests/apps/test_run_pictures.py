"""Runs one over the other: curves from their own pages, criteria as bars, a page and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.apps.run_pictures import (
    criteria_bars,
    difference_curves,
    overlaid_curves,
    run_page,
    without_curves,
)
from estimica.base.view import Curve, Curves, Page, Panel, Ribbon, Section
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


def test_signals_behind_criteria_are_overlaid(store: Store) -> None:
    """As pages of designs have them without any indicator: before, after, a demand."""

    def stored(shift: float) -> str:
        curves = (
            Curve("before", TIME, TIME, dashed=True),
            Curve("overshoot: demand", TIME, 0 * TIME + 1.05),
            Curve("after", TIME, TIME + shift),
        )
        panel = Panel("x [m]", curves, group="light: overshoot")
        page = Page("Design", (Section("Signals", "", (Curves((panel,), "", "time"),)),))
        with store.begin("optimise", name="mass", study="", settings={}) as run:
            run.keep_page(page_to_json(page))
            run.finish(Status.DONE, "", {"command": "optimise", "tuners": {}})
        return run.id

    pages = [run_page(store, store.run(stored(shift))) for shift in (0.25, 0.75)]
    overlaid = overlaid_curves(pages)
    assert overlaid is not None
    (panel,) = overlaid.panels
    assert [c.name for c in panel.curves] == [
        "x [m], start",
        "overshoot: demand",
        "x [m], optimise 1",
        "x [m], optimise 2",
    ]
    differences = difference_curves(pages)
    assert differences is not None
    assert [c.name for c in differences.panels[0].curves] == ["x [m], optimise 2 − optimise 1"]
    assert differences.panels[0].curves[0].value == pytest.approx(0.5 + 0 * TIME)


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
    assert names == ["x, start", "x, optimise 1", "x, optimise 2", "ref"]
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
    assert without_curves(pages) == ["sweep 1"]
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
        "03_differences_of_curves.png",
    ]
    found = json.loads(CliRunner().invoke(app, ["runs", "compare", *ids, "--json"]).stdout)
    (panel,) = found["curves"]
    assert [c["name"] for c in panel["curves"]][1:3] == ["x, optimise 1", "x, optimise 2"]
    assert panel["curves"][1]["values"] == pytest.approx(list(TIME + 0.25))
    assert found["cautions"] == []
    (less,) = found["difference_curves"]
    assert [c["name"] for c in less["curves"]] == ["x, optimise 2 − optimise 1"]
    assert less["curves"][0]["values"] == pytest.approx([0.5] * 5)
    (told,) = found["differences"]
    assert (told["run"], told["from"]) == (ids[1], ids[0])
    assert told["values"]["k"] == {"difference": 0.5, "stderr": None, "relative": 2.0}
    assert told["values"]["error in one"]["difference"] == 1.0
    assert "+0.5 (+200 %)" in done.stdout


def family(store: Store, shift: float, open_: int, stamps: int = 5) -> str:
    """A stored Monte Carlo whose page draws a band, a median, a reference and single runs."""
    time = np.linspace(0.0, 1.0, stamps)
    curves = (
        Curve("demands hold", time, time + 9, colour=2),
        Curve("median", time, time**2 + shift, colour=0),
        Curve("reference", time, 0 * time, dashed=True),
    )
    band = Ribbon("5 % to 95 % of the runs at each time", time, time - 1, time + 1 + shift)
    heading = "way: error" + (f", not settled in {open_} of 100" if open_ else "")
    panel = Panel("x [m]", curves, group=heading, ribbons=(band,))
    page = Page("Monte Carlo", (Section("Families of curves", "", (Curves((panel,)),)),))
    with store.begin("montecarlo", name="mass", study="", settings={}) as run:
        run.keep_page(page_to_json(page))
        run.finish(Status.DONE, "", {"command": "montecarlo"})
    return run.id


def test_families_are_overlaid_by_band_and_median_and_subtracted(store: Store) -> None:
    ids = [family(store, 0.0, 0), family(store, 0.5, 3, stamps=9)]
    store.rename(ids[1], "stiffer spring")
    pages = [run_page(store, store.run(i)) for i in ids]
    overlaid = overlaid_curves(pages)
    assert overlaid is not None
    (panel,) = overlaid.panels  # one, although the runs differ in how many have settled
    assert panel.group == "way: error"
    names = [c.name for c in panel.curves]
    assert names == [
        "median, montecarlo 1",
        "median, stiffer spring",
        "reference, montecarlo 1",
        "reference, stiffer spring",
    ]
    assert [r.name.partition(",")[0] for r in panel.ribbons] == ["montecarlo 1", "stiffer spring"]
    assert len({r.colour for r in panel.ribbons}) == 2
    less = difference_curves(pages)
    assert less is not None
    median = less.panels[0].curves[0]
    assert median.name == "median, stiffer spring − montecarlo 1"
    # by hand: t² + 0.5 at nine stamps less t² drawn through five of them; in the middle of two
    # stamps of the coarse one, 0.25 apart, the chord of t² lies (0.25/2)² above it
    assert median.value[::2] == pytest.approx([0.5] * 5)
    assert median.value[1::2] == pytest.approx([0.5 - 0.125**2] * 4)


def test_a_wrong_format_or_ending_is_told_before_anything_is_read(store: Store) -> None:
    ids = [design(store, 0.25), design(store, 0.75)]
    told = CliRunner().invoke(app, ["runs", "compare", *ids, "--figures", "f", "--format", "gif"])
    assert told.exit_code == 2
    assert "there is no format 'gif' of figures" in told.stderr
    told = CliRunner().invoke(app, ["runs", "compare", *ids, "--report", "both.pdf"])
    assert told.exit_code == 2
    assert "both.pdf" in told.stderr
