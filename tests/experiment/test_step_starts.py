"""Start values from steps: which parameters of a model are gain, time constant, delay."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.experiment.guess.quantities import Start
from estimica.experiment.guess.step.starts import StepSetting, step_starts

TIMES = np.arange(801) * 0.05
MODELICA = """
model Lag
  parameter Real K(min = 0, max = {largest}) = 1 "Static gain";
  parameter Real tau(unit = "s") = 20;
  parameter Real offset = 3;
  input Real u(unit = "V");
  output Real y(unit = "mm");
protected
  Real x(start = 0, fixed = true);
equation
  tau*der(x) = K*u - x;
  y = x + offset;
end Lag;
"""


def found(model: es.Model, truth: dict[str, float]) -> dict[str, Start]:
    data = es.simulate_experiment(
        model, {"u": es.signals.Step(begin=5.0, amplitude=2)}, TIMES, truth, noise="1 %"
    )
    names = [q.name for q in model.quantities() if q.role == "parameter"]
    return step_starts(
        model, es.first_guess(data, "u", "y"), StepSetting("u", "y", {"u": 0.0}), names
    )


def kutau(u, t, k0=1, k1=2, tau=3):  # type: ignore[no-untyped-def]
    from scipy.signal import lfilter

    decay = np.exp(-(t[1] - t[0]) / tau)
    return lfilter([0, 1 - decay], [1, -decay], k0 * (1 + k1 / (0.5 + u**2)) * u)


@pytest.mark.parametrize(
    ("text", "values", "truth", "meanings"),
    [
        ("K/(1 + tau*s)", {}, {"K": 3, "tau": 4},
         {"K": "gain", "tau": "time constant"}),
        ("K*exp(-T*s)/(1 + tau*s)", {}, {"K": -3, "tau": 4, "T": 0.7},
         {"K": "gain", "tau": "time constant", "T": "delay"}),
        ("tau*exp(-K*s)/(1 + T*s)", {}, {"K": 0.7, "tau": 3, "T": 4},
         {"K": "delay", "tau": "gain", "T": "time constant"}),
        ("b/(s + a)", {}, {"b": 3, "a": 0.4},
         {"a": "1/time constant", "b": "gain/time constant"}),
        ("K*w^2/(s^2 + 2*d*w*s + w^2)", {}, {"K": 3, "w": 1.5, "d": 0.3},
         {"K": "gain", "w": "natural frequency", "d": "damping"}),
        ("K/(s^2 + 2*d*w*s + w^2)", {}, {"K": 40, "w": 2, "d": 0.4},
         {"K": "gain·natural frequency²", "w": "natural frequency", "d": "damping"}),
        ("K/(1 + R*C*s)", {"K": 1, "R": 2, "C": 1}, {"K": 3, "R": 4},
         {"K": "gain", "R": "time constant"}),
        ("K/(1 + R*C*s)", {"K": 1, "R": 1, "C": 1}, {"K": 3, "R": 4}, {"K": "gain"}),
        ("K/((1 + a*s)*(1 + b*s))", {}, {"K": 3, "a": 4, "b": 1}, {}),
    ],
)  # fmt: skip
def test_parameters_are_known_by_what_they_do_and_not_by_their_names(
    text: str, values: dict[str, float], truth: dict[str, float], meanings: dict[str, str]
) -> None:
    model = es.transfer_function(text, parameters=values)
    starts = found(model, truth)
    assert {n: s.meaning for n, s in starts.items()} == meanings
    for name, start in starts.items():
        assert start.value == pytest.approx(truth[name], rel=0.08, abs=0.15)


def test_the_time_constant_of_a_function_is_found_and_gains_that_mix_are_not() -> None:
    starts = found(es.load_model(kutau), {"k0": 1.5, "k1": 4, "tau": 2})
    assert {n: s.meaning for n, s in starts.items()} == {"tau": "time constant"}
    assert starts["tau"].value == pytest.approx(2, rel=0.05)


def drafted(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, ["new", source, "step.csv", "--output", "study.toml", "--force"])
    assert done.exit_code == 0, done.output
    return Path("study.toml").read_text(encoding="utf-8")


def test_new_starts_at_the_step_and_says_where_the_numbers_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = es.transfer_function("3*exp(-0.7*s)/(1 + 4*s)")
    step = es.signals.Step(begin=5.0, amplitude=2)
    es.simulate_experiment(truth, {"u": step}, TIMES, noise=0.01).to_csv(tmp_path / "step.csv")
    text = drafted(tmp_path, "K*exp(-T*s)/(1 + tau*s)", monkeypatch)
    assert 'source = "K*exp(-T*s)/(1 + tau*s)"' in text
    assert "K = 3 " in text
    assert "# (start: gain of the step of u in step)" in text
    assert "# (start: delay of the step of u in step)" in text
    fit = es.fit(es.read_study("study.toml"))
    assert fit.outcome.ok
    assert dict(zip(["K", "T", "tau"], fit.values, strict=True)) == pytest.approx(
        {"K": 3, "T": 0.7, "tau": 4}, rel=0.01
    )
    assert len(fit.iterations) <= 8
    text = drafted(tmp_path, "K/((1 + a*s)*(1 + b*s))", monkeypatch)
    assert "a step of u suggests for y: gain 3" in text
    assert "(start:" not in text
    assert "a = 1   # (the model has no value: 1 is as good as any)" in text


def test_new_converts_units_keeps_bounds_and_names_the_value_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = np.arange(801) * 0.05
    answer = 3 + 6 * -np.expm1(-np.maximum(t - 5, 0) / 4)  # mm, from 2 V; gain 3 mm/V
    rows = np.column_stack([t / 60, 2000.0 * (t >= 5), answer / 10])
    np.savetxt(
        tmp_path / "step.csv", rows, delimiter=",", header="time [min],u [mV],y [cm]", comments=""
    )
    (tmp_path / "Lag.mo").write_text(MODELICA.format(largest=10), encoding="utf-8")
    text = drafted(tmp_path, "Lag.mo", monkeypatch)
    assert "K = { start = 3, min = 0, max = 10 }" in text
    assert "Static gain (start: gain of the step of u in step; the model has 1)" in text
    assert "tau = 4 " in text
    (tmp_path / "Lag.mo").write_text(MODELICA.format(largest=2), encoding="utf-8")
    text = drafted(tmp_path, "Lag.mo", monkeypatch)
    assert "K = { start = 1, min = 0, max = 2 }" in text
    assert "tau = 4 " in text


def test_new_takes_a_python_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lag.py").write_text(
        "import numpy as np\n"
        "from scipy.signal import lfilter\n"
        "def lag(u, t, K=1.0, tau=20.0):\n"
        '    """First order"""\n'
        "    d = np.exp(-(t[1] - t[0]) / tau)\n"
        "    return lfilter([0, K * (1 - d)], [1, -d], u)\n",
        encoding="utf-8",
    )
    y = 3 * -np.expm1(-np.maximum(TIMES - 5, 0) / 4)
    rows = np.column_stack([TIMES, TIMES >= 5, y])
    np.savetxt(tmp_path / "step.csv", rows, delimiter=",", header="time,u,y", comments="")
    text = drafted(tmp_path, "lag.py:lag", monkeypatch)
    assert 'source = "lag.py:lag"' in text
    assert "K = 3     # (start: gain of the step of u in step; the model has 1)" in text
    assert es.fit(es.read_study("study.toml")).values == pytest.approx([3, 4], rel=1e-3)


@pytest.mark.parametrize("source", ["K*exp(-T*s)/(1 + tau*s)", "Lag.mo"])
def test_new_starts_at_the_bode_plot_and_weighs_by_its_sigma(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = np.geomspace(0.003, 3, 40)
    truth = es.transfer_function("3*exp(-0.7*s)/(1 + 4*s)")
    G = truth.frequency_response(2 * np.pi * f)
    rows = np.column_stack([f, G.real, G.imag, np.full(40, 0.01)])
    np.savetxt(tmp_path / "step.csv", rows, delimiter=",", header="f,Re,Im,sigma", comments="")
    (tmp_path / "Lag.mo").write_text(
        "model Lag\n  parameter Real T1 = 1;\n  parameter Real K(max = 2) = 1;\n  input Real u;\n"
        "  output Real y(start = 0, fixed = true);\nequation\n  T1*der(y) = K*u - y;\nend Lag;\n",
        encoding="utf-8",
    )
    text = drafted(tmp_path, source, monkeypatch)
    assert 'y = { real = "Re", imag = "Im", sigma = "sigma" }' in text
    if source == "Lag.mo":
        assert re.search(r"T1 = 4 +# \(start: time constant of the Bode plot in step; the", text)
        assert "K = { start = 1, max = 2 }" in text  # 3 is out of bounds
        return
    assert re.search(r"K = 3 +# \(start: gain of the Bode plot in step\)", text)
    assert re.search(r"T = 0.7 +# \(start: delay of the Bode plot in step\)", text)
    assert es.fit(es.read_study("study.toml")).values == pytest.approx([3, 0.7, 4], rel=1e-6)
    assert "(start:" not in drafted(tmp_path, "K/((1 + a*s)*(1 + b*s))", monkeypatch)


def test_a_transfer_function_has_no_class(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        '[model]\nsource = "K/(1 + tau*s)"\nclass = "A"\n[tune]\nK = 1\ntau = 1\n[[case]]\nname = "a"\n'
        'data = "a.csv"\noutputs = { y = "y" }\n',
        encoding="utf-8",
    )
    with pytest.raises(es.StudyError, match=r"a transfer function has no class; leave that out"):
        es.read_study(tmp_path / "a.toml")


def test_an_answer_that_overshoots_by_all_of_its_rise_suggests_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = es.transfer_function("(1 + 20*s)/((1 + 2*s)*(1 + 5*s))")  # like a motor's current
    step = es.signals.Step(begin=5.0, amplitude=2)
    es.simulate_experiment(truth, {"u": step}, TIMES, noise=0.001).to_csv(tmp_path / "step.csv")
    text = drafted(tmp_path, "K*(1 + lead*s)/((1 + a*s)*(1 + b*s))", monkeypatch)
    assert "(start:" not in text


def test_what_contradicts_its_unit_is_not_tried(tmp_path: Path) -> None:
    from estimica.experiment.guess.quantities import FIRST_ORDER, Units

    path = tmp_path / "Room.mo"
    path.write_text(
        'model Room parameter Real R(unit = "K/kW") = 1; parameter Real tau(unit = "h") = 1; '
        'parameter Real C(unit = "J/K") = 1; parameter Real a(unit = "1/s") = 1; '
        'parameter Real b = 1; input Real P(unit = "W"); Real T(unit = "degC"); '
        "equation tau*der(T) = a*b*C*R*P - T; end Room;"
    )
    units = Units(es.load_model(path), "P", "T")
    allowed = {
        n: [q.meaning for q in FIRST_ORDER if units.allow(n, q)] for n in ("R", "tau", "C", "a")
    }
    assert allowed == {
        "R": ["gain"],
        "tau": ["time constant", "delay"],
        "C": [],
        "a": ["1/time constant"],
    }
    assert all(units.allow("b", q) for q in FIRST_ORDER)  # it has no unit
