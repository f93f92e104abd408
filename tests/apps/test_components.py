"""Components on the command line: what `inspect` proposes and `new` writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.components import SOURCE
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    path = tmp_path / "Parts.mo"
    path.write_text(SOURCE)
    return path


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_inspect_says_which_inputs_a_component_needs(parts: Path) -> None:
    text = invoke("inspect", parts, "Parts.Resistor")
    assert "as a component (open: p, n) choose 2 variables as inputs, for instance" in text
    assert "p.v, n.v  as it is shown here" in text
    found = json.loads(invoke("inspect", parts, "Parts.Resistor", "--json"))["component"]
    assert found["inputs_needed"] == 2
    assert found["open_connectors"] == ["p", "n"]
    assert ["n.v", "i"] in found["possible"]
    assert found["chosen"] == ["p.v", "n.v"]


def test_inspect_of_a_closed_model_has_nothing_to_choose(parts: Path) -> None:
    assert "as a component" not in invoke("inspect", parts, "Parts.Tube")
    found = json.loads(invoke("inspect", parts, "Parts.Tube", "--json"))["component"]
    assert found == {"inputs_needed": 0, "open_connectors": [], "possible": [], "chosen": []}


def test_new_writes_a_study_of_points_that_can_be_fitted(parts: Path, tmp_path: Path) -> None:
    i = np.linspace(0.1, 3.0, 20)
    pd.DataFrame({"i": i, "v": 5 * i}).to_csv(tmp_path / "points.csv", index=False)
    study = tmp_path / "study.toml"
    invoke("new", parts, "Parts.Resistor", tmp_path / "points.csv", "--output", study)
    text = study.read_text()
    assert (
        '[static]   # each row of the data is an operating point of its own\nmode = "static"'
        in text
    )
    assert (
        '[case.inputs]\ni = "i"\n"n.v" = 0.0   # a number for all points, or a column; it has no '
        "effect on the outputs\n"
    ) in text
    assert '[case.outputs]\nv = "v"\n' in text
    assert "time =" not in text
    found = json.loads(invoke("fit", study, "--json", "--quiet"))
    assert found["parameters"]["R"]["value"] == pytest.approx(5.0)


def test_new_offers_variables_where_no_column_is_called_like_one(
    parts: Path, tmp_path: Path
) -> None:
    data = pd.DataFrame({"current": [1.0, 2.0, 3.0], "voltage": [5.0, 10.0, 15.0]})
    data.to_csv(tmp_path / "points.csv", index=False)
    study = tmp_path / "study.toml"
    done = CliRunner().invoke(
        app,
        ["new", str(parts), "Parts.Resistor", str(tmp_path / "points.csv"), "--output", str(study)],
    )
    assert "C004: case 'points': has no outputs" in done.output  # what is left to do
    text = study.read_text()
    assert "`estimica inspect` shows which go together" in text
    offered = text[text.index("[case.outputs]") :]
    assert '# Take the # away where you know the column.\n# v = "…"\n# i = "…"\n' in offered


def test_new_takes_points_of_a_model_with_states_as_steady(parts: Path, tmp_path: Path) -> None:
    data = pd.DataFrame({"T_in": [30.0, 60.0, 90.0], "m": [1.0, 2.0, 1.5], "T_out": [20.0, 50, 60]})
    data.to_csv(tmp_path / "rest.csv", index=False)
    study = tmp_path / "study.toml"
    invoke("new", parts, "Parts.Tube", tmp_path / "rest.csv", "--output", study)
    assert 'mode = "steady"' in study.read_text()


def test_new_over_time_is_as_before(parts: Path, tmp_path: Path) -> None:
    data = pd.DataFrame({"time": [0.0, 1.0, 2.0, 3.0], "v": [0.0, 1.0, 2.0, 3.0]})
    data.to_csv(tmp_path / "run.csv", index=False)
    study = tmp_path / "study.toml"
    invoke("new", parts, "Parts.Resistor", tmp_path / "run.csv", "--output", study)
    assert "[static]" not in study.read_text()
    assert 'time = "time"' in study.read_text()
