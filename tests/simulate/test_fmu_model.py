"""FMUs over time: as other solvers and closed forms say, with derivatives that are checked."""

from __future__ import annotations

import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.fmus.build import HERE, builder, built

import estimica as es
from estimica.base.errors import FitError, ModelError
from estimica.simulate.fmu.model import FmuModel, communication_points

pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not builder.compiler(), reason="no C compiler")

FINE = es.Options(rtol=1e-9, atol=1e-11)


def van_der_pol(times: np.ndarray, mu: float, w: float, x: float) -> np.ndarray:
    def rates(t: float, z: np.ndarray) -> list[float]:
        return [w * z[1], w * (mu * (1 - z[0] ** 2) * z[1] - z[0])]

    span = (times[0], times[-1])
    found = solve_ivp(rates, span, [x, 0.0], t_eval=times, rtol=1e-12, atol=1e-13)
    return found.y[0]


def derivative(times: np.ndarray, at: tuple[float, float, float], k: int) -> np.ndarray:
    h = 1e-5
    above, below = list(at), list(at)
    above[k] += h
    below[k] -= h
    return (van_der_pol(times, *above) - van_der_pol(times, *below)) / (2 * h)


@pytest.mark.parametrize("fmi", [2, 3])
def test_van_der_pol_runs_as_in_scipy(fmi: int) -> None:
    times = np.linspace(0, 10, 51)
    model = es.load_model(built("vanDerPol", fmi=fmi))
    run = model.simulate(times, parameters={"mu": 2.0, "w": 1.2}, start={"x": 1.5}, options=FINE)
    assert run.value("x_out") == pytest.approx(van_der_pol(times, 2.0, 1.2, 1.5), abs=1e-7)
    found = model.sensitivities(
        times, parameters={"mu": 2.0, "w": 1.2}, start={"x": 1.5}, wrt=["mu", "w", "x"],
        options=FINE,
    )  # fmt: skip
    for k, name in enumerate(("mu", "w", "x")):
        exact = derivative(times, (2.0, 1.2, 1.5), k)
        assert found.derivative("x_out", name) == pytest.approx(exact, abs=3e-7 * abs(exact).max())


def test_a_bouncing_ball_has_the_derivatives_of_the_closed_form() -> None:
    """v0 = 0: the ball reaches the floor at t1 = √(2 h0/g) and rises with e g t1."""
    g, e, h0 = 9.81, 0.8, 1.0
    t1 = np.sqrt(2 * h0 / g)
    times = np.array([0.3, t1 + 0.2])
    model = es.load_model(built("bouncingBall", fmi=2))
    found = model.sensitivities(times, wrt=["e", "h0"], outputs=["height", "speed"], begin=0.0)
    since, early = times[1] - t1, 1 / (g * t1)  # early = dt1/dh0
    assert found.value("height")[1] == pytest.approx(e * g * t1 * since - g * since**2 / 2)
    assert found.derivative("height", "e")[1] == pytest.approx(g * t1 * since)
    assert found.derivative("speed", "e") == pytest.approx([0, g * t1])
    assert found.derivative("height", "h0")[0] == pytest.approx(1.0)
    slope = e * g * early * since - e * g * t1 * early + g * since * early
    assert found.derivative("height", "h0")[1] == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "fmi", "wrt"),
    [
        ("pulsed", 3, ["K", "tau", "period"]),
        ("stiff", 2, ["k1", "k2", "k3"]),
        ("rcThermal", 3, ["wall.R", "air.C"]),
    ],
)
def test_derivatives_are_those_of_the_modelica_twin(name: str, fmi: int, wrt: list[str]) -> None:
    times = np.linspace(0, 18, 46) + 0.01
    inputs = {}
    if name == "rcThermal":
        times = 600.0 * np.arange(30)
        ramp = es.Signal(times, 278 + np.round(5 * np.sin(times / 5000), 1), hold="linear")
        inputs = {"T_out": ramp, "P_heat": (times, 2000.0 * (np.sin(times) > 0))}
    ours = es.load_model(built(name, fmi=fmi)).sensitivities(
        times, inputs, wrt=wrt, begin=0.0, options=FINE
    )
    twin = es.load_model(HERE / f"{name}.mo", name).sensitivities(
        times, inputs, wrt=wrt, outputs=ours.names, begin=0.0, options=FINE
    )
    size = np.abs(twin.jacobian).max(axis=0)
    assert np.all(np.abs(ours.jacobian - twin.jacobian).max(axis=0) <= 3e-6 * size + 1e-12)


def test_a_calculated_state_begins_where_it_is_told() -> None:
    model = es.load_model(built("bouncingBall", fmi=2))
    run = model.sensitivities([0.0, 0.1], start={"h": 2.0}, wrt=["h"], outputs=["height"])
    assert run.value("height") == pytest.approx([2.0, 2.0 - 9.81 * 0.005])
    assert run.derivative("height", "h") == pytest.approx([1.0, 1.0])
    other = es.load_model(built("bouncingBall", fmi=2), interface="cs")
    with pytest.raises(ModelError, match="M214: the start value of 'h' cannot be set in Co-Sim"):
        other.simulate([0.0, 0.1], start={"h": 2.0})


@pytest.mark.parametrize(
    ("directional", "words"),
    [
        ("right", r"directional derivatives of the FMU, checked against differences to \de-\d\d"),
        (
            "wrong",
            r"by differences of the rates, off by about .*its directional derivatives are wr",
        ),
        ("zero", r"by differences of the rates, .*directional derivatives are wrong, by 1e\+02 %"),
        ("error", r"by differences of the rates, .*it refuses directional derivatives"),
    ],
)
def test_directional_derivatives_are_believed_only_where_they_are_right(
    directional: str, words: str
) -> None:
    model = es.load_model(built("vanDerPol", fmi=3, directional=directional))
    assert isinstance(model, FmuModel)
    assert model.derivatives == "not yet needed"
    times = np.linspace(0, 5, 11)
    found = model.sensitivities(times, wrt=["mu"], outputs=["x_out"], options=FINE)
    exact = derivative(times, (1.0, 1.0, 2.0), 0)
    assert found.derivative("x_out", "mu") == pytest.approx(exact, abs=1e-7)
    assert re.match(words, model.derivatives), model.derivatives


def test_one_instance_in_a_process_is_differentiated_by_trajectories(tmp_path: Path) -> None:
    path, said = tmp_path / "one.fmu", "canBeInstantiatedOnlyOncePerProcess"
    with zipfile.ZipFile(built("vanDerPol", fmi=2)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "modelDescription.xml":
                text = content.decode()
                text = text.replace(f'{said}="false"', "")
                content = text.replace("<ModelExchange ", f'<ModelExchange {said}="true" ').encode()
            new.writestr(name, content)
    model = es.load_model(path)
    times = np.linspace(0, 5, 11)
    found = model.sensitivities(times, wrt=["mu"], outputs=["x_out"])
    exact = derivative(times, (1.0, 1.0, 2.0), 0)
    assert found.derivative("x_out", "mu") == pytest.approx(exact, abs=1e-4)
    assert isinstance(model, FmuModel)
    assert "differences of whole trajectories, off by about" in model.derivatives
    assert (model.precision or 0.0) < 1e-4


def test_a_model_travels_by_its_path_and_content(tmp_path: Path) -> None:
    path = tmp_path / "van.fmu"
    path.write_bytes(built("vanDerPol", fmi=2).read_bytes())
    model = es.load_model(path, fix={"mu": 3.0})
    parcel = pickle.dumps(model)
    there = pickle.loads(parcel)
    times = np.linspace(0, 5, 11)
    assert np.array_equal(there.simulate(times).values, model.simulate(times).values)
    path.write_bytes(built("vanDerPol", fmi=3).read_bytes())
    with pytest.raises(ModelError, match=r"M215: .*van\.fmu' has changed since it was loaded"):
        pickle.loads(parcel)


def test_communication_points_meet_every_sample() -> None:
    points, step = communication_points("m", np.array([0.0, 0.25, 1.0]), 0.1, variable=True)
    assert step == 0.1
    assert {0.25, 1.0} <= set(points)
    assert np.diff(points).max() <= 0.1 + 1e-12
    even, _ = communication_points("m", np.array([0.0, 0.3, 0.9]), 0.1, variable=False)
    assert len(even) == 10
    assert {0.3, 0.9} <= set(even)
    with pytest.raises(
        ModelError, match=r"M210: .*the time 0\.25 is not a multiple of 0\.1 s after 0"
    ):
        communication_points("m", np.array([0.0, 0.25]), 0.1, variable=False)


def test_what_needs_equations_says_that_an_fmu_shows_none() -> None:
    model = es.load_model(built("vanDerPol", fmi=2))
    times = np.linspace(0, 5, 21)
    data = {"x_out": (times, van_der_pol(times, 1.0, 1.0, 2.0))}
    study = es.Study(
        model, [es.Tuner("mu", start=0.9)], [es.Case("run", data, outputs={"x_out": "x_out"})],
        estimation=es.Estimation(transcription="collocation"),
    )  # fmt: skip
    with pytest.raises(FitError, match="needs the equations of a model, and 'vanDerPol' does not"):
        es.fit(study)
    with pytest.raises(ModelError, match="M150: an FMU shows no equations to linearise"):
        model.frequency_experiment([1.0], transfers=[("x_out", "u")])
    with pytest.raises(ModelError, match="M216: 'vanDerPol' is an FMU and shows no equations, so"):
        model.write_sensitivity_system(["mu"])


@pytest.mark.parametrize("method", ["auto", "implicit"])
def test_a_stiff_unit_is_right_with_loose_tolerances_too(method: str) -> None:
    """Robertson's problem runs to infinity where b becomes negative."""
    times = np.linspace(0, 40, 21)
    model = es.load_model(built("stiff", fmi=2))
    loose = es.Options(rtol=1e-4, atol=1e-6, method=method)
    found = model.simulate(times, outputs=["a", "b", "c"], options=loose).values
    twin = es.load_model(HERE / "stiff.mo", "stiff")
    exact = twin.simulate(times, outputs=["a", "b", "c"], options=FINE).values
    assert np.all(np.abs(found - exact) <= 1e-3 * np.abs(exact).max(axis=0))


@pytest.mark.slow
def test_workers_find_what_one_process_finds() -> None:
    model = es.load_model(built("vanDerPol", fmi=2))
    times = np.linspace(0, 10, 101)
    noise = 0.02 * np.random.default_rng(1).standard_normal(times.size)
    data = {"x": (times, van_der_pol(times, 2.0, 1.0, 2.0) + noise)}
    case = es.Case("run", data, outputs={"x_out": "x"})
    fit = es.fit(es.Study(model, [es.Tuner("mu", start=1.5)], [case]))
    alone, shared = (es.bootstrap(fit, 6, workers=n, seed=3) for n in (1, 2))
    assert np.array_equal(alone.values, shared.values)


def test_a_fit_tells_how_derivatives_were_found_and_what_the_step_does() -> None:
    times = np.linspace(0, 10, 51)
    data = {"x": (times, van_der_pol(times, 2.0, 1.0, 2.0))}
    case = es.Case("run", data, outputs={"x_out": "x"})
    model = es.load_model(built("vanDerPol", fmi=2), interface="cs", communication_step=0.1)
    fit = es.fit(es.Study(model, [es.Tuner("mu", start=1.5)], [case]))
    assert fit.derivatives.startswith("by one-sided differences of whole trajectories")
    assert fit.discretisation is not None
    assert fit.discretisation.step == 0.1
    assert abs(fit["mu"] - 2.0) <= 1.2 * fit.discretisation.shifts["mu"] + 1e-6
    assert fit.discretisation.text.startswith("The communication step was 0.1 s. By halving it")
    assert fit.to_dict()["discretisation"]["communication_step"] == 0.1


def test_a_step_of_communication_without_co_simulation_is_told() -> None:
    with pytest.raises(ModelError, match=r'M208: .*for Model Exchange; add interface = "cs"'):
        es.load_model(built("vanDerPol", fmi=2), communication_step=0.1)


@pytest.mark.parametrize(
    ("fix", "text"),
    [
        ({"window.n": 2.5}, "M217: 'window.n' is of type Integer; 2.5 is not whole"),
        ({"window.shaded": 3}, "M217: 'window.shaded' is a Boolean; 3 is neither true nor false"),
    ],
)
def test_a_value_that_its_type_does_not_have_is_told(fix: dict[str, float], text: str) -> None:
    with pytest.raises(ModelError, match=text):
        es.load_model(built("rcThermal", fmi=2), fix=fix)


def test_differences_of_smooth_trajectories_take_one_run_for_each_tuner() -> None:
    model = es.load_model(built("vanDerPol", fmi=2), interface="cs", communication_step=0.1)
    assert isinstance(model, FmuModel)
    times = np.linspace(0, 5, 11)
    found = model.sensitivities(times, wrt=["mu"], outputs=["x_out"])
    assert model.derivatives.startswith("by one-sided differences of whole trajectories")
    assert found.derivative("x_out", "mu") == pytest.approx(
        derivative(times, (1.0, 1.0, 2.0), 0), abs=1e-4
    )


def test_a_response_without_derivatives_has_the_same_outputs() -> None:
    model = es.load_model(built("vanDerPol", fmi=2), interface="cs", communication_step=0.1)
    assert isinstance(model, FmuModel)
    whole = model.response([0.0, 1.0, 2.0], outputs=["x_out"], wrt=["mu"])
    plain = whole.without_derivatives().at(np.array([1.2]))
    assert np.array_equal(plain.Y, whole.at(np.array([1.2])).Y)
    assert plain.YS.shape == (3, 1, 1)
    assert not plain.YS.any()


def test_an_output_may_be_a_formula_and_a_parameter_that_of_a_case(tmp_path: Path) -> None:
    times = np.linspace(0, 8, 41)
    cases = []
    for name, mu in (("a", 2.0), ("b", 1.0)):
        signal = 3 * van_der_pol(times, mu, 1.0, 2.0) + 0.5
        cases.append(
            es.Case(
                name,
                {"y": (times, signal)},
                outputs={"signal": es.OutputColumn("y", expression="gain*x_out + offset")},
                fix={"mu": f"mu_{name}"},
            )
        )
    starts = {"mu_a": 1.8, "mu_b": 1.2, "gain": 2.0, "offset": 0.0}
    tuners = [es.Tuner(n, start=v) for n, v in starts.items()]
    fit = es.fit(es.Study(es.load_model(built("vanDerPol", fmi=2)), tuners, cases))
    assert np.allclose(fit.values, [2, 1, 3, 0.5], rtol=1e-3)
    written = fit.write_ssv(tmp_path / "fitted.ssv").read_text()
    assert "gain" not in written
