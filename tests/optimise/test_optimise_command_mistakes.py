"""What the commands of designs say of mistakes in the study file."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app

STUDY = """[tune]
x = { start = 1, min = 0, max = 2 }

[[case]]
name = "run"

[[criterion]]
name = "cost"
kind = "value"
of = "x^2"
"""


@pytest.fixture
def write(tmp_path: Path):
    def written(old: str, new: str) -> Path:
        path = tmp_path / "design.toml"
        path.write_text(STUDY.replace(old, new), encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize("command", ["optimise", "sweep", "montecarlo"])
def test_a_study_without_criteria_is_no_design(write, tmp_path: Path, command: str) -> None:
    (tmp_path / "M.mo").write_text(
        "model M\n  parameter Real x = 1;\n  Real y;\nequation\n  der(y) = -x;\nend M;\n",
        encoding="utf-8",
    )
    path = write(STUDY, '[model]\nsource = "M.mo"\n' + STUDY.partition("[[criterion]]")[0])
    done = CliRunner().invoke(app, [command, str(path)])
    assert done.exit_code == 2
    assert done.stderr == (
        "error O010: study 'design' has no criterion; add a [[criterion]] with name, kind and of\n"
    )


def test_a_wrong_criterion_is_told_without_asking_for_data(write) -> None:
    done = CliRunner().invoke(app, ["check", str(write('kind = "value"', 'kind = "valve"'))])
    assert done.exit_code == 2
    assert "did you mean 'value'?" in done.stdout
    assert "C095" not in done.stdout
