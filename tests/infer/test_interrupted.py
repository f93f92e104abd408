"""What is said after Ctrl-C: only what is true of the part that was done."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.infer.interval_problems import curve, puromycin
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.view import text
from estimica.execute.runs.store import Store

ESTIMICA = (sys.executable, "-c", "from estimica.apps.cli import main; main()")


def after(calls: int) -> Callable[[Any], None]:
    """A listener that presses Ctrl-C at its last call."""
    left = [calls]

    def tell(_: Any) -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise KeyboardInterrupt

    return tell


def test_an_interrupted_profile_does_not_say_that_it_came_to_its_ends(tmp_path: Path) -> None:
    found = es.profile(puromycin(), progress=after(1))
    status, message = found.outcome()
    assert status == "interrupted"
    assert "followed to its ends" not in message
    assert message == "interrupted; 0 of 4 sides had come to their end; still open: V, K"
    low, high = found["V"].low, found["V"].high
    assert str(low.ending) == "interrupted"
    assert np.isnan([low.value, high.value]).all()
    assert low.message.startswith("downwards it was followed only to ")
    assert high.message == "upwards it was not followed yet"
    told = json.loads(json.dumps(found.to_dict()))
    assert told["parameters"]["V"]["low"]["ending"] == "interrupted"
    assert told["parameters"]["V"]["ci95"] == [None, None]
    page = found.report(tmp_path / "p.html").read_text(encoding="utf-8")
    assert "followed to its ends" not in page
    assert "upwards it was not followed yet" in page


def test_an_interrupted_profile_tells_which_sides_are_done() -> None:
    # both sides cross the threshold, then one of them is confirmed
    found = es.profile(puromycin(), "V", points=3, progress=after(3))
    sides = [found["V"].low, found["V"].high]
    done = sum(s.found for s in sides)
    assert 0 < done < 2
    assert f"{done} of 2 sides had come to their end; still open: V" in found.outcome()[1]


def test_a_profile_that_is_done_says_so() -> None:
    found = es.profile(puromycin())
    assert found.outcome() == ("done", "every profile was followed to its ends")


def test_a_profile_of_a_fit_that_did_not_converge_says_so() -> None:
    fit = puromycin(estimation={"max_iterations": 1})
    assert not fit.outcome.ok
    assert "did not converge itself (iteration limit)" in es.profile(fit, "K").outcome()[1]
    assert "did not converge itself (iteration limit)" in es.bootstrap(fit, 5).outcome()[1]


def test_an_interrupted_bootstrap_counts_what_is_done() -> None:
    found = es.bootstrap(puromycin(), 50, progress=after(3))
    status, message = found.outcome()
    assert status == "interrupted"
    assert message.startswith("interrupted after 3 of 50 replicates; 3 of 3 replicates")
    assert found.spreads[0].percentile[0] != found.spreads[0].percentile[0]


def test_an_interrupted_cross_validation_speaks_of_the_folds_that_are_done() -> None:
    x = np.linspace(0, 1, 40)
    fit = curve("a*x", x, 2 * x + 0.1 * np.cos(40 * x), {"a": 1.0})
    found = es.crossvalidate(fit, folds=4, progress=after(2))
    assert found.outcome() == ("interrupted", "stopped after 2 of 4 folds")
    assert found.verdict.startswith("of the 2 of 4 folds that were done: ")
    assert "interrupted after 2 of 4 folds" in text(found.table()).replace("\n", " ")


STUDY = """[static]
expression = "a*exp(-b*x)"
[tune]
a = 1.0
b = 1.0
[[case]]
name = "points"
data = "d.csv"
inputs = { x = "x" }
outputs = { y = { column = "y", weight = 1 } }
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    x = np.linspace(0, 1, 40)
    noise = 0.05 * np.random.default_rng(1).standard_normal(40)
    pd.DataFrame({"x": x, "y": 2 * np.exp(-3 * x) + noise}).to_csv(tmp_path / "d.csv", index=False)
    path = tmp_path / "s.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


@pytest.mark.parametrize("command", ["bootstrap", "profile", "residuals", "identifiability"])
def test_ctrl_c_in_the_fit_ends_the_command(
    study: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("estimica.estimate.search.run.Descent._iterate", pressed)
    ended = CliRunner().invoke(app, [command, str(study), "--quiet"])
    assert ended.exit_code == 130
    (run,) = Store.of(study, None).runs()
    assert str(run.status) == "interrupted"


def test_monte_carlo_does_not_draw_from_half_a_fit(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from estimica.optimise.assess.tuner_distribution import tuner_distribution

    def pressed(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("estimica.estimate.search.run.Descent._iterate", pressed)
    with pytest.raises(KeyboardInterrupt):
        tuner_distribution(es.read_study(study), "fit")


@pytest.mark.slow
def test_a_real_interrupt_of_profile_is_stored_as_one(study: Path) -> None:
    # many points make it last long enough to be hit
    command = [*ESTIMICA, "profile", str(study), "--points", "1000", "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    store = Store.of(study, None)
    for _ in range(600):
        time.sleep(0.1)
        try:
            (run,) = store.runs()
        except (ValueError, es.EstimicaError):
            continue
        if any(k.startswith("profile") for k in store.run(run.id).checkpoints):
            break
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=120)
    told = json.loads(out)
    assert running.returncode == 1
    assert told["outcome"]["status"] == "interrupted"
    assert "followed to its ends" not in told["outcome"]["message"]
    assert told["parameters"]["a"]["low"]["ending"] == "interrupted"
    assert str(store.run(told["run"]).summary.status) == "interrupted"
