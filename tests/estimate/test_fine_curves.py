"""The fitted model is drawn between the samples too, wherever that is the same model run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import estimica as es
from estimica.base.view import Curve
from estimica.estimate.fit import fine_curves
from estimica.estimate.fit.pictures import picture
from estimica.estimate.fit.result import Fit
from estimica.report.html import page_html

DECAY = """
model Decay
  parameter Real T = 2;
  input Real u;
  Real x(start = 1, fixed = true);
  output Real y = x;
  output Real z = 3*x + u;
equation
  T*der(x) = u - x;
end Decay;
"""
STAMPS = np.array([0.0, 0.5, 1.0, 8.0, 9.0, 10.0])  # with a gap


def study(times=STAMPS, cases: int = 1, **estimation: Any) -> es.Study:
    model = es.load_model(DECAY)
    made = []
    for k in range(cases):
        y = (1 + k) * np.exp(-times / 2)
        made.append(
            es.Case(
                f"case {k + 1}",
                {"time": times, "y": y, "z": 3 * y + 0.7},
                inputs={"u": 0.0},
                outputs={"y": "y", "z": es.OutputColumn("z", disturbance=True)},
                free_start=["x"],
                role="validate" if k else "calibrate",
            )
        )
    given = es.Estimation(**estimation)
    return es.Study(model, [es.Tuner("T", start=1.5, min=0.1, max=10)], made, estimation=given)


def drawn(fit: Fit, kind: str = "fit") -> list[tuple[Curve, Curve]]:
    """Measured and simulated of each panel."""
    return [(p.curves[0], p.curves[-1]) for p in picture(fit, kind).panels]


def test_line_follows_the_model_between_stamps_and_across_gaps() -> None:
    """Against exp(−t/T) at all thousand times, of a case that validates likewise."""
    fit = es.fit(study(cases=2))
    panels = drawn(fit)
    assert len(panels) == 4
    for k, (measured, simulated) in enumerate(panels):
        case, scale, shift = 1 + k // 2, 3.0 if k % 2 else 1.0, 0.7 if k % 2 else 0.0
        assert measured.time == pytest.approx(STAMPS)
        assert measured.dotted
        assert not simulated.dotted
        assert len(simulated.time) >= fine_curves.POINTS
        expected = case * scale * np.exp(-simulated.time / 2) + shift
        assert simulated.value == pytest.approx(expected, abs=2e-5)
        assert np.isin(STAMPS, simulated.time).all()


def test_iterations_are_drawn_as_finely() -> None:
    fit = es.fit(study())
    curves = picture(fit, "iterations").panels[0].curves
    first = curves[1]
    assert len(first.time) > 500  # of six stamps, and few enough for a page to draw all of them
    assert first.value == pytest.approx(np.exp(-first.time / 1.5), abs=2e-5)
    assert "fewer samples than they have" not in page_html(fit.page())


def test_residuals_stay_at_the_stamps() -> None:
    panel = picture(es.fit(study()), "residuals").panels[0]
    assert panel.curves[0].time == pytest.approx(STAMPS)


def test_records_with_many_samples_need_no_finer_line() -> None:
    times = np.linspace(0, 10, fine_curves.POINTS)
    _, simulated = drawn(es.fit(study(times)))[0]
    assert np.array_equal(simulated.time, times)


def test_simulation_that_takes_long_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fine_curves, "PATIENCE", 0.0)
    _, simulated = drawn(es.fit(study()))[0]
    assert np.array_equal(simulated.time, STAMPS)


def test_outputs_with_stamps_of_their_own_end_where_theirs_end() -> None:
    model = es.load_model(DECAY)
    data = {"time": STAMPS, "y": np.exp(-STAMPS / 2), "z": 3 * np.exp(-STAMPS / 2)}
    data["z"][3:] = np.nan
    case = es.Case("own", data, inputs={"u": 0.0}, outputs={"y": "y", "z": "z"})
    fit = es.fit(es.Study(model, [es.Tuner("T", start=1.5)], [case]))
    (_, y), (_, z) = drawn(fit)
    assert (y.time[0], y.time[-1]) == (0.0, 10.0)
    assert (z.time[0], z.time[-1]) == (0.0, 1.0)
    assert z.value == pytest.approx(3 * np.exp(-z.time / 2), abs=1e-4)


def test_function_is_drawn_finely_where_it_gives_the_same() -> None:
    def decay(u, t, T=1.5):  # a function of time alone
        return np.exp(-t / T)

    def euler(u, t, T=1.5):  # one that steps from stamp to stamp: other times, other numbers
        return np.concatenate([[1.0], np.cumprod(1 / (1 + np.diff(t) / T))])

    for function, finely in ((decay, True), (euler, False)):
        model = es.function_model(function, inputs=["u"], outputs=["y"])
        case = es.Case(
            "f",
            {"time": STAMPS, "y": np.exp(-STAMPS / 2)},
            inputs={"u": 0.0},
            outputs={"y": "y"},
        )
        fit = es.fit(es.Study(model, [es.Tuner("T", start=1.5, min=0.1, max=10)], [case]))
        _, simulated = drawn(fit)[0]
        assert (len(simulated.time) > len(STAMPS)) is finely


def test_pieces_of_a_coarse_collocation_stay_as_they_are() -> None:
    """What was fitted is not what a single simulation gives: no line of another model is drawn."""
    fit = es.fit(study(transcription="collocation", degree=1))
    for measured, simulated in drawn(fit):
        assert np.array_equal(simulated.time, measured.time)


def test_implicit_euler_is_drawn_by_its_own_steps() -> None:
    solver = es.Solver(method="implicit-euler", step=0.5)
    s = study()
    fit = es.fit(es.Study(s.model, s.tuners, s.cases, solver=solver))
    _, simulated = drawn(fit)[0]
    k = np.arange(21)
    start = fit.values[1]
    expected = np.interp(simulated.time, 0.5 * k, start * (1 + 0.5 / fit["T"]) ** -k.astype(float))
    assert simulated.value == pytest.approx(expected, abs=1e-6)
