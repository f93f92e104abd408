"""`estimica optimise` and what `check` and `fit` say of designs."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from tests.optimise.test_generations import MASS, STUDY
from typer.testing import CliRunner, Result

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.execute.runs.store import Store

SQP = STUDY.replace('method = "genetic"', 'method = "sqp"').replace(
    "max_iterations = 6", "max_iterations = 50"
)
SHOWN = '[[indicator]]\nname = "way"\nshow = ["x"]\n'


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "Mass.mo").write_text(MASS, encoding="utf-8")
    path = tmp_path / "mass.toml"
    path.write_text(SQP + SHOWN, encoding="utf-8")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_a_design_is_found_shown_and_written(study: Path) -> None:
    folder = study.parent
    done = run(
        "optimise", study, "--json", "--csv", folder / "design.csv", "--modelica",
        folder / "Tuned.mo", "--live", folder / "live.html", "--report", folder / "page.html",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["aggregate"]["largest"] < 1
    assert found["aggregate"]["satisfied"]
    rows = (folder / "design.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "what,case,name,before,after,demand,unit"
    assert len(rows) == 1 + 2 + 2
    text = (folder / "Tuned.mo").read_text(encoding="utf-8")
    assert "extends Mass(" in text
    both = (folder / "Mass.mo").read_text(encoding="utf-8") + text
    (folder / "Both.mo").write_text(both, encoding="utf-8")
    tuned = es.load_model(folder / "Both.mo", "TunedMass")
    values = {q.name: q.value for q in tuned.quantities()}
    assert values["k"] == pytest.approx(found["tuners"]["k"]["value"])
    live = (folder / "live.html").read_text(encoding="utf-8")
    assert '<meta http-equiv="refresh"' in live
    assert "way" in (folder / "page.html").read_text(encoding="utf-8")
    steps = Store.beside(study).iterations(found["run"])  # for those who watch
    assert all(a.cost > b.cost for a, b in pairwise(steps))
    assert steps[-1].payload["values"]["k"] == pytest.approx(found["tuners"]["k"]["value"])
    again = run("optimise", study, "--json", "--fit", found["run"], "--max-evaluations", "1")
    start = json.loads(again.stdout)["tuners"]["k"]["start"]
    assert start == pytest.approx(found["tuners"]["k"]["value"])


def test_a_front_is_found_and_written(study: Path) -> None:
    csv = study.parent / "front.csv"
    done = run("optimise", study, "--pareto", "--points", "5", "--json", "--no-store", "--csv", csv)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["criteria"] == ["error", "overshoot"]
    values = [(d["criteria"]["error"], d["criteria"]["overshoot"]) for d in found["front"]]
    assert len(values) >= 2
    assert all(a[0] < b[0] and a[1] > b[1] for a, b in pairwise(values))
    assert len(csv.read_text(encoding="utf-8").splitlines()) == 1 + len(values)


def test_options_of_a_front_need_a_front(study: Path) -> None:
    done = run("optimise", study, "--points", "5")
    assert done.exit_code == 2
    assert "--criteria, --points and --front are of a front; add --pareto" in done.stderr
    done = run("optimise", study, "--pareto", "--modelica", study.parent / "T.mo")
    assert "--modelica writes one design, --pareto finds many; leave one out" in done.stderr


def test_all_that_is_wrong_with_a_design_is_told_at_once(study: Path) -> None:
    wrong = (SQP + SHOWN).replace('of = "x"', 'of = "y"').replace('show = ["x"]', 'show = ["z"]')
    study.write_text(wrong, encoding="utf-8")
    done = run("check", study)
    assert done.exit_code == 2
    for told in (
        "criterion 'error': the model has no 'y'",
        "criterion 'overshoot': the model has no 'y'",
        "indicator 'way': the model has no 'z'",
    ):
        assert told in done.stdout
    searched = run("optimise", study, "--no-store")
    assert searched.exit_code == 2
    assert "3 things to fix" in searched.stderr


def test_a_fit_of_a_design_says_what_to_do_instead(study: Path) -> None:
    study.write_text(SQP + '[[case]]\nname = "a"\n', encoding="utf-8")
    done = run("fit", study, "--no-store")
    assert done.exit_code == 2
    assert (
        "study 'mass' has criteria but no case with data to fit: it is a design; use "
        "`estimica optimise`"
    ) in done.stderr
