"""An FMU that asks to end the simulation: a good end, as terminate() is in Modelica."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.fmus.build import builder, built

import estimica as es
from estimica.base.errors import SimulationError
from estimica.compiled.experiment import Experiment
from estimica.simulate.fmu.model import FmuModel

pytestmark = pytest.mark.skipif(not builder.compiler(), reason="no C compiler")

TIMES = np.linspace(0.0, 5.0, 11)
#: h = 2 exp(-k t) falls to 0.5
END = math.log(4) / 0.5
WAYS = [(fmi, interface) for fmi in (2, 3) for interface in ("me", "cs")]


def emptying(fmi: int, interface: str, **fix: float) -> FmuModel:
    step = 0.1 if interface == "cs" else None
    path = built("emptying", fmi=fmi)
    return es.load_model(path, interface=interface, communication_step=step, fix=fix)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(("fmi", "interface"), WAYS)
def test_the_trajectory_goes_up_to_there(fmi: int, interface: str) -> None:
    run = emptying(fmi, interface).simulate(TIMES)
    assert run.termination is not None
    assert run.termination.time == pytest.approx(END, rel=1e-5)
    np.testing.assert_allclose(run.time, [*TIMES[TIMES < END], END], rtol=1e-5)
    np.testing.assert_allclose(run["level"], 2 * np.exp(-0.5 * run.time), rtol=1e-5)
    np.testing.assert_allclose(run["outflow"], np.exp(-0.5 * run.time), rtol=1e-5)
    assert "ended by the FMU itself at t = 2.77259" in repr(run)
    assert run.to_dict()["termination"]["time"] == pytest.approx(END, rel=1e-5)  # type: ignore[index]


@pytest.mark.parametrize(("fmi", "interface"), WAYS)
def test_a_time_that_it_has_planned(fmi: int, interface: str) -> None:
    run = emptying(fmi, interface, latest=1.25).simulate(TIMES)
    assert run.termination is not None
    assert run.termination.time == pytest.approx(1.25, abs=1e-9)
    assert run["level"][-1] == pytest.approx(2 * math.exp(-0.625), rel=1e-5)


@pytest.mark.parametrize(("fmi", "interface"), WAYS)
def test_sensitivities_before_it(fmi: int, interface: str) -> None:
    model = emptying(fmi, interface)
    found = model.sensitivities(TIMES, wrt=["k", "h0"], outputs=["level"])
    before = found.time < END - 1e-3
    t = found.time[before]
    assert len(t) == 6
    np.testing.assert_allclose(
        found.derivative("level", "k")[before], -2 * t * np.exp(-0.5 * t), rtol=2e-4, atol=1e-6
    )
    np.testing.assert_allclose(
        found.derivative("level", "h0")[before], np.exp(-0.5 * t), rtol=2e-4, atol=1e-6
    )


def test_a_sample_at_the_very_end_counts() -> None:
    response = emptying(2, "me", latest=2.0).respond(
        Experiment(TIMES[:5], {}, {}, {}, ("level",), wrt=("k",))
    )
    run = response.at()
    assert run.ok
    assert run.termination is not None
    np.testing.assert_allclose(run.Y[:, 0], 2 * np.exp(-0.5 * TIMES[:5]), rtol=1e-5)
    exact = -2 * TIMES[:5] * np.exp(-0.5 * TIMES[:5])
    np.testing.assert_allclose(run.YS[:, 0, 0], exact, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("interface", ["me", "cs"])
def test_samples_of_a_fit_behind_it_are_a_failure_that_says_so(interface: str) -> None:
    response = emptying(2, interface).respond(Experiment(TIMES, {}, {}, {}, ("level",), wrt=("k",)))
    run = response.at()
    assert not run.ok
    assert "ended by the FMU itself at t = 2.77259" in run.text
    assert "5 samples from t = 3 to 5 come after that" in run.text
    slower = response.at(np.array([0.2]))  # falls to 1 / e of 2 m only
    assert slower.ok, slower.text
    assert slower.termination is None


def test_a_fit_of_the_samples_before_it() -> None:
    t = TIMES[TIMES < END]
    data = pd.DataFrame({"time": t, "level": 2 * np.exp(-0.5 * t)})
    study = es.Study(
        emptying(2, "me"),
        [es.Tuner("k", start=0.4, min=0.1, max=0.53)],
        [es.Case("run", data, outputs={"level": "level"})],
    )
    assert es.fit(study)["k"] == pytest.approx(0.5, rel=1e-4)


def test_data_are_simulated_up_to_there() -> None:
    made = es.simulate_experiment(emptying(2, "me"), {}, TIMES, outputs=["level"])
    np.testing.assert_allclose(made.columns["level"], 2 * np.exp(-0.5 * TIMES[:6]), rtol=1e-5)
    assert any("ended by the FMU itself" in note for note in made.notes)


def test_the_command_says_when(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from estimica.apps.cli.commands.app import app

    done = CliRunner().invoke(app, ["simulate", str(built("emptying", fmi=3)), "--stop", "5"])
    assert done.exit_code == 0, done.output
    assert "ended by the FMU itself at t = 2.77259" in " ".join(done.output.split())


def test_a_design_is_scored_up_to_there() -> None:
    study = es.Study(
        emptying(2, "me"),
        [es.Tuner("k", start=0.5, min=0.3, max=1.0)],
        [es.Case("run", stop=5.0)],
        criteria=[es.Criterion("held", of="level", kind="integral", demand=1.0)],
    )
    found = es.optimise(study, starts=1)
    assert found.start.values[0] == pytest.approx(1.5 / 0.5, rel=1e-4)
    assert found.tuners["value"].iloc[0] == pytest.approx(1.0, rel=1e-3)
    assert found.best.values[0] == pytest.approx(1.5, rel=1e-3)


def test_a_discarded_step_that_is_no_end_stays_a_failure() -> None:
    from tests.fmus.build import Fault

    path = built("vanDerPol", fmi=2, kinds=("cs",), fault=Fault("discard", "step", after=5))
    model: FmuModel = es.load_model(path, interface="cs")
    with pytest.raises(SimulationError, match="discarded the call"):
        model.simulate(np.linspace(0, 1, 11))
