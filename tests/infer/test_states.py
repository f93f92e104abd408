"""States, predictions and forecasts of fits with noise in the states."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import expm

import estimica as es
from estimica.base.errors import EstimicaError, InferError
from estimica.infer.states.companions import correlation

ROOM = """model Room
  parameter Real Ri = 0.004; parameter Real Ro = 0.008;
  parameter Real Ci = 2e6; parameter Real Cw = 1.5e7;
  input Real Ta(unit = "degC"); input Real P(unit = "W");
  Real Ti(start = 20, unit = "degC"); Real Tw(start = 17, unit = "degC");
equation
  Ci*der(Ti) = (Tw - Ti)/Ri + P;
  Cw*der(Tw) = (Ti - Tw)/Ri + (Ta - Tw)/Ro;
end Room;"""
A = np.array([[-1 / 0.004 / 2e6, 1 / 0.004 / 2e6], [1 / 0.004 / 1.5e7, -(250 + 125) / 1.5e7]])
B = np.array([[0, 1 / 2e6], [125 / 1.5e7, 0]])
H = 900.0


def room(n: int, seed: int, noise: tuple[float, float], sun: float = 0.0) -> pd.DataFrame:
    """Simulated exactly, with noise in the states and sun (in m²) on the air or the walls."""
    rng = np.random.default_rng(seed)
    t = H * np.arange(n)
    Ta = 5 + 4 * np.sin(2 * np.pi * (t - 3e4) / 86400) + np.cumsum(rng.normal(0, 0.05, n))
    P = 2000.0 * (rng.random(n // 8 + 1).repeat(8)[:n] > 0.5)
    clouds = np.repeat(rng.uniform(0.1, 1, n // 96 + 1), 96)[:n]
    light = 600 * np.maximum(np.sin(2 * np.pi * (t - 21600) / 86400), 0) * clouds
    inputs = np.hstack([B, [[0], [1 / 1.5e7]]])
    whole = expm(np.block([[A, inputs], [np.zeros((3, 5))]]) * H)
    loan = expm(np.block([[-A, np.diag(np.square(noise))], [np.zeros((2, 2)), A.T]]) * H)
    F, G, Q = whole[:2, :2], whole[:2, 2:], loan[2:, 2:].T @ loan[:2, 2:]
    L = np.linalg.cholesky(Q + 1e-18 * np.eye(2))
    x, states = np.array([20.0, 17.0]), []
    for k in range(n):
        states.append(x)
        x = F @ x + G @ np.array([Ta[k], P[k], sun * light[k]]) + L @ rng.normal(size=2)
    states = np.array(states)
    return pd.DataFrame(
        {
            "time": t,
            "Ta": Ta,
            "P": P,
            "sun": light,
            "Ti": states[:, 0] + rng.normal(0, 0.05, n),
            "true_Ti": states[:, 0],
            "true_Tw": states[:, 1],
        }
    )


def case(frame: pd.DataFrame, name: str = "a", **more: object) -> es.Case:
    columns = ["time", "Ta", "P", "sun", "Ti"]
    return es.Case(
        name,
        frame[columns],
        inputs={"Ta": "Ta", "P": "P"},
        outputs={"Ti": "Ti"},
        **more,  # type: ignore[arg-type]
    )


def study(*cases: es.Case, criterion: str = "prediction") -> es.Study:
    return es.Study(
        es.load_model(ROOM),
        [es.Tuner("Ri", scale="log"), es.Tuner("Ro", scale="log")],
        list(cases),
        criterion,
        name="room",
        process_noise={"Ti": "s_air", "Tw": "s_walls"} if criterion == "prediction" else {},
    )


@cache
def data() -> pd.DataFrame:
    return room(1500, 1, (2e-4, 1e-3))


@cache
def fit() -> es.Fit:
    return es.fit(study(case(data().iloc[:1200])), progress=False)


def test_smoothed_states_are_near_the_true_ones_and_know_how_near() -> None:
    """With the resistances known: what they leave open is not in the bands."""
    known = study(case(data().iloc[:1200]))
    tuners = [t for t in known.tuners if t.name not in ("Ri", "Ro")]
    found = es.states(es.fit(known.with_(tuners=tuners), progress=False))
    for name in ("Ti", "Tw"):
        course, true = found.state(name), data()[f"true_{name}"][:1200].to_numpy()
        rms = {
            k: np.sqrt(np.mean((getattr(course, k) - true) ** 2)) for k in ("filtered", "smoothed")
        }
        assert rms["smoothed"] < rms["filtered"]
        for kind in ("filtered", "smoothed"):
            low, high = course.band(kind)
            inside = np.mean((low <= true) & (true <= high))
            # errors are alike over some ten samples, so that 1200 of them count as a hundred
            assert 0.88 < inside <= 1.0, (name, kind)
            assert np.mean(getattr(course, f"{kind}_error")) == pytest.approx(rms[kind], rel=0.35)
    frame = found.to_frame()
    assert list(frame.index.names) == ["case", "state", "time"]
    assert np.isnan(frame["added"].iloc[0])


def test_noise_that_is_there_is_told_and_that_nothing_goes_with_it() -> None:
    found = es.states(fit())
    assert found.evidence[0].state == "Tw"
    assert found.evidence[0].ratio > 3
    assert found.evidence[0].value == pytest.approx(fit()["s_walls"], rel=1e-6)
    assert found.verdict.startswith("The equation of Tw is incomplete")
    assert "sun" not in found.verdict


def test_a_missing_gain_is_found_in_its_state_and_in_its_column() -> None:
    frame = room(2000, 3, (1e-7, 1e-7), sun=2.0)
    found = es.states(es.fit(study(case(frame)), progress=False))
    assert found.evidence[0].state == "Tw"
    own = [c for c in found.companions if c.state == "Tw"]
    assert (own[0].signal, own[0].kind) == ("sun", "column")
    assert own[0].correlation > 0.6
    assert own[0].p < 0.01
    assert "The equation of Tw is incomplete" in found.verdict
    assert "lacks goes with column sun" in found.verdict
    page = found.page()
    assert page.sections[1].text == found.verdict


def test_a_gap_separates_what_is_smoothed() -> None:
    frame = data().iloc[:600].copy()
    frame.loc[200:400, ["Ti", "Ta", "P"]] = np.nan
    own = es.fit(study(case(frame)), progress=False)
    found = es.states(own)
    course = found.state("Tw")
    assert (np.diff(course.time) > 0).all()
    assert found.picture("smoothed").panels


def test_correlations_of_series_with_memory_are_judged_as_such() -> None:
    """Two random walks through 20 hours have nothing in common: p is uniform, or nearly."""
    rng = np.random.default_rng(1)
    small = 0
    for _ in range(400):
        pair = []
        for _ in range(2):
            noise, x = rng.normal(size=600), np.zeros(600)
            for k in range(1, 600):
                x[k] = 0.9 * x[k - 1] + noise[k]
            pair.append(x - x.mean())
        found = correlation(*pair)
        assert found is not None
        small += found[2] < 0.05
    assert 4 <= small <= 40  # 20 expected; as if independent it would be more than a hundred


@pytest.mark.parametrize("ahead", [1, 8])
def test_intervals_of_predictions_hold_95_percent(ahead: int) -> None:
    """On 2000 new samples of the same room, with the tuners found from others."""
    whole = room(3200, 1, (2e-4, 1e-3))
    calibrate, validate = whole.iloc[:1200], whole.iloc[1200:].copy()
    own = study(case(calibrate), case(validate, "b", role="validate", free_start=["Ti", "Tw"]))
    found = es.predict(es.fit(own, progress=False), ahead=ahead)
    one = found.output("Ti", "b")
    assert len(one.time) == 2000
    assert 0.925 < one.inside < 0.975
    assert one.rmse[-1] == pytest.approx(one.expected[-1], rel=0.1)
    assert (np.diff(one.rmse) > -1e-3).all()


def test_one_sample_ahead_is_what_the_fit_is_made_of() -> None:
    one = es.predict(fit()).outputs[0]
    own = fit().cases[0].outputs[0]
    np.testing.assert_allclose(one.predicted, own.simulated, rtol=1e-6)
    assert own.sigma is not None
    np.testing.assert_allclose(one.error, own.sigma, rtol=1e-5)


def future() -> pd.DataFrame:
    return data().iloc[1200:][["time", "Ta", "P"]]


def test_a_forecast_is_what_follows_from_the_last_states() -> None:
    found = es.forecast(fit(), future(), paths=3)
    output, walls = found.course("Ti"), found.course("Tw")
    assert len(output.time) == 300
    start = es.states(fit())
    x = np.array([start.state(n).filtered[-1] for n in ("Ti", "Tw")])
    Ri, Ro = fit()["Ri"], fit()["Ro"]
    own = np.array([[-1 / Ri / 2e6, 1 / Ri / 2e6], [1 / Ri / 1.5e7, -(1 / Ri + 1 / Ro) / 1.5e7]])
    by = np.array([[0, 1 / 2e6], [1 / Ro / 1.5e7, 0]])
    whole = expm(np.block([[own, by], [np.zeros((2, 4))]]) * H)
    Ta, P = (data()[n].to_numpy() for n in ("Ta", "P"))
    for k in range(300):
        x = whole[:2, :2] @ x + whole[:2, 2:] @ np.array([Ta[1199 + k], P[1199 + k]])
        assert output.mean[k] == pytest.approx(x[0], abs=1e-4)
        assert walls.mean[k] == pytest.approx(x[1], abs=1e-4)
    true = data()["true_Ti"][1200:].to_numpy()
    low, high = output.band
    assert np.mean((low <= true) & (true <= high)) > 0.8
    assert (output.measured_error > output.error).all()
    assert (output.estimates > 0).all()
    assert output.paths.shape == (3, 300)
    spread = np.std(es.forecast(fit(), future(), paths=200).course("Tw").paths, axis=0)
    np.testing.assert_allclose(spread, walls.states, rtol=0.25)


def test_inputs_that_the_data_have_after_the_last_value_are_used() -> None:
    frame = data().iloc[:1200].copy()
    frame.loc[1000:, "Ti"] = np.nan
    own = es.fit(study(case(frame)), progress=False)
    found = es.forecast(own)
    assert len(found.course("Ti").time) == 200
    given = es.forecast(own, data().iloc[1000:1200][["time", "Ta", "P"]])
    np.testing.assert_allclose(found.course("Ti").mean, given.course("Ti").mean, rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: es.forecast(fit()), "I860"),
        (lambda: es.forecast(fit(), until=3.0), "I861"),
        (lambda: es.forecast(fit(), until="2025-01-01"), "I862"),
        (lambda: es.forecast(fit(), until=2e6), "I863"),
        (lambda: es.forecast(fit(), future(), until=2e6), "I863"),
        (lambda: es.forecast(fit(), hold="mean"), "I866"),
        (lambda: es.forecast(fit(), future(), paths=-1), "I867"),
        (lambda: es.forecast(fit(), future(), case="b"), "I869"),
        (lambda: es.predict(fit(), ahead=0), "I854"),
        (lambda: es.states(fit(), level=95), "I851"),
        (lambda: es.states(fit()).plot("wild"), "I853"),
        (lambda: es.predict(fit()).plot("wild"), "I856"),
        (lambda: es.states(fit()).state("Tx"), "I852"),
        (lambda: es.predict(fit()).output("Tx"), "I855"),
        (lambda: es.forecast(fit(), future()).course("Tx"), "I865"),
    ],
)
def test_what_cannot_be_told_is_refused(call, code: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InferError) as error:
        call()
    assert error.value.code == code


def test_a_missing_column_is_named_or_held_where_asked() -> None:
    with pytest.raises(EstimicaError) as error:
        es.forecast(fit(), future()[["time", "Ta"]])
    assert error.value.code == "D004"
    assert "'P'" in str(error.value)
    held = es.forecast(fit(), hold="last")  # of all inputs: a tenth of the record
    end = float(data()["time"].iloc[1199])
    assert held.courses[0].time[-1] == pytest.approx(1.1 * end)
    found = es.forecast(fit(), future()[["time", "Ta"]], hold="last")
    assert "the last value of P is held" in found.notes[0]
    assert "P is held" in found.page().sections[1].text


def test_several_cases_go_on_each_with_its_own() -> None:
    parts = [data().iloc[:400], data().iloc[400:800]]
    own = es.fit(
        study(case(parts[0], "a"), case(parts[1], "b", free_start=["Ti", "Tw"])), progress=False
    )
    with pytest.raises(InferError, match="which of the cases"):
        es.forecast(own, future())
    table = data().iloc[800:900][["time", "Ta", "P"]]
    one = es.forecast(own, table, case="b")
    both = es.forecast(own, {"b": table, "a": parts[1][["time", "Ta", "P"]]})
    assert {c.case for c in one.courses} == {"b"}
    assert {c.case for c in both.courses} == {"a", "b"}
    np.testing.assert_allclose(one.course("Tw").mean, both.course("Tw", "b").mean)


def test_dates_go_on_as_dates(tmp_path: Path) -> None:
    frame = data().iloc[:300].copy()
    dates = pd.Timestamp("2025-03-01") + pd.to_timedelta(data()["time"], unit="s")
    frame["time"] = dates[:300]
    own = es.fit(study(case(frame)), progress=False)
    later = data().iloc[300:400][["Ta", "P"]].copy()
    later.insert(0, "time", dates[300:400].dt.strftime("%Y-%m-%dT%H:%M"))
    later.to_csv(tmp_path / "later.csv", index=False)
    found = es.forecast(own, tmp_path / "later.csv", until="2025-03-04T12:00")
    assert found.course("Ti").time[0] == 300 * H
    assert found.course("Ti").time[-1] == 3.5 * 86400
    assert found.table().rows[0][-1] == "2025-03-04 12:00:00"
    assert found.picture().panels[0].origin
    with pytest.raises(InferError) as error:
        es.forecast(own, data().iloc[300:400][["time", "Ta", "P"]])
    assert error.value.code == "I864"


def test_other_criteria_are_told_what_is_needed() -> None:
    other = es.fit(study(case(data().iloc[:200]), criterion="ml"), progress=False)
    for call in (es.states, es.predict, es.forecast):
        with pytest.raises(InferError) as error:
            call(other)
        assert error.value.code == "I850"


def test_innovations_of_the_right_model_pass_the_tests_of_residuals() -> None:
    own = es.residuals(fit())
    assert own.clean, own.verdict
    plain = es.fit(study(case(data().iloc[:1200]), criterion="ml"), progress=False)
    assert not es.residuals(plain).clean


def test_curves_are_written(tmp_path: Path) -> None:
    path = es.states(fit()).write(tmp_path / "s.csv")
    back = pd.read_csv(path)
    assert len(back) == 2400
    assert set(back["state"]) == {"Ti", "Tw"}


def test_the_page_of_a_fit_tells_predictions_from_simulations() -> None:
    (panel,) = fit().picture("fit").panels
    names = [c.name for c in panel.curves]
    assert names == ["measured", "simulated without the data", "predicted one sample ahead"]
    plain, predicted = panel.curves[1:]
    measured = data()["Ti"][:1200].to_numpy()
    assert np.std(predicted.value - measured) < 0.1
    assert np.std(np.interp(data()["time"][:1200], plain.time, plain.value) - measured) > 0.2
    (ribbon,) = panel.ribbons
    inside = (ribbon.low <= measured) & (measured <= ribbon.high)
    assert 0.92 < inside.mean() < 0.98
    headings = [s.heading for s in fit().page().sections]
    assert "Measured and predicted" in headings
    assert "Measured and simulated" not in headings
    assert any("predicted" in str(c) for c in fit().to_frame().columns)
    assert not any("simulated" in str(c) for c in fit().to_frame().columns)
