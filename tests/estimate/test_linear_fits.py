"""Fits of models without Modelica: the same estimates from a transfer function, a Python function
and Modelica (Knudsen, Experimental modelling of dynamic systems, example 9); delays."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app

H, N = 0.1, 1000
TIME = np.arange(N) * H
SQUARE = np.where(np.mod(TIME + 1e-9, 20.0) < 10.0, 1.0, -1.0)  # 0.05 Hz

KTAU = """
model Ktau
  parameter Real K = 1;
  parameter Real tau = 1;
  input Real u;
  output Real y(start = 0, fixed = true);
equation
  tau*der(y) = K*u - y;
end Ktau;
"""
KUTAU = """
model Kutau "First order with a gain that depends on the input"
  parameter Real k0 = 1;
  parameter Real k1 = 2;
  parameter Real tau = 3;
  input Real u;
  output Real y(start = 0, fixed = true);
equation
  tau*der(y) = k0*(1 + k1/(0.5 + u^2))*u - y;
end Kutau;
"""
FILE = '''
"""The nonlinear first-order system of example 9."""
import numpy as np
from scipy.signal import lfilter

parameters = {"k0": 1, "k1": 2, "tau": 3}


def kutau(u, t, p):
    """First order with a gain that depends on the input"""
    decay = np.exp(-(t[1] - t[0]) / p["tau"])
    gain = p["k0"] * (1 + p["k1"] / (0.5 + u**2))
    return lfilter([0, 1 - decay], [1, -decay], gain * u)
'''


def first_order(u: np.ndarray, t: np.ndarray, p: np.ndarray) -> np.ndarray:
    from scipy.signal import lfilter

    K, tau = p
    decay = np.exp(-(t[1] - t[0]) / tau)
    return lfilter([0, K * (1 - decay)], [1, -decay], u)


def models() -> dict[str, es.Model]:
    return {
        "transfer function": es.transfer_function("K/(1 + tau*s)"),
        "function": es.function_model(first_order, ["K", "tau"]),
        "Modelica": es.load_model(KTAU),
    }


def data(y: np.ndarray, u: np.ndarray = SQUARE) -> pd.DataFrame:
    return pd.DataFrame({"time": np.arange(len(y)) * H, "u": u, "y": y})


def study(
    model: es.Model, table: pd.DataFrame, starts: dict[str, float], **options: object
) -> es.Study:
    case = es.Case("run", table, inputs={"u": "u"}, outputs={"y": "y"})
    tuners = [es.Tuner(n, start=v) for n, v in starts.items()]
    exact = es.Solver(rtol=1e-10, atol=1e-12)
    return es.Study(model, tuners, [case], estimation=es.Estimation(**options), solver=exact)  # type: ignore[arg-type]


def test_example_9_is_found_in_four_gauss_newton_steps_by_every_kind_of_model() -> None:
    truth = es.transfer_function("K/(1 + tau*s)", parameters={"K": 1, "tau": 2})
    clean = truth.simulate(TIME, {"u": (TIME, SQUARE)}).value("y")
    table = data(clean + 0.02 * np.random.default_rng(9).standard_normal(N))
    found = {}
    for name, model in models().items():
        fit = es.fit(study(model, table, {"K": 1.5, "tau": 3.0}, method="gauss-newton"))
        assert fit.outcome.status == "converged"
        np.testing.assert_allclose(fit.iterations[3].values, [1, 2], rtol=5e-3)
        np.testing.assert_allclose(fit.iterations[4].values, fit.values, rtol=1e-6)
        found[name] = fit
    one = found["transfer function"]
    for other in found.values():
        np.testing.assert_allclose(other.values, one.values, rtol=1e-7)
        np.testing.assert_allclose(other.accuracy.stderr, one.accuracy.stderr, rtol=1e-5)
        assert other.cost == pytest.approx(one.cost, rel=1e-9)


def test_kutau_is_found_within_four_standard_errors_by_function_and_modelica(
    tmp_path: Path,
) -> None:
    u = 3 * np.sin(0.25 * TIME) * (1 + 0.3 * np.sin(0.9 * TIME))
    (tmp_path / "kutau.py").write_text(FILE, encoding="utf-8")
    truth = {"k0": 1.5, "k1": 4.0, "tau": 2.0}
    modelica = es.load_model(KUTAU)
    clean = modelica.simulate(
        TIME, {"u": (TIME, u)}, truth, outputs=["y"], options=es.Options(rtol=1e-11, atol=1e-12)
    )
    table = data(clean.value("y") + 0.02 * np.random.default_rng(10).standard_normal(N), u)
    table.to_csv(tmp_path / "run.csv", index=False)
    (tmp_path / "kutau.toml").write_text(
        '[model]\nsource = "kutau.py:kutau"\n[tune]\nk0 = 1\nk1 = 2\ntau = 3\n'
        '[[case]]\nname = "run"\ndata = "run.csv"\ninputs = { u = "u" }\noutputs = { y = "y" }\n',
        encoding="utf-8",
    )
    by_function = es.fit(es.read_study(tmp_path / "kutau.toml"))
    by_modelica = es.fit(study(modelica, table, {"k0": 1, "k1": 2, "tau": 3}))
    np.testing.assert_allclose(by_function.values, by_modelica.values, rtol=1e-5)
    off = np.abs(by_function.values - list(truth.values())) / by_function.accuracy.stderr
    assert off.max() < 4
    assert (
        by_function.study.model.description == "First order with a gain that depends on the input"
    )


def test_a_function_is_fitted_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lag.py").write_text(
        "import numpy as np\n"
        "def lag(u, t, K=1.5, tau=3):\n"
        "    return K * (1 - np.exp(-t / tau)) * u\n",
        encoding="utf-8",
    )
    t = np.arange(50) * 0.2
    table = pd.DataFrame({"time": t, "u": 1.0, "y": 1 - np.exp(-t / 2)})
    table.to_csv(tmp_path / "step.csv", index=False)
    (tmp_path / "lag.toml").write_text(
        '[model]\nsource = "lag.py"\n[tune]\nK = { start = 1.5 }\ntau = {}\n'
        '[[case]]\nname = "step"\ndata = "step.csv"\ninputs = { u = "u" }\noutputs = { y = "y" }\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["fit", "lag.toml", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["parameters"]["K"]["value"] == pytest.approx(1.0, rel=1e-6)
    assert found["parameters"]["tau"]["value"] == pytest.approx(2.0, rel=1e-6)


@pytest.mark.slow
def test_a_delay_between_samples_is_estimated_without_bias_and_its_intervals_cover() -> None:
    truth = {"K": 1.0, "tau": 0.8, "T": 0.537}
    model = es.transfer_function("K*exp(-T*s)/(1 + tau*s)")
    u = np.where(np.mod(TIME[:250] + 1e-9, 5.0) < 2.5, 1.0, -1.0)
    clean = model.simulate(TIME[:250], {"u": (TIME[:250], u)}, truth).value("y")
    random = np.random.default_rng(11)
    values, covered = [], 0
    for _ in range(200):
        table = data(clean + 0.05 * random.standard_normal(250), u)
        fit = es.fit(study(model, table, {"K": 1.5, "tau": 1.0, "T": 0.3}))
        assert fit.outcome.status == "converged"
        values.append(fit.values)
        low, high = fit.accuracy.interval[2]
        covered += bool(low <= truth["T"] <= high)
    errors = np.array(values) - list(truth.values())
    spread = errors.std(axis=0, ddof=1)
    assert (np.abs(errors.mean(axis=0)) < 3.5 * spread / np.sqrt(200)).all()
    assert 180 <= covered <= 198  # 190 expected, three standard deviations are 9
    np.testing.assert_allclose(fit.accuracy.stderr, spread, rtol=0.2)


def test_start_values_of_a_transfer_function_are_found_too() -> None:
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": 1.0})
    t = np.linspace(0, 6, 61)
    u = np.where(t < 3, 1.0, 0.0)
    y = model.simulate(t, {"u": (t, u)}, {"tau": 1.3}, {"x1": 0.4}).value("y")
    case = es.Case(
        "run",
        pd.DataFrame({"time": t, "u": u, "y": y}),
        inputs={"u": "u"},
        outputs={"y": "y"},
        free_start=["x1"],
    )
    fit = es.fit(es.Study(model, [es.Tuner("tau", start=2.0), "K"], [case]))
    np.testing.assert_allclose(fit.values, [1.3, 1.0, 0.4], rtol=1e-6)


def test_what_is_asked_of_a_fit_works_for_models_without_equations() -> None:
    random = np.random.default_rng(12)
    clean = first_order(SQUARE, TIME, np.array([1.0, 2.0]))[:200]
    table = data(clean + 0.05 * random.standard_normal(200), SQUARE[:200])
    for model in (
        es.transfer_function("K/(1 + tau*s)"),
        es.function_model(first_order, ["K", "tau"]),
    ):
        fit = es.fit(study(model, table, {"K": 1.5, "tau": 3.0}))
        assert len(es.bootstrap(fit, 20, seed=1).values) == 20
        low, high = es.profile(fit, "K")["K"].interval
        assert low < fit.values[0] < high
        assert es.identifiability(fit).rank == 2
        with pytest.raises(
            es.FitError, match=r"F035: .* has no Modelica source that can be extended"
        ):
            fit.write_modelica("Never.mo")
        for way, code in (("multiple-shooting", "F049"), ("collocation", "F042")):
            with pytest.raises(es.FitError, match=f"{code}: .*use transcription = 'shooting'"):
                es.fit(study(model, table, {"K": 1.5, "tau": 3.0}, transcription=way))


def test_a_product_that_alone_is_determined_is_recognised() -> None:
    clean = first_order(SQUARE, TIME, np.array([1.0, 2.0]))

    def three(u: np.ndarray, t: np.ndarray, p: np.ndarray) -> np.ndarray:
        return first_order(u, t, np.array([p[0] * p[1], p[2]]))

    for model in (
        es.transfer_function("a*b/(1 + tau*s)"),
        es.function_model(three, ["a", "b", "tau"]),
    ):
        fit = es.fit(study(model, data(clean), {"a": 2.0, "b": 1.0, "tau": 3.0}))
        assert fit.identifiability.rank == 2
        assert not fit.accuracy.identifiable[:2].any()


def test_a_function_that_fails_on_the_way_rejects_the_step() -> None:
    def fussy(u: np.ndarray, t: np.ndarray, p: np.ndarray) -> np.ndarray:
        if p[1] > 3.2:
            raise ValueError("tau is too long")
        return first_order(u, t, p)

    clean = first_order(SQUARE, TIME, np.array([1.0, 2.0]))
    model = es.function_model(fussy, ["K", "tau"])
    fit = es.fit(study(model, data(clean), {"K": 0.2, "tau": 0.3}, method="gauss-newton"))
    np.testing.assert_allclose(fit.values, [1, 2], rtol=1e-6)
    broken = es.fit(study(model, data(clean), {"K": 1.0, "tau": 9.0}))
    assert broken.outcome.status == "failed"
    assert "fussy raised ValueError: tau is too long, with K = 1, tau = 9" in broken.outcome.message
