"""Simulation by implicit Euler: what it computes, and what it does to an estimate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.errors import EstimicaError, ModelError
from estimica.study.check.run import check

DECAY = """
model Decay
  parameter Real T = 2;
  input Real u;
  Real x(start = 1, fixed = true);
  output Real y = x;
equation
  T*der(x) = u - x;
end Decay;
"""
DAE = """
model Dae
  parameter Real a = 1.5;
  Real x(start = 2, fixed = true);
  Real z(start = 1);
equation
  der(x) = -a*z;
  z^3 + z = x;
end Dae;
"""
H = 0.5


def euler(step: float = H) -> es.Options:
    return es.Options(method="implicit-euler", step=step)


@pytest.fixture(scope="module")
def decay() -> es.ModelicaModel:
    return es.load_model(DECAY)


def test_decay_is_that_of_the_hand_calculation(decay: es.ModelicaModel) -> None:
    """x₍ₖ₊₁₎ = x₍ₖ₎/(1 + h/T), and its derivatives by T and by the start."""
    T, k = 2.0, np.arange(21)
    run = decay.sensitivities(k * H, {"u": 0.0}, wrt=["T", "x"], outputs=["y"], options=euler())
    assert run.value("y") == pytest.approx((1 + H / T) ** -k, rel=1e-13)
    assert run.jacobian[:, 0, 0] == pytest.approx(k * (1 + H / T) ** (-k - 1) * H / T**2, abs=1e-14)
    assert run.jacobian[:, 0, 1] == pytest.approx((1 + H / T) ** -k, rel=1e-13)


def test_step_sees_what_was_held_until_its_end(decay: es.ModelicaModel) -> None:
    """x₍ₖ₊₁₎ = (x₍ₖ₎ + h/T u₍ₖ₎)/(1 + h/T) with u₍ₖ₎ held from sample k on."""
    k = np.arange(12)
    u = np.cos(k)
    run = decay.simulate(k * H, {"u": (k * H, u)}, outputs=["y"], options=euler())
    expected = [1.0]
    for level in u[:-1]:
        expected.append((expected[-1] + H / 2 * level) / (1 + H / 2))
    assert run.value("y") == pytest.approx(expected, rel=1e-12)


def test_straight_lines_between_steps(decay: es.ModelicaModel) -> None:
    times = np.array([0.0, 0.1, 0.5, 0.7, 1.0])
    run = decay.simulate(times, {"u": 0.0}, outputs=["y"], options=euler())
    ends = [1.0, 1 / 1.25, 1 / 1.25**2]
    assert run.value("y") == pytest.approx(np.interp(times, [0.0, 0.5, 1.0], ends), rel=1e-12)


def test_steps_go_on_from_the_grid_after_a_cut(decay: es.ModelicaModel) -> None:
    """An input that jumps within a step cuts it; the next one ends where it would have ended."""
    inputs = {"u": (np.array([0.0, 0.2]), np.array([0.0, 1.0]))}
    run = decay.simulate(np.array([0.5, 1.0]), inputs, outputs=["y"], options=euler(), begin=0.0)
    x = 1 / (1 + 0.2 / 2)
    x = (x + 0.3 / 2) / (1 + 0.3 / 2)
    y = (x + 0.5 / 2) / (1 + 0.5 / 2)
    assert run.value("y") == pytest.approx([x, y], rel=1e-12)


def test_algebraic_unknowns_are_solved_with_the_states() -> None:
    """Against Newton's method by hand; derivatives against central differences."""
    model = es.load_model(DAE)
    times = np.arange(0.0, 2.1, 0.1)

    def by_hand(a: float) -> tuple[list[float], list[float]]:
        x, xs, zs = 2.0, [2.0], [1.0]
        for _ in times[1:]:
            z = zs[-1]
            for _ in range(60):  # z³ + z = x − h a z
                z -= (z**3 + z + 0.1 * a * z - x) / (3 * z * z + 1 + 0.1 * a)
            x -= 0.1 * a * z
            xs.append(x)
            zs.append(z)
        return xs, zs

    run = model.sensitivities(times, wrt=["a"], outputs=["x", "z"], options=euler(0.1))
    xs, zs = by_hand(1.5)
    assert run.value("x") == pytest.approx(xs, rel=1e-11)
    assert run.value("z") == pytest.approx(zs, rel=1e-9)
    up, down = by_hand(1.5 + 1e-5), by_hand(1.5 - 1e-5)
    for j in range(2):
        slope = (np.array(up[j]) - np.array(down[j])) / 2e-5
        assert run.jacobian[:, j, 0] == pytest.approx(slope, abs=1e-8)


def test_events_are_found_within_steps() -> None:
    """A tank that empties at rate 1 until 0.25 and at 0.1 below: straight lines, which are exact."""
    model = es.load_model("""
    model Tank
      Real x(start = 1, fixed = true);
    equation
      der(x) = if x > 0.25 then -1 else -0.1;
    end Tank;
    """)
    times = np.array([0.5, 0.75, 1.0, 2.0])
    run = model.simulate(times, outputs=["x"], options=euler(0.4), begin=0.0)
    assert run.value("x") == pytest.approx([0.5, 0.25, 0.225, 0.125], abs=1e-9)


def test_error_is_of_order_one(decay: es.ModelicaModel) -> None:
    times = np.array([2.0])
    errors = [
        decay.simulate(times, {"u": 0.0}, outputs=["y"], options=euler(h), begin=0.0).value("y")[0]
        - np.exp(-1)
        for h in (0.02, 0.01)
    ]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.01)


def _fitted(h: float, step: float | None, workers: int = 1) -> float:
    """T of data from x' = −x/T with T = 2, sampled every h, as a simulation by Euler fits it."""
    model = es.load_model(DECAY)
    times = np.arange(0.0, 8.0, h)
    data = {"time": times, "y": np.exp(-times / 2)}
    case = es.Case("decay", data, inputs={"u": 0.0}, outputs={"y": "y"})
    solver = es.Solver(method="implicit-euler", step=step) if step else es.Solver()
    study = es.Study(model, [es.Tuner("T", start=1.5, min=0.1, max=10)], [case], solver=solver)
    fit = es.fit(study)
    assert fit.outcome.ok
    return fit["T"]


@pytest.mark.parametrize("h", [0.5, 0.1])
def test_estimate_is_biased_as_the_hand_calculation_says(h: float) -> None:
    """(1 + h/T̂)⁻¹ = exp(−h/T) gives T̂ = h/(exp(h/T) − 1): −12 % with h = T/4."""
    assert _fitted(h, step=h) == pytest.approx(h / np.expm1(h / 2), rel=1e-6)
    assert _fitted(h, step=None) == pytest.approx(2.0, rel=1e-5)


def test_smaller_steps_than_samples_leave_less_bias() -> None:
    h, n = 0.5, 5
    expected = (h / n) / np.expm1(h / n / 2)
    assert _fitted(h, step=h / n) == pytest.approx(expected, rel=1e-6)


def test_wrong_settings_are_told() -> None:
    with pytest.raises(ModelError, match=r"M063: step 0: implicit Euler has steps of one length"):
        es.Options(method="implicit-euler")
    with pytest.raises(ModelError, match=r"M064: step 0.1 goes with method 'implicit-euler'"):
        es.Options(step=0.1)
    with pytest.raises(ModelError, match=r"did you mean 'implicit-euler'"):
        es.Options(method="implicit-euller", step=0.1)
    with pytest.raises(EstimicaError, match=r"Q149: .*give it: step = 0.1"):
        es.Solver(method="implicit-euler")


def test_step_of_another_method_is_warned_of() -> None:
    """It is no error: in a form it is filled in before the method is chosen."""
    model = es.load_model(DECAY)
    times = np.arange(0.0, 8.0, 0.5)
    data = {"time": times, "y": np.exp(-times / 2)}
    case = es.Case("decay", data, inputs={"u": 0.0}, outputs={"y": "y"})
    study = es.Study(model, [es.Tuner("T", start=1.5)], [case], solver=es.Solver(step=0.1))
    (problem,) = [p for p in check(study) if p.code == "Q149"]
    assert problem.warning
    assert problem.suggestion == "leave it out, or set max_step"
    assert study.solver.options == es.Options()


def test_models_without_equations_are_refused() -> None:
    linear = es.transfer_function("1/(T*s + 1)")
    with pytest.raises(ModelError, match=r'M065: .*take method "auto", or a Modelica model'):
        linear.simulate(np.arange(3.0), {"u": 1.0}, options=euler())


def test_delays_are_refused() -> None:
    model = es.load_model("""
    model Late
      Real x(start = 1, fixed = true);
    equation
      der(x) = -delay(x, 0.5);
    end Late;
    """)
    with pytest.raises(ModelError, match="M066: implicit Euler takes no models with delays"):
        model.simulate(np.arange(3.0), options=euler())


def test_step_that_cannot_be_solved_is_told() -> None:
    """x' = x² from 1 with h = 1 has no real root: x₁ = 1 + x₁²."""
    model = es.load_model(
        "model Burst Real x(start = 1, fixed = true); equation der(x) = x*x; end Burst;"
    )
    with pytest.raises(EstimicaError, match="implicit Euler are not solved; take a shorter step"):
        model.simulate(np.array([1.0]), options=euler(1.0), begin=0.0)


def test_command_and_study_file(tmp_path: Path) -> None:
    source = tmp_path / "Decay.mo"
    source.write_text(DECAY)
    runner = CliRunner()
    asked = ["simulate", str(source), "--stop", "1", "--points", "3", "--input", "u=0", "--json"]
    done = runner.invoke(app, [*asked, "--method", "implicit-euler", "--step", "0.5"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["values"]["y"] == pytest.approx([1.0, 0.8, 0.64], rel=1e-12)
    done = runner.invoke(app, [*asked, "--method", "implicit-euler"])
    assert done.exit_code == 2
    assert "step" in done.stderr
    times = np.arange(0.0, 8.0, 0.5)
    rows = "\n".join(f"{t},{v}" for t, v in zip(times, np.exp(-times / 2), strict=True))
    (tmp_path / "d.csv").write_text(f"time,y\n{rows}\n")
    study = tmp_path / "s.toml"
    study.write_text(
        '[model]\nsource = "Decay.mo"\n[tune]\nT = { start = 1.5, min = 0.1, max = 10 }\n'
        '[[case]]\nname = "d"\ndata = "d.csv"\ninputs = { u = 0.0 }\noutputs = { y = "y" }\n'
        '[solver]\nmethod = "implicit-euler"\nstep = 0.5\n'
    )
    done = runner.invoke(app, ["fit", str(study), "--no-store", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["parameters"]["T"]["value"]
    assert found == pytest.approx(0.5 / np.expm1(0.25), rel=1e-6)
