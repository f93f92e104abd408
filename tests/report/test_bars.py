"""Bars: one for each value, the strong ones in the strong colour, names as they are written."""

from __future__ import annotations

from estimica.base.view import Bar, Bars, Page, Section, figure, html, text, write

BARS = Bars(
    (
        ("step 1", (Bar("a<b", 10.0, "risk 0.1"), Bar("c", 1000.0, strong=True))),
        ("", (Bar("n" * 80, 0.0),)),
    ),
    "gain",
    "Gains",
    log=True,
)


def test_bars_keep_their_values_and_names():
    fig = figure(BARS)
    (trace,) = fig.data
    assert list(trace.x) == [10.0, 1000.0, 0.0]
    assert fig.layout.yaxis.ticktext[0] == "step 1: a&lt;b"
    assert len(fig.layout.yaxis.ticktext[2]) == 48
    assert fig.layout.xaxis.type == "log"
    colours = trace.marker.color
    assert colours[0] == colours[2] != colours[1]


def test_bars_are_told_as_a_table_in_a_terminal():
    shown = text(BARS)
    assert "gain" in shown
    assert "1000" in shown


def test_bars_stand_on_a_page(tmp_path):
    assert "plotly" in html(BARS)
    page = write(Page("Page", (Section("Bars", "", (BARS,)),)), tmp_path / "page.html")
    assert "step 1: a" in page.read_text(encoding="utf-8")
