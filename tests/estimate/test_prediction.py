"""Criterion "prediction": fits of models with noise in their states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.study.check.run import check

MODEL = """model Room
  parameter Real R = 0.01; parameter Real C = 1e5;
  input Real Ta; input Real Q;
  Real T(start = 20, unit = "degC");
equation
  C*der(T) = (Ta - T)/R + Q;
end Room;"""
TRUE = {"R": 0.01, "C": 1e5, "s": 0.003, "sigma_T": 0.05}


def table(n: int = 600, seed: int = 1, noise: float = TRUE["s"]) -> pd.DataFrame:
    """The room with noise in its state, by the exact steps of a linear system."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) * 300.0
    a, h = -1 / (TRUE["R"] * TRUE["C"]), 300.0
    F, G = np.exp(a * h), (np.exp(a * h) - 1) / a
    spread = noise * np.sqrt((np.exp(2 * a * h) - 1) / (2 * a))
    Ta, Q, T = 5 + 5 * np.sin(t / 1.3e4), 1000.0 * (np.floor(t / 7200) % 2), 20.0
    values = []
    for k in range(n):
        values.append(T + TRUE["sigma_T"] * rng.normal())
        T = F * T + G * (Ta[k] / (TRUE["R"] * TRUE["C"]) + Q[k] / TRUE["C"]) + spread * rng.normal()
    return pd.DataFrame({"time": t, "T": values, "Ta": Ta, "Q": Q})


def case(frame: pd.DataFrame, name: str = "a", **more: object) -> es.Case:
    settings: dict[str, object] = {
        "inputs": {"Ta": "Ta", "Q": "Q"},
        "outputs": {"T": "T"},
        **more,
    }
    return es.Case(name, frame, **settings)  # type: ignore[arg-type]


def study(cases: list[es.Case], criterion: str = "prediction", **more: object) -> es.Study:
    noise = {"process_noise": {"T": "s"}} if criterion == "prediction" else {}
    settings = {**noise, **more}
    return es.Study(es.load_model(MODEL), ["R", "C"], cases, criterion, **settings)  # type: ignore[arg-type]


def exact_cost(frame: pd.DataFrame, p: dict[str, float], spread: float = 0.0) -> float:
    """−2 log likelihood less N log 2π by a scalar Kalman filter with exact steps; `spread` is the
    standard deviation of the start."""
    a, h = -1 / (p["R"] * p["C"]), 300.0
    F, G = np.exp(a * h), (np.exp(a * h) - 1) / a
    grown = p["s"] ** 2 * (np.exp(2 * a * h) - 1) / (2 * a)
    m, P, cost = 20.0, spread**2, 0.0
    for T, Ta, Q in zip(frame["T"], frame["Ta"], frame["Q"], strict=True):
        s = P + p["sigma_T"] ** 2
        if np.isfinite(T):
            e, K = T - m, P / s
            cost += e**2 / s + np.log(s)
            m, P = m + K * e, (1 - K) * P
        m = F * m + G * (Ta / (p["R"] * p["C"]) + Q / p["C"])
        P = F**2 * P + grown
    return float(cost)


def test_noise_and_parameters_are_found_and_the_cost_is_the_exact_likelihood() -> None:
    frame = table()
    fit = es.fit(study([case(frame)]), progress=False)
    assert fit.outcome.status == "converged"
    names = [u.name for u in fit.unknowns.items]
    assert names == ["R", "C", "sigma_T", "s"]
    found = dict(zip(names, fit.values, strict=True))
    assert fit.cost == pytest.approx(exact_cost(frame, found), abs=1e-3)
    errors = np.sqrt(np.diag(fit.covariance))
    for name, value, error in zip(names, fit.values, errors, strict=True):
        assert abs(value - TRUE[name]) < 3 * error, name
    for name in names:  # no neighbour has a higher likelihood
        for factor in (0.99, 1.01):
            other = {**found, name: found[name] * factor}
            assert exact_cost(frame, other) > exact_cost(frame, found)


def test_output_error_is_far_too_sure_of_itself_where_the_state_drifts() -> None:
    frame = table()
    wide = es.fit(study([case(frame)]), progress=False)
    narrow = es.fit(study([case(frame)], "ml"), progress=False)
    ours, theirs = (np.sqrt(np.diag(f.covariance))[:2] for f in (wide, narrow))
    assert (ours > 1.5 * theirs).all()


def test_without_noise_in_the_states_it_is_maximum_likelihood() -> None:
    frame = table(200, noise=0.0)
    plain = es.fit(study([case(frame)], "ml"), progress=False)
    ours = es.fit(study([case(frame)], process_noise={}), progress=False)
    assert ours.cost == pytest.approx(plain.cost, abs=1e-4)
    np.testing.assert_allclose(ours.values[:2], plain.values, rtol=1e-4)


def test_missing_samples_several_cases_free_starts_and_priors() -> None:
    first, second = table(200, 1), table(200, 2)
    first.loc[20:60, "T"] = np.nan
    cases = [case(first, "a"), case(second, "b", free_start=["T"])]
    prior = es.Prior(0.01, 1e-5)
    tuners = [es.Tuner("R", prior=prior), es.Tuner("C", min=5e4, max=2e5)]
    own = es.Study(es.load_model(MODEL), tuners, cases, "prediction", process_noise={"T": "s"})
    fit = es.fit(own, progress=False)
    assert fit.outcome.status == "converged"
    found = {u.name: v for u, v in zip(fit.unknowns.items, fit.values, strict=True)}
    begun = dict(found)
    both = exact_cost(first, found)
    # the second case begins at its own start value
    a, h = -1 / (found["R"] * found["C"]), 300.0
    shifted = second.copy()
    drift = (begun["T"] - 20.0) * np.exp(a * h * np.arange(len(second)))
    shifted["T"] = second["T"] - drift
    both += exact_cost(shifted, found, found["s"] * 17.3)  # of one step, in three digits
    both += ((found["R"] - prior.mean) / prior.sigma) ** 2
    assert fit.cost == pytest.approx(both, abs=2e-3)


def test_a_column_of_standard_deviations_counts_sample_by_sample() -> None:
    frame = table(200)
    frame["err"] = np.where(np.arange(200) % 2, 0.02, 0.2)
    outputs = {"T": {"column": "T", "sigma": {"column": "err"}}}
    fit = es.fit(study([case(frame, outputs=outputs)]), progress=False)
    found = dict(zip((u.name for u in fit.unknowns.items), fit.values, strict=True))
    assert set(found) == {"R", "C", "s"}
    m, P, cost = 20.0, 0.0, 0.0
    a, h = -1 / (found["R"] * found["C"]), 300.0
    F, G = np.exp(a * h), (np.exp(a * h) - 1) / a
    grown = found["s"] ** 2 * (np.exp(2 * a * h) - 1) / (2 * a)
    for row in frame.itertuples():
        s = P + row.err**2
        e, K = row.T - m, P / s
        cost += e**2 / s + np.log(s)
        m, P = m + K * e, (1 - K) * P
        m = F * m + G * (row.Ta / (found["R"] * found["C"]) + row.Q / found["C"])
        P = F**2 * P + grown
    assert fit.cost == pytest.approx(cost, abs=1e-3)


def test_a_study_file_says_it_all(tmp_path: Path) -> None:
    table(150).to_csv(tmp_path / "room.csv", index=False)
    (tmp_path / "room.mo").write_text(MODEL)
    text = """
[model]
source = "room.mo"
[tune]
R = { }
C = { }
[process_noise]
T = "s"
[filter]
start_spread = { T = 0.2 }
[estimate]
criterion = "prediction"
[[case]]
name = "a"
data = "room.csv"
inputs = { Ta = "Ta", Q = "Q" }
outputs = { T = "T" }
"""
    path = tmp_path / "study.toml"
    path.write_text(text)
    read = es.read_study(path)
    assert [p for p in check(read) if not p.warning] == []
    fit = es.fit(read, progress=False)
    assert fit.outcome.status == "converged"
    read.write(tmp_path / "again.toml")
    again = es.fit(es.read_study(tmp_path / "again.toml"), progress=False)
    assert again.cost == pytest.approx(fit.cost, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"outputs": {"T": {"column": "T", "transform": "log"}}}, "C161"),
        ({"outputs": {"T": {"column": "T", "disturbance": True}}}, "C161"),
        ({"outputs": {"T": {"column": "T", "limits": {"min": 0.0}, "sigma": 0.1}}}, "C161"),
        ({"outputs": {"T": {"column": "T", "weight": 2.0}}}, "C161"),
        ({"outputs": {"T": {"column": "T", "sigma": "0.1*Q_noise"}}}, None),
    ],
)
def test_what_does_not_go_with_it_is_refused_with_a_way_out(
    change: dict[str, object], code: str | None
) -> None:
    own = study([case(table(50), **change)])
    problems = [p.code for p in check(own) if not p.warning]
    if code is None:
        assert problems == []
        return
    assert problems == [code]
    with pytest.raises(EstimicaError) as error:
        es.fit(own, progress=False)
    assert error.value.code == code


def test_names_of_states_are_checked() -> None:
    own = study([case(table(50))], process_noise={"Tx": "s", "Q": 0.1})
    assert [p.code for p in check(own) if not p.warning][:2] == ["Q243", "Q243"]
    other = study([case(table(50))], "ml", process_noise={"T": 0.1})
    assert [p.code for p in check(other)] == ["Q241"]
