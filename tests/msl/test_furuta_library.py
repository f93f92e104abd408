"""The Furuta pendulum of library parts: friction tables, start values, valleys, validation.

Estimates are compared with the values that made the data, derivatives with differences of
simulations, and what data cannot tell with the equations of motion: a free swing depends on
a = I_arm + m R², b = I_pendulum + m r², m r and the friction torques, and on all of them only up to a
common factor.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import estimica as es

pytestmark = pytest.mark.msl

HERE = Path(__file__).resolve().parents[2] / "examples" / "furuta_library"
OUTPUTS = ("armAngle.phi", "pendulumAngle.phi")
ARM = 0.25  # length of the arm, m
#: of a tuner: the square of this, times the third derivative, is the error of a central difference;
#: rounding of the two simulations (rtol 1e-10) over it is the other one
STEP = 1e-4


@cache
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("furuta_data", HERE / "make_data.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def fitted(name: str) -> es.Fit:
    return es.fit(es.read_study(HERE / f"{name}.toml"))


def test_the_data_are_what_the_script_makes(tmp_path):
    script().main(tmp_path)
    for name in script().STARTS:
        made, kept = (es.read_data(at / f"{name}.csv") for at in (tmp_path, HERE))
        assert made.names == kept.names
        for column in kept.names:  # one unit of the last digit that is written
            np.testing.assert_allclose(made.column(column), kept.column(column), atol=0.11)


def test_derivatives_through_tables_and_modes_are_those_of_central_differences():
    model = es.load_model(HERE / "FurutaLibrary.mo")
    times = np.linspace(0.0, 3.0, 61)
    phi, w_phi, theta, w_theta = script().STARTS["upright"]
    start = {
        "armJoint.phi": np.radians(phi),
        "armJoint.w": w_phi,
        "pendulumJoint.phi": np.radians(theta),
        "pendulumJoint.w": w_theta,
    }
    truth = {n: float(model.parameters["value"][n]) for n in ("m_pendulum", "r_CM_pendulum")}
    truth |= script().TRUTH
    tight = es.Options(rtol=1e-10, atol=1e-12)
    wrt = [*truth, *start]
    sizes = np.array([*truth.values(), *[0.1] * 4])  # rad and rad/s: what the start values are
    found = model.sensitivities(
        times,
        wrt=wrt,
        parameters=truth,
        start=start,
        outputs=[*OUTPUTS, "frictionR1.mode"],
        options=replace(tight, tuner_scales=tuple(sizes)),
    )
    assert {-1.0, 1.0} <= set(found.value("frictionR1.mode"))  # it slides both ways
    for name, size in zip(wrt, sizes, strict=True):
        ends = []
        for sign in (1, -1):
            moved = {n: v + (sign * STEP * size if n == name else 0.0) for n, v in truth.items()}
            begun = {n: v + (sign * STEP * size if n == name else 0.0) for n, v in start.items()}
            run = model.simulate(
                times, parameters=moved, start=begun, outputs=list(OUTPUTS), options=tight
            )
            ends.append(run.values)
        differences = (ends[0] - ends[1]) / (2 * STEP * size)
        exact = np.column_stack([found.derivative(o, name) for o in OUTPUTS])
        scale = max(np.abs(exact).max(), 1e-3 / size)
        assert np.abs(exact - differences).max() < 1e-5 * scale, name


def test_friction_tables_and_inertias_are_found_again():
    fit = fitted("furuta_library")
    assert fit.outcome.ok
    off = (fit.parameters["value"] - pd.Series(script().TRUTH)) / fit.parameters["stderr"]
    assert off.abs().max() < 3
    assert fit.parameters["identifiable"].all()


def test_start_values_of_each_case_are_found_again():
    fit = fitted("furuta_library")
    for name in ("horizontal", "lower"):
        phi, w_phi, theta, w_theta = script().STARTS[name]
        truth = {
            "armJoint.phi": np.radians(phi),
            "armJoint.w": w_phi,
            "pendulumJoint.phi": np.radians(theta),
            "pendulumJoint.w": w_theta,
        }
        rows = fit.start_values.loc[name]
        off = (rows["value"] - pd.Series(truth)) / rows["stderr"]
        assert off.abs().max() < 3, name


def test_a_swing_from_farther_up_is_predicted_to_the_noise():
    fit = fitted("furuta_library")
    noise = np.radians(script().NOISE)
    for case in ("horizontal", "lower", "more upright"):
        for output in OUTPUTS:
            assert 0.85 * noise < fit.case(case)[output].rmse < 1.15 * noise


def test_a_free_swing_does_not_tell_mass_and_centre_of_mass():
    fit, whole = fitted("everything"), fitted("furuta_library")
    assert fit.outcome.ok
    assert fit.cost == pytest.approx(whole.cost, rel=1e-5)
    tuners = list(fit.parameters.index)
    assert not fit.parameters["identifiable"].any()
    assert np.isinf(fit.parameters["stderr"]).all()
    value = fit.parameters["value"]
    # directions along which the ratios of a, b, m r and the torques do not change, by hand
    I_arm, I_rod, m, r = (value[n] for n in ("I_arm", "I_pendulum", "m_pendulum", "r_CM_pendulum"))
    heavier = {"I_arm": I_arm, "I_pendulum": I_rod, "m_pendulum": m}
    heavier |= {n: value[n] for n in tuners if n.startswith("tau")}
    farther = {"r_CM_pendulum": r, "m_pendulum": -m}  # m r stays
    farther |= {"I_arm": m * ARM**2, "I_pendulum": -m * r**2}  # and so do a and b
    hand = np.array([[d.get(n, 0.0) / value[n] for n in tuners] for d in (heavier, farther)])
    directions = fit.identifiability.null_directions
    assert len(directions) == 2
    found = np.array([[d.get(n, 0.0) for n in tuners] for d in directions])
    basis = np.linalg.qr(hand.T)[0]
    left = found.T - basis @ (basis.T @ found.T)
    assert np.abs(left).max() < 1e-2 * np.abs(found).max()
    (advice,) = fit.identifiability.advice
    assert "determine only six combinations" in advice
    assert "tau_11/tau_22" in advice
    # the values are elsewhere in the valley; the ratio of b to m r is that of the other fit
    ratio = (I_rod + m * r**2) / (m * r)
    assert ratio == pytest.approx((whole["I_pendulum"] + 0.15 * 0.2**2) / (0.15 * 0.2), rel=1e-4)


def test_mass_and_inertia_of_the_arm_lie_in_a_valley():
    fit = fitted("valley")
    assert fit.identifiability.rank == fit.identifiability.n - 1
    (advice,) = fit.identifiability.advice
    assert advice.startswith("only J_c + 0.01501·m_arm is determined by these data")
    ranges = {"J_c": (0.0005, 0.003), "m_arm": (0.05, 0.3)}
    shown = es.criterion_map(fit, "J_c", "m_arm", points=5, ranges=ranges)
    assert shown.eigenvalues[1] < 1e-6 * shown.eigenvalues[0]
    steep = shown.eigenvectors[:, 0]
    assert steep[1] / steep[0] == pytest.approx(0.1225**2, rel=1e-3)  # the paper: 0.01498
    true = es.criterion_map(fit, "J_c", "m_arm", points=2, ranges=ranges, hessian="differences")
    np.testing.assert_allclose(true.hessian, shown.hessian, rtol=0.05)


def test_the_hessian_is_that_of_costs_around_the_optimum():
    """Costs of simulations with each of the two moved, second differences of them by hand."""
    fit = fitted("valley")
    model = es.load_model(HERE / "FurutaLibraryArm.mo", libraries=[HERE])
    (case,) = [c for c in fit.cases if c.name == "horizontal"]
    begun = {n: float(v) for n, v in fit.start_values.loc["horizontal"]["value"].items()}
    at = np.array([fit["J_c"], fit["m_arm"]])

    def cost(point: np.ndarray) -> float:
        run = model.simulate(
            case[OUTPUTS[0]].time,
            parameters={"J_c": point[0], "m_arm": point[1]},
            start=begun,
            outputs=list(OUTPUTS),
            options=es.Options(rtol=1e-10, atol=1e-12),
        )
        measured = np.column_stack([case[o].measured for o in OUTPUTS])
        return float(((run.values - measured) ** 2).sum())

    h = np.array([2e-3, 0.0]) * at, np.array([0.0, 2e-3]) * at
    mixed = [[0.0, 0.0], [0.0, 0.0]]
    for i in range(2):
        for j in range(2):
            ends = [cost(at + a * h[i] + b * h[j]) * a * b for a in (1, -1) for b in (1, -1)]
            mixed[i][j] = sum(ends) / (4 * h[i][i] * h[j][j])
    shown = es.criterion_map(fit, "J_c", "m_arm", points=2, hessian="differences")
    np.testing.assert_allclose(shown.hessian, mixed, rtol=0.02)
