"""Every result has a page that says what was asked, the answer, and how to repeat it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.optimise.formula_studies import formula_study

import estimica as es
from estimica.base import view as show
from estimica.base.view import Listing, Page, Table
from estimica.base.view_json import page_from_json, page_to_json
from estimica.estimate.page_frame import ANSWER, REPETITION
from estimica.estimate.page_frame import QUESTION as ASKED
from estimica.report.html import page_html

STUDY = """# Gain and time constant.
[model]
source = "K/(1 + tau*s)"

[tune]
K = { start = 1.5, min = 0.1, max = 10 }
tau = { start = 3.0, min = 0.1, max = 20 }

[[case]]
name = "square wave"
data = "square.csv"
inputs = { u = "u" }
outputs = { y = "level" }

[estimate]
criterion = "ml"

[input_design]
signal = "square"
step = 0.1
duration = 20
sigma = 0.02
vary = { frequency = [0.05, 0.1, 0.2] }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of a first-order lag with its data."""
    folder = tmp_path_factory.mktemp("pages")
    time = np.arange(0.0, 40.0, 0.25)
    u = np.where(np.arange(len(time)) // 32 % 2 == 0, 1.0, -1.0)
    y = np.zeros(len(time))
    keep = np.exp(-0.25 / 2)
    for k in range(1, len(time)):
        y[k] = keep * y[k - 1] + (1 - keep) * 2 * u[k - 1]
    y += np.random.default_rng(1).normal(0, 0.05, len(time))
    rows = "\n".join(f"{t:g},{a:g},{b:.5f}" for t, a, b in zip(time, u, y, strict=True))
    (folder / "square.csv").write_text(f"time,u,level\n{rows}\n")
    (folder / "lag.toml").write_text(STUDY)
    return folder


@pytest.fixture(scope="module")
def study(folder: Path) -> es.Study:
    return es.read_study(folder / "lag.toml")


@pytest.fixture(scope="module")
def fit(study: es.Study) -> es.Fit:
    return es.fit(study)


def design() -> es.Study:
    criteria = [es.Criterion("f1", "(x-1)^2 + 1", demand=2.0), es.Criterion("f2", "(x+1)^2 + y^2")]
    return formula_study({"x": (0.5, -2.0, 2.0), "y": (0.5, -1.0, 1.0)}, criteria)


ON_FIT: dict[str, Callable[[es.Fit], Any]] = {
    "fit": lambda f: f,
    "residuals": es.residuals,
    "identifiability": es.identifiability,
    "bootstrap": lambda f: es.bootstrap(f, 40, seed=3),
    "profile": lambda f: es.profile(f, "tau"),
    "crossvalidate": lambda f: es.crossvalidate(f),
    "map": lambda f: es.criterion_map(f, "K", "tau", points=5),
    "release": lambda f: es.release(f.study),
    "design-input": lambda f: es.design_input(f.study),
    "covariance": es.covariance,
    "bands": es.bands,
    "region": lambda f: es.region(f, "K", "tau"),
}
OF_DESIGN: dict[str, Callable[[es.Study], Any]] = {
    "optimise": es.optimise,
    "pareto": lambda s: es.pareto(s, points=4),
    "sweep": lambda s: es.sweep(s, vary={"x": [0.0, 0.5, 1.0]}),
    "montecarlo": lambda s: es.montecarlo(s, draw={"x": {"min": 0, "max": 1}}, samples=20, seed=5),
}


def complete(page: Page, answered: bool = True) -> None:
    headings = [s.heading for s in page.sections]
    assert headings[0] == ASKED
    assert headings[-1] == REPETITION
    if answered:
        assert headings[1] == ANSWER
        assert len(page.sections[1].text) > 20
        assert page.sections[1].text[0].isupper()
    text = page_html(page)
    packed = re.search(r'id="plotly">([^<]+)<', text)
    rest = text.replace(packed[1], "") if packed else text
    assert not re.findall(r"https?://(?!www\.w3\.org)", rest.replace('href^="http"', ""))
    assert len(text) < 5e6
    back = page_from_json(json.loads(json.dumps(page_to_json(page), allow_nan=False)))
    for before, after in zip(page.sections, back.sections, strict=True):
        for one, other in zip(before.shown, after.shown, strict=True):
            assert show.figure(other).to_json() == show.figure(one).to_json()


@pytest.mark.parametrize("command", ON_FIT)
def test_pages_of_fits_are_complete(command: str, fit: es.Fit) -> None:
    page: Page = ON_FIT[command](fit).page()
    complete(page, answered=command not in ("covariance", "bands", "region"))
    asked, repeat = page.sections[0], page.sections[-1]
    assert len(asked.text.split("\n\n")[0]) > 40
    tuners, cases = asked.shown
    assert isinstance(tuners, Table)
    assert tuners.rows == (("K", 1.5, 0.1, 10.0), ("tau", 3.0, 0.1, 20.0))
    assert isinstance(cases, Table)
    assert cases.rows[0][2:6] == ("square.csv", 160, "u", "y (column level)")
    assert any(
        isinstance(s, Listing) and s.folded and s.text == STUDY.strip() for s in repeat.shown
    )
    files = next(s for s in repeat.shown if isinstance(s, Table) and s.columns[0] == "file")
    assert [row[0] for row in files.rows] == ["lag.toml", "square.csv"]
    assert all(re.fullmatch("[0-9a-f]{64}", str(row[2])) for row in files.rows)


@pytest.mark.parametrize("command", OF_DESIGN)
def test_pages_of_designs_are_complete(command: str) -> None:
    page: Page = OF_DESIGN[command](design()).page()
    complete(page)
    assert "Criteria: what makes a design good" in [s.title for s in page.sections[0].shown]


def test_page_of_a_frequency_response_is_complete() -> None:
    t = np.arange(0.0, 60.0, 0.1)
    u = np.sin(2 * np.pi * 0.1 * t) + np.sin(2 * np.pi * 0.3 * t)
    found = es.frequency_estimate({"time": t, "u": u, "y": 2 * u}, input="u", output="y")
    complete(found.page())


def test_answer_of_a_fit_has_values_quality_and_verdict(fit: es.Fit) -> None:
    said = fit.page().sections[1].text
    assert re.search(r"K = \d\.\d+ ± 0\.\d+, tau = \d\.\d+", said)
    assert "with a fit of y 9" in said
    assert "determine all 2 unknowns" in said
    assert "white Gaussian noise" in said


def test_a_formula_is_told_whole_not_as_the_end_of_a_path(fit: es.Fit) -> None:
    asked = page_html(fit.page())
    assert "the model transfer function of K/(1 + tau*s): " in asked


def test_python_and_command_line_are_told_apart(
    fit: es.Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def line() -> str:
        listing = fit.page().sections[-1].shown[0]
        assert isinstance(listing, Listing)
        return listing.text

    assert line() == 'import estimica as es\n\nstudy = es.read_study("lag.toml")\nes.fit(study)'
    monkeypatch.setattr("sys.argv", ["/bin/estimica", "fit", "my lag.toml", "--seed", "2"])
    assert line() == "estimica fit 'my lag.toml' --seed 2"
    monkeypatch.setattr("sys.argv", ["/lib/estimica/__main__.py", "fit", "lag.toml"])
    assert line() == "estimica fit lag.toml"


def test_a_study_put_together_in_python_has_a_page_too() -> None:
    page = es.optimise(design()).page()
    assert not any(isinstance(s, Listing) and s.folded for s in page.sections[-1].shown)
