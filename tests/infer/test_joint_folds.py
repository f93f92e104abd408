"""Folds that are fitted together are those fitted one by one, whatever else the study has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.execute.batches import WorkedBy
from estimica.execute.runs.record import Status as RunStatus
from estimica.execute.runs.store import Store
from estimica.infer.crossvalidation import joint_folds
from estimica.infer.crossvalidation.result import CrossValidation

TANK = """
model Tank "Two tanks, one behind the other"
  parameter Real k(min = 0) = 0.5; parameter Real c(min = 0) = 0.8; parameter Real g = 1;
  input Real u; Real x(start = 0, fixed = true); Real y(start = 0, fixed = true);
  output Real level = g * y; output Real outflow = k * sqrt(1 + y ^ 2);
equation
  der(x) = u - k * x; der(y) = k * x - c * y;
end Tank;
"""
MODEL = es.load_model(TANK)
TIME = np.linspace(0, 12, 121)


def table(seed: int, x: float = 0.0, **columns: np.ndarray) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    u = np.where(TIME % 5 < 2.5, 1.0, 0.3)
    run = MODEL.simulate(TIME, {"u": (TIME, u)}, {"k": 0.6, "c": 0.9}, {"x": x, "y": x})
    noise = 0.02 * random.standard_normal((2, len(TIME)))
    level, outflow = (run.value(n) for n in ("level", "outflow"))
    data = {"time": TIME, "u": u, "level": level + noise[0], "outflow": outflow + noise[1]}
    return pd.DataFrame(data | columns)


def study(backend: str, cases: int = 1, criterion: str = "ml", **details: Any) -> es.Study:
    estimation = {"criterion": criterion} | details.pop("estimation", {})
    outputs = details.pop("outputs", {"level": "level", "outflow": "outflow"})
    make = details.pop("table", table)
    tuners = [
        es.Tuner("k", start=0.5, max=details.pop("k_max", np.inf)),
        es.Tuner("c", start=0.8, prior=details.pop("prior", None)),
    ]
    made = [
        es.Case(f"run {k}", make(k + 1), inputs={"u": "u"}, outputs=outputs, **details)
        for k in range(cases)
    ]
    return es.Study(
        MODEL,
        tuners,
        made,
        estimation=es.Estimation(**estimation),
        execute=es.Execution(backend=backend),
    )


def pair(folds: int, by: str, **details: Any) -> tuple[CrossValidation, CrossValidation]:
    """Fitted together and one by one."""
    together = es.crossvalidate(es.fit(study("vector", **details)), folds, by=by)
    alone = es.crossvalidate(es.fit(study("scalar", **details)), folds, by=by)
    assert alone.worked_by.backend == "scalar"
    return together, alone


def assert_agree(together: CrossValidation, alone: CrossValidation) -> None:
    assert [f.status for f in together.folds] == [f.status for f in alone.folds]
    assert [f.kept for f in together.folds] == [f.kept for f in alone.folds]
    assert [f.name for f in together.folds] == [f.name for f in alone.folds]
    np.testing.assert_allclose(together.values, alone.values, rtol=1e-6)
    assert together.verdict == alone.verdict
    for one, other in zip(together.outputs, alone.outputs, strict=True):
        assert one.case == other.case
        np.testing.assert_array_equal(one.left_out.time, other.left_out.time)
        np.testing.assert_array_equal(one.left_out.measured, other.left_out.measured)
        np.testing.assert_allclose(
            one.left_out.simulated, other.left_out.simulated, rtol=2e-5, atol=1e-5
        )


def holes(seed: int) -> pd.DataFrame:
    data = table(seed)
    data.loc[5:20, "outflow"] = np.nan
    data.loc[::7, "level"] = np.nan
    return data


def gap(seed: int) -> pd.DataFrame:
    """A stretch without any data, behind which the case begins anew."""
    data = table(seed)
    return data[(data["time"] < 5.0) | (data["time"] > 6.5)].reset_index(drop=True)


WITH = {
    "nothing": {},
    "oe": {"criterion": "oe"},
    "oe by its size": {"criterion": "oe", "outputs": {"level": {"column": "level", "weight": 3.0}}},
    "known noise": {"outputs": {"level": {"column": "level", "sigma": 0.02}, "outflow": "outflow"}},
    "disturbances": {
        "outputs": {"level": {"column": "level", "disturbance": True}, "outflow": "outflow"}
    },
    "free starts": {"free_start": ["x", "y"]},
    "transformed": {
        "outputs": {"level": "level", "outflow": {"column": "outflow", "transform": "log"}}
    },
    "missing samples": {"table": holes},
    "samples that do not count": {"exclude": [[2.0, 3.0], [8.0, 8.5]]},
    "noise of its own for each sample": {
        "table": lambda seed: table(seed).assign(s=0.01 + 0.02 * np.abs(np.sin(TIME))),
        "outputs": {"level": {"column": "level", "sigma": {"column": "s"}}, "outflow": "outflow"},
    },
    "one noise level": {
        "outputs": {n: {"column": n, "sigma": {"shared": "noise"}} for n in ("level", "outflow")}
    },
    "several cases": {"cases": 3},
    "a gap": {"table": gap},
    "bounds": {"k_max": 0.59},
    "priors": {"prior": es.Prior(0.58, 0.005)},
}


@pytest.mark.parametrize("feature", WITH)
def test_stretches_of_time(feature: str) -> None:
    together, alone = pair(8, "time", **WITH[feature])
    assert together.worked_by.backend == "vector"
    assert together.worked_by.alone == 0
    assert_agree(together, alone)


@pytest.mark.parametrize("feature", ["nothing", "oe", "disturbances", "free starts"])
def test_cases(feature: str) -> None:
    together, alone = pair(4, "case", **WITH[feature] | {"cases": 4})
    assert together.worked_by.backend == "vector"
    assert together.worked_by.alone == 0
    assert_agree(together, alone)


@pytest.mark.parametrize("criterion", ["ml", "oe"])
def test_an_output_that_one_case_alone_has(criterion: str) -> None:
    found = []
    for backend in ("vector", "scalar"):
        made = study(backend, 3, criterion)
        others = [replace(c, outputs={"level": "level"}) for c in made.cases[1:]]
        found.append(es.crossvalidate(made.with_(cases=[made.cases[0], *others]), 3))
    assert found[0].worked_by == WorkedBy("vector")
    assert_agree(*found)


def test_an_output_that_one_stretch_alone_has() -> None:
    def late(seed: int) -> pd.DataFrame:
        data = table(seed)
        data.loc[data["time"] < 10.6, "outflow"] = np.nan
        return data

    outflow = {"column": "outflow", "disturbance": True}
    fold = {"level": "level", "outflow": outflow}
    together, alone = pair(4, "time", table=late, outputs=fold)
    assert together.worked_by == WorkedBy("vector")
    assert_agree(together, alone)


@pytest.mark.parametrize(
    ("details", "reason"),
    [
        ({"estimation": {"loss": "huber"}}, "only sums of squares"),
        ({"estimation": {"method": "gauss-newton"}}, "method 'gauss-newton' is searched one by"),
        ({"estimation": {"max_seconds": 60.0}}, "a time limit holds for each search"),
    ],
)
def test_what_cannot_be_fitted_together_says_why(details: Any, reason: str) -> None:
    together, alone = pair(3, "time", **details)
    assert together.worked_by.backend == "scalar"
    assert together.worked_by.reason.startswith(reason)
    assert reason in together.table().note
    assert together.worked_by.to_dict() == together.to_dict()["worked_by"]
    np.testing.assert_array_equal(together.values, alone.values)


def test_few_folds_are_fitted_one_by_one_unless_asked_for() -> None:
    few = es.crossvalidate(study("auto"), 3)
    assert few.worked_by == WorkedBy("scalar")
    assert es.crossvalidate(study("auto"), joint_folds.WORTH).worked_by.backend == "vector"


def test_threads_change_no_bit() -> None:
    fit = es.fit(study("vector", cases=2))
    one, two = (es.crossvalidate(fit, 20, by="time", workers=n) for n in (1, 2))
    assert one.worked_by.backend == two.worked_by.backend == "vector"
    np.testing.assert_array_equal(one.values, two.values)
    for a, b in zip(one.outputs, two.outputs, strict=True):
        np.testing.assert_array_equal(a.left_out.simulated, b.left_out.simulated)


def test_a_fold_that_is_not_proven_is_fitted_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = es.fit(study("vector"))
    alone = es.crossvalidate(es.fit(study("scalar")), 9)
    real = joint_folds._fitted

    def but_two(*asked: Any) -> dict[int, dict[str, Any]]:
        return {k: found for k, found in real(*asked).items() if k not in (2, 5)}

    monkeypatch.setattr(joint_folds, "_fitted", but_two)
    found = es.crossvalidate(fit, 9)
    assert found.worked_by.alone == 2
    assert "2 of them one after the other" in found.table().note
    assert_agree(found, alone)
    np.testing.assert_array_equal(found.values[[2, 5]], alone.values[[2, 5]])


FRAGILE = """
model Fragile "It breaks where a is beyond what the first samples allow"
  parameter Real a = 1; output Real y = x; Real x(start = 1, fixed = true);
equation
  assert(x < 3, "x is too large"); der(x) = a * x;
end Fragile;
"""


def test_a_fold_without_which_the_rest_cannot_be_simulated_fails_alike() -> None:
    time = np.linspace(0, 1, 41)
    # the last stretch holds a down: without it x grows beyond what the model allows
    y = np.where(time < 0.8, np.exp(1.3 * time), np.exp(0.4))
    data = pd.DataFrame({"time": time, "y": y})
    found = []
    for backend in ("vector", "scalar"):
        made = es.Study(
            es.load_model(FRAGILE),
            [es.Tuner("a", start=0.5)],
            [es.Case("c", data, outputs={"y": "y"})],
            execute=es.Execution(backend=backend),
        )
        found.append(es.crossvalidate(made, 5))
    together, alone = found
    assert together.worked_by.backend == "vector"
    assert [f.status for f in together.folds] == [f.status for f in alone.folds]
    assert [f.failed for f in together.folds] == [f.failed for f in alone.folds]
    assert together.failed == 1
    assert together.folds[-1].message == alone.folds[-1].message
    np.testing.assert_allclose(together.values, alone.values, rtol=1e-6)


def test_what_was_stopped_half_way_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("estimica.execute.batches.size_for", lambda _: 8)
    fit = es.fit(study("vector"))
    store = Store(tmp_path / "runs.sqlite")

    def stop(progress: Any) -> None:
        if progress.done == 10:
            raise KeyboardInterrupt

    with store.begin("crossvalidate", name="s", study="", settings={}) as writer:
        found = es.crossvalidate(fit, 24, run=writer, progress=stop)
        writer.finish(RunStatus.INTERRUPTED)
    assert found.outcome() == ("interrupted", "stopped after 10 of 24 folds")
    with store.resume(writer.id) as again:
        resumed = es.crossvalidate(fit, 24, run=again)
    whole = es.crossvalidate(fit, 24)
    np.testing.assert_array_equal(resumed.values, whole.values)
    assert resumed.worked_by == whole.worked_by


def test_ctrl_c_within_a_batch_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = es.fit(study("vector"))

    def pressed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("estimica.simulate.ensemble.vector.run_groups", pressed)
    found = es.crossvalidate(fit, 9)
    assert found.outcome() == ("interrupted", "stopped after 0 of 9 folds")
    assert found.folds == ()
