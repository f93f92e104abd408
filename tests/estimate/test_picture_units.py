"""Pictures and figures of columns that are scaled, moved or transformed are in the units they say.

The model is y = a·x in its own units; the files have x in milli-units from another zero, and y in
milli-units, so that what is drawn in the wrong ones lies a factor of a thousand away.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.view import Curves, Panel
from estimica.data.table import Data
from estimica.estimate.fit.pictures import picture
from estimica.estimate.fit.point_pictures import parity_curves, residual_panels
from estimica.simulate.formula import formula_model

X = np.linspace(1.0, 3.0, 9)
NOISE = 0.02 * np.sin(7 * np.arange(9))
COLUMN = 1000 * (X - 0.5)  # mX, counted from 0.5
LINKED = {"scale": 1e-3, "offset": 0.5}


def static(transform: str | None = None, **inputs: Any) -> es.Fit:
    y = 2 * X * np.exp(NOISE)
    data = Data("bench.csv", {"mx": COLUMN, "my": 1000 * y}, {"mx": "mX", "my": "mY"})
    sigma = 0.02 if inputs else None
    outputs = {"y": es.OutputColumn("my", scale=1e-3, transform=transform, sigma=sigma)}
    given = {"x": es.InputColumn("mx", **LINKED, **inputs)}
    case = es.Case("points", data, inputs=given, outputs=outputs)
    return es.fit(es.Study(formula_model({"y": "a*x"}, ["x"]), [es.Tuner("a", start=1)], [case]))


def ends(panel: Panel) -> tuple[float, float]:
    x = np.concatenate([c.time for c in panel.curves])
    return float(x.min()), float(x.max())


@pytest.mark.parametrize(("against", "low", "high"), [("mx", 500, 2500), ("x", 1, 3)])
def test_the_fitted_curve_lies_on_the_points_whatever_it_is_drawn_against(
    against: str, low: float, high: float
) -> None:
    fit = static()
    panel = picture(fit, "fit", None, against).panels[0]
    points, line = panel.curves
    assert ends(panel) == pytest.approx((low, high))
    assert (line.time[0], line.time[-1]) == pytest.approx((low, high))
    on_line = np.interp(points.time, line.time, line.value)
    assert on_line == pytest.approx(2 * X, rel=0.02)
    assert points.value == pytest.approx(2 * X, rel=0.03)
    assert picture(fit, "fit", None, against).time_label == ("mx [mX]" if against == "mx" else "x")


def test_a_column_that_falls_while_its_input_rises_is_drawn_as_it_falls() -> None:
    data = pd.DataFrame({"back": -X, "y": 2 * X})
    case = es.Case("points", data, inputs={"x": es.InputColumn("back", scale=-1.0)},
                   outputs={"y": "y"})  # fmt: skip
    fit = es.fit(es.Study(formula_model({"y": "a*x"}, ["x"]), [es.Tuner("a", start=1)], [case]))
    _, line = picture(fit, "fit", None, "back").panels[0].curves
    assert line.value == pytest.approx(-2 * line.time)


@pytest.mark.parametrize("kind", ["fit", "residuals"])
@pytest.mark.parametrize("transform", [None, "log", "value^2"])
@pytest.mark.parametrize("against", [None, "mx", "x"])
def test_no_curve_of_a_panel_is_in_other_units_than_its_label(
    kind: str, transform: str | None, against: str | None
) -> None:
    fit = static(transform)
    shown: Curves = picture(fit, kind, None, against)
    (panel,) = shown.panels
    own = {"log": "log(y)", "value^2": "value^2 of y", None: "y"}[transform]
    assert panel.label == ("y" if kind == "fit" else own)
    for curve in panel.curves:
        size = float(np.abs(curve.value).max())
        assert size < (7 if kind == "fit" else 0.1 if transform != "value^2" else 2), curve.name


def test_parity_and_residual_panels_are_in_the_models_units() -> None:
    fit = static("log")
    (panel,) = parity_curves(fit).panels
    assert ends(panel) == pytest.approx((2, 6), rel=0.05)
    (panel,) = residual_panels(fit).panels
    assert panel.label == "log(y)"
    assert ends(panel) == pytest.approx((1, 3))


def test_figures_of_a_fit_of_logarithms_are_those_of_the_values() -> None:
    output = static("log").cases[0]["y"]
    y = 2 * X * np.exp(NOISE)
    a = np.exp(np.mean(np.log(y / X)))  # least squares of the logarithms
    missed = np.linalg.norm(a * X - y)
    assert output.rmse == pytest.approx(missed / 3)
    assert output.errn_percent == pytest.approx(100 * missed / np.linalg.norm(y))
    assert output.fit_percent == pytest.approx(100 * (1 - missed / np.linalg.norm(y - y.mean())))
    logged = np.log(a * X) - np.log(y)
    whole = np.log(y) - np.log(y).mean()
    assert output.explained_percent == pytest.approx(
        100 * (1 - np.linalg.norm(logged) / np.linalg.norm(whole))
    )


def test_the_error_of_a_fit_of_logarithms_does_not_depend_on_the_unit() -> None:
    found = []
    for unit in (1.0, 1e3):
        data = pd.DataFrame({"x": X, "y": unit * 2 * X * np.exp(NOISE)})
        outputs = {"y": es.OutputColumn("y", transform="log")}
        case = es.Case("points", data, inputs={"x": "x"}, outputs=outputs)
        study = es.Study(formula_model({"y": "a*x^b"}, ["x"]),
                         [es.Tuner("a", start=unit), es.Tuner("b", start=0.9)], [case])  # fmt: skip
        fit = es.fit(study)
        found.append((fit.cases[0]["y"].errn_percent, es.measures(fit)))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)
    one, other = found[0][1], found[1][1]
    assert one.error == pytest.approx(other.error, rel=1e-6)
    assert pytest.approx(other.measures.S, rel=1e-6) == one.measures.S
    # ψ = ∂log y/∂log a = 1: a change of a by a share changes y by that share
    assert one.measures.S[0] == pytest.approx(1.0, rel=1e-6)


def test_tables_and_json_say_what_was_fitted_instead_of_the_values() -> None:
    fit = static("log")
    assert "fitted as log(y)" in repr(fit)
    quality: Any = fit.to_dict()["quality"]
    assert quality["points"]["y"]["fitted_as"] == "log(y)"
    assert "fitted_as" not in static().to_dict()["quality"]["points"]["y"]  # type: ignore[index]


def test_an_input_with_errors_has_the_unit_of_the_scaled_column() -> None:
    fit = static(sigma=0.01)
    own = next(o for o in fit.cases[0].outputs if o.is_input)
    assert own.unit == ""  # mX is what the file has, not what is drawn
    assert own.measured == pytest.approx(X)


# --- planes ---------------------------------------------------------------------------------------


def test_sensitivity_ellipses_have_axes_of_one_scale_that_are_named() -> None:
    t = np.linspace(0, 1, 40)
    data = pd.DataFrame({"t": t, "y": 1 + 2 * t + 0.5 * t**2 + 0.01 * np.sin(40 * t)})
    case = es.Case("points", data, inputs={"t": "t"}, outputs={"y": "y"})
    model = formula_model({"y": "a + b*t + c*t^2"}, ["t"])
    fit = es.fit(es.Study(model, [es.Tuner(n, start=1) for n in "abc"], [case]))
    shown = es.measures(fit).plot()
    pairs = (("a", "b"), ("a", "c"), ("b", "c"))
    for k, (first, second) in enumerate(pairs, start=1):
        number = "" if k == 1 else str(k)
        across, up = shown.layout[f"xaxis{number}"], shown.layout[f"yaxis{number}"]
        assert across.title.text == f"{first} / its estimate"
        assert up.title.text == f"{second} / its estimate"
        assert (up.scaleanchor, up.scaleratio) == (f"x{number}", 1)
    ring = es.measures(fit).measures.ellipse("a", "b")
    turns = np.linalg.norm(np.diff(ring, axis=0), axis=1)
    assert turns.max() < 0.05 * np.ptp(ring, axis=0).max()  # its ends are round


def test_what_the_outputs_do_not_tell_apart_has_no_ellipse_and_says_so() -> None:
    from estimica.infer.sensitivity.result import of_hessian

    ring = of_hessian([[1.0, 1.0], [1.0, 1.0]], ["a", "b"]).ellipse("a", "b")
    assert np.isnan(ring).any()


@pytest.mark.parametrize("level", [0.5, 0.95, 0.995, 0.999])
def test_a_region_says_its_level_and_what_it_is_of(level: float) -> None:
    x = np.linspace(0, 1, 30)
    data = pd.DataFrame({"x": x, "y": 1 + 2 * x - x**2 + 0.1 * np.sin(50 * x)})
    case = es.Case("points", data, inputs={"x": "x"}, outputs={"y": "y"})
    model = formula_model({"y": "a + b*x + c*x^2"}, ["x"])
    fit = es.fit(es.Study(model, [es.Tuner(n, start=1) for n in "abc"], [case]))
    found = es.region(fit, "a", "b", level=level, points=16)
    title = f"joint {100 * level:g} % confidence region of a and b"
    assert found.table().title.endswith(title)
    held = es.region(fit, "a", "b", level=level, others="conditional", points=16)
    assert held.text == f"{title} if all other unknowns were known"
    band = es.bands(fit, level=level)
    assert f"{100 * level:g} % of measurements" in repr(band.plot().data)
