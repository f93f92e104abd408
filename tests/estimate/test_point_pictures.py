"""Fits of points drawn against any variable, in groups of another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.estimate.fit.pictures import picture
from estimica.estimate.fit.point_pictures import groups, residual_panels
from estimica.estimate.fit.present import page
from estimica.simulate.formula import formula_model
from estimica.study.check.run import check_file

FORMULA = "((p0 - p)/(p0 - 1))^2*(a0 + a1*n)"


def _fit(**more):
    rng = np.random.default_rng(1)
    n = np.tile(np.linspace(10, 50, 8), 3)
    p = np.repeat([2.0, 2.7, 4.0], 8) + rng.normal(0, 0.01, 24)
    y = ((9 - p) / 8) ** 2 * (0.9 + 1e-3 * n) + rng.normal(0, 1e-3, 24)
    data = pd.DataFrame({"speed": n, "p": p, "y": y, "bench": np.repeat([1.0, 2.0], 12)})
    case = es.Case("points", data, inputs={"n": "speed", "p": "p"}, outputs={"y": "y"})
    tuners = [es.Tuner("p0", start=8), es.Tuner("a0", start=1), es.Tuner("a1", start=0)]
    return es.fit(es.Study(formula_model({"y": FORMULA}, ["n", "p"]), tuners, [case], **more))


def test_values_that_lie_together_are_one_group():
    values = np.r_[2 + 0.01 * np.arange(10), 2.7 + 0.01 * np.arange(10), 4 + 0.01 * np.arange(10)]
    found = groups("pi", values)
    assert [g.label for g in found] == ["pi = 2.04", "pi = 2.75", "pi = 4.04"]
    assert sum(g.rows.sum() for g in found) == 30


def test_few_values_are_groups_of_their_own_and_spread_ones_shares():
    assert [g.label for g in groups("n", np.array([1.0, 2.0, 2.0, 3.0]))] == [
        "n = 1",
        "n = 2",
        "n = 3",
    ]
    spread = groups("n", np.random.default_rng(1).uniform(0, 1, 200))
    assert len(spread) == 5
    assert "…" in spread[0].label


def test_each_group_has_its_points_and_the_fitted_curve_of_the_model():
    fit = _fit()
    panel = picture(fit, "fit", None, "n", "p").panels[0]
    points, lines = panel.curves[::2], panel.curves[1::2]
    assert [len(c.time) for c in points] == [8, 8, 8]
    assert all(c.dotted for c in points)
    assert [c.name for c in lines] == ["p = 2", "p = 2.7", "p = 4"]
    line = lines[0]
    p = float(fit.setup.records[0].inputs["p"].value[:8].mean())
    p0, a0, a1 = fit.values
    assert line.value == pytest.approx(((p0 - p) / (p0 - 1)) ** 2 * (a0 + a1 * line.time))
    assert len(line.time) > 50


def test_a_column_of_an_input_is_that_input_and_any_column_serves():
    fit = _fit()
    by_column = picture(fit, "fit", None, "speed", "p").panels[0].curves[1]
    by_input = picture(fit, "fit", None, "n", "p").panels[0].curves[1]
    assert by_column.value == pytest.approx(by_input.value)
    named = picture(fit, "residuals", None, "bench", None).panels[0]
    assert set(named.curves[1].time) == {1.0, 2.0}
    assert fit.plot(against="y", by="n").data


def test_where_other_inputs_vary_simulated_points_are_joined():
    curve = picture(_fit(), "fit", None, "n", None).panels[0].curves[1]
    assert curve.marked
    assert len(curve.time) == 24


def test_parity_shows_measured_against_simulated():
    fit = _fit()
    panel = picture(fit, "parity").panels[0]
    assert panel.curves[1].time == pytest.approx(fit.case("points")["y"].measured)
    assert panel.curves[1].value == pytest.approx(fit.case("points")["y"].simulated)
    assert panel.across.label == "y measured"


def test_residuals_are_drawn_against_every_input():
    assert [p.across.label for p in residual_panels(_fit()).panels] == ["n", "p"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"against": "spede"}, "F093: there is no 'spede' that points could be drawn against; did"),
        ({"against": "n", "by": "q"}, "F093: there is no 'q'"),
        ({"by": "bench"}, "F095: by 'bench' needs against"),
        ({"kind": "cost", "against": "n"}, "F094: plot 'cost' is not drawn against a variable"),
    ],
)
def test_what_cannot_be_drawn_is_told(arguments, words):
    with pytest.raises(es.FitError, match=words):
        _fit().plot(**arguments)


STUDY = """
[static]
expression = "a + b*x + c*n"
against = "x"
by = "nn"
[tune]
a = 1
b = 1
c = 1
[[case]]
name = "points"
data = "points.csv"
inputs = { x = "x", n = "n" }
outputs = { y = "y" }
"""


def _written(folder: Path, text: str) -> Path:
    rng = np.random.default_rng(2)
    x, n = rng.uniform(0, 1, 20), np.repeat([1.0, 2.0], 10)
    frame = pd.DataFrame({"x": x, "n": n, "y": 1 + 2 * x + n + rng.normal(0, 0.1, 20)})
    frame.to_csv(folder / "points.csv", index=False)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_names_of_the_static_table_are_checked(tmp_path):
    told = check_file(_written(tmp_path, STUDY))
    assert [p.code for p in told if not p.warning] == ["Q040"]
    assert "by: there is no 'nn'" in told[0].text


def test_the_static_table_and_the_command_line_choose_the_axes(tmp_path):
    from typer.testing import CliRunner

    path = _written(tmp_path, STUDY.replace('"nn"', '"n"'))
    fit = es.fit(es.read_study(path))
    assert [c.name for c in picture(fit).panels[0].curves[1::2]] == ["n = 1", "n = 2"]
    page = tmp_path / "page.html"
    told = CliRunner().invoke(
        app, ["fit", str(path), "--report", str(page), "--against", "n", "--no-store", "--quiet"]
    )
    assert told.exit_code == 0
    assert "Simulated against measured" in page.read_text()
    told = CliRunner().invoke(app, ["fit", str(path), "--by", "n", "--no-store"])
    assert told.exit_code == 2
    assert "P010" in told.output


def test_large_numbers_of_groups_are_written_out():
    labels = [g.label for g in groups("dp", np.array([1e4, 3e4, 1.2345e5]))]
    assert labels == ["dp = 10000", "dp = 30000", "dp = 123000"]
    assert groups("q", np.array([1e-7]))[0].label == "q = 1e-07"


def test_residuals_against_an_input_are_drawn_once_on_the_page():
    fit = _fit()
    for against, count in (("n", 0), ("speed", 0), ("bench", 1)):  # besides those against inputs
        section = next(s for s in page(fit, against).sections if s.heading == "Residuals")
        assert len(section.shown) == 1 + count


def test_grouping_without_an_axis_is_told(tmp_path):
    told = check_file(_written(tmp_path, STUDY.replace('against = "x"\nby = "nn"', 'by = "n"')))
    assert [p.code for p in told if not p.warning] == ["Q041"]
