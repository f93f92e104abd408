"""PEtab problems on the command line: written as studies, fitted directly, exported."""

from __future__ import annotations

import json
from pathlib import Path

from tests.study.petab_problems import written
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app


def run(*arguments: object) -> tuple[int, dict[str, object]]:
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    found: dict[str, object] = json.loads(result.stdout)
    return result.exit_code, found


def test_new_fit_and_export_go_round(tmp_path: Path) -> None:
    problem = written(tmp_path)
    study = tmp_path / "own.toml"
    code, told = run("new", problem, "--output", study)
    assert (code, told["study"], told["problems"]) == (0, str(study), [])
    assert (tmp_path / "own.mo").exists()
    folder = tmp_path / "again"
    code, told = run("export", study, "--petab", folder)
    assert (code, told["problem"]) == (0, str(folder / "problem.yaml"))
    fits = [run("fit", p, "--no-store") for p in (problem, study, folder / "problem.yaml")]
    assert [code for code, _ in fits] == [0, 0, 0]
    costs = [float(str(found["cost"])) for _, found in fits]
    assert max(costs) - min(costs) < 1e-4


def test_mistakes_are_told_without_a_traceback(tmp_path: Path) -> None:
    problem = written(tmp_path)
    code, told = run("new", problem, "data.csv", "--output", tmp_path / "own.toml")
    assert code == 2
    assert "Q108" in json.dumps(told)
    (tmp_path / "model.xml").unlink()
    code, told = run("fit", problem, "--no-store")
    assert code == 2
    assert "S301" in json.dumps(told)


def test_new_says_which_prior_is_left_out(tmp_path: Path) -> None:
    table = (
        "parameterId parameterScale lowerBound upperBound nominalValue estimate "
        "objectivePriorType objectivePriorParameters\n"
        "k1 log10 1e-3 1e3 0.8 1 laplace 1;2\nk2 log10 1e-3 1e3 0.6 1  \n"
        "a0 lin 0 10 1 0  \nb0 lin 0 10 0 0  "
    )
    problem = written(tmp_path, parameters=table)
    _, told = run("new", problem, "--output", tmp_path / "own.toml")
    assert told["notes"] == ["'k1': its laplace prior (1; 2) is not used"]
    assert "its laplace prior (1; 2) is not used" in (tmp_path / "own.toml").read_text()
