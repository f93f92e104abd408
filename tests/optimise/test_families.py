"""Families of curves: the signals behind the criteria, against the closed form of each run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.optimise.assess.families import chosen_rows
from estimica.optimise.assess.family_pictures import HOLD, HOLD_NOT, OPEN, kinds_of_runs
from estimica.optimise.criteria.courses import Courses, drawing_times
from estimica.optimise.criteria.panels import Panels
from estimica.simulate.engine.result import Run
from estimica.simulate.response import Response

K = 30.0


def servo(stop: float = 3.0, **more: object) -> es.Study:
    """x'' = (K·(1 − x) − d·x')/m, as the transfer function that it is."""
    model = es.transfer_function("K/(m*s^2 + d*s + K)", parameters={"K": K, "d": 6, "m": 1})
    criteria = [
        es.Criterion("overshoot", "y", kind="overshoot", reference=1.0, demand=0.25),
        es.Criterion("settling", "y", kind="settling-time", reference=1.0, demand=1.6, unit="s"),
        es.Criterion("top", "2*y", kind="peak", demand=9.0),
    ]
    tuners = [es.Tuner("d", start=6, min=2, max=12)]
    cases = [es.Case("step", stop=stop, inputs={"u": 1.0})]
    return es.Study(model, tuners, cases, criteria=criteria, name="servo", **more)  # type: ignore[arg-type]


def exact(time: np.ndarray, m: float, d: float) -> np.ndarray:
    w, z = np.sqrt(K / m), d / (2 * np.sqrt(K * m))
    wd = w * np.sqrt(complex(1 - z * z))
    course = np.exp(-z * w * time) * (np.cos(wd * time) + z * w / wd * np.sin(wd * time))
    return np.asarray((1 - course).real)


DRAW = {"m": {"min": 0.5, "max": 4}, "d": {"kind": "normal", "mean": 6, "sigma": 1}}


@pytest.fixture(scope="module")
def drawn() -> es.Result:
    return es.montecarlo(servo(), draw=DRAW, samples=60, curves=25)


def test_every_curve_is_the_closed_form_of_its_sample(drawn) -> None:
    assert [(f.case, f.signal) for f in drawn.families] == [("step", "y"), ("step", "2*y")]
    one, two = drawn.families
    assert 25 <= len(one.rows) <= 31
    names = list(drawn.samples.names)
    for row, values, double in zip(one.rows, one.values, two.values, strict=True):
        m, d = (drawn.samples.values[row, names.index(n)] for n in ("m", "d"))
        np.testing.assert_allclose(values, exact(one.time, m, d), atol=1e-9)
        np.testing.assert_allclose(double, 2 * values, atol=1e-12)
    assert one.reference is not None
    np.testing.assert_array_equal(one.reference, 1.0)
    # bands are quantiles of the runs that were chosen by chance
    low, middle, high = one.quantiles([0.05, 0.5, 0.95])
    assert one.typical.sum() == 25
    np.testing.assert_allclose(middle, np.median(one.values[one.typical], axis=0))
    assert (low <= middle).all()
    assert (middle <= high).all()


def test_colours_say_whether_the_demands_on_the_signal_hold(drawn) -> None:
    family = drawn.families[0]
    kinds = kinds_of_runs(drawn, family)
    assert sum(k.sum() for k in kinds.values()) == len(family.rows)
    open_ = drawn.open[family.rows, 1]
    np.testing.assert_array_equal(kinds[OPEN], open_)
    assert kinds[OPEN].any()
    for k in np.flatnonzero(~open_):
        over, settling = drawn.values[family.rows[k], :2]
        assert bool(kinds[HOLD][k]) == (over <= 0.25 and settling <= 1.6)
        assert kinds[HOLD_NOT][k] != kinds[HOLD][k]
    picture = drawn.picture("families")
    words = {c.name for c in picture.panels[0].curves}
    assert {"demands hold", "demands do not hold", "not settled", "median", "reference"} >= words
    assert "not settled in" in picture.panels[0].group
    listed = [c.name for p in picture.panels for c in p.curves if c.listed]
    assert len(listed) == len(set(listed))
    only = drawn.picture("families", "top")
    assert [p.label for p in only.panels] == ["2*y"]


def test_what_has_not_settled_is_a_bar_apart(drawn) -> None:
    panel = drawn.picture("distribution", "settling").panels[0]
    (apart,) = [c for c in panel.curves if c.name == "not settled: no value"]
    others = [c for c in panel.curves if c is not apart]
    assert apart.time.min() > max(float(c.time.max()) for c in others)
    assert apart.value.max() == drawn.open[:, 1].sum()


def test_workers_and_interruptions_do_not_change_what_is_drawn(drawn) -> None:
    again = es.montecarlo(servo(), draw=DRAW, samples=60, curves=25, workers=2)
    for one, other in zip(drawn.families, again.families, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.values, other.values)


def test_json_stays_small_whatever_the_samples(drawn) -> None:
    told = json.loads(json.dumps(drawn.to_dict()["curves"]))
    first = told[0]
    assert (first["case"], first["signal"], first["levels"]) == ("step", "y", [0.05, 0.95])
    assert len(first["runs"]) <= 20
    assert len(first["time"]) == len(first["median"]) == len(first["runs"][0]["values"]) == 151
    for run in first["runs"]:
        assert (run["holds"] is None) == (not run["settled"])
    assert len(json.dumps(first)) < 60_000


def test_extremes_are_always_among_ten_thousand() -> None:
    least = np.random.default_rng(0).standard_normal((10_000, 2))
    good = np.ones(10_000, bool)
    good[:10] = False
    rows, typical = chosen_rows(good, least, 100)
    assert typical.sum() == 100
    assert len(rows) <= 104
    assert not (rows < 10).any()
    for k in range(2):
        for place in (np.argmin, np.argmax):
            assert 10 + int(place(least[10:, k])) in rows


def test_a_sweep_has_its_envelope_and_a_page(tmp_path: Path) -> None:
    swept = es.sweep(servo(), vary={"d": [3, 6, 9], "m": [0.5, 2]})
    family = swept.families[0]
    assert len(family.rows) == 6
    panel = swept.picture("families").panels[0]
    np.testing.assert_array_equal(panel.ribbons[0].low, family.values.min(axis=0))
    np.testing.assert_array_equal(panel.ribbons[0].high, family.values.max(axis=0))
    swept.report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Families of curves" in text
    assert "from the lowest to the highest run" in text


def test_none_are_drawn_where_none_are_wanted_or_there_is_no_signal() -> None:
    none = es.sweep(servo(), vary={"d": [3, 6]}, curves=0)
    assert none.families == ()
    with pytest.raises(es.DesignError, match="O079: there are no curves over time"):
        none.picture("families")
    with pytest.raises(es.EstimicaError, match="curves"):
        es.sweep(servo(), vary={"d": [3, 6]}, curves=-1)


@pytest.mark.parametrize("stop", [3.0, 0.3])  # all settle at the start, or none
def test_curves_cost_no_simulation_of_their_own(stop: float, monkeypatch) -> None:
    runs: list[int] = []
    plain = Response.at_values

    def counted(self: Response, values: np.ndarray, times: np.ndarray) -> Run:
        runs.append(len(times))
        return plain(self, values, times)

    monkeypatch.setattr(Response, "at_values", counted)
    counts = []
    for curves in (0, 100):
        runs.clear()
        swept = es.sweep(servo(stop), vary={"d": [3, 6, 9], "m": [0.5, 2]}, curves=curves)
        counts.append(len(runs))
    assert len(swept.families[0].rows) == 6
    assert counts[1] == counts[0]


def test_scores_do_not_depend_on_what_is_drawn(drawn) -> None:
    without = es.montecarlo(servo(), draw=DRAW, samples=60, curves=0)
    np.testing.assert_allclose(without.values, drawn.values, rtol=1e-9)
    np.testing.assert_array_equal(without.open, drawn.open)


def test_curves_are_smooth_where_they_bend() -> None:
    """A run of 10 s that bends in its first milliseconds: straight lines between the points."""
    model = es.transfer_function("1/(T*s + 1)", parameters={"T": 0.002})
    study = es.Study(
        model,
        [es.Tuner("T", start=0.002, min=0.001, max=0.01)],
        [es.Case("step", stop=10.0, inputs={"u": 1.0})],
        criteria=[es.Criterion("rise", "y", kind="rise-time", demand=1.0)],
    )
    family = es.sweep(study, vary={"T": [0.002, 0.003, 0.004]}).families[0]
    assert len(family.time) == 301
    assert np.diff(family.time).max() <= 10 / 150 * 1.001
    fine = np.linspace(0, 0.02, 2000)
    for T, values in zip([0.002, 0.003, 0.004], family.values, strict=True):
        drawn_line = np.interp(fine, family.time, values)
        np.testing.assert_allclose(drawn_line, 1 - np.exp(-fine / T), atol=0.01)


def test_runs_that_are_scored_by_panels_are_drawn_from_them() -> None:
    """A function of the user is scored in the way of the search: its run is read there."""
    panels = Panels.of([0.0, 1.0, 3.0], 8)
    times, places = panels.sampling
    courses = Courses(np.append(drawing_times(panels, 301), 3.5))
    courses.read(panels, {"y": np.where(times < 1, np.sin(times), np.cos(times))[places]})
    t = courses.times[:-1]
    exactly = np.where(t < 1, np.sin(t), np.cos(t))
    np.testing.assert_allclose(courses.signals["y"][:-1], exactly, atol=1e-9)
    assert np.isnan(courses.signals["y"][-1])  # after the end
