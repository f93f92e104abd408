"""Pages go through JSON and come back as they were, thinned to what can be seen."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from estimica.base import view as show
from estimica.base.errors import ReportError
from estimica.base.thinning import MOST_IN_FIGURE, MOST_POINTS, thin_cloud, thin_curve, thin_page
from estimica.base.view import (
    Across,
    Band,
    Bar,
    Bars,
    Curve,
    Curves,
    Heat,
    Listing,
    Page,
    Panel,
    Parallel,
    Ribbon,
    Rounded,
    Section,
    Table,
    Upright,
)
from estimica.base.view_json import page_from_json, page_to_json

LONG = np.linspace(0.0, 1e4, 1_000_000)


def there_and_back(page: Page) -> Page:
    return page_from_json(json.loads(json.dumps(page_to_json(page), allow_nan=False)))


def one_of_each() -> Page:
    t = np.linspace(0.0, 1.0, 50)
    panels = (
        Panel("y [m]", (Curve("a", t, t**2, "m", "é", dotted=True), Curve("b", t, t, colour=3))),
        Panel("L", (Curve("c", t, t + 1),), (Band("band", -1.0, 1.0),), log=True, group="g",
              ribbons=(Ribbon("r", t, t, t + 1),), across=Across("ω [rad/s]", log=True)),
    )  # fmt: skip
    hole = np.array([[1.0, math.nan], [math.inf, 2.0], [0.0, 3.0]])
    heat = Heat(t[:2], t[:3], hole, "x", "y", "v", (Curve("path", t, t),), ticks=())
    shown: tuple[show.ViewElement, ...] = (
        Curves(panels, "title", whole=True),
        heat,
        Bars((("g", (Bar("a", 1.0, strong=True), Bar("b", -2.0, base=0.5, margin=0.1))),), "l"),
        Parallel((Upright("p", t), Upright("q", t + 1, log=True)), t > 0.5),
        Table(
            ("a", "b"), (("x", 1), (None, 2.5), (True, math.nan), (Rounded(0.125, 2), -math.inf))
        ),
        Listing("[model]\n# é", "study", folded=True),
    )
    return Page("T", (Section("h", "One.\n\nTwo.", shown), Section("c", chapter=True)), "lead")


def test_every_kind_comes_back_and_draws_the_same_figure() -> None:
    page = one_of_each()
    back = there_and_back(page)
    assert [(s.heading, s.text, s.chapter) for s in back.sections] == [
        ("h", "One.\n\nTwo.", False),
        ("c", "", True),
    ]
    for before, after in zip(page.sections[0].shown, back.sections[0].shown, strict=True):
        assert type(before) is type(after)
        assert show.figure(after).to_json() == show.figure(before).to_json()
        assert show.text(after) == show.text(before)


def test_cells_keep_their_kind() -> None:
    rows = ((1, 1.0, Rounded(2.345, 1), math.inf), (np.int64(3), np.float64(2), np.True_, None))
    table = Table(("a", "b", "c", "d"), rows)
    (shown,) = there_and_back(Page("t", (Section("h", "", (table,)),))).sections[0].shown
    assert isinstance(shown, Table)
    assert [type(c) for c in shown.rows[0]] == [int, float, Rounded, float]
    assert str(shown.rows[0][2]) == "2.3"
    assert shown.rows[1] == (3, 2.0, True, None)


def test_long_curves_are_thinned_alike_for_json_and_for_drawing() -> None:
    y = np.sin(LONG) + np.random.default_rng(1).normal(size=len(LONG))
    curves = Curves((Panel("y", (Curve("m", LONG, y, dotted=True), Curve("s", LONG, y))),))
    page = Page("t", (Section("h", "", (curves,)),))
    (back,) = there_and_back(page).sections[0].shown
    assert show.figure(back).to_json() == show.figure(curves).to_json()


def test_page_of_a_million_samples_and_fifty_figures_stays_below_two_megabytes() -> None:
    y = np.sin(LONG)
    figure = Curves(tuple(Panel("y", (Curve("m", LONG, y), Curve("s", LONG, -y))) for _ in "abcd"))
    heat = Heat(LONG[:90], LONG[:90], np.zeros((90, 90)), "x", "y", "v")
    page = Page("t", tuple(Section(f"h{k}", "", (figure, heat)) for k in range(10)))
    assert len(json.dumps(page_to_json(page))) < 2e6


@pytest.mark.parametrize("place", [0, 1, 777_777, 999_998, 999_999])
def test_a_single_spike_of_a_million_samples_stays(place: int) -> None:
    y = np.zeros(len(LONG))
    y[place] = 1.0
    for thin in (thin_curve, thin_cloud):
        t, v = thin(LONG, y)
        assert len(t) <= MOST_POINTS
        assert v.max() == 1.0
        assert t[v.argmax()] == LONG[place]
        assert (t[0], t[-1]) == (LONG[0], LONG[-1])


def test_gaps_stay_gaps_and_hide_no_extremes() -> None:
    y = 5.0 + np.sin(LONG)
    y[300_000:600_000] = np.nan
    y[::7] = np.nan
    y[100_003] = 4.5e-3
    t, v = thin_curve(LONG, y)
    assert np.nanmin(v) == 4.5e-3
    assert np.isnan(v[(t > LONG[310_000]) & (t < LONG[590_000])]).all()


def test_thinning_twice_changes_nothing() -> None:
    y = np.sin(LONG)
    ribbon = Ribbon("r", LONG, y - 1, y + 1)
    panels = tuple(Panel("y", (Curve("a", LONG, y, dotted=True),), ribbons=(ribbon,)) for _ in "ab")
    once = thin_page(Page("t", (Section("h", "", (Curves(panels),)),)))
    twice = thin_page(once)
    a, b = (p.sections[0].shown[0] for p in (once, twice))
    assert show.figure(a).to_json() == show.figure(b).to_json()
    assert sum(len(t.x) for t in show.figure(a).data) < 2 * MOST_IN_FIGURE


def test_counts_of_parallel_lines_stay_those_of_all() -> None:
    parallel = Parallel((Upright("p", LONG),), LONG < 10.0)
    (back,) = there_and_back(Page("t", (Section("h", "", (parallel,)),))).sections[0].shown
    assert isinstance(back, Parallel)
    assert back.counts == (1000, 999_000)
    assert len(back.good) <= 1500


def test_pages_that_cannot_be_read_are_told() -> None:
    good = page_to_json(one_of_each())
    with pytest.raises(ReportError, match=r"P020: this page has the format 2, not 1; .*run the"):
        page_from_json({**good, "format": 2})
    broken: dict[str, Any] = {**good, "sections": [{"kind": "Chapter"}]}
    with pytest.raises(ReportError, match="P021: the stored page cannot be read: 'Chapter'"):
        page_from_json(broken)
    with pytest.raises(ReportError, match=r"P021: .*it is not a page"):
        page_from_json({"format": 1, "kind": "Table", "columns": [], "rows": []})


def test_arrays_that_come_back_can_be_written_to() -> None:
    (curves, *_) = there_and_back(one_of_each()).sections[0].shown
    assert isinstance(curves, Curves)
    curves.panels[0].curves[0].value[0] = 3.0
    assert replace(curves.panels[0].curves[0]).value[0] == 3.0


@pytest.mark.parametrize(
    "page",
    [
        {"kind": "Page", "title": 3, "sections": []},
        {"kind": "Page", "title": "a", "sections": [], "lead": {"number": "nan"}},
        {"kind": "Page", "title": "a", "sections": [], "lead": {"kind": "Listing", "text": "x"}},
        {"kind": "Page", "title": "a", "sections": [{"kind": "Section", "heading": ["b"]}]},
        {"kind": "Page", "title": "a", "sections": [], "lead": {"__v_isVNode": True}},
        {"kind": "Page", "title": "a", "sections": [{"kind": "Section", "heading": "b", "shown": [
            {"kind": "Table", "columns": [["c"]], "rows": []}]}]},
    ],
)  # fmt: skip
def test_what_should_be_a_text_is_one(page: dict[str, Any]) -> None:
    with pytest.raises(ReportError, match="P021"):
        page_from_json({"format": 1, **page})
