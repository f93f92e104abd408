"""The FMUs of the tests are right: valid for FMPy, the same trajectories as SciPy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.fmus.build import NAMES, builder, built

fmpy = pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not builder.compiler(), reason="no C compiler")

from fmpy.fmi2 import FMU2Model  # noqa: E402
from fmpy.fmi3 import FMU3Model  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402


def van_der_pol(t: float, x: np.ndarray) -> list[float]:
    return [x[1], (1 - x[0] ** 2) * x[1] - x[0]]


def robertson(t: float, x: np.ndarray) -> list[float]:
    a, c = -0.04 * x[0] + 1e4 * x[1] * x[2], 3e7 * x[1] ** 2
    return [a, -a - c, c]


def room(t: float, x: np.ndarray) -> list[float]:
    q = (x[0] - x[1]) / 4e-3
    return [-q / 4e5, (q - (x[1] - 278.15) / 1e-2) / 8e6]


REFERENCES: dict[str, tuple[Callable[[float, np.ndarray], list[float]], list[float], float]] = {
    "vanDerPol": (van_der_pol, [2.0, 0.0], 20.0),
    "stiff": (robertson, [1.0, 0.0, 0.0], 40.0),
    "rcThermal": (room, [293.15, 288.15], 172800.0),
}


def last(path: Path, kind: str, step: float | None = None) -> np.ndarray:
    run = fmpy.simulate_fmu(str(path), fmi_type=kind, relative_tolerance=1e-9, output_interval=step)
    return np.array(list(run[-1])[1:])


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_fmu_is_valid_for_fmpy(name: str, fmi: int) -> None:
    assert validate_fmu(str(built(name, fmi=fmi))) == []


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", REFERENCES)
def test_fmu_runs_as_scipy_does(name: str, fmi: int) -> None:
    rates, start, stop = REFERENCES[name]
    exact = solve_ivp(rates, (0, stop), start, method="LSODA", rtol=1e-11, atol=1e-13).y[:, -1]
    path = built(name, fmi=fmi)
    seen = {"vanDerPol": [0], "stiff": [0, 1, 2], "rcThermal": [0, 1]}[name]
    model_exchange, co_simulation = last(path, "ModelExchange"), last(path, "CoSimulation")
    for k in seen:
        assert model_exchange[k] == pytest.approx(exact[k], rel=2e-5)
        assert co_simulation[k] == pytest.approx(exact[k], rel=1e-8)


@pytest.mark.parametrize("fmi", [2, 3])
def test_ball_bounces_at_the_floor_and_comes_to_rest(fmi: int) -> None:
    path = built("bouncingBall", fmi=fmi)
    fall = math.sqrt(2 / 9.81)
    speed = 9.81 * fall
    after = 1.0 - fall  # second bounce at fall + 2·0.8·fall
    height = 0.8 * speed * after - 9.81 / 2 * after**2
    for kind in ("ModelExchange", "CoSimulation"):
        run = fmpy.simulate_fmu(
            str(path), fmi_type=kind, stop_time=8.0, output_interval=0.5, relative_tolerance=1e-9
        )
        at_one = run["height"][np.argmin(np.abs(run["time"] - 1.0))]
        assert at_one == pytest.approx(height, abs=1e-6)
        assert run["height"][-1] == 0
        assert run["speed"][-1] == 0


@pytest.mark.parametrize("fmi", [2, 3])
def test_pulses_switch_at_their_times(fmi: int) -> None:
    path = built("pulsed", fmi=fmi)
    temperature = 0.0
    for heat in (10.0, 0.0) * 4:
        temperature = heat + (temperature - heat) * math.exp(-2.5 / 2)
    for kind in ("ModelExchange", "CoSimulation"):
        assert last(path, kind)[0] == pytest.approx(temperature, rel=2e-6)


@pytest.mark.parametrize("fmi", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_directional_derivatives_are_those_of_the_equations(
    name: str, fmi: int, tmp_path: Path
) -> None:
    path = built(name, fmi=fmi)
    model = builder.read_model(
        (builder.SOURCE if name == "rcThermal" else Path(__file__).parent) / f"{name}.toml"
    )
    description = fmpy.read_model_description(str(path))
    kind = FMU2Model if fmi == 2 else FMU3Model
    one = kind(
        guid=description.guid if fmi == 2 else description.instantiationToken,
        unzipDirectory=fmpy.extract(str(path), str(tmp_path / "unzipped")),
        modelIdentifier=description.modelExchange.modelIdentifier,
    )
    get, put = (one.getReal, one.setReal) if fmi == 2 else (one.getFloat64, one.setFloat64)
    one.instantiate()
    if fmi == 2:
        one.setupExperiment()
    one.enterInitializationMode()
    knowns = [v for r in ("state", "input", "parameter") for v in model.of(r) if v.type == "Real"]
    knowns = [v for v in knowns if not v.calculated]
    unknowns = [v.number for r in ("derivative", "output") for v in model.of(r)]
    for k, known in enumerate(knowns):  # somewhere else than at the start
        put([known.number], [get([known.number])[0] * (1.1 + 0.05 * k) + 0.01])
    for known in knowns:
        value = get([known.number])[0]
        step = 1e-6 * max(abs(value), 1e-3)
        put([known.number], [value + step])
        above = np.array(get(unknowns))
        put([known.number], [value - step])
        below = np.array(get(unknowns))
        put([known.number], [value])
        exact = np.array(one.getDirectionalDerivative(unknowns, [known.number], [1.0]))
        difference = (above - below) / (2 * step)
        assert exact == pytest.approx(difference, rel=2e-6, abs=1e-9 * np.abs(above).max() / step)
    one.freeInstance()


def test_a_fixed_parameter_cannot_be_set_after_the_initialisation(tmp_path: Path) -> None:
    path = built("vanDerPol", fmi=2)
    description = fmpy.read_model_description(str(path))
    one = FMU2Model(
        guid=description.guid,
        unzipDirectory=fmpy.extract(str(path), str(tmp_path / "unzipped")),
        modelIdentifier="vanDerPol",
    )
    one.instantiate()
    one.setupExperiment()
    one.enterInitializationMode()
    one.exitInitializationMode()
    number = {v.name: v.valueReference for v in description.modelVariables}
    one.setReal([number["w"]], [2.0])  # tunable
    with pytest.raises(fmpy.fmi1.FMICallException):
        one.setReal([number["mu"]], [2.0])
    one.freeInstance()
