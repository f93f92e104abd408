"""Drafts where columns are called otherwise: what the unit tells, what it does not, what is told.

A column that is left out must not make a fit wrong without a word: a motor whose speed is not
compared gives a wrong motor constant, converged and with white residuals.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.study.draft.by_unit import kind_of

TRUE = {"R": 0.6, "L": 0.8e-3, "k": 0.12, "J": 2.4e-4, "b": 3.1e-4}
MOTOR = """\
model Motor "A motor"
  parameter Real R(unit = "Ohm", min = 0) = 1;
  parameter Real L(unit = "H", min = 0) = 1e-3;
  parameter Real k(unit = "V.s/rad", min = 0) = 0.05;
  parameter Real J(unit = "kg.m2", min = 0) = 1e-4;
  parameter Real b(unit = "N.m.s/rad", min = 0) = 1e-4;
  input Real u(unit = "V");
  Real i(unit = "A", start = 0, fixed = true);
  Real w(unit = "rad/s", start = 0, fixed = true);
equation
  L*der(i) = u - R*i - k*w;
  J*der(w) = k*i - b*w;
end Motor;
"""
SAMPLES, STEP = 1000, 1e-3


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def new(*arguments: str) -> tuple[str, str]:
    """What is told, and the text of s.toml."""
    done = CliRunner().invoke(app, ["new", *arguments, "--output", "s.toml", "--force"])
    assert done.exit_code == 0, done.output
    return re.sub(r"\s+", " ", done.output), Path("s.toml").read_text(encoding="utf-8")


def motor(header: str = "t [s],u [V],n [rpm],i [A]", folder: Path = Path()) -> None:
    """The motor's model and a record of it, exact but for the noise: the voltage is held."""
    p = TRUE
    (folder / "Motor.mo").write_text(MOTOR, encoding="utf-8")
    A = np.array([[-p["R"] / p["L"], -p["k"] / p["L"]], [p["k"] / p["J"], -p["b"] / p["J"]]])
    M = expm(np.block([[A, np.array([[1 / p["L"]], [0]])], [np.zeros((1, 3))]]) * STEP)
    random = np.random.default_rng(3)
    u = random.choice([0, 6, 12, 18, 24.0], SAMPLES // 50).repeat(50)
    x = np.zeros((SAMPLES, 2))
    for j in range(SAMPLES - 1):
        x[j + 1] = M[:2, :2] @ x[j] + M[:2, 2] * u[j]
    x += random.standard_normal(x.shape) * [0.05, 1.0]
    rows = np.c_[STEP * np.arange(SAMPLES), u, x[:, 1] * 30 / np.pi, x[:, 0]]
    lines = [",".join(f"{v:.7g}" for v in row) for row in rows]
    (folder / "motor.csv").write_text("\n".join([header, *lines]), encoding="utf-8")


@pytest.mark.parametrize("header", ["t [s],u [V],n [rpm],i [A]", "t,u,n_rpm,i"])
def test_a_motor_is_fitted_right_as_it_is_drafted(header: str) -> None:
    motor(header)
    told, text = new("Motor.mo", "motor.csv")
    column = "n_rpm" if "_" in header else "n"
    number = 1 + text.splitlines().index(
        f'w = {{ column = "{column}", scale = 0.10471975511966 }}   # [rad/s] (by its unit)'
    )
    assert (
        f"note: column '{column}' [rpm] is taken for 'w' [rad/s], the only one that its unit fits; "
        f"see line {number}" in told
    )
    fit = es.fit(es.read_study("s.toml"))
    assert list(fit.parameters.index) == list(TRUE)
    for name, value in TRUE.items():
        row = fit.parameters.loc[name]
        assert abs(row["value"] - value) < 3 * row["stderr"], name


def test_a_column_without_a_unit_is_told_first_and_so_is_what_is_held_without_it() -> None:
    motor("t [s],u [V],n,i [A]")
    told, text = new("Motor.mo", "motor.csv")
    lines = text.splitlines()
    offered = 1 + lines.index('# w = "n"   # [rad/s]')
    held = 1 + next(k for k, line in enumerate(lines) if line.startswith("# b = "))
    unused = f"column 'n' is not used: could it be 'w' [rad/s]? take the # away in line {offered}"
    # with the current alone k, J and b times the same power of a number give the same answer
    beside = (
        "'b' = 0.0001 is held: what is measured does not tell it from 'J' and 'k', "
        f"which will be right only if it is; see line {held}"
    )
    assert f"note: {unused}" in told
    assert f"note: {beside}" in told
    assert lines[3:6] == ["# Look at this first:", f"# - {unused}", f"# - {beside}"]
    assert '(beside "J", "k")' in lines[held - 1]
    # what the remark says is so: the study fits well, and is wrong by what b is
    fit = es.fit(es.read_study("s.toml"))
    assert fit["R"] == pytest.approx(TRUE["R"], rel=0.01)
    wrong = 1e-4 / TRUE["b"]
    assert fit["J"] == pytest.approx(TRUE["J"] * wrong, rel=0.02)
    assert fit["k"] == pytest.approx(TRUE["k"] * wrong**0.5, rel=0.02)


def test_the_line_is_found_where_all_cases_share_their_columns() -> None:
    motor("t [s],u [V],n,i [A]")
    Path("again.csv").write_text(Path("motor.csv").read_text(encoding="utf-8"), encoding="utf-8")
    told, text = new("Motor.mo", "motor.csv", "again.csv")
    assert text.count('# w = "n"') == 1
    number = 1 + next(k for k, x in enumerate(text.splitlines()) if x.startswith('# w = "n"'))
    assert f"could it be 'w' [rad/s]? take the # away in line {number}" in told


def test_notes_are_in_the_json_too() -> None:
    motor()
    done = CliRunner().invoke(app, ["new", "Motor.mo", "motor.csv", "--json"])
    (note,) = json.loads(done.stdout)["notes"]
    assert note.startswith("column 'n' [rpm] is taken for 'w' [rad/s]")


def rig(declarations: str, equations: str, header: str, values: str = "1") -> tuple[str, str]:
    """A draft of a model that is written here, with a table of a few rows."""
    Path("Rig.mo").write_text(
        f'model Rig\n parameter Real p(unit = "1/s", min = 0) = 0.3;\n {declarations}\nequation\n'
        f" {equations}\nend Rig;\n",
        encoding="utf-8",
    )
    count = header.count(",")
    rows = [",".join([str(k), *[f"{float(values) + 0.1 * k}"] * count]) for k in range(9)]
    Path("rig.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    return new("Rig.mo", "Rig", "rig.csv")


def outputs() -> dict[str, object]:
    return dict(es.read_study("s.toml").cases[0].outputs)


TWO = (
    'Real A(unit = "K", start = 290, fixed = true); Real B(unit = "K", start = 280, fixed = true);'
)


def test_two_temperatures_are_left_to_the_user() -> None:
    told, text = rig(TWO, "der(A) = p*(B - A); der(B) = -p*B;", "t [s],S1 [°C],S2 [°C]")
    assert outputs() == {}
    for name in "AB":
        for column in ("S1", "S2"):
            assert f'# {name} = {{ column = "{column}", offset = 273.15 }}' in text
    assert "column 'S1' [°C] is not used: could it be 'A' [K] or 'B' [K]? take the # away" in told


def test_one_column_for_two_states_is_left_to_the_user() -> None:
    told, _ = rig(TWO, "der(A) = p*(B - A); der(B) = -p*B;", "t [s],S1 [°C]")
    assert outputs() == {}
    assert "could it be 'A' [K] or 'B' [K]?" in told


def test_a_further_temperature_is_not_taken_where_one_was_named() -> None:
    """A logger has columns that the model knows nothing of."""
    told, _ = rig(TWO, "der(A) = p*(B - A); der(B) = -p*B;", "t [s],A [°C],supply [°C]")
    assert list(outputs()) == ["A"]
    assert "column 'supply' [°C] is not used: could it be 'B' [K]?" in told


def test_a_declared_output_is_meant_before_states_of_its_unit() -> None:
    rig(TWO + ' output Real y(unit = "K") = A;', "der(A) = p*(B - A); der(B) = -p*B;", "t,S1 [°C]")
    assert list(outputs()) == ["y"]


def test_a_state_is_meant_before_other_variables_of_its_unit() -> None:
    told, _ = rig(
        'Real x(unit = "m", start = 1, fixed = true); Real gap(unit = "m") = 2 - x;',
        "der(x) = -p*x;",
        "t,D7 [mm]",
    )
    assert list(outputs()) == ["x"]
    assert "column 'D7' [mm] is taken for 'x' [m]" in told


def test_what_is_called_like_another_variable_is_not_taken() -> None:
    told, _ = rig(
        'Real x(unit = "m", start = 1, fixed = true); Real gap(unit = "m") = 2 - x;',
        "der(x) = -p*x;",
        "t,the_gap [mm]",
    )
    assert outputs() == {}
    assert "column 'the_gap' [mm] is not used: could it be" in told
    assert "'gap' [m]" in told


def test_what_may_be_an_input_is_no_output_and_the_other_way_round() -> None:
    told, _ = rig(
        'input Real Ta(unit = "K"); Real T(unit = "K", start = 290, fixed = true);',
        "der(T) = p*(Ta - T);",
        "t,outside [°C]",
    )
    case = es.read_study("s.toml").cases[0]
    assert (dict(case.inputs), dict(case.outputs)) == ({}, {})
    assert "column 'outside' [°C] is not used: could it be the input 'Ta' [K] or 'T' [K]?" in told


def test_an_input_is_taken_where_no_other_variable_has_its_unit() -> None:
    """As the voltage of a motor; what flows out of a tank does not flow in."""
    inflow = 'input Real q(unit = "m3/s"); Real h(unit = "m", start = 1, fixed = true);'
    told, text = rig(inflow, "der(h) = q/2 - p*h;", "t,F1 [l/min],h [m]")
    assert list(es.read_study("s.toml").cases[0].inputs) == ["q"]
    assert "column 'F1' [l/min] is taken for the input 'q' [m3/s]" in told
    assert 'q = { column = "F1", scale = 1.66666666666667e-05 }   # [m3/s] (by its unit)' in text
    outflow = inflow + ' Real out(unit = "m3/s") = 2*p*h;'
    told, _ = rig(outflow, "der(h) = (q - out)/2;", "t,F1 [l/min],h [m]")
    assert list(es.read_study("s.toml").cases[0].inputs) == []
    assert "could it be the input 'q' [m3/s] or 'out' [m3/s]? take the # away in line" in told


def test_an_input_of_points_that_has_a_number_says_where_a_column_goes() -> None:
    Path("Points.mo").write_text(
        'model Points parameter Real k(min = 0) = 1; input Real a(unit = "K", start = 300); '
        'input Real b(unit = "K", start = 280); output Real y(unit = "W") = k*(a - b); end Points;',
        encoding="utf-8",
    )
    Path("points.csv").write_text("hot [K],cold [K],y [W]\n301,283,18\n303,284,19\n", "utf-8")
    told, text = new("Points.mo", "points.csv")
    a = 1 + next(k for k, line in enumerate(text.splitlines()) if line.startswith("a = 300"))
    assert (
        "column 'hot' [K] is not used: could it be the input 'a' [K] or the input 'b' [K]? "
        f"write it in line {a} or {a + 1}" in told
    )


def test_a_parameter_that_is_called_so_was_measured_perhaps() -> None:
    rig(
        'parameter Real T_amb(unit = "K") = 283; Real T(unit = "K", start = 290, fixed = true);',
        "der(T) = p*(T_amb - T);",
        "t,T_ambient [°C]",
    )
    assert outputs() == {}


def test_numbers_and_values_out_of_bounds_are_not_taken() -> None:
    rig('Real x(unit = "1", start = 1, fixed = true);', "der(x) = -p*x;", "t,share [%]")
    assert outputs() == {}
    level = 'Real h(unit = "m", min = 0, start = 1, fixed = true);'
    rig(level, "der(h) = -p*h;", "t,D7 [cm]", values="-9")
    assert outputs() == {}
    rig(level, "der(h) = -p*h;", "t,D7 [cm]", values="9")
    assert list(outputs()) == ["h"]


def test_a_difference_of_temperatures_is_no_temperature() -> None:
    """A motor's winding is 40 K warmer than the air, not 313 K."""
    rig('Real dT(unit = "K", start = 0, fixed = true);', "der(dT) = -p*dT;", "t,winding [°C]")
    assert outputs() == {}


def test_states_of_parts_are_left_to_the_user() -> None:
    """Which variable of connected parts is a state is nobody's choice; another has the other sign."""
    part = 'model Part Real w(unit = "rad/s"); end Part;'
    told, text = rig(
        f"{part} Part a(w(start = 1, fixed = true)); Part b;",
        "der(a.w) = -p*a.w; b.w = -a.w;",
        "t,n [rpm]",
    )
    assert outputs() == {}
    assert "could it be 'a.w' [rad/s] or 'b.w' [rad/s]?" in told
    assert "p = { start = 0.3, min = 0 }" in text  # it matters to what is offered


def test_the_sensor_of_a_part_is_taken() -> None:
    part = 'model Part Real w(unit = "rad/s"); end Part;'
    rig(
        f"{part} Part a(w(start = 1, fixed = true)); Part speedSensor;",
        "der(a.w) = -p*a.w; speedSensor.w = a.w;",
        "t,n [rpm]",
    )
    assert list(outputs()) == ["speedSensor.w"]


def test_units_measure_the_same_where_nobody_can_mean_anything_else() -> None:
    assert kind_of("rpm") == kind_of("rad/s") == kind_of("Hz")
    assert kind_of("l/min") == kind_of("m3/s")
    assert kind_of("N.m") == kind_of("kN.m")
    assert kind_of("N.m") != kind_of("kWh")  # a torque is no energy
    assert kind_of("rad/s") != kind_of("1/s")
    for none in ("", "1", "%", "furlong"):
        assert kind_of(none) is None


def test_an_output_that_jumps_gives_no_starts_and_no_fault() -> None:
    """The current of a resistor has no time constant."""
    Path("RC.mo").write_text(
        'model RC parameter Real R(unit = "Ohm", min = 0) = 1; '
        'parameter Real C(unit = "F", min = 0) = 1; input Real u(unit = "V"); '
        'Real v(unit = "V", start = 0, fixed = true); Real i(unit = "A"); '
        "equation i = (u - v)/R; C*der(v) = i; end RC;",
        encoding="utf-8",
    )
    t = np.arange(0, 12, 0.05)
    u = np.where((t > 1) & (t < 6), 1.0, 0.0)
    v = np.where(t < 6, 1 - np.exp(-(t - 1) / 0.5), np.exp(-(t - 6) / 0.5)) * (t > 1)
    i = np.where((t > 1) & (t < 1.1), 0.5, 0.5 * u)
    rows = [",".join(f"{x:.5g}" for x in row) for row in np.c_[t, u, 1e3 * v, 1e3 * i]]
    Path("rc.csv").write_text("\n".join(["t,u [V],CH2 [mV],shunt [mA]", *rows]), encoding="utf-8")
    new("RC.mo", "rc.csv")
    assert set(outputs()) == {"v", "i"}
