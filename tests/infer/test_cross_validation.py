"""Cross-validation: predictions of what no fit has seen, in agreement with doing it by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.estimate.search.run import SearchResult, Status
from estimica.execute.runs.record import Status as RunStatus
from estimica.execute.runs.store import Store
from estimica.infer.crossvalidation import fold_fit
from estimica.infer.crossvalidation.run import Progress
from estimica.simulate.formula import formula_model

ROOT = Path(__file__).resolve().parents[2]

RC = """
model RC "A resistor loads a capacitor"
  parameter Real R(min = 0) = 0.6;
  parameter Real C(min = 0) = 1;
  input Real u;
  output Real v(start = 0, fixed = true);
equation
  R*C*der(v) = u - v;
end RC;
"""


def rc_study(cases: int, n: int = 200, taus: tuple[float, ...] = (), **details: object) -> es.Study:
    model = es.load_model(RC)
    random = np.random.default_rng(3)
    time = np.linspace(0, 10, n)
    u = (time % 4 < 2) * 1.0
    made = []
    for k in range(cases):
        tau = taus[k] if taus else 0.6
        clean = model.simulate(time, {"u": (time, u)}, {"R": tau}, outputs=["v"]).value("v")
        table = pd.DataFrame({"time": time, "u": u, "v": clean + 0.05 * random.standard_normal(n)})
        made.append(es.Case(f"run {k}", table, inputs={"u": "u"}, outputs={"v": "v"}, **details))  # type: ignore[arg-type]
    return es.Study(model, [es.Tuner("R", start=1)], made)


def polynomial(degree: int, n: int = 40) -> tuple[es.Study, np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    x = np.linspace(-1, 1, n)
    y = np.sin(2 * x) + 0.1 * random.standard_normal(n)
    names = [f"c{k}" for k in range(degree + 1)]
    text = " + ".join(f"{name}*x^{k}" for k, name in enumerate(names))
    model = formula_model({"y": text}, inputs=["x"])
    case = es.Case("points", pd.DataFrame({"x": x, "y": y}), inputs={"x": "x"}, outputs={"y": "y"})
    return es.Study(model, [es.Tuner(name, start=0.5) for name in names], [case]), x, y


def test_predictions_are_those_of_fits_without_the_points():
    study, x, y = polynomial(3)
    found = es.crossvalidate(study, 4, by="time")
    X = np.vander(x, 4, increasing=True)
    wanted = np.empty(40)
    for part in np.array_split(np.arange(40), 4):
        rest = np.setdiff1d(np.arange(40), part)
        wanted[part] = X[part] @ np.linalg.lstsq(X[rest], y[rest], rcond=None)[0]
    (output,) = found.outputs
    assert not any(f.kept for f in found.folds)
    np.testing.assert_allclose(output.left_out.simulated, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(output.left_out.measured, y)
    assert output.left_out.rmse == pytest.approx(np.sqrt(np.mean((wanted - y) ** 2)), rel=1e-6)


def test_too_many_tuners_are_found_out():
    study, _, _ = polynomial(9, 30)
    found = es.crossvalidate(study, 3, by="time")
    (output,) = found.outputs
    assert output.ratio > 1.5
    assert "y is predicted much worse than fitted: the model does not carry over" in found.verdict


def test_cases_are_left_out_one_by_one_and_predicted_from_their_own_start():
    study = rc_study(3, free_start={"v": 0.1})
    found = es.crossvalidate(study)
    assert found.by == "case"
    assert [f.name for f in found.folds] == ["run 0", "run 1", "run 2"]
    for k, fold in enumerate(found.folds):
        rest = [c for j, c in enumerate(study.cases) if j != k]
        # the weights stay those of the whole study
        left = es.Case(
            f"run {k}",
            study.cases[k].data,
            inputs={"u": "u"},
            outputs={"v": "v"},
            free_start={"v": 0.1},
            role="validate",
        )
        by_hand = es.fit(study.with_(cases=[*rest, left]))
        np.testing.assert_allclose(fold.values, [by_hand["R"]], rtol=1e-3)
        ((case, output),) = fold.outputs
        assert case == f"run {k}"
        assert output.rmse == pytest.approx(by_hand.case(f"run {k}")["v"].rmse, rel=1e-4)
    assert all(0.99 < o.ratio < 1.05 for o in found.outputs)
    assert "are predicted as well as fitted" in found.verdict


def test_cases_that_disagree_are_predicted_worse_and_scatter():
    found = es.crossvalidate(rc_study(3, taus=(0.4, 0.6, 0.9)))
    assert max(o.ratio for o in found.outputs) > 1.1
    assert "R scatters over the folds" in found.verdict
    assert found.stderr[0] > 3 * found.fit.parameters["stderr"]["R"]


def test_groups_of_cases_are_left_out_together():
    found = es.crossvalidate(rc_study(4, 60), 2)
    assert [f.name for f in found.folds] == ["run 0, run 2", "run 1, run 3"]


def test_a_stretch_of_time_does_not_count_but_is_simulated():
    study = rc_study(1, 250)
    found = es.crossvalidate(study, 5)
    assert found.by == "time"
    time = found.fit.cases[0]["v"].time
    middle = found.folds[2]
    ((_, output),) = middle.outputs
    np.testing.assert_array_equal(output.time, time[100:150])
    without = es.Case(
        "run 0",
        study.cases[0].data,
        inputs={"u": "u"},
        outputs={"v": "v"},
        exclude=[(float(time[100]), float(time[149]))],
    )
    by_hand = es.fit(study.with_(cases=[without]))
    np.testing.assert_allclose(middle.values, [by_hand["R"]], rtol=1e-6)
    simulated = study.model.simulate(
        time,
        inputs={"u": (time, (time % 4 < 2) * 1.0)},
        parameters={"R": by_hand["R"]},
        outputs=["v"],
    ).value("v")
    np.testing.assert_allclose(output.simulated, simulated[100:150], atol=1e-5)


def test_start_values_that_only_the_left_out_stretch_determines_are_kept():
    found = es.crossvalidate(rc_study(1, 250, free_start={"v": 0.1}), 5, by="time")
    assert found.folds[0].kept == ("start of v in run 0",)
    assert not any(f.kept for f in found.folds[1:])
    assert "kept where only the left-out samples determine it" in found.table().note
    assert found.outputs[0].ratio < 1.05


def test_jackknife_error_of_a_mean_is_that_of_its_blocks():
    random = np.random.default_rng(4)
    y = 3 + random.standard_normal(60)
    model = formula_model({"y": "a + 0*x"}, inputs=["x"])
    table = pd.DataFrame({"x": np.arange(60.0), "y": y})
    case = es.Case("points", table, inputs={"x": "x"}, outputs={"y": "y"})
    found = es.crossvalidate(es.Study(model, [es.Tuner("a", start=1)], [case]), 6, by="time")
    blocks = y.reshape(6, 10).mean(axis=1)
    assert found.stderr[0] == pytest.approx(blocks.std(ddof=1) / np.sqrt(6), rel=1e-6)


def test_two_workers_find_the_same_numbers():
    study = rc_study(1, 100)
    one, two = (es.crossvalidate(study, 3, workers=w) for w in (1, 2))
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(
        one.outputs[0].left_out.simulated, two.outputs[0].left_out.simulated
    )


def test_folds_that_fail_are_counted_and_shown(monkeypatch):
    real, calls = fold_fit.refit, []

    def sometimes(*asked: Any) -> SearchResult:
        calls.append(1)
        if len(calls) == 2:
            return SearchResult(None, Status.FAILED, "the simulation fails at the start values", ())
        return real(*asked)

    monkeypatch.setattr(fold_fit, "refit", sometimes)
    found = es.crossvalidate(rc_study(3, 80))
    assert found.failed == 1
    assert found.folds[1].message == "the simulation fails at the start values"
    assert found.outputs[1].left_out is None
    assert found.values.shape == (2, 1)
    assert "1 of 3 folds failed and are not in it" in found.table().note
    assert "; 1 of 3 folds failed" in found.outcome()[1]
    told = found.to_dict()
    assert told["failed"] == 1
    assert [f["failed"] for f in told["folds"]] == [False, True, False]


def test_where_every_fold_fails_the_outcome_says_so(monkeypatch):
    nothing = SearchResult(None, Status.FAILED, "no", ())
    monkeypatch.setattr(fold_fit, "refit", lambda *asked: nothing)
    found = es.crossvalidate(rc_study(2, 60))
    assert found.outcome() == ("failed", "no fold could be fitted and predicted")
    assert "no fold could be fitted and predicted" in repr(found)


def test_an_interrupted_run_is_taken_up_where_it_ended(tmp_path):
    study = rc_study(1, 100)
    store = Store(tmp_path / "runs.sqlite")
    told: list[Progress] = []

    def stop(progress: Progress) -> None:
        told.append(progress)
        if progress.done == 2:
            raise KeyboardInterrupt

    with store.begin("crossvalidate", name="s", study="", settings={}) as writer:
        found = es.crossvalidate(study, 4, run=writer, progress=stop)
        writer.finish(RunStatus.INTERRUPTED)
    assert found.outcome() == ("interrupted", "stopped after 2 of 4 folds")
    fitted: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        real = fold_fit.refit

        def counted(*asked: Any) -> SearchResult:
            fitted.append(1)
            return real(*asked)

        patch.setattr(fold_fit, "refit", counted)
        with store.resume(writer.id) as again:
            found = es.crossvalidate(study, 4, run=again)
    assert len(fitted) == 2
    np.testing.assert_array_equal(found.values, es.crossvalidate(study, 4).values)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"by": "tme"}, "I343: by 'tme'; did you mean 'time'"),
        ({"folds": 1}, "I344: 1 folds leave nothing to fit or to predict; use 2 or more"),
        ({"by": "case"}, "I340: there is one case to calibrate with, so none can be left out"),
        ({"folds": 60}, "I341: 100 samples of an output are too few for 60 stretches of time"),
    ],
)
def test_wrong_questions_are_refused(asked, text):
    with pytest.raises(es.EstimicaError, match=text):
        es.crossvalidate(rc_study(1, 100), **asked)


def test_more_folds_than_cases_are_refused():
    with pytest.raises(es.EstimicaError, match="I342: 3 folds of 2 cases; use 2 or fewer"):
        es.crossvalidate(rc_study(2, 50), 3)


def test_cross_validation_shows_itself(tmp_path):
    found = es.crossvalidate(rc_study(2, 60))
    assert "2 folds, cases left out in turn" in repr(found)
    assert "Tuners over the folds" in repr(found)
    assert "<table" in found._repr_html_()
    for kind in ("predictions", "tuners"):
        assert found.plot(kind).data
    page = found.report(tmp_path / "c.html").read_text(encoding="utf-8")
    assert "Cross-validation: RC" in page
    with pytest.raises(es.EstimicaError, match="I345: there is no plot 'tuner'; did you mean"):
        found.plot("tuner")


def test_command_stores_a_run_and_prints_json(tmp_path):
    study = ROOT / "examples" / "drum_boiler" / "drum_boiler.toml"
    store = tmp_path / "runs.sqlite"
    command = ["crossvalidate", str(study), "--folds", "3", "--store", str(store), "--json"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    first = json.loads(done.stdout)
    assert first["command"] == "crossvalidate"
    assert first["by"] == "time"
    assert len(first["folds"]) == 3
    assert all(0.9 < q["ratio"] < 1.1 for q in first["quality"])
    run = Store(store).runs(1)[0].id
    assert first["run"] == run
    done = CliRunner().invoke(app, ["crossvalidate", str(study), "--by", "tim", "--no-store"])
    assert done.exit_code == 2
    assert "by: 'tim' is none of 'case', 'time'; did you mean 'time'?" in done.output


def test_command_reads_its_table(tmp_path):
    study = ROOT / "examples" / "drum_boiler"
    for name in ("run1.csv",):
        (tmp_path / name).write_bytes((study / name).read_bytes())
    text = (study / "drum_boiler.toml").read_text(encoding="utf-8")
    source = text.split('source = "')[1].split('"')[0]
    model = (study / source).resolve()
    (tmp_path / model.name).write_bytes(model.read_bytes())
    text = text.replace(source, model.name) + "\n[crossvalidate]\nfolds = 2\n"
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(
        app, ["crossvalidate", str(tmp_path / "s.toml"), "--no-store", "--json"]
    )
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["folds"]) == 2
