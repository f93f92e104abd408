"""The small library that comes with the package: laws of physics, and which library is used."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.small_library_models import MODELS

from estimica import SourceError, load_model
from estimica.source.libraries.contents import classes_within, known_libraries
from estimica.source.libraries.search import SMALL, find_library, library_folders
from estimica.source.syntax.file import parse_file
from estimica.source.syntax.tree import ClassDefinition, Source

TIMES = np.linspace(0.013, 1.993, 12)  # away from the events
pytestmark = pytest.mark.usefixtures("no_other_library")


@pytest.fixture
def no_other_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MODELICAPATH", "")
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    if library_folders():
        pytest.skip("this computer has a library in a usual folder")


def simulated(name: str, *outputs: str) -> list[np.ndarray]:
    run = load_model(MODELS[name]).simulate(TIMES, outputs=outputs, begin=0.0)
    return [run.value(n) for n in outputs]


def since(start: float) -> np.ndarray:
    return np.maximum(TIMES - start, 0.0)


def parts() -> set[str]:
    """The models and blocks of the library that are not partial, by their names."""
    found: set[str] = set()

    def walk(c: ClassDefinition, before: str) -> None:
        if c.word in ("model", "block") and not c.partial and c.short is None:
            found.add(f"{before}.{c.name}")
        for inner in c.body.classes if c.body is not None else ():
            walk(inner, f"{before}.{c.name}")

    for path in SMALL.rglob("*.mo"):
        file = parse_file(Source(path.read_text(encoding="utf-8"), str(path)))
        for c in file.classes:
            walk(c, ".".join(file.within))
    return found


def test_each_part_is_in_one_of_the_models() -> None:
    used: set[str] = set()
    for text in MODELS.values():
        prefixes: dict[str, str] = {}
        for package, names in re.findall(r"import (Modelica[\w.]*?)\.\{([^}]*)\};", text):
            prefixes |= {n.strip(): f"{package}.{n.strip()}" for n in names.split(",")}
        for whole in re.findall(r"import (Modelica[\w.]*);", text):
            prefixes[whole.rpartition(".")[2]] = whole
        for name in re.findall(r"(?<![\w.])([A-Z]\w*(?:\.\w+)+)", text):
            first, _, rest = name.partition(".")
            used.add(f"{prefixes.get(first, first)}.{rest}")
    left = {n for n in parts() - used if ".Interfaces." not in n}
    assert not left


def test_step_into_resistor_and_capacitor() -> None:
    current, voltage, power = simulated("Circuits", "cs.i", "vs.v", "power.power")
    r = 3 * (1 + 0.004 * (320 - 300.15))
    on = TIMES >= 0.1
    assert voltage == pytest.approx(2 * (1 - np.exp(-since(0.1) / (0.5 * r))), abs=1e-5)
    assert current == pytest.approx(on * 2 / r * np.exp(-since(0.1) / (0.5 * r)), abs=1e-5)
    assert power == pytest.approx(current * 2 * on, abs=1e-5)


def test_diode_switches_and_given_currents() -> None:
    load, a, b, rc, rs, vr = simulated("Circuits", "load.v", "ra.v", "rb.v", "rc.i", "rs.v", "vr.i")
    source = np.cos(2 * np.pi * TIMES)
    conducting = source > 0.2
    # 1e-5 S and 1e-5 Ohm beside 10 Ohm; the knee of 0.1 V
    assert load[conducting] == pytest.approx(source[conducting] - 0.1, abs=1e-4)
    assert load[source < 0] == pytest.approx(0, abs=2e-3)
    on = TIMES > 0.7
    assert a == pytest.approx(np.where(on, 12, 0), abs=1e-3)
    assert b == pytest.approx(np.where(on, 0, 12), abs=1e-3)
    assert rc == pytest.approx(-0.3)
    assert rs == pytest.approx(-2 * np.sin(TIMES))
    assert vr == pytest.approx(4 / 1.5 * np.minimum(TIMES, 1.5) / (1 + TIMES))


def test_motor_is_the_solution_of_its_two_equations() -> None:
    from scipy.linalg import expm

    speed, current = simulated("Motor", "w.w", "l.i")
    r, coil, k, j, d = 0.5, 0.05, 0.3, 0.01, 0.002
    a = np.array([[-r / coil, -k / coil], [k / j, -d / j]])
    rest = -np.linalg.solve(a, [6 / coil, 0])
    exact = np.array([rest - expm(a * t) @ rest for t in since(0.1)])
    assert current == pytest.approx(exact[:, 0], abs=2e-4)
    assert speed == pytest.approx(exact[:, 1], abs=2e-4)


def test_oscillator_and_its_energy() -> None:
    text = """model M
      Modelica.Mechanics.Translational.Components.Mass m(m=2, s(start=0.3, fixed=true), v(start=0, fixed=true));
      Modelica.Mechanics.Translational.Components.SpringDamper sd(c=50, d=2);
      Modelica.Mechanics.Translational.Components.Fixed wall;
    equation
      connect(wall.flange, sd.flange_a);
      connect(sd.flange_b, m.flange_a);
    end M;"""
    s = load_model(text).simulate(TIMES, outputs=["m.s"], begin=0.0).value("m.s")
    decay, w = 2 / 4, np.sqrt(50 / 2 - 0.25)
    exact = 0.3 * np.exp(-decay * TIMES) * (np.cos(w * TIMES) + decay / w * np.sin(w * TIMES))
    assert s == pytest.approx(exact, abs=1e-5)


def test_shaft_with_gear_and_fan() -> None:
    gear_a, gear_b, tau_a, tau_b = simulated(
        "Shafts", "gear.phi_a", "gear.phi_b", "gear.flange_a.tau", "gear.flange_b.tau"
    )
    assert gear_a == pytest.approx(4 * gear_b)
    assert tau_b == pytest.approx(-4 * tau_a)
    w, fan, brake = simulated("Shafts", "c.w", "fan.tau", "brake.tau")
    assert fan == pytest.approx(-2 * (w / 10) ** 2)
    assert brake == pytest.approx(-w / 20)


def test_wall_between_two_temperatures() -> None:
    text = """model M
      import Modelica.Thermal.HeatTransfer.{Components, Sources};
      Components.HeatCapacitor c(C=5, T(start=300, fixed=true));
      Components.ThermalConductor g(G=2);
      Components.BodyRadiation r(Gr=0.1);
      Sources.FixedTemperature cold(T=280);
      Sources.FixedTemperature hot(T=400);
    equation
      connect(c.port, g.port_a);
      connect(g.port_b, cold.port);
      connect(hot.port, r.port_a);
      connect(r.port_b, cold.port);
    end M;"""
    run = load_model(text).simulate(TIMES, outputs=["c.T", "r.Q_flow"], begin=0.0)
    assert run.value("c.T") == pytest.approx(280 + 20 * np.exp(-TIMES * 2 / 5), abs=1e-4)
    # CODATA: 5.670374419e-8 W/(m2 K4)
    assert run.value("r.Q_flow") == pytest.approx(0.1 * 5.670374419e-8 * (400**4 - 280**4))


def test_lags_integrals_and_limits() -> None:
    first, integral, pi, limited, dead = simulated(
        "Control", "fo.y", "int.y", "pi.y", "lim.y", "dz.y"
    )
    late, on = since(0.3), TIMES >= 0.3
    lag = np.exp(-late / 0.4)
    before = 0.3 * np.exp(-np.minimum(TIMES, 0.3) / 0.4)
    assert first == pytest.approx(before * lag + 4 * (1 - lag), abs=1e-5)
    assert integral == pytest.approx(0.1 + 4 * late, abs=1e-5)
    assert pi == pytest.approx(1.5 * (2 * late / 0.5 + 2 * on), abs=1e-5)
    sine = np.where(TIMES < 0.2, 0, 1.5 * np.sin(2 * np.pi * 0.8 * (TIMES - 0.2) + 0.3))
    assert limited == pytest.approx(np.clip(sine, -0.2, 0.6), abs=1e-9)
    assert dead == pytest.approx(sine - np.clip(sine, -0.4, 0.4), abs=1e-9)


def test_transfer_function_and_state_space_are_exponentials_of_matrices() -> None:
    from scipy.linalg import expm

    tf, ss = simulated("Control", "tf.y", "ss.y[1]")
    late, on = since(0.3), TIMES >= 0.3

    def response(a, b, c, d) -> np.ndarray:  # type: ignore[no-untyped-def]
        """Of a step of height 2 from rest."""
        rest = np.linalg.solve(a, b)
        return np.array([2 * (c @ (expm(a * t) @ rest - rest) + d) for t in late]) * on

    # (s + 2)/(0.5 s^2 + 1.5 s + 3) = (2 s + 4)/(s^2 + 3 s + 6)
    companion = np.array([[0.0, 1.0], [-6.0, -3.0]])
    exact = response(companion, np.array([0.0, 1.0]), np.array([4.0, 2.0]), 0.0)
    assert tf == pytest.approx(exact, abs=1e-4)
    a = np.array([[-1.0, 2.0], [0.0, -3.0]])
    exact = response(a, np.array([1.0, 2.0]), np.array([1.0, 0.5]), 0.2)
    assert ss == pytest.approx(exact, abs=1e-4)


def test_periodic_sources() -> None:
    saw, trap, pulse, expo = simulated("Control", "saw.y", "trap.y", "pulse.y", "expo.y")
    t = TIMES - 0.1
    assert saw == pytest.approx(np.where(t < 0, 0, (t % 0.6) / 0.6), abs=1e-9)
    within = TIMES % 0.8
    corners = [0, 0.2, 0.4, 0.5, 0.8]
    assert trap == pytest.approx(np.interp(within, corners, [0, 1, 1, 0, 0]), abs=1e-9)
    on = (t >= 0) & (t < 1.4) & (t % 0.7 < 0.21)
    assert pulse == pytest.approx(on.astype(float))
    rise = 1 - np.exp(-np.minimum(TIMES, 0.7) / 0.3)
    assert expo == pytest.approx(rise * np.exp(-since(0.7) / 0.5), abs=1e-9)


def test_units_of_both_versions_and_constants() -> None:
    text = """model M
      import SI = Modelica.Units.SI;
      parameter SI.Mass m = 2;
      parameter Modelica.SIunits.Temperature T = Modelica.SIunits.Conversions.from_degC(20);
      parameter SI.AngularVelocity w = Modelica.Units.Conversions.from_rpm(60);
      Real x = Modelica.Constants.g_n + Modelica.Math.atan2(1, 1) + Modelica.Math.acosh(2);
    end M;"""
    model = load_model(text)
    found = {q.name: (q.unit, q.value) for q in model.quantities()}
    assert found["m"] == ("kg", 2)
    assert found["T"] == ("K", pytest.approx(293.15))
    assert found["w"] == ("rad/s", pytest.approx(2 * np.pi))
    x = model.simulate([0.0, 1.0], outputs=["x"]).value("x")
    assert x == pytest.approx(9.80665 + np.pi / 4 + np.arccosh(2))


def test_models_of_ones_own_extend_its_parts() -> None:
    text = """model Law
      extends Modelica.Electrical.Analog.Interfaces.OnePort(i(start=1));
      parameter Real a = 2;
    equation
      v = a*i^3;
    end Law;
    model M
      extends Modelica.Icons.Example;
      Law law;
      Modelica.Electrical.Analog.Sources.ConstantVoltage s(V=16);
      Modelica.Electrical.Analog.Basic.Ground g;
    equation
      connect(s.p, law.p);
      connect(s.n, law.n);
      connect(g.p, s.n);
    end M;"""
    model = load_model(text, "M")
    run = model.simulate([0.0, 1.0], outputs=["law.i"])
    assert run.value("law.i") == pytest.approx(2)
    assert model.libraries == ("Modelica, the small library that comes with Estimica",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model M\n Modelica.Fluid.Pipes.StaticPipe p;\nend M;", "class 'Modelica.Fluid.Pipes"),
        (
            "model M\n import Modelica.Media.Water;\n Water.X x;\nend M;",
            "'Modelica.Media.Water', which",
        ),
        (
            "model M\n Real x = Modelica.Math.Vectors.norm({1});\nend M;",
            "nothing is called 'Modelica",
        ),
        ("Modelica.Fluid.System", "class 'Modelica.Fluid.System' not found"),
    ],
)
def test_what_it_lacks_is_said_with_the_way_to_the_whole_library(text: str, message: str) -> None:
    lacks = (
        f"{message}.*: the small library that comes with Estimica does not have it; put the folder "
        r"of the whole one \(https://github.com/modelica/\S+\) on MODELICAPATH or into 'libraries'"
    )
    with pytest.raises(SourceError, match=lacks):
        load_model(text)


def test_a_misspelt_part_of_it_is_recognised() -> None:
    with pytest.raises(SourceError, match="did you mean 'Step'"):
        load_model("Modelica.Blocks.Sources.Stepp")


def test_a_library_of_the_user_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "libs" / "Modelica 9.9"
    other.mkdir(parents=True)
    (other / "package.mo").write_text(
        'package Modelica\n model Only\n  parameter Real k = 3;\n end Only;\n annotation(version="9.9");'
        "\nend Modelica;"
    )
    small = find_library("Modelica")
    assert small is not None
    assert small.is_small
    # the same package, read again: what it means depends on which library there is
    own = tmp_path / "Own"
    own.mkdir()
    (own / "package.mo").write_text(
        "package Own\n model M\n  Modelica.Blocks.Sources.Step s;\n end M;\nend Own;"
    )
    assert load_model(own, "M").libraries[0].startswith("Modelica, the small")
    model = load_model("Modelica.Only", libraries=[other.parent])
    assert model.libraries == (f"Modelica 9.9 in '{other}'",)
    monkeypatch.setenv("MODELICAPATH", str(other.parent))
    assert load_model("Modelica.Only").libraries == (f"Modelica 9.9 in '{other}'",)
    with pytest.raises(SourceError, match="package Modelica has no 'Blocks'"):
        load_model(own, "M")


def test_classes_are_picked_from_it() -> None:
    entries = {e.name: e for e in known_libraries()}
    assert "Modelica" in entries
    names = [e.name for e in classes_within(SMALL / "Modelica", "Modelica.Electrical.Analog.Basic")]
    assert "Modelica.Electrical.Analog.Basic.Resistor" in names
