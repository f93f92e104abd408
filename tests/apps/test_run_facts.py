"""What is said of stored runs side by side, of every command and of pairs of commands."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.optimise.formula_studies import formula_study
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.apps.cli.commands.runs import comparison, comparison_object
from estimica.apps.run_facts import cautions, facts
from estimica.apps.web.pages.compare import _quality, intervals
from estimica.execute.runs.record import RunSummary, Status, StoredRun
from estimica.execute.runs.store import Store
from estimica.simulate.formula import formula_model


def design(x: float = 0.3, limit: float = 1.0) -> es.Study:
    criteria = [
        es.Criterion("near", "(x - 2)^2", demand=0.5, unit="m"),
        es.Criterion("small", "x", demand=limit, role="at-most"),
        es.Criterion("seen", "x + 1", role="watch"),
    ]
    return formula_study({"x": (x, 0.0, 3.0)}, criteria)


def line() -> es.Study:
    x = np.linspace(0, 1, 20)
    data = pd.DataFrame({"u": x, "y": 1 + 2 * x + 0.1 * np.sin(30 * x)})
    case = es.Case("points", data, inputs={"u": "u"}, outputs={"y": "y"})
    return es.Study(formula_model({"y": "b + x*u"}, ["u"]),
                    [es.Tuner("x", start=1), es.Tuner("b", start=0)], [case], name="line")  # fmt: skip


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    fit = es.fit(line())
    spread = {"x": {"kind": "uniform", "min": 0.0, "max": 2.0}}
    return {
        "optimise": es.optimise(design()).to_dict(),
        "optimise, other demand": es.optimise(design(limit=1.5)).to_dict(),
        "pareto": es.pareto(design(), ["near", "small"], points=4).to_dict(),
        "sweep": es.sweep(design(), vary={"x": [0.0, 0.5, 1.0, 2.0]}).to_dict(),
        "montecarlo": es.montecarlo(design(), draw=spread, samples=20).to_dict(),
        "fit": fit.to_dict(),
        "bootstrap": es.bootstrap(fit, replicates=20).to_dict(),
        "profile": es.profile(fit, ["x"]).to_dict(),
        "crossvalidate": es.crossvalidate(line(), 4).to_dict(),
    }


def stored(result: dict[str, Any], name: str = "run") -> StoredRun:
    plain = json.loads(json.dumps(result, allow_nan=False, default=str))
    summary = RunSummary(name, plain["command"], plain["study"], Status.DONE, "", None, 0.0, 1.0, 0)
    return StoredRun(summary, "", {}, {}, plain, (), {})


def test_a_design_tells_tuners_criteria_and_demands(results: dict[str, Any]) -> None:
    told = facts(stored(results["optimise"]))
    # the limit x ≤ 1 holds, so that (x - 2)² = 1 stays above its demand
    assert told["x"] == "1"
    assert told["near [m]"] == "1 (demanded ≤ 0.5, missed)"
    assert told["small"] == "1 (demanded ≤ 1)"
    assert told["seen"] == "2"
    assert told["largest criterion/demand"] == "2"
    assert told["all demands hold"] == "no"


def test_samples_tell_their_scatter_and_how_often_demands_hold(results: dict[str, Any]) -> None:
    swept = facts(stored(results["sweep"]))
    assert swept["near [m]"] == "0 … 4 (demanded ≤ 0.5)"
    assert swept["all demands hold"] == "in 0 of 4"
    drawn = facts(stored(results["montecarlo"]))
    assert "near [m], 50 %" in drawn
    values = np.array(results["montecarlo"]["criteria"]["design"]["small"]["values"])
    assert drawn["small ≤ 1 with"].startswith(f"{(values <= 1).mean():.6g} (")


def test_a_front_tells_its_ends(results: dict[str, Any]) -> None:
    told = facts(stored(results["pareto"]))
    low, high = map(float, told["near on the front"].split(" … "))
    assert low < 0.1
    assert high == pytest.approx(4.0, abs=0.05)


def test_what_follows_from_a_fit_tells_its_unknowns(results: dict[str, Any]) -> None:
    for command in ("fit", "bootstrap", "profile", "crossvalidate"):
        told = facts(stored(results[command]))
        found = results["fit"]["parameters"]["x"]
        value, error = found["value"], found.get("stderr")
        word = told["x"].split()[0]
        if "±" in told["x"]:  # two digits of the standard error, and none of the value beyond
            assert error is not None
            decimals = 1 - math.floor(math.log10(float(f"{error:.2g}")))
            assert float(word) == pytest.approx(round(value, decimals), rel=1e-12), command
        else:
            assert word == f"{value:.6g}", command
    assert " … " in facts(stored(results["profile"]))["x"]
    assert facts(stored(results["crossvalidate"]))["verdict"]


def test_any_two_runs_can_be_compared_and_none_is_blank(results: dict[str, Any]) -> None:
    runs = {name: stored(result) for name, result in results.items()}
    for one, other in itertools.combinations_with_replacement(runs, 2):
        rows = comparison([runs[one], runs[other]]).rows
        assert all(any(row[1:]) for row in rows), (one, other)
        for k in (1, 2):
            assert sum(bool(row[k]) for row in rows) > 5, (one, other)
    for run in runs.values():
        found = json.loads(json.dumps(comparison_object(run), allow_nan=False, default=str))
        assert found["facts"]
        assert "values" not in str(found.get("criteria", ""))


def test_two_stored_designs_are_compared_and_shown(
    results: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store.beside(tmp_path)
    ids = []
    for name in ("optimise", "optimise, other demand"):
        with store.begin("optimise", name=name, study={}, settings={}) as run:
            run.finish(Status.DONE, "", results[name])
        ids.append(run.id)
    told = CliRunner().invoke(app, ["runs", "compare", *ids])
    assert told.exit_code == 0
    for part in ("1 (demanded ≤ 0.5, missed)", "1.5 (demanded ≤ 1.5)", "different demands of"):
        assert part in told.stdout, part
    found = json.loads(CliRunner().invoke(app, ["runs", "compare", *ids, "--json"]).stdout)
    assert found["runs"][1]["tuners"]["x"]["value"] == pytest.approx(1.5, abs=1e-6)
    assert found["runs"][0]["criteria"]["design"]["near"]["holds"] is False
    shown = CliRunner().invoke(app, ["runs", "show", ids[0]])
    assert "1 (demanded ≤ 0.5, missed)" in shown.stdout


def test_what_cannot_be_compared_is_said(results: dict[str, Any]) -> None:
    runs = {name: stored(result) for name, result in results.items()}
    assert cautions([runs["optimise"], runs["optimise"]]) == []
    (demand,) = cautions([runs["optimise"], runs["optimise, other demand"]])
    assert demand.startswith("different demands of small")
    (command,) = cautions([runs["fit"], runs["optimise"]])
    assert command.startswith("different commands (fit, optimise)")


def test_the_workbench_compares_designs_and_cross_validations(results: dict[str, Any]) -> None:
    runs = [stored(results["optimise"]), stored(results["optimise, other demand"])]
    picture = intervals(runs)
    assert [name for name, _ in picture.groups] == ["x"]
    assert [bar.value for bar in picture.groups[0][1]] == pytest.approx([100, 150])
    assert _quality(stored(results["crossvalidate"])) == ""
    assert "y" in _quality(stored(results["fit"]))


def test_the_workbench_draws_intervals_that_are_not_symmetric_as_they_are() -> None:
    told = {"value": 2.0, "stderr": 0.2, "ci95": [1.8, 2.6], "at_bound": True}
    one = stored({"command": "fit", "study": "s", "parameters": {"b": told}})
    bar = intervals([one, one]).groups[0][1][1]
    assert bar.margins == pytest.approx((10, 30))
    assert facts(one)["b"] == "2 ± 0.2, at a bound"


def test_what_was_not_reached_is_told_as_such() -> None:
    one = {"value": None, "at_least": 1.97, "demand": 1.0, "role": "minimise", "holds": False,
           "unit": "s", "kind": "settling-time"}  # fmt: skip
    result = {"command": "optimise", "study": "s", "criteria": {"step": {"settling": one}},
              "aggregate": {"kind": "max", "value": None, "at_least": 1.97, "largest": None,
                            "largest_at_least": 1.97, "satisfied": False}}  # fmt: skip
    told = facts(stored(result))
    assert told["settling in step [s]"] == "not settled (> 1.97) (demanded ≤ 1, missed)"
    assert told["largest criterion/demand"] == "not reached (> 1.97)"
