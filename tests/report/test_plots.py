"""Figures show every curve, in one look, and stay small."""

from __future__ import annotations

import numpy as np

from estimica.base.show import Curve, Curves, Panel, Table, trajectories
from estimica.report.plots import MOST_POINTS, PALETTE, figure, table_figure, thinned

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
    t, v = thinned(time, value)
    assert len(t) <= MOST_POINTS + 2
    assert (t[0], t[-1]) == (0.0, 1.0)
    assert v.max() == 5.0
    assert np.all(np.diff(t) > 0)


def test_table_figure_prints_numbers_short() -> None:
    fig = table_figure(Table(("name", "value"), (("R", 1 / 3),)))
    assert list(fig.data[0].cells["values"][1]) == ["0.333333"]
