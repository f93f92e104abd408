"""The `[filter]` table of a study: what it asks for is done."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es


def test_a_study_file_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "M.mo").write_text(
        "model M parameter Real a = 0.5; Real x; equation der(x) = -a*x; end M;"
    )
    t = np.arange(0, 50.0)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"time": t, "x": rng.normal(size=50)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    text = """[model]
source = "M.mo"
[tune]
a = 0.4
[process_noise]
x = "s"
[filter]
start_spread = "stationary"
[estimate]
criterion = "prediction"
[[case]]
name = "one"
data = "d.csv"
outputs = { x = { column = "x", sigma = 0.1 } }
"""
    (tmp_path / "study.toml").write_text(text)
    fit = es.fit(es.read_study(tmp_path / "study.toml"), progress=False)
    found = {u.name: float(v) for u, v in zip(fit.unknowns.items, fit.values, strict=True)}
    a, s = found["a"], found["s"]
    # an Ornstein-Uhlenbeck process in rest: its covariance is known at all stamps at once
    K = s**2 / (2 * a) * np.exp(-a * np.abs(t[:, None] - t)) + 0.01 * np.eye(50)
    x = frame["x"].to_numpy()
    exact = x @ np.linalg.solve(K, x) + np.linalg.slogdet(K)[1]
    assert fit.cost == pytest.approx(exact, abs=1e-3)


def test_the_kind_of_filter_is_the_one_that_is_asked_for() -> None:
    """On a law that bends they differ, and the unscented one is told apart by its cost."""
    t = np.arange(0, 40.0)
    frame = pd.DataFrame({"time": t, "x": np.random.default_rng(1).normal(size=40)})
    model = es.load_model("model M parameter Real a = 1; Real x; equation der(x) = -a*x^3; end M;")
    case = es.Case("one", frame, outputs={"x": es.OutputColumn("x", sigma=0.3)})
    costs = {}
    for kind in ("extended", "unscented"):
        study = es.Study(
            model,
            ["a"],
            [case],
            "prediction",
            process_noise={"x": 1.0},
            filter=es.Filter(kind=kind),
        )
        costs[kind] = es.fit(study, progress=False).cost
    assert abs(costs["extended"] - costs["unscented"]) > 1.0


def test_a_transfer_function_is_fitted_with_noise_in_its_state() -> None:
    rng = np.random.default_rng(2)
    t, x, y = np.arange(0, 300.0), 0.0, []
    u = (np.floor(t / 25) % 2).astype(float)
    for k in range(300):
        y.append(x + 0.05 * rng.normal())
        x = np.exp(-0.2) * x + (1 - np.exp(-0.2)) * 2 * u[k] + 0.1 * rng.normal()
    frame = pd.DataFrame({"time": t, "u": u, "y": y})
    model = es.transfer_function("K/(T*s + 1)", parameters={"K": 1.0, "T": 3.0})
    case = es.Case("one", frame, inputs={"u": "u"}, outputs={"y": es.OutputColumn("y", sigma=0.05)})
    study = es.Study(model, ["K", "T"], [case], "prediction", process_noise={"x1": "s"})
    fit = es.fit(study, progress=False)
    found = {i.name: float(v) for i, v in zip(fit.unknowns.items, fit.values, strict=True)}
    errors = np.sqrt(np.diag(fit.covariance))
    assert abs(found["K"] - 2) < 4 * errors[0]
    assert abs(found["T"] - 5) < 4 * errors[1]
