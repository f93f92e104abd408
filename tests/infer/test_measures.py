"""Sensitivity measures: the lecture note's examples, closed forms, Monte Carlo."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from tests.estimate.problems import EXACT

from estimica.base.errors import FitError
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import scored
from estimica.estimate.run.fit import fit
from estimica.estimate.run.one_start import limits_of
from estimica.estimate.search.methods import METHODS
from estimica.estimate.search.run import search
from estimica.infer.sensitivity.result import SensitivityMeasures, of_hessian
from estimica.infer.sensitivity.run import measures, noise_level
from estimica.simulate.load import load_model
from estimica.simulate.modelica.model import ModelicaModel
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tuner import Tuner

FIRST_ORDER = """model FirstOrder
  parameter Real K = 1; parameter Real tau = 2;
  input Real u; output Real y(start = 0, fixed = true);
equation
  tau*der(y) + y = K*u;
end FirstOrder;"""

SINE = """model Sine
  parameter Real K = 1; parameter Real tau = 2; parameter Real omega = 1;
  output Real y(start = 0, fixed = true);
equation
  tau*der(y) + y = K*sin(omega*time);
end Sine;"""


# --- example 11 ----------------------------------------------------------------------------------


def test_distances_of_the_ellipse_are_those_of_example_11() -> None:
    m = of_hessian([[4, -5], [-5, 9]], ["x1", "x2"])
    assert pytest.approx([0.5, 0.333], abs=5e-4) == 1 / m.S
    assert (1 / m.S_min, 1 / m.S_max) == pytest.approx((1.05, 0.29), abs=5e-3)
    assert 1 / m.S_i_min == pytest.approx([0.91, 0.60], abs=6e-3)
    assert m.S_min**2 == pytest.approx(0.91, abs=5e-3)
    assert m.S_max**2 == pytest.approx(12.1, abs=5e-2)
    assert pytest.approx((math.sqrt(12.0902 / 0.9098), 11), rel=1e-4) == (m.R, m.D)
    assert m.R_i == pytest.approx(m.S / m.S_i_min)


def test_points_of_the_ellipse_touch_the_measures() -> None:
    m = of_hessian([[4, -5], [-5, 9]], ["x1", "x2"])
    ring = m.ellipse("x1", "x2", points=3601) - 1
    assert np.einsum("ij,jk,ik->i", ring, m.hessian, ring) == pytest.approx(1)
    assert ring.max(axis=0) == pytest.approx(1 / m.S_i_min, rel=1e-5)
    distance = np.linalg.norm(ring, axis=1)
    assert (distance.max(), distance.min()) == pytest.approx((1 / m.S_min, 1 / m.S_max), rel=1e-5)


def test_ellipse_with_adapted_others_is_the_shadow_of_the_ellipsoid() -> None:
    H = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])
    m = of_hessian(H)
    shadow = m.ellipse("x1", "x2", others="adapted", points=3601) - 1
    assert shadow.max(axis=0) == pytest.approx(1 / m.S_i_min[:2], rel=1e-5)


# --- the first-order model under a sine ----------------------------------------------------------


def under_a_sine(omega: float) -> SensitivityMeasures:
    """At the end of a long sine: the transient has died away, and whole periods count."""
    model = load_model(SINE)
    settled, periods, samples = 60.0, 20, 2001
    time = settled + np.arange(samples) / samples * periods * 2 * np.pi / omega
    exact = model.simulate(
        time, parameters={"omega": omega}, outputs=["y"], begin=0.0, options=EXACT
    )
    table = pd.DataFrame({"time": time, "y": exact.value("y")})
    case = Case("run", table, outputs={"y": "y"}, fix={"omega": omega}, begin=0.0)
    return measures(fit(Study(model, [Tuner("K", start=1.0), Tuner("tau", start=2.0)], [case])))


@pytest.mark.parametrize("omega", [0.04, 0.2, 0.5, 4.0, 0.04 * np.pi / 2, 0.2 * np.pi / 2])
def test_measures_under_a_long_sine_are_those_of_the_closed_form(omega: float) -> None:
    m = under_a_sine(omega).measures
    q = (2 * omega) ** 2 / (1 + (2 * omega) ** 2)
    root = math.sqrt((1 - q) ** 2 + 4 * q**2)
    low, high = (1 + q - root) / 2, (1 + q + root) / 2
    near = {"abs": 1e-3}
    assert m.hessian == pytest.approx(np.array([[1, -q], [-q, q]]), **near)
    assert pytest.approx([1, math.sqrt(q)], **near) == m.S
    assert m.S_i_min == pytest.approx([math.sqrt(1 - q), math.sqrt(q * (1 - q))], **near)
    assert (m.S_min, m.S_max) == pytest.approx((math.sqrt(low), math.sqrt(high)), **near)
    assert pytest.approx(math.sqrt(high / low), rel=1e-3) == m.R
    assert m.R_i == pytest.approx([1 / math.sqrt(1 - q)] * 2, rel=1e-3)
    assert pytest.approx(q * (1 - q), **near) == m.D


#: printed ω: S_min, S_i,min, R, R_i
TABLE_6_2 = {
    0.04: (0.13, (0.98, 0.13), 7.9, 1.03),
    0.2: (0.42, (0.86, 0.44), 2.5, 1.2),
    0.5: (0.37, (0.56, 0.46), 3.3, 1.8),
}


@pytest.mark.parametrize("printed", TABLE_6_2)
def test_table_6_2_holds_for_frequencies_half_as_large_again(printed: float) -> None:
    S_min, S_i_min, R, R_i = TABLE_6_2[printed]
    m = under_a_sine(printed * np.pi / 2).measures
    assert m.S_min == pytest.approx(S_min, abs=0.012)
    assert m.S_i_min == pytest.approx(S_i_min, abs=0.025)
    assert pytest.approx(R, rel=0.07) == m.R
    assert m.R_i == pytest.approx([R_i] * 2, rel=0.05)
    # at the printed frequency itself, S_min is far off or R is
    other = under_a_sine(printed).measures
    assert abs(other.R / R - 1) > 0.1


def test_low_frequencies_hide_the_time_constant_and_high_ones_correlate() -> None:
    low, middle, high = (under_a_sine(w).measures for w in (0.04, 0.3, 4.0))
    assert middle.R < low.R
    assert middle.R < high.R
    assert low.S_i_min[0] > 10 * low.S_i_min[1]
    assert high.R_i.min() > 5 * low.R_i.max()


# --- example 13 ----------------------------------------------------------------------------------


def square_wave(time: np.ndarray, frequency: float = 0.05) -> np.ndarray:
    return np.where((time * frequency) % 1.0 < 0.5, 1.0, -1.0)


def test_overparametrisation_of_example_13_is_found() -> None:
    model = load_model("""model ABC
      parameter Real A = 1; parameter Real B = 2; parameter Real C = 1;
      input Real u; output Real y(start = 0, fixed = true);
    equation
      B/C*der(y) + y = A*u;
    end ABC;""")
    time = 0.1 * np.arange(500)
    u = square_wave(time)
    exact = model.simulate(time, {"u": (time, u)}, {"A": 1.0, "B": 1.8}, outputs=["y"])
    y = exact.value("y") + 0.02 * np.random.default_rng(1).standard_normal(500)
    case = Case("run", pd.DataFrame({"time": time, "u": u, "y": y}), inputs={"u": "u"},
                outputs={"y": "y"})  # fmt: skip
    found = fit(Study(model, [Tuner("A", start=0.5), Tuner("B", start=5), Tuner("C", start=1)],
                      [case]))  # fmt: skip
    assert found.outcome.ok
    assert found["A"] == pytest.approx(1, abs=0.01)
    assert found["B"] / found["C"] == pytest.approx(1.8, rel=0.02)
    assert max(found["B"], found["C"]) < 100  # not 10²³
    (advice,) = found.identifiability.advice
    assert advice.startswith("only B/C is determined by these data")
    m = measures(found)
    assert (m.measures.S_min, m.measures.R) == (0.0, math.inf)
    assert m.measures.S_i_min[0] > 0.4
    assert m.measures.S_i_min[1:].tolist() == [0, 0]
    assert np.isinf(m.measures.R_i[1:]).all()
    assert np.isinf(m.spread[1:]).all()
    assert "not determined by these data" in repr(m)


# --- example 14 ----------------------------------------------------------------------------------

SYSTEMS = {
    # equations, agreement that is asked for, K and tau that SciPy finds without noise
    "S1": ("tau1*der(y) + y = u; z = y;", 0.10, (1.0, 2.0)),
    "S2": ("tau1*der(z) + z = u; 0.4*der(y) + y = z;", 0.15, (1.075, 2.618)),
    "S3": ("tau1*der(z) + z = u; 2*der(y) + y = z;", 0.30, (1.379, 5.730)),
}


def simulated_system(equations: str, time: np.ndarray) -> np.ndarray:
    second = "(start = 0, fixed = true)" if "der(z)" in equations else ""
    model: ModelicaModel = load_model(f"""model System
      parameter Real tau1 = 2; input Real u; Real z{second};
      output Real y(start = 0, fixed = true);
    equation {equations} end System;""")
    found = model.simulate(time, {"u": (time, square_wave(time))}, outputs=["y"], options=EXACT)
    return found.value("y")


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_estimated_spreads_agree_with_a_thousand_runs_of_example_14(name: str) -> None:
    equations, agreement, expected = SYSTEMS[name]
    time = 0.1 * np.arange(500)
    exact = simulated_system(equations, time)
    random = np.random.default_rng(14)
    y = exact + 0.02 * random.standard_normal(500)
    table = pd.DataFrame({"time": time, "u": square_wave(time), "y": y})
    case = Case("run", table, inputs={"u": "u"}, outputs={"y": "y"})
    study = Study(load_model(FIRST_ORDER), [Tuner("K", start=0.8), Tuner("tau", start=1.5)], [case])
    found = fit(study)
    m = measures(found, quiet={"y": 0.02 * random.standard_normal(500)})
    assert m.noise == pytest.approx(0.02 / np.sqrt(np.mean(y**2)), rel=0.1)
    objective = found.setup.calibration()
    runs = []
    for _ in range(1000):
        drawn = objective.replaced([exact + 0.02 * random.standard_normal(500)])
        data = scored(drawn, {})
        start = objective.unknowns.coordinates(found.values)
        method = METHODS[study.estimation.method]()
        point = search(data, method, start, limits_of(study.estimation)).point
        assert point is not None
        runs.append(point.values)
    spread = np.std(runs, axis=0, ddof=1) / found.values
    assert m.spread == pytest.approx(spread, rel=agreement)
    assert found.values == pytest.approx(expected, rel=0.01)
    if name == "S1":
        assert m.undermodelling < 0.3 * m.noise
    else:  # what the model lacks outweighs the noise, and does not get less with more samples
        assert (m.equivalent_error > 5 * m.spread).all()
        assert m.undermodelling**2 + m.noise**2 == pytest.approx(m.error**2)
    assert m.uncertainty == pytest.approx(m.spread + m.equivalent_error)


# --- several outputs, errors ---------------------------------------------------------------------


def two_outputs(**options: object) -> SensitivityMeasures:
    return measures(two_fitted()[0], **options)  # type: ignore[arg-type]


def two_fitted(
    criterion: str = "oe", seed: int = 2, noises: tuple[float, float] = (0.02, 1.0)
) -> tuple[Fit, tuple[np.ndarray, np.ndarray, pd.DataFrame]]:
    model = load_model("""model Two
      parameter Real a = 0.8; parameter Real b = 1.7; input Real u;
      output Real x(start = 0, fixed = true); output Real z(start = 0, fixed = true);
    equation
      der(x) = -a*x + u; der(z) = 100*x - b*z;
    end Two;""")
    time = np.linspace(0, 20, 300)
    u = square_wave(time, 0.1)
    run = model.simulate(time, {"u": (time, u)}, outputs=["x", "z"])
    random = np.random.default_rng(seed)
    table = pd.DataFrame({"time": time, "u": u})
    for name, noise in zip("xz", noises, strict=True):
        table[name] = run.value(name) + noise * random.standard_normal(300)
    case = Case("run", table, inputs={"u": "u"}, outputs={"x": "x", "z": "z"})
    tuners = [Tuner("a", start=0.5), Tuner("b", start=1.0)]
    return fit(Study(model, tuners, [case], criterion=criterion)), (time, u, table)


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_spread_is_the_relative_error_of_the_fit_with_outputs_of_unlike_noise(
    criterion: str,
) -> None:
    # z is fifty times as noisy for its size: a pooled level would be wrong for both unknowns
    noises = (0.004, 8.0)
    found, _ = two_fitted(criterion, noises=noises)
    of_fit = found.accuracy.stderr / np.abs(found.values)
    assert measures(found).spread == pytest.approx(of_fit, rel=1e-9)
    told = measures(found, quiet=dict(zip("xz", noises, strict=True))).spread
    assert told == pytest.approx(of_fit, rel=0.15)  # of 300 samples the noise is known to 4 %


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_spread_with_outputs_of_unlike_noise_is_that_of_thirty_runs(criterion: str) -> None:
    noises = (0.004, 8.0)
    found, _ = two_fitted(criterion, noises=noises)
    told = measures(found, quiet=dict(zip("xz", noises, strict=True))).spread
    values = np.array([two_fitted(criterion, seed, noises)[0].values for seed in range(30)])
    spread = values.std(axis=0, ddof=1) / np.abs(values.mean(axis=0))
    # χ² of 29 degrees of freedom lies between 11 and 58 in all but two of 1000 times
    assert ((spread / told) ** 2 > 11 / 29).all()
    assert ((spread / told) ** 2 < 58 / 29).all()


def test_hessian_of_several_outputs_is_the_mean_of_theirs() -> None:
    found = two_outputs()
    model = load_model("""model Two
      parameter Real a = 0.8; parameter Real b = 1.7; input Real u;
      output Real x(start = 0, fixed = true); output Real z(start = 0, fixed = true);
    equation
      der(x) = -a*x + u; der(z) = 100*x - b*z;
    end Two;""")
    time = np.linspace(0, 20, 300)
    parameters = dict(zip("ab", map(float, found.values), strict=True))
    run = model.sensitivities(time, {"u": (time, square_wave(time, 0.1))}, parameters,
                              wrt=["a", "b"], outputs=["x", "z"])  # fmt: skip
    H = np.zeros((2, 2))
    random = np.random.default_rng(2)
    for k, noise in enumerate((0.02, 1.0)):
        exact = model.simulate(time, {"u": (time, square_wave(time, 0.1))}, outputs=["x", "z"])
        y = exact.value("xz"[k]) + noise * random.standard_normal(300)
        psi = run.jacobian[:, k, :] * found.values / np.sqrt(np.mean(y**2))
        H += psi.T @ psi / 300 / 2
    assert found.measures.hessian == pytest.approx(H, rel=1e-5)


def test_errn_and_the_spread_by_noise_follow_from_the_outputs() -> None:
    found = two_outputs(quiet={"x": 0.02, "z": 1.0})
    assert set(found.errn) == {"x", "z"}
    squares = [e**2 for e in found.errn.values()]
    assert found.error == pytest.approx(math.sqrt(np.mean(squares)))
    # each output with its own noise: by hand from sensitivities, weighed as in the fit by 1/RMS
    fitted, (time, u, table) = two_fitted()
    run = fitted.study.model.sensitivities(time, {"u": (time, u)}, fitted.estimates,
                                           wrt=["a", "b"], outputs=["x", "z"])  # fmt: skip
    A, B = np.zeros((2, 2)), np.zeros((2, 2))
    for k, (name, noise) in enumerate((("x", 0.02), ("z", 1.0))):
        J = run.jacobian[:, k, :] / np.sqrt(np.mean(table[name] ** 2))
        A += J.T @ J
        B += J.T @ J * noise**2 / np.mean(table[name] ** 2)
    covariance = np.linalg.inv(A) @ B @ np.linalg.inv(A)
    expected = np.sqrt(np.diag(covariance)) / found.values
    assert found.spread == pytest.approx(expected, rel=1e-5)
    told = found.to_dict()
    assert told["unknowns"]["a"]["spread_percent"] == pytest.approx(100 * expected[0])
    assert told["R"] == pytest.approx(found.measures.R)


def test_measures_show_themselves() -> None:
    found = two_outputs()
    assert "σ_r if all error is noise, Δ_eq if all is undermodelling" in repr(found)
    assert "<table" in found._repr_html_()
    figure = found.plot()
    assert [t.name for t in figure.data] == ["others held", "estimate"]
    with pytest.raises(FitError, match=r"F076: there is no plot 'elipses'; did you mean 'ellip"):
        found.plot("elipses")


@pytest.mark.parametrize(
    ("quiet", "message"),
    [
        ({"x": 0.1}, r"F074: quiet: the noise of output 'z' is missing; give a record or a number"),
        ({"x": 0.1, "zz": 1}, r"F073: quiet: there is no output 'zz'; did you mean 'z'"),
        ({"x": 0.1, "z": [1.0]}, r"F075: quiet: a record needs at least two samples"),
    ],
)
def test_wrong_records_of_noise_are_refused(quiet: dict[str, object], message: str) -> None:
    with pytest.raises(FitError, match=message):
        two_outputs(quiet=quiet)


def test_noise_level_leaves_offsets_and_gaps_out() -> None:
    samples = 5 + 0.3 * np.random.default_rng(0).standard_normal(10_000)
    samples[::7] = np.nan
    assert noise_level(samples) == pytest.approx(0.3, rel=0.03)


def test_unknown_names_of_an_ellipse_are_told() -> None:
    with pytest.raises(FitError, match=r"F070: there is no unknown 'gian'; did you mean 'gain'"):
        of_hessian(np.eye(2), ["gain", "lag"]).ellipse("lag", "gian")
