"""The command line as a user meets it: output, JSON, messages, exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from estimica.apps.cli.commands.app import ALIASES, app

DECAY = """
model Decay "First-order decay"
  parameter Real k(unit = "1/s", min = 0, max = 10) = 2 "Rate";
  parameter Integer n = 2 "Number of copies";
  input Real u "Drive";
  output Real y(unit = "mol", start = 1, fixed = true) "Amount";
  Real copies[n];
equation
  der(y) = -k*y + u;
  copies = fill(y, n);
end Decay;
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "Decay.mo"
    path.write_text(DECAY, encoding="utf-8")
    return str(path)


def estimica(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def json_of(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def test_version_is_printed() -> None:
    result = estimica("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("estimica ")


@pytest.mark.parametrize(("alias", "command"), ALIASES.items())
def test_an_alias_runs_its_command(alias: str, command: str) -> None:
    told = [estimica(name, "--help") for name in (alias, command)]
    assert told[0].exit_code == 0
    assert told[0].stdout == told[1].stdout
    refused = estimica(alias, "nowhere.toml", "--json")
    assert refused.exit_code == 2
    assert json.loads(refused.stdout)["command"] == command, "JSON has the one name of the command"


def test_the_help_names_the_aliases() -> None:
    told = " ".join(estimica("--help").stdout.split())
    assert "calibrate (= fit)" in told
    assert "monte-carlo (= montecarlo)" in told


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fitt", "'fit'"),
        ("Fit", "'fit'"),
        ("calibrat", "'calibrate'"),
        ("monte_carlo", "'montecarlo' or 'monte-carlo'"),
        ("bootstap", "'bootstrap'"),
    ],
)
def test_a_misspelt_command_is_answered_with_the_near_one(typed: str, meant: str) -> None:
    result = estimica(typed, "study.toml")
    assert result.exit_code == 2
    told = " ".join(re.sub("[│╭╮╰╯─]", "", result.stderr).split())
    assert f"there is no command '{typed}'; did you mean {meant}?" in told


def test_a_word_that_resembles_no_command_is_told_so() -> None:
    result = estimica("xyzzy")
    assert result.exit_code == 2
    assert "there is no command 'xyzzy'" in result.stderr
    assert "did you mean" not in result.stderr


def test_inspect_shows_values_units_and_descriptions(model: str) -> None:
    result = estimica("inspect", model)
    assert result.exit_code == 0, result.output
    assert "k = 2 1/s in 0 … 10  Rate" in result.stdout
    assert "y = 1 mol  Amount" in result.stdout
    assert "Rate  Decay.mo:3:18" in result.stdout
    assert "not tunable: it " in result.stdout
    assert "parameters" in result.stdout


def test_inspect_folds_long_arrays_unless_asked_for_all(model: str) -> None:
    assert "copies[1] … [9]" in estimica("inspect", model, "--set", "n=9").stdout
    assert "copies[5]" in estimica("inspect", model, "--set", "n=9", "--all").stdout


def test_inspect_json_has_every_table(model: str) -> None:
    found = json_of(estimica("inspect", model, "--json"))
    assert found["model"] == "Decay"
    assert found["parameters"]["k"]["value"] == 2
    assert found["parameters"]["k"]["tunable"] is True
    assert found["parameters"]["n"]["why_not"]
    assert list(found["inputs"]) == ["u"]
    assert list(found["outputs"]) == ["y"]
    assert list(found["states"]) == ["y"]
    assert found["states"]["y"]["max"] is None


def test_inspect_of_transfer_functions_shows_parameters_and_poles() -> None:
    shown = estimica("inspect", "K*exp(-T*s)/((1 + tau*s)*(1 + tau*s))", "--set", "K=2").stdout
    assert "K = 2" in shown
    assert "give them with --set to see its poles" in shown
    double = estimica("inspect", "K/((1 + tau*s)*(1 + tau*s))", "--set", "K=2", "--set", "tau=4")
    assert "poles in s: -0.25, -0.25 (stable)" in double.stdout
    assert "poles in s: -0.1 ± 0.994987j (stable)" in estimica("inspect", "1/(s^2+0.2*s+1)").stdout
    found = json_of(
        estimica(
            *("inspect", "b/(z - a)", "--sample-time", "0.1", "--set", "a=1.2"),
            "--set",
            "b=1",
            "--json",
        )
    )
    assert list(found["parameters"]) == ["b", "a"]
    assert found["notes"] == ["poles in z: 1.2 (not stable)"]
    without = estimica("inspect", "b/(z - a)")
    assert without.exit_code == 2
    assert "sample_time=0.1" in without.output


def test_inspect_and_check_say_which_library_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODELICAPATH", "")
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    model = tmp_path / "Lag.mo"
    model.write_text("model Lag\n  extends Modelica.Blocks.Continuous.FirstOrder(T = 2);\nend Lag;")
    small = "Modelica, the small library that comes with Estimica"
    assert f"library {small}" in estimica("inspect", str(model)).stdout
    assert json_of(estimica("inspect", str(model), "--json"))["libraries"] == [small]
    (tmp_path / "run.csv").write_text("time,u,y\n0,1,0\n1,1,0.4\n2,1,0.6\n3,1,0.8\n")
    (tmp_path / "study.toml").write_text(
        '[model]\nsource = "Lag.mo"\n[tune]\nT = 1.0\n[[case]]\nname = "a"\ndata = "run.csv"\n'
        'inputs = { u = "u" }\noutputs = { y = "y" }\n'
    )
    study = str(tmp_path / "study.toml")
    assert f"library: {small}" in estimica("check", study).stdout
    assert json_of(estimica("check", study, "--json"))["libraries"] == [small]


def test_simulate_json_gives_time_and_values(model: str) -> None:
    found = json_of(estimica("simulate", model, "--stop", "1", "--points", "11", "--json"))
    time_, y = np.array(found["time"]), np.array(found["values"]["y"])
    assert len(time_) == 11
    assert y == pytest.approx(np.exp(-2 * time_), rel=1e-5)
    assert found["units"]["y"] == "mol"


def test_simulate_sets_parameters_starts_inputs_and_sensitivities(model: str) -> None:
    found = json_of(
        estimica(
            *("simulate", model, "--stop", "1", "--points", "3", "--json", "--rtol", "1e-9"),
            *("--set", "k=1", "--start-value", "y=3", "--input", "u=0.5"),
            *("--output", "y", "--sensitivity", "k", "--sensitivity", "y"),
        )
    )
    t = np.array(found["time"])
    assert found["values"]["y"] == pytest.approx(0.5 + 2.5 * np.exp(-t), rel=1e-7)
    exact = -0.5 * (1 - np.exp(-t) * (1 + t)) - 3 * t * np.exp(-t)
    assert found["sensitivities"]["y"]["k"] == pytest.approx(exact, rel=1e-6, abs=1e-9)
    assert found["sensitivities"]["y"]["y"] == pytest.approx(np.exp(-t), rel=1e-7)


def test_input_from_a_file(model: str, tmp_path: Path) -> None:
    data = tmp_path / "step.csv"
    data.write_text("time,drive,other\n0,0,9\n0.5,4,9\n", encoding="utf-8")
    arguments = ("--stop", "1", "--points", "3", "--json", "--input", f"u={data}:drive")
    found = json_of(estimica("simulate", model, *arguments))
    middle = np.exp(-1.0)
    end = 2 + (middle - 2) * np.exp(-1.0)
    assert found["values"]["y"] == pytest.approx([1, middle, end], rel=1e-5)


def test_parameter_that_shapes_the_model_can_be_set(model: str) -> None:
    arguments = ("--stop", "1", "--points", "2", "--json", "--set", "n=3", "--output", "copies[3]")
    found = json_of(estimica("simulate", model, *arguments))
    assert found["values"]["copies[3]"][0] == 1


def test_plot_and_csv_are_written(model: str, tmp_path: Path) -> None:
    page, table = tmp_path / "out.html", tmp_path / "out.csv"
    result = estimica(
        *("simulate", model, "--stop", "1", "--points", "5", "--sensitivity", "k"),
        *("--plot", str(page), "--csv", str(table)),
    )
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert text.count('<figure class="plot"') == 2
    assert "To repeat this" in text
    assert table.read_text(encoding="utf-8").startswith("time,y")
    assert "▁" in result.stdout
    assert f"wrote {page}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--stop", "1", "--set", "kk=1"), r"'kk'.*did you mean 'k'"),
        (("--stop", "1", "--output", "z"), r"'z'"),
        (("--stop", "1", "--input", "v=1"), r"'v'"),
        (("--stop", "1", "--input", "u=none.csv"), r"D001: there is no file 'none.csv'"),
        ((), r"M053: 'Decay' does not say how long to simulate; give --stop"),
        (("--stop", "-1"), r"M054: --stop -1 is not after --start 0"),
        (("--stop", "1", "--csv", "no/such/folder.csv"), r"P001: cannot write"),
        (("--stop", "1", "--plot", "no/such/folder.html"), r"P001: cannot write"),
        (("--stop", "1", "--method", "magic"), r"M060: method 'magic' is none of auto"),
        (("--stop", "1", "--rtol", "-1"), r"M061: rtol -1 is not between"),
    ],
)
def test_wrong_input_is_one_message_and_exit_code_2(
    model: str, arguments: tuple[str, ...], message: str
) -> None:
    result = estimica("simulate", model, *arguments)
    assert result.exit_code == 2, result.output
    assert re.search(message, result.stderr), result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_wrong_input_with_json_is_still_one_object(model: str) -> None:
    result = estimica("simulate", model, "--stop", "1", "--set", "kk=1", "--json")
    assert result.exit_code == 2
    outcome = json.loads(result.stdout)["outcome"]
    assert outcome["status"] == "wrong input"
    assert outcome["code"].startswith("M")


def test_missing_model_is_exit_code_2(tmp_path: Path) -> None:
    result = estimica("inspect", str(tmp_path / "None.mo"))
    assert result.exit_code == 2
    assert "None.mo" in result.stderr


def test_failed_run_is_exit_code_1(tmp_path: Path) -> None:
    path = tmp_path / "Blow.mo"
    path.write_text(
        "model Blow\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = x^2;\nend Blow;\n",
        encoding="utf-8",
    )
    result = estimica("simulate", str(path), "--stop", "2", "--json")
    assert result.exit_code == 1, result.output
    assert json.loads(result.stdout)["outcome"]["status"] == "failed"
    # a computer that simulates for the first time tells before that it compiles
    assert result.stderr.splitlines()[-1].startswith("error R")


def test_demo_prints_truth_beside_estimates_and_writes_a_page(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    result = estimica("demo", "--report", str(page))
    assert result.exit_code == 0, result.output
    assert "T_D" in result.stdout
    assert "truth" in result.stdout
    assert "Measured and simulated" in page.read_text(encoding="utf-8")


def test_demo_finds_the_truth_within_four_standard_errors(tmp_path: Path) -> None:
    page = str(tmp_path / "report.html")
    found = json_of(estimica("demo", "--report", page, "--json"))
    assert found["command"] == "demo"
    assert found["outcome"]["status"] == "converged"
    for name, truth in found["truth"]["parameters"].items():
        estimate = found["parameters"][name]
        assert abs(estimate["value"] - truth) < 4 * estimate["stderr"]
    for name, truth in found["truth"]["noise"].items():
        assert found["noise"][name]["variance"] == pytest.approx(truth, rel=0.25)


def test_demo_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    def cost(seed: str) -> float:
        page = str(tmp_path / "report.html")
        found = json_of(estimica("demo", "--report", page, "--seed", seed, "--json"))
        return float(found["cost"])

    assert cost("1") == cost("1")
    assert cost("1") != cost("2")


def test_demo_leaves_files_to_go_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "boiler"
    page = str(tmp_path / "report.html")
    result = estimica("demo", "--report", page, "--files", str(folder))
    assert result.exit_code == 0, result.output
    assert {p.name for p in folder.iterdir()} == {"DrumBoiler.mo", "boiler.toml", "run1.csv"}
    assert estimica("check", str(folder / "boiler.toml")).exit_code == 0


def test_demo_names_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = estimica("demo", "--files", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert "is not a folder" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_interrupt_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    script = (
        "import sys, time, estimica.apps.cli.commands.app as a, estimica.apps.cli as cli\n"
        "def wait(*args, **kwargs):\n    print('ready', flush=True); time.sleep(60)\n"
        "import estimica.apps.cli.commands.study.inspect as i\n"
        "i.load = wait\n"
        "sys.argv = ['estimica', 'inspect', 'x.mo']\n"
        "cli.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ.copy(),
    )
    assert process.stdout
    assert process.stdout.readline().strip() == "ready"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr.strip() == "interrupted"


def test_an_interrupt_that_python_would_only_print_ends_the_command() -> None:
    code = (
        "import signal, sys, time\n"
        "import estimica.apps.cli as cli\n"
        "import estimica.apps.cli.commands.app as commands\n"
        "class Callback:\n"
        "    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
        "def app():\n"
        "    Callback()\n"
        "    begin = time.monotonic()\n"
        "    while time.monotonic() < begin + 5: pass\n"
        "    print('went on')\n"
        "commands.app = app\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert (done.stdout, done.stderr.strip()) == ("", "interrupted")
