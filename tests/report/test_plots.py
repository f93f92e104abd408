"""Figures show every curve, in one look, and stay small."""

from __future__ import annotations

import numpy as np

from estimica.base.thinning import MOST_IN_FIGURE, MOST_POINTS, thin_cloud, thin_curve
from estimica.base.view import Band, Curve, Curves, Panel, Table, trajectories
from estimica.report.plotly.curves import PALETTE, figure, lightened, table_figure

TIME = np.linspace(0.0, 10.0, 101)


def test_figure_has_one_row_for_each_panel() -> None:
    fig = figure(trajectories([Curve("E", TIME, TIME, "MW"), Curve("P", TIME, -TIME, "bar")]))
    assert [trace.name for trace in fig.data] == ["E", "P"]
    assert fig.layout.yaxis.title.text == "E [MW]"
    assert fig.layout.yaxis2.title.text == "P [bar]"
    assert fig.layout.xaxis2.title.text == "time [s]"


def test_curves_of_one_panel_differ_in_colour_and_have_a_legend() -> None:
    panel = Panel("y", tuple(Curve(n, TIME, TIME) for n in "abc"))
    fig = figure(Curves((panel,)))
    assert [trace.line.color for trace in fig.data] == list(PALETTE[:3])
    assert all(trace.showlegend for trace in fig.data)


def test_stepped_and_measured_curves_are_drawn_as_such() -> None:
    curves = (Curve("u", TIME, TIME, stepped=True), Curve("m", TIME, TIME, dotted=True))
    step, dots = figure(Curves((Panel("y", curves),))).data
    assert step.line.shape == "hv"
    assert dots.mode == "markers"


def test_many_panels_still_make_a_figure() -> None:
    many = trajectories([Curve(f"x{k}", TIME, TIME) for k in range(60)])
    assert len(figure(many).data) == 60


def test_no_panels_make_an_empty_figure() -> None:
    assert len(figure(Curves(())).data) == 0


def test_thinning_keeps_the_ends_and_a_single_spike() -> None:
    time = np.linspace(0.0, 1.0, 1_000_003)
    value = np.zeros_like(time)
    value[777_777] = 5.0
    t, v = thin_curve(time, value)
    assert len(t) <= MOST_POINTS
    assert (t[0], t[-1]) == (0.0, 1.0)
    assert v.max() == 5.0
    assert np.all(np.diff(t) > 0)


def test_table_figure_prints_numbers_short() -> None:
    fig = table_figure(Table(("name", "value"), (("R", 1 / 3),)))
    assert list(fig.data[0].cells["values"][1]) == ["0.333333"]


def test_panels_of_a_group_move_together_under_their_heading() -> None:
    panels = tuple(
        Panel(f"y{k}", (Curve("y", TIME, TIME),), group=group) for k, group in enumerate("aab")
    )
    layout = figure(Curves(panels)).layout
    assert (layout.xaxis.matches, layout.xaxis2.matches, layout.xaxis3.matches) == (None, "x", None)
    assert layout.xaxis.showticklabels is False
    assert layout.xaxis2.showticklabels is None
    assert [a.text for a in layout.annotations] == ["<b>a</b>", "<b>b</b>"]
    bottoms = [layout[f"yaxis{n}"].domain[0] for n in ("", "2", "3")]
    tops = [layout[f"yaxis{n}"].domain[1] for n in ("", "2", "3")]
    assert all(b > t for b, t in zip(bottoms, tops[1:], strict=False))
    assert (tops[0], bottoms[-1]) == (1.0, 0.0)


def test_bands_logarithmic_axes_and_strengths_are_drawn() -> None:
    curve = Curve("c", TIME, TIME + 1, colour=1, strength=0.5, dashed=True, marked=True)
    fig = figure(Curves((Panel("y", (curve,), (Band("± 2σ", -1.0, 1.0),), log=True),)))
    assert fig.layout.yaxis.type == "log"
    assert (fig.layout.shapes[0].y0, fig.layout.shapes[0].y1) == (-1.0, 1.0)
    assert fig.data[0].line.color == lightened(PALETTE[1], 0.5)
    assert fig.data[0].line.dash == "dash"
    assert fig.data[0].mode == "lines+markers"


def test_colours_fade_to_white() -> None:
    assert lightened("#0072B2", 1.0) == "#0072B2"
    assert lightened("#0072B2", 0.0) == "#FFFFFF"


def test_axis_that_counts_has_whole_numbers() -> None:
    number = np.arange(4.0)
    fig = figure(Curves((Panel("cost", (Curve("cost", number, number),)),), whole=True))
    assert (fig.layout.xaxis.dtick, fig.layout.xaxis.tickformat) == (1, "d")


def test_names_with_markup_are_shown_as_they_are() -> None:
    odd = "<b>x</b> & y"
    fig = figure(
        Curves((Panel(odd, (Curve(odd, TIME, TIME), Curve("z", TIME, TIME)), group=odd),), odd)
    )
    shown = "&lt;b&gt;x&lt;/b&gt; &amp; y"
    assert fig.data[0].name == shown
    assert fig.layout.yaxis.title.text == shown
    assert fig.layout.title.text == shown
    assert fig.layout.annotations[0].text == f"<b>{shown}</b>"


def test_many_long_curves_share_the_points_of_a_figure() -> None:
    time = np.linspace(0.0, 1.0, 100_000)
    curves = tuple(Curve(f"c{k}", time, np.sin(99 * time), dotted=k < 4) for k in range(16))
    fig = figure(Curves((Panel("y", curves),)))
    assert sum(len(t.x) for t in fig.data) < 1.2 * MOST_IN_FIGURE


def test_thinned_clouds_keep_their_middle_and_their_extremes() -> None:
    time = np.linspace(0.0, 1.0, 1_000_000)
    value = np.random.default_rng(1).standard_normal(len(time))
    t, v = thin_cloud(time, value)
    assert len(t) <= MOST_POINTS
    assert (v.min(), v.max()) == (value.min(), value.max())
    assert np.mean(np.abs(v) < 1) > 0.3
    assert np.all(np.diff(t) > 0)


def test_more_curves_than_colours_are_told_apart_by_their_lines() -> None:
    time = np.array([0.0, 1.0])
    curves = tuple(Curve(f"c{k}", time, time + k) for k in range(20))
    fig = figure(Curves((Panel("all", curves),)))
    looks = {(t.line.color, t.line.dash) for t in fig.data}
    assert len(looks) == 20
    assert [t.line.dash for t in fig.data[:8]] == ["solid"] * 8
    assert not any(t.line.dash == "dash" for t in fig.data)  # which means something else
