"""Free-form inputs: exact gradients, known optima, limits, robustness, every kind of model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.errors import ExperimentError
from estimica.experiment.free_input.derivatives.equations import Equations
from estimica.experiment.free_input.derivatives.transcription import transcription_for
from estimica.experiment.free_input.present import gains
from estimica.experiment.free_input.problem.criterion import ExperimentCriterion
from estimica.experiment.free_input.problem.plan import Information
from estimica.experiment.free_input.problem.search import Scenario, Transcription
from estimica.experiment.free_input.run import (
    FreeInput,
    FreeInputDesign,
    SearchProgress,
    free_input,
)
from estimica.study.tables.input_design import input_design_table

SPEAKER = """
model Speaker "Loudspeaker whose force factor falls with the displacement"
  parameter Real m = 0.0125; parameter Real r = 5.2; parameter Real k = 12000;
  parameter Real R = 5; parameter Real Bl = 10; parameter Real c1 = 1e6; parameter Real c2 = 2e-4;
  input Real u(unit = "V"); output Real i(unit = "A");
  output Real x(start = 0, fixed = true, nominal = 1e-3, unit = "m");
protected
  Real v(start = 0, fixed = true); Real b;
equation
  b = Bl*exp(-c1*(x + c2)^2);
  u = R*i + b*v;
  der(x) = v;
  m*der(v) = b*i - r*v - k*x;
end Speaker;
"""
LAG = """
model Lag
  parameter Real K = 2; parameter Real tau = 3;
  input Real u; output Real y(start = 0, fixed = true);
equation
  tau*der(y) = K*u - y;
end Lag;
"""
STIFF = """
model Stiff "A slow lag behind a fast one, with an equation that Newton must solve"
  parameter Real a = 1; parameter Real b = 0.5;
  input Real u; output Real y; Real x(start = 0, fixed = true); Real q(start = 0, fixed = true);
  Real z(start = 1);
equation
  1e-5*der(q) = u - q;
  der(x) = q - a*x;
  z + b*z^3 = x + 2;
  y = z;
end Stiff;
"""
REST = """
model Rest "Begins at rest under its first input"
  parameter Real K = 2; parameter Real tau = 3; parameter Real b = 0.1;
  input Real u; output Real y;
initial equation
  der(y) = 0;
equation
  tau*der(y) = K*u - y - b*y^3;
end Rest;
"""
RELAY = """
model Relay
  parameter Real K = 2; parameter Real tau = 3;
  input Real u; output Real y(start = 0, fixed = true);
equation
  tau*der(y) = (if u > 0.2 then K*u else 0.5*K*u) - y;
end Relay;
"""


def lag_function(u: Any, t: Any, K: float = 2.0, tau: float = 3.0) -> Any:
    """A first-order system under held inputs, written with operations that symbols allow."""
    h, y, found = t[1] - t[0], 0.0, []
    a = np.exp(-h / tau)
    for k in range(len(t)):
        found.append(y)
        y = a * y + K * (1 - a) * u[k]
    return found


def opaque_function(u: Any, t: Any, K: float = 2.0, tau: float = 3.0) -> Any:
    """The same in a way that no symbol goes through."""
    y = np.zeros(len(t))
    a = math.exp(-(t[1] - t[0]) / float(tau))
    for k in range(1, len(t)):
        y[k] = a * y[k - 1] + float(K) * (1 - a) * float(u[k - 1])
    return y


def study_of(model: Any, *tuners: str) -> es.Study:
    return es.Study(model, [es.Tuner(n) for n in tuners], [], name="bench")


def lag_study(*tuners: str) -> es.Study:
    return study_of(es.load_model(LAG), *(tuners or ("K", "tau")))


def linear_lag(*tuners: str) -> es.Study:
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": 2, "tau": 3})
    return study_of(model, *(tuners or ("K", "tau")))


def settings(**changed: Any) -> dict[str, Any]:
    given = {
        "kind": "free", "step": 0.5, "duration": 20.0, "min": -1.0, "max": 1.0, "pieces": 10,
        "criterion": "D", "sigma": 0.1, "starts": 2,
    }  # fmt: skip
    return {k: v for k, v in {**given, **changed}.items() if v is not None}


def design(
    study: es.Study, *, options: Mapping[str, Any] | None = None, wave: bool = False, **changed: Any
) -> FreeInput:
    """A design; it is compared with a given square wave unless the best `wave` is asked for."""
    table = input_design_table(settings(**changed))
    given = dict(options or {})
    if not (wave or table.vary or "reference" in given):
        times = es.signals.times(0.5, 40)
        square = es.signals.Square(0.075, amplitude=0.25, offset=0.25).samples(times)
        given["reference"] = dict.fromkeys(table.input_names or ("u",), square)
    return free_input(study, table, **given)


def work_of(study: es.Study, **changed: Any) -> FreeInputDesign:
    return FreeInputDesign.of(study, input_design_table(settings(**changed)), None, None)


def scenario_of(work: FreeInputDesign, u: np.ndarray) -> Scenario:
    values = work.scenarios[0]
    how: Transcription = work.followed[0] or transcription_for(work.plan, work.limits, values, u)
    return Scenario(values, how, Information(work.plan, values))


# --- gradients -----------------------------------------------------------------------------------

KINDS = {
    "Modelica, explicit steps": (lambda: lag_study(), {}, "sensitivity equations"),
    "Modelica, implicit steps": (
        lambda: study_of(es.load_model(STIFF), "a", "b"), {}, "sensitivity equations",
    ),
    "Modelica, at rest under its first input": (
        lambda: study_of(es.load_model(REST), "K", "tau", "b"), {}, "sensitivity equations",
    ),
    "nonlinear Modelica": (
        lambda: study_of(es.load_model(SPEAKER), "m", "k", "R", "Bl"),
        {"step": 4e-4, "duration": 0.016, "min": -8, "max": 8, "sigma": {"x": 2e-5, "i": 0.02},
         "outputs": ["x", "i"], "limits": {"x": {"min": -1e-3, "max": 1e-3}, "i": {"max": 3}}},
        "sensitivity equations",
    ),
    "linear": (lambda: linear_lag(), {"limits": {"y": {"max": 1.5}}}, "linear"),
    "function, by CasADi": (
        lambda: study_of(es.load_model(lag_function), "K", "tau"), {"limits": {"y": {"max": 1.5}}},
        "CasADi",
    ),
    "function, by differences": (
        lambda: study_of(es.load_model(opaque_function), "K", "tau"),
        {"limits": {"y": {"max": 1.5}}}, "differences",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_by_the_input_match_central_differences(kind: str) -> None:
    make, changed, way = KINDS[kind]
    work = work_of(make(), **changed)
    random = np.random.default_rng(3)
    reach = float(work.limits.reach[0])
    u = reach * random.uniform(-0.9, 0.9, work.plan.n)
    scenario = scenario_of(work, u)
    assert way in scenario.transcription.way
    for name in ("D", "A", "E", "R"):
        measure = ExperimentCriterion(
            name, work.measure.named, np.linspace(1, 2, len(work.measure.named))
        )
        slope = scenario.slope(u, measure)
        for j in (0, 4, 9):
            step = 1e-3 * reach * (np.arange(work.plan.n) == j)
            ends = [scenario.value(u + s * step, measure) for s in (-2, -1, 1, 2)]
            expected = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * 1e-3 * reach)
            assert slope[j] == pytest.approx(expected, rel=1e-4, abs=1e-5 * np.abs(slope).max())


@pytest.mark.parametrize("kind", [k for k, (_, c, _) in KINDS.items() if "limits" in c])
def test_slopes_of_limited_variables_match_central_differences(kind: str) -> None:
    make, changed, _ = KINDS[kind]
    work = work_of(make(), **changed)
    reach = float(work.limits.reach[0])
    u = reach * np.random.default_rng(4).uniform(-0.9, 0.9, work.plan.n)
    how = scenario_of(work, u).transcription
    slope = how.limited_slope(u)
    for j in (0, 5):
        step = 1e-3 * reach * (np.arange(work.plan.n) == j)
        expected = (how.limited(u + step) - how.limited(u - step)) / (2e-3 * reach)
        assert slope[:, :, j] == pytest.approx(expected, abs=1e-6 * np.abs(slope).max())


@pytest.mark.parametrize("source", [LAG, STIFF, SPEAKER])
def test_what_is_written_down_agrees_with_the_engine(source: str) -> None:
    model = es.load_model(source)
    names = [n for n in ("K", "tau", "a", "b", "m", "R", "Bl") if n in set(model.parameters.index)]
    names = [n for n in names if n != "b" or source is STIFF]
    fast = {"step": 4e-4, "duration": 0.016} if source is SPEAKER else {}
    work = work_of(study_of(model, *names), outputs=[model.output_names()[0]], **fast)
    u = np.random.default_rng(1).uniform(-1, 1, work.plan.n)
    values = work.scenarios[0]
    written = Equations(work.plan, values, trial=u)
    exact = work.plan.rows(work.plan.signals(u), values)
    assert not isinstance(exact, str)
    rows = written.rows(u)
    assert rows is not None
    off = np.abs(rows - exact).max(axis=(0, 1)) / np.abs(exact).max(axis=(0, 1))
    assert off.max() < 5e-4


# --- known optima --------------------------------------------------------------------------------


def test_gain_alone_is_told_best_by_a_constant_input() -> None:
    found = design(lag_study("K"), pieces=20)
    level = np.sign(found.inputs["u"][0])
    assert found.inputs["u"] == pytest.approx(level, abs=1e-4)
    y = 1 - np.exp(-found.times / 3)
    assert found.stderr["K"] == pytest.approx(0.1 / math.sqrt(y @ y), rel=1e-4)


def test_with_energy_alone_the_optimum_is_the_first_eigenvector() -> None:
    found = design(linear_lag("K"), min=None, max=None, energy=0.25, pieces=20)
    work = work_of(linear_lag("K"), min=None, max=None, energy=0.25, pieces=20)
    how = transcription_for(work.plan, work.limits, work.scenarios[0], np.zeros(20))
    columns = [how.rows(e).ravel() for e in np.eye(20)]  # type: ignore[union-attr]
    G = np.array(columns).T
    values, vectors = np.linalg.eigh(G.T @ G)
    u = found.signals["u"].at(found.stamps)
    assert np.abs(vectors[:, -1] @ u) == pytest.approx(np.linalg.norm(u), rel=1e-4)
    assert found.stderr["K"] == pytest.approx(0.1 / math.sqrt(values[-1] * 20 * 0.25), rel=1e-5)


def test_no_binary_input_beats_the_design() -> None:
    found = design(linear_lag(), pieces=8, starts=6)
    work = work_of(linear_lag(), pieces=8)
    every = [np.array(signs, float) for signs in product((-1, 1), repeat=8)]
    best = min(work.score(work.plan.signals(u)) for u in every)
    assert found.design.criterion <= best + 1e-6


def test_engine_and_expected_errors_are_those_of_the_information_matrix() -> None:
    study = lag_study()
    found = design(study)
    response = study.model.response(found.times, found.signals, outputs=["y"], wrt=["K", "tau"])
    J = response.at().YS[:, 0]
    C = np.linalg.inv(J.T @ J / 0.1**2)
    assert [found.stderr[n] for n in ("K", "tau")] == pytest.approx(np.sqrt(np.diag(C)), rel=1e-4)


# --- limits --------------------------------------------------------------------------------------


def test_rate_is_kept() -> None:
    found = design(lag_study(), rate=0.2, pieces=20, wave=True)
    u = found.signals["u"].at(found.stamps)
    assert np.abs(np.diff(u)).max() <= 0.2 * 1.0 * (1 + 1e-9)
    assert np.abs(np.diff(u)).max() > 0.19
    assert "sine" in found.reference.text


def test_energy_is_kept_and_used() -> None:
    found = design(lag_study(), energy=0.3, wave=True)
    assert float(np.mean(found.inputs["u"] ** 2)) <= 0.3 * (1 + 1e-6)
    assert float(np.mean(found.inputs["u"] ** 2)) > 0.299
    assert found.reference.energy[0] <= 0.3 * (1 + 1e-6)


def test_energy_of_the_class_is_that_of_its_best_signal() -> None:
    found = design(
        lag_study(), energy="class", signal="square", fixed={"amplitude": 0.5},
        vary={"frequency": [0.02, 0.05, 0.1]},
    )  # fmt: skip
    assert found.reference.text.startswith("best square: frequency")
    assert found.design.energy[0] <= 0.25 * (1 + 1e-6)
    assert (found.gain > 0).all()


@pytest.mark.parametrize("make", [lag_study, linear_lag])
def test_output_limits_are_kept_between_samples_too(make: Any) -> None:
    study = make()
    found = design(study, limits={"y": {"min": -0.6, "max": 0.8}}, starts=1, wave=True)
    fine = np.linspace(0, 20, 4001)
    y = study.model.simulate(fine, found.signals, outputs=["y"]).values[:, 0]
    assert y.max() <= 0.8 + 1e-5
    assert y.min() >= -0.6 - 1e-5
    assert y.max() > 0.78
    assert found.passed <= 1e-6


def test_bounds_of_the_model_serve_where_none_are_given() -> None:
    bounded = LAG.replace("input Real u;", "input Real u(min = 0, max = 0.5);")
    found = design(study_of(es.load_model(bounded), "K", "tau"), min=None, max=None, starts=1)
    assert found.inputs["u"].min() >= 0
    assert found.inputs["u"].max() <= 0.5


# --- what is gained ------------------------------------------------------------------------------


def test_a_robust_design_beats_the_nominal_one_where_the_nominal_values_are_wrong() -> None:
    spread = {"tau": [0.7, 3.0, 9.0]}
    nominal = design(lag_study(), pieces=20)
    robust = design(lag_study(), pieces=16, robust=spread)
    work = work_of(lag_study(), pieces=16, robust=spread)
    assert work.score(robust.signals) < work.score(nominal.signals)
    assert nominal.design.criterion < work_of(lag_study(), pieces=20).score(robust.signals) + 1e-6
    assert len(robust.scenarios) == 3


def test_the_worst_case_counts_where_it_is_asked_for() -> None:
    spread = {"tau": [0.7, 9.0]}
    mean = design(lag_study(), pieces=16, robust=spread)
    worst = design(lag_study(), pieces=16, robust=spread, worst=True)
    work = work_of(lag_study(), pieces=16, robust=spread, worst=True)
    assert work.score(worst.signals) <= work.score(mean.signals) + 1e-6


def test_other_unknowns_are_marginalised() -> None:
    both = design(lag_study(), tuners=["tau"])
    alone = design(lag_study("tau"))
    assert alone.stderr["tau"] < both.stderr["tau"]
    assert both.gain.shape == (1,)
    every = design(lag_study())
    assert both.stderr["tau"] <= every.stderr["tau"] * (1 + 1e-4)


def test_weights_make_the_sensitivity_of_a_tuner_count_more() -> None:
    plain = design(linear_lag(), criterion="A", pieces=20, starts=6)
    shifted = design(linear_lag(), criterion="A", weights={"K": 5.0}, pieces=20, starts=6)
    assert shifted.stderr["tau"] <= plain.stderr["tau"] * (1 + 1e-6)


def test_start_values_and_disturbances_are_found_along() -> None:
    model = es.load_model(LAG)
    data = es.simulate_experiment(model, {"u": 0.0}, 0.5 * np.arange(40), noise=0.1)
    column = es.OutputColumn("y", sigma=0.1, disturbance=True)
    case = es.Case("run", data, inputs={"u": "u"}, outputs={"y": column}, free_start=["y"])
    study = es.Study(model, ["K", "tau"], [case])
    found = design(study, step=None, duration=None, sigma=None)
    assert found.names == ("K", "tau", "start of y in run", "disturbance of y in run")
    assert (found.design.stderr[:2] > design(lag_study()).design.stderr).all()


def test_two_inputs_are_designed_together() -> None:
    model = es.load_model(LAG.replace("input Real u;", "input Real u; input Real w;").replace(
        "K*u", "K*u + 0.5*w"))  # fmt: skip
    found = design(study_of(model, "K", "tau"), input=["u", "w"], min={"u": -1, "w": -2},
                   max={"u": 1, "w": 2}, starts=1)  # fmt: skip
    assert set(found.inputs) == {"u", "w"}
    assert np.abs(found.inputs["w"]).max() <= 2
    assert (found.gain > -1e-6).any()


# --- kinds of models -----------------------------------------------------------------------------


def test_all_kinds_of_models_find_the_same_design() -> None:
    of_equations, linear = design(lag_study()), design(linear_lag())
    function = design(study_of(es.load_model(lag_function), "K", "tau"))
    opaque = design(study_of(es.load_model(opaque_function), "K", "tau"), starts=1)
    for other in (linear, function, opaque):
        assert other.design.criterion == pytest.approx(of_equations.design.criterion, abs=2e-3)


def test_models_with_events_are_derived_by_differences_and_say_so() -> None:
    found = design(study_of(es.load_model(RELAY), "K", "tau"), pieces=6, starts=1)
    assert found.way.endswith("it has events")
    assert found.design.criterion <= found.reference.criterion + 0.05


def test_delays_of_linear_models_are_exact_and_of_modelica_models_differences() -> None:
    late = es.transfer_function("K*exp(-T*s)/(1 + tau*s)", parameters={"K": 2, "tau": 3, "T": 0.8})
    found = design(study_of(late, "K", "tau", "T"))
    assert found.way == "exact, linear in the input"
    assert (found.gain > 0.5).all()
    written = es.load_model(LAG.replace("K*u", "K*delay(u, 1.0)"))
    assert "it delays a signal" in design(study_of(written, "K"), pieces=4, starts=1).way


def test_jax_functions_are_followed() -> None:
    pytest.importorskip("jax")
    import jax.numpy as jnp

    def lag(u: Any, t: Any, p: Any) -> Any:
        a = jnp.exp(-(t[1] - t[0]) / p["tau"])
        k = jnp.arange(len(t))
        weights = jnp.where(k[:, None] > k, a ** (k[:, None] - k - 1.0), 0.0)
        return p["K"] * (1 - a) * (weights @ u)

    model = es.function_model(lag, {"K": 2.0, "tau": 3.0})
    found = design(study_of(model, "K", "tau"), starts=1)
    assert found.way == "exact, by JAX"


# --- the result ----------------------------------------------------------------------------------


def test_the_result_shows_itself(tmp_path: Path) -> None:
    found = design(lag_study(), limits={"y": {"max": 1.5}}, starts=1)
    assert "gain %" in str(found)
    data = es.read_data(found.write_csv(tmp_path / "u.csv"))
    assert data.column("u") == pytest.approx(found.inputs["u"], abs=0)
    told = json.loads(json.dumps(found.to_dict()))
    assert told["kind"] == "free"
    assert told["outcome"]["status"] == "done"
    assert told["best"]["stderr"]["K"] == pytest.approx(found.stderr["K"])
    assert "standard errors" in told["outcome"]["message"]
    page = found.report(tmp_path / "page.html").read_text()
    assert "Searches" in page
    assert found.plot() is not None
    assert list(found.errors.index) == ["K", "tau"]
    assert list(found.samples.columns) == ["time", "u", "y"]
    assert found.samples["u"].to_numpy() == pytest.approx(found.inputs["u"], abs=0)


def test_a_given_input_may_be_the_reference() -> None:
    step = np.ones(40)
    found = design(lag_study(), options={"reference": {"u": step}})
    assert found.reference.text == "the given input"
    assert (found.gain > 0).any()


def test_interrupted_searches_hand_back_the_best_so_far() -> None:
    def stop(told: SearchProgress) -> None:
        if told.iteration == 3:
            raise KeyboardInterrupt

    found = design(lag_study(), options={"progress": stop}, starts=3)
    assert found.interrupted
    assert found.outcome()[0] == "interrupted"
    assert len(found.attempts) == 1
    assert found.design.criterion <= found.reference.criterion + 0.1


def test_the_same_seed_gives_the_same_design() -> None:
    one, other = design(linear_lag(), seed=5), design(linear_lag(), seed=5)
    assert np.array_equal(one.inputs["u"], other.inputs["u"])


def test_measures_are_lowered_to_what_they_say() -> None:
    M = np.diag([4.0, 16.0, 100.0])
    named, ones = np.array([0, 1]), np.ones(2)
    assert ExperimentCriterion("D", named, ones).value(M) == pytest.approx(0.25 * math.log(1 / 64))
    assert ExperimentCriterion("A", named, ones).value(M) == pytest.approx(0.5 * math.log(0.15625))
    assert ExperimentCriterion("E", named, ones).value(M) == pytest.approx(0.5 * math.log(0.25))
    assert ExperimentCriterion("R", named, ones).value(M) == pytest.approx(math.log(2))
    assert ExperimentCriterion("D", named, ones).value(np.zeros((3, 3))) == math.inf


def test_a_free_course_asks_for_information_unless_told_otherwise() -> None:
    assert input_design_table({"kind": "free"}).criterion == "D"
    assert input_design_table({}).criterion == input_design_table({"kind": "multisine"}).criterion
    assert input_design_table({}).criterion == "R"


def test_standard_errors_above_those_of_the_reference_are_called_so() -> None:
    found = design(linear_lag(), starts=1)
    turned = replace(found, design=found.reference, reference=found.design)
    assert " above those of the" in turned.outcome()[1]
    assert " below" not in turned.outcome()[1]
    assert "% above the reference" in str(gains(turned))


# --- mistakes ------------------------------------------------------------------------------------

MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "W203": ({"min": {"v": -1.0}}, "min: 'v' is not a designed input"),
    "W204": ({"limits": {"yy": {"max": 1.0}}}, "limits: 'Lag' has no variable 'yy'; did you mean"),
    "W205": ({"min": 2.0}, "input 'u': min 2 is not below max 1"),
    "W206": ({"min": None}, "input 'u' could grow without end; give min and max, or its energy"),
    "W207": ({"rate": -1.0}, "input 'u': rate -1 is not positive"),
    "W208": ({"sigma": None}, "a free-form input is designed for a known noise; give sigma"),
    "W212": ({"pieces": 100}, "100 pieces for 40 samples; an input changes at samples, give fewer"),
    "W213": ({"robust": {"ta": [1.0]}}, "robust: there is no active tuner 'ta'; did you mean"),
    "W214": (
        {"robust": {"tau": list(map(float, range(1, 70)))}},
        "robust: 69 combinations of values are more than 64",
    ),
    "W215": (
        {"vary": {"frequency": [0.05]}, "fixed": {"amplitude": 5.0}},
        "no square of those in vary keeps the limits",
    ),
}


@pytest.mark.parametrize("code", MISTAKES)
def test_mistakes_are_told(code: str) -> None:
    changed, text = MISTAKES[code]
    with pytest.raises(ExperimentError) as caught:
        design(lag_study(), **changed)
    assert caught.value.code == code
    assert text in caught.value.message


def test_a_reference_of_another_length_is_refused() -> None:
    with pytest.raises(ExperimentError, match="W209: reference: give 40 samples of input 'u'"):
        design(lag_study(), options={"reference": {"u": np.ones(3)}})


def test_tuners_that_cannot_be_told_apart_are_refused() -> None:
    twice = LAG.replace("K*u", "K*g*u").replace("K = 2;", "K = 2; parameter Real g = 1;")
    with pytest.raises(ExperimentError, match="W210: no input that was tried tells the tuners"):
        design(study_of(es.load_model(twice), "K", "g"))


def test_limits_that_nothing_keeps_are_refused() -> None:
    with pytest.raises(ExperimentError, match="W211: no input was found that keeps all limits"):
        design(lag_study(), limits={"y": {"min": 5.0}}, starts=1)
    with pytest.raises(ExperimentError, match="W211: no input was found that keeps all limits"):
        design(lag_study(), limits={"y": {"min": 5.0, "max": 6.0}}, starts=1)


# --- the command ---------------------------------------------------------------------------------


def test_the_command_writes_page_csv_and_json(tmp_path: Path) -> None:
    study = tmp_path / "lag.toml"
    study.write_text(
        """
        [model]
        source = "K/(1 + tau*s)"
        [tune]
        K = 2
        tau = 3
        [input_design]
        kind = "free"
        step = 0.5
        duration = 20
        pieces = 10
        min = -1
        max = 1
        sigma = 0.1
        starts = 1
        """,
        encoding="utf-8",
    )
    csv, page = tmp_path / "u.csv", tmp_path / "page.html"
    asked = ["design-input", str(study), "--criterion", "D", "--json", "--no-store"]
    done = CliRunner().invoke(app, [*asked, "--csv", str(csv), "--report", str(page)])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["kind"] == "free"
    assert told["outcome"]["status"] == "done"
    assert es.read_data(csv).column("u") == pytest.approx(np.array(told["samples"]["u"]), abs=0)
    assert page.exists()
