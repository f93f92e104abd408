"""Fits of FMUs find what fits of their Modelica twins find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.fmus.build import HERE, builder, built

import estimica as es
from estimica.base.errors import FitError

pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not builder.compiler(), reason="no C compiler")

FINE = es.Solver(rtol=1e-10, atol=1e-12)


@dataclass(frozen=True, eq=False)
class Unit:
    """What is measured of a unit, and from where its tuners are searched."""

    truth: Mapping[str, float]
    start: Mapping[str, float]
    noise: Mapping[str, float]
    times: np.ndarray
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)


def room() -> Unit:
    times = 600.0 * np.arange(145)
    random = np.random.default_rng(1)
    return Unit(
        {"air.C": 4e5, "wall.C": 8e6, "wall.R": 4e-3, "wall.R_out": 1e-2, "window.A": 2.0},
        {"air.C": 6e5, "wall.C": 6e6, "wall.R": 5e-3, "wall.R_out": 8e-3, "window.A": 1.0},
        {"T_room": 0.05, "T_wall": 0.05},
        times,
        {
            "T_out": 278 + np.round(5 * np.sin(times / 14000), 1),
            "P_heat": 2000.0 * (np.repeat(random.random(25), 6)[: times.size] > 0.5),
            "sun": np.maximum(0, np.round(300 * np.sin(times / 13000))),
        },
    )


UNITS = {
    "vanDerPol": Unit(
        {"mu": 2.0, "w": 1.2}, {"mu": 1.5, "w": 1.15}, {"x_out": 0.02}, np.linspace(0, 10, 101)
    ),
    "bouncingBall": Unit(
        {"e": 0.8, "g": 9.81, "h0": 1.0}, {"e": 0.78, "g": 9.9, "h0": 1.02},
        {"height": 0.01, "speed": 0.02}, np.linspace(0, 1.6, 81) + 0.003,
    ),
    "rcThermal": room(),
    "stiff": Unit(
        {"k1": 0.04, "k2": 3e7, "k3": 1e4}, {"k1": 0.05, "k2": 2.5e7, "k3": 1.2e4},
        {"a": 1e-3, "b": 1e-7, "c": 1e-3}, np.linspace(0, 40, 81),
    ),
    "pulsed": Unit(
        {"K": 10.0, "tau": 2.0}, {"K": 7.0, "tau": 3.0}, {"T_out": 0.05}, np.linspace(0, 18, 91)
    ),
}  # fmt: skip


@cache
def data(name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    unit = UNITS[name]
    twin = es.load_model(HERE / f"{name}.mo", name)
    inputs = {n: (unit.times, v) for n, v in unit.inputs.items()}
    run = twin.simulate(unit.times, inputs, unit.truth, options=es.Options(rtol=1e-11, atol=1e-13))
    random = np.random.default_rng(7)
    noisy = {
        n: (unit.times, run.value(n) + s * random.standard_normal(unit.times.size))
        for n, s in unit.noise.items()
    }
    return {**inputs, **noisy}


def fitted(model: es.Model, name: str) -> es.Fit:
    unit = UNITS[name]
    case = es.Case(
        "run",
        data(name),
        inputs={n: n for n in unit.inputs},
        outputs={n: es.OutputColumn(n, weight=1 / s) for n, s in unit.noise.items()},
        begin=0.0,
    )
    tuners = [es.Tuner(n, start=v) for n, v in unit.start.items()]
    fit = es.fit(es.Study(model, tuners, [case], "oe", solver=FINE))
    assert fit.outcome.ok, fit.outcome.message
    return fit


@cache
def twin_fit(name: str) -> es.Fit:
    return fitted(es.load_model(HERE / f"{name}.mo", name), name)


def compare(name: str, path: Path) -> None:
    ours, twins = fitted(es.load_model(path), name), twin_fit(name)
    assert ours.values == pytest.approx(twins.values, rel=1e-5)
    assert ours.accuracy.stderr == pytest.approx(twins.accuracy.stderr, rel=1e-3)
    assert ours.cost == pytest.approx(twins.cost, rel=1e-5)


@pytest.mark.parametrize("name", UNITS)
def test_model_exchange_finds_what_modelica_finds(name: str) -> None:
    compare(name, built(name, fmi=2, kinds=("me",)))


@pytest.mark.parametrize("name", ["rcThermal"])
def test_co_simulation_finds_what_modelica_finds(name: str) -> None:
    compare(name, built(name, fmi=2, kinds=("cs",)))


@pytest.mark.slow
@pytest.mark.parametrize("directional", ["right", "none", "wrong", "zero", "error"])
@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("fmi", [2, 3])
def test_whatever_the_directional_derivatives_the_estimates_are_the_same(
    fmi: int, name: str, directional: str
) -> None:
    compare(name, built(name, fmi=fmi, kinds=("me",), directional=directional))


@pytest.mark.slow
@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("fmi", [2, 3])
def test_co_simulation_of_every_unit_finds_what_modelica_finds(fmi: int, name: str) -> None:
    compare(name, built(name, fmi=fmi, kinds=("cs",)))


def test_the_parameter_set_has_estimates_and_fixed_values(tmp_path: Path) -> None:
    fixed = {"heater.gain": 1.0, "window.n": 2, "window.shaded": False}
    model = es.load_model(built("rcThermal", fmi=2, kinds=("me",)), fix=fixed)
    fit = fitted(model, "rcThermal")
    root = ElementTree.parse(fit.write_ssv(tmp_path / "room.ssv")).getroot()
    found = {
        p.get("name"): (p[0].tag.rpartition("}")[2], p[0].get("value"), p[0].get("unit"))
        for p in root.iterfind(".//{*}Parameter")
    }
    assert found["heater.gain"] == ("Real", "1.0", "1")
    assert found["window.n"] == ("Integer", "2", None)
    assert found["window.shaded"] == ("Boolean", "false", None)
    assert found["wall.R"] == ("Real", repr(fit["wall.R"]), "K/W")
    assert set(found) == {*fixed, *fit.estimates}
    text = "F035: model 'rcThermal' has no Modelica source that can be extended; write_ssv writes"
    with pytest.raises(FitError, match=text):
        fit.write_modelica(tmp_path / "Fitted.mo")


def smooth_fit(model: es.Model) -> es.Fit:
    """The room, under inputs that are linear between the samples."""
    unit = UNITS["rcThermal"]
    twin = es.load_model(HERE / "rcThermal.mo", "rcThermal")
    inputs = {n: es.Signal(unit.times, v, hold="linear") for n, v in unit.inputs.items()}
    run = twin.simulate(unit.times, inputs, unit.truth, options=es.Options(rtol=1e-11, atol=1e-13))
    random = np.random.default_rng(7)
    columns = {n: (unit.times, v) for n, v in unit.inputs.items()} | {
        n: (unit.times, run.value(n) + s * random.standard_normal(unit.times.size))
        for n, s in unit.noise.items()
    }
    case = es.Case(
        "run",
        columns,
        inputs={n: es.InputColumn(n, hold="linear") for n in unit.inputs},
        outputs={n: es.OutputColumn(n, weight=1 / s) for n, s in unit.noise.items()},
    )
    tuners = [es.Tuner(n, start=v) for n, v in unit.start.items()]
    fit = es.fit(es.Study(model, tuners, [case], "oe", solver=FINE))
    assert fit.outcome.ok, fit.outcome.message
    return fit


@pytest.mark.parametrize("step", [pytest.param(600.0, marks=pytest.mark.slow), 150.0])
def test_inputs_that_are_held_move_estimates_by_no_more_than_is_reported(step: float) -> None:
    path = built("rcThermal", fmi=2, kinds=("cs",))
    held = smooth_fit(es.load_model(path, communication_step=step))
    exact = smooth_fit(es.load_model(HERE / "rcThermal.mo", "rcThermal"))
    assert held.discretisation is not None
    assert held.discretisation.step == step
    for name, value in exact.estimates.items():
        off = abs(held[name] - value)
        assert off > 1e-5 * value  # it is there to be seen
        assert off <= 1.2 * held.discretisation.shifts[name]
    assert "the communication step of" in held.outcome.message
