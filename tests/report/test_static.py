"""Figures in files show what the interactive ones show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from estimica.base import view as show
from estimica.base.errors import ReportError
from estimica.base.view import (
    Across,
    Band,
    Bar,
    Bars,
    Curve,
    Curves,
    Heat,
    Page,
    Panel,
    Parallel,
    Ribbon,
    Section,
    Table,
    Upright,
)
from estimica.report.matplotlib.files import matplotlib_figure
from estimica.report.plotly.bars import figure
from estimica.report.plotly.curves import PALETTE

TIME = np.linspace(0.0, 1.0, 11)
CURVES = Curves(
    (
        Panel(
            "y",
            (Curve("measured", TIME, TIME, dotted=True), Curve("simulated", TIME, TIME + 1)),
            (Band("band", -1.0, 1.0),),
            group="run $1",
            ribbons=(Ribbon("95 %", TIME, TIME, TIME + 1),),
        ),
        Panel("G", (Curve("gain", TIME + 1, TIME + 1),), log=True, across=Across("f [Hz]", True)),
    ),
    "A_title with $ and _",
)
HEAT = Heat(TIME, TIME, np.outer(TIME, TIME), "p", "q", "cost", (Curve("at", TIME, TIME),))
CELLS = Heat(TIME[:2], TIME[:2], np.eye(2), "", "", "correlation", ticks=("p", "q"))
BARS = Bars((("g", (Bar("a", 1.0, strong=True), Bar("b", 2.0, margin=0.1))),), "gain", log=True)
LINES = Parallel((Upright("p", TIME + 1, log=True), Upright("q", TIME)), TIME > 0.5)
EVERY = (CURVES, HEAT, CELLS, BARS, LINES)


def test_curves_have_the_same_data_colours_and_labels() -> None:
    first, second = matplotlib_figure(CURVES).axes
    measured, simulated = first.lines
    assert np.array_equal(simulated.get_ydata(), TIME + 1)
    assert [line.get_color() for line in (measured, simulated)] == list(PALETTE[:2])
    assert measured.get_linestyle() == "None"
    assert second.get_yscale() == "log"
    assert second.get_xscale() == "log"
    assert second.get_xlabel() == "f [Hz]"
    assert first.get_ylabel() == "y"


def test_long_curves_keep_their_extremes() -> None:
    time = np.linspace(0.0, 1.0, 200_000)
    y = np.zeros(len(time))
    y[123_457] = 3.0
    (line,) = matplotlib_figure(Curves((Panel("y", (Curve("y", time, y),)),))).axes[0].lines
    shown = np.asarray(line.get_ydata())
    assert len(shown) <= 4000
    assert shown.max() == 3.0


def test_intervals_around_bars_need_not_be_symmetric() -> None:
    bar = Bar("b", 2.0, margin=0.5, margin_below=0.1)
    bars = Bars((("g", (bar,)),), "gain")
    (segments,) = (c.get_segments() for c in matplotlib_figure(bars).axes[0].collections)
    assert segments[0][:, 0].tolist() == pytest.approx([1.9, 2.5])
    told = figure(bars).data[0].error_x
    assert not told.symmetric
    assert (list(told.arrayminus), list(told.array)) == ([0.1], [0.5])


def test_bars_stand_in_order_from_the_top() -> None:
    axes = matplotlib_figure(BARS).axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["g: a", "g: b"]
    assert axes.yaxis_inverted()
    assert [p.get_width() for p in axes.patches] == [1.0, 2.0]


@pytest.mark.parametrize("format", ["svg", "png", "pdf"])
def test_every_kind_is_written(tmp_path: Path, format: str) -> None:
    table = Table(("a",), ((1,),))
    page = Page("t", (Section("One: two", "", (*EVERY, table)),))
    written = show.write_figures(page, tmp_path / "figures", format)
    assert [p.name for p in written][:2] == [
        f"01_a_title_with_and.{format}",
        f"02_one_two.{format}",
    ]
    assert len(written) == 5
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[format]
    assert all(p.read_bytes().startswith(begins) for p in written)


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    page = Page("t", (Section("h", "", (CURVES,)),))
    (a,) = show.write_figures(page, tmp_path / "a")
    (b,) = show.write_figures(page, tmp_path / "b")
    assert a.read_bytes() == b.read_bytes()


def test_unknown_formats_are_told(tmp_path: Path) -> None:
    with pytest.raises(
        ReportError, match=r"P023: there is no format 'pgn' of figures; did you mean"
    ):
        show.write_figures(Page("t", ()), tmp_path, "pgn")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    page = Page("t", (Section("h", "", (BARS,)),))
    with pytest.raises(ReportError, match="P001: cannot write"):
        show.write_figures(page, tmp_path / "file")
