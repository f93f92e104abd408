"""What a release refuses, and how it shows itself."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable

import numpy as np
import pytest
from tests.infer.release_problems import boiler, boiler_data, line

import estimica as es
from estimica.infer.release.result import Release
from estimica.infer.release.search import Job


@pytest.fixture(scope="module")
def boiled() -> Release:
    return es.release(boiler(boiler_data()), settings={"noise": 1.0})


# --- what is refused -----------------------------------------------------------------------------


def refused(
    settings: dict[str, object], message: str, study: Callable[[], es.Study] = line
) -> None:
    with pytest.raises(es.EstimicaError) as error:
        es.release(study(), settings=settings)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"risk": 2}, "[release]: risk: 2 is wrong, it must be below 1"),
        ({"ordr": []}, "[release]: unknown key 'ordr'; did you mean 'order'?"),
        ({"order": [["aa"]]}, "I101: order: there is no unknown 'aa' to release"),
        ({"order": [["a"], ["a"]]}, "I102: order: 'a' is released twice; name it once"),
        ({"order": [3]}, "[release]: order: 1: write a name, or a list of candidates"),
        ({"groups": [["a"], ["a", "b"]]}, "I102: order: 'a' is released twice"),
        ({"groups": [["noise"]], "noise": 1}, "I103: groups: noise of y: only tuners"),
        ({"noise": {"z": 1}}, "I105: noise: no output 'z' is measured"),
        ({"noise": -1}, "[release]: noise: -1 is wrong, it must be above 0"),
        ({"starts": 0}, "[release]: starts: 0 is wrong, it must be at least 1"),
    ],
)
def test_wrong_setting_is_named(settings: dict[str, object], message: str):
    refused(settings, message)


def test_noise_of_a_known_sigma_is_refused():
    refused({"noise": {"y": 1}}, "I105: noise: the sigma of 'y' is known", lambda: line(sigma=0.2))


def test_noise_is_refused_for_output_error():
    def study() -> es.Study:
        return line().with_(estimation=es.Estimation(criterion="oe"))

    refused({"noise": 1}, "I104: noise variances belong to criterion 'ml'", study)


@pytest.mark.parametrize(
    ("estimation", "message"),
    [
        (es.Estimation(criterion="ml", loss="huber"), "I100: loss 'huber' is not a likelihood"),
        (es.Estimation(criterion="residual^4"), "I100: criterion 'residual^4' is not a likelihood"),
        (
            es.Estimation(criterion="ml", transcription="multiple-shooting"),
            "I100: a release holds unknowns, which transcription 'multiple-shooting' cannot",
        ),
    ],
)
def test_what_is_no_likelihood_is_refused(estimation: es.Estimation, message: str):
    refused({}, message, lambda: line().with_(estimation=estimation))


def test_candidate_that_fails_is_shown_and_cannot_be_chosen(monkeypatch: pytest.MonkeyPatch):
    module = importlib.import_module("estimica.infer.release.run")
    original = module.run_search

    def failing(place: object, job: Job) -> object:
        if job.candidate == 1:
            raise es.SimulationError("R001", "the valve broke")
        return original(place, job)

    monkeypatch.setattr(module, "run_search", failing)
    release = es.release(line(), settings={"max_steps": 1})
    broken = release.steps[0].candidates[1]
    assert broken.cost == np.inf
    assert broken.outcome.message == "the valve broke"
    assert release.steps[0].table().rows[1][-1] == "failed"
    assert release.to_dict()["steps"][0]["candidates"][1]["cost"] is None  # type: ignore[index]
    assert len(release.plot().data[0].x) == 3
    with pytest.raises(es.InferError, match="I108: step 1: 'b' failed and cannot be released"):
        es.release(line(), choose=lambda step: 1)


# --- how it shows itself -------------------------------------------------------------------------


def test_tables_say_what_the_steps_did(boiled: Release):
    shown = repr(boiled)
    assert "done: everything is released" in shown
    assert "(null model)" in shown
    assert "T_D" in boiled._repr_html_()
    table = boiled.steps[2].table()
    assert table.columns[:6] == (
        "released",
        "p",
        "cost",
        "cost reduction",
        "risk",
        "risk of the best",
    )
    assert [row[-1] for row in table.rows] == ["gains less", "gains less", "released"]


def test_figures_of_steps(boiled: Release):
    bars = boiled.plot()
    candidates = [c for s in boiled.steps for c in s.candidates]
    assert list(bars.data[0].x) == [c.cost_reduction for c in candidates]
    assert bars.layout.xaxis.type == "log"
    assert len(boiled.plot("fit", step=0).data) == 4
    assert len(boiled.plot("residuals", step=2).data) == 2
    assert len(boiled.plot("reductions", step=3).data[0].x) == 3
    with pytest.raises(es.InferError, match="I111: there is no plot 'bars'"):
        boiled.plot("bars")
    with pytest.raises(es.InferError, match="I110: there is no step 9: the release has 5 steps"):
        boiled.plot("fit", step=9)


def test_page_has_a_section_for_each_step(boiled: Release, tmp_path):
    page = boiled.report(tmp_path / "release.html").read_text(encoding="utf-8")
    for heading in ("Steps", "Step 1", "Step 5", "Estimates"):
        assert f">{heading}<" in page


def test_json_has_the_keys_of_the_design(boiled: Release):
    found = json.loads(json.dumps(boiled.to_dict()))
    assert found["command"] == "release"
    for step in found["steps"]:
        assert {"free", "cost"} <= step["null"].keys()
        assert step["chosen"] in [c["released"] for c in step["candidates"]]
        for c in step["candidates"]:
            keys = {"released", "cost", "cost_reduction", "risk", "risk_multiple", "outcome"}
            assert keys <= c.keys()
    assert found["fit"]["parameters"]["T_D"]["value"] == boiled.fit["T_D"]


def test_course_tells_values_noise_and_percent_after_each_step(boiled: Release):
    table = next(t for t in boiled.tables() if t.title == "Values after each step")
    released = [s for s in boiled.steps if s.choice]
    headings = ["start", *(f"step {s.number}" for s in released)]
    assert list(table.columns[1 : len(headings) + 1]) == headings
    rows = {str(r[0]): dict(zip(table.columns, r, strict=True)) for r in table.rows}
    last = released[-1].choice
    for name, value in last.values.items():
        assert rows[name][headings[-1]] == pytest.approx(value, rel=1e-3)
    assert rows["variance of E"]["start"] == 1.0
    assert rows["variance of E"][headings[-1]] == pytest.approx(last.noise["E"], rel=1e-3)
    assert rows["variance of E"]["free from"] == "step 1"
    start, end = (float(rows["T_D"][h]) for h in ("start", headings[-1]))
    assert rows["T_D"]["change %"] == pytest.approx(100 * (end / start - 1), abs=0.1)
    met = boiled.fit.cases[0]["E"].fit_percent
    assert rows["fit % of E"][headings[-1]] == pytest.approx(met, abs=0.01)
    assert "Values after each step" in [s.heading for s in boiled.page().sections]


def test_course_stands_in_the_json(boiled: Release):
    course = boiled.to_dict()["course"]
    assert [c["step"] for c in course] == [0, *(s.number for s in boiled.steps if s.choice)]
    assert course[0]["free"] == []
    assert set(course[-1]["free"]) == set(boiled.released)
    assert course[-1]["noise"] == dict(boiled.steps[-1].choice.noise)
    assert set(course[-1]["fit_percent"]) == {c.name for c in boiled.fit.cases}


def test_long_courses_are_cut_into_tables_of_six_steps(monkeypatch: pytest.MonkeyPatch):
    course = importlib.import_module("estimica.infer.release.course")
    monkeypatch.setattr(course, "SIDE_BY_SIDE", 2)
    release = es.release(line())
    tables = list(course.course_tables(release))
    stops = course.course(release)
    shown = [c for t in tables for c in t.columns if c == "start" or c.startswith("step")]
    assert shown == ["start", *(f"step {s.step}" for s in stops[1:])]
    assert ["change %" in t.columns for t in tables] == [False] * (len(tables) - 1) + [True]
