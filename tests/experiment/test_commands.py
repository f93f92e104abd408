"""`estimica signal`, and what `estimica new` says of steps in the data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.apps.draft import with_first_guesses
from estimica.data.table import Data
from estimica.experiment.guess.step.run import step_remarks

MODEL = """
model Lag "First order"
  parameter Real K(min = 0, max = 10) = 1 "Gain";
  parameter Real tau(unit = "s", min = 0.1, max = 100) = 2 "Time constant";
  input Real u(unit = "V") "Voltage";
  output Real y(unit = "m", start = 0, fixed = true) "Position";
equation
  tau*der(y) = K*u - y;
end Lag;
"""


def test_a_signal_is_written_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "u.csv"
    done = CliRunner().invoke(
        app, ["signal", "square", "frequency=0.05", "amplitude=2", "--step", "0.1", "--samples", "1000",
              "--name", "valve", "--unit", "V", "--csv", str(path), "--plot", str(tmp_path / "u.html")]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    expected = es.signals.Square(0.05, amplitude=2).samples(es.signals.times(0.1, 1000))
    assert (es.read_data(path).column("valve") == expected).all()
    assert (tmp_path / "u.html").stat().st_size > 10_000


def test_a_multisine_tells_its_crest_factor() -> None:
    arguments = [
        "signal",
        "multisine",
        "lines=[1,2,3,4,5]",
        "fundamental=0.1",
        "--samples",
        "10",
        "--json",
    ]
    told = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert told["crest_factor"] == pytest.approx(1.79, abs=0.01)
    assert len(told["values"]["u"]) == 10


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["sqare"], "W009: there is no signal 'sqare'; did you mean 'square' or 'square-ramp'?"),
        (["square"], "W011: square: say what frequency is"),
        (["square", "frequency=-1"], "W002: square: frequency -1 Hz is not positive"),
        (["square", "frequency"], "M050: signal square 'frequency': write NAME=VALUE"),
        (["noise", "clock=1", "band=[1"], "W012: noise: a parameter is of the wrong kind"),
    ],
)
def test_a_wrong_signal_ends_with_a_message(arguments: list[str], text: str) -> None:
    done = CliRunner().invoke(app, ["signal", *arguments])
    assert done.exit_code == 2
    assert text in done.output


def test_new_says_what_a_step_suggests(tmp_path: Path) -> None:
    (tmp_path / "Lag.mo").write_text(MODEL, encoding="utf-8")
    step = es.signals.Step(begin=5.0, amplitude=2)
    data = es.simulate_experiment(
        es.load_model(tmp_path / "Lag.mo"),
        {"u": step},
        np.linspace(0, 40, 801),
        {"K": 3, "tau": 4},
        noise=0.005,
    )
    data.to_csv(tmp_path / "run1.csv")
    out = tmp_path / "lag.toml"
    done = CliRunner().invoke(
        app, ["new", str(tmp_path / "Lag.mo"), str(tmp_path / "run1.csv"), "--output", str(out)]
    )
    assert done.exit_code == 0, done.output
    lines = out.read_text(encoding="utf-8").splitlines()
    (remark,) = [line for line in lines if "suggests" in line]
    assert remark.startswith("# a step of u suggests for y: gain 3, time constant 4")
    assert lines[lines.index(remark) - 1] == "[[case]]"
    es.read_study(out)


def test_no_step_no_remark() -> None:
    t = np.linspace(0, 10, 200)
    data = Data("run.csv", {"time": t, "u": np.sin(t), "y": np.cos(t)})
    text = '[[case]]\nname = "run"\ninputs = { u = "u" }\noutputs = { y = { column = "y", scale = 2 } }\n'
    assert with_first_guesses(text, [data]) == text
    assert with_first_guesses("x = 1\n", []) == "x = 1\n"


def test_a_step_counts_only_while_other_inputs_rest() -> None:
    t = np.linspace(0, 40, 801)
    answer = 3 * -np.expm1(-np.maximum(t - 5, 0) / 2)
    columns = {"time": t, "u": (t >= 5).astype(float), "v": np.ones(801), "y": answer}
    still = Data("run.csv", columns)
    assert len(step_remarks(still, ["u", "v"], ["y"])) == 1
    moving = Data("run.csv", columns | {"v": np.sin(t)})
    assert step_remarks(moving, ["u", "v"], ["y"]) == []
