"""Modelica functions that Python computes, against the same functions written in Modelica."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.compiled.experiment import Experiment
from estimica.simulate.modelica.model import ModelicaModel

MODEL = """
package Props
  function cp
    input Real T;
    output Real y;
    {body}
  end cp;
end Props;
model Tank
  parameter Real k = 0.5;
  parameter Real T0 = 300;
  Real T(start = 350, fixed = true);
  output Real y = T;
equation
  Props.cp(T)*der(T) = -k*(T - T0);
end Tank;
"""
EXTERNAL = 'external "C" y = lab_cp(T);'
WRITTEN = "algorithm y := 2 + sin(T/20);"
PROPS = """
import math

def cp(T):
    if T > 400:
        raise ValueError("too hot")
    return 2.0 + math.sin(T / 20)

def dcp(T):
    return math.cos(T / 20) / 20

def wrong(T):
    return -math.cos(T / 20) / 20

def nothing(T):
    return float("nan")

def two(T):
    return T, T
"""
TIMES = np.linspace(0.0, 20.0, 9)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Tank.mo").write_text(MODEL.format(body=EXTERNAL))
    (tmp_path / "props.py").write_text(PROPS)
    return tmp_path


def tank(**functions: object) -> ModelicaModel:
    given = {"value": "props.py:cp", **functions} if functions else "props.py:cp"
    return es.load_model("Tank.mo", functions={"Props.cp": given})  # type: ignore[dict-item]


def sensitivities(model: ModelicaModel, wrt: tuple[str, ...] = ("k", "T0")) -> np.ndarray:
    response = model.respond(Experiment(TIMES, {}, {}, {}, ("y",), wrt=wrt))
    run = response.at()
    assert run.ok
    return run.YS[:, 0, :]


@pytest.mark.parametrize("body", [EXTERNAL, "", "algorithm y := 1;"])
def test_values_are_those_of_python_whatever_the_function_says(folder: Path, body: str) -> None:
    (folder / "Tank.mo").write_text(MODEL.format(body=body))
    same = es.load_model(MODEL.format(body=WRITTEN))
    ours, theirs = tank().simulate(TIMES), same.simulate(TIMES)
    np.testing.assert_allclose(ours["y"], theirs["y"], rtol=1e-12)


def test_sensitivities_by_differences_and_by_derivatives(folder: Path) -> None:
    true = sensitivities(es.load_model(MODEL.format(body=WRITTEN)))
    np.testing.assert_allclose(sensitivities(tank()), true, rtol=1e-8, atol=1e-10)
    exact = tank(derivatives="props.py:dcp")
    np.testing.assert_allclose(sensitivities(exact), true, rtol=1e-11, atol=1e-12)
    assert any("differences" in note for note in tank().notes)
    assert any("derivatives by props.py:dcp" in note for note in exact.notes)


def test_a_model_says_which_python_it_runs_after_a_second_load_too(folder: Path) -> None:
    assert tank().notes == tank().notes
    np.testing.assert_array_equal(tank().simulate(TIMES)["y"], tank().simulate(TIMES)["y"])


def test_a_change_of_the_file_counts(folder: Path) -> None:
    before = tank().simulate(TIMES)["y"]
    (folder / "props.py").write_text(PROPS.replace("2.0 + math", "3.0 + math"))
    after = tank().simulate(TIMES)["y"]
    same = es.load_model(MODEL.format(body=WRITTEN.replace("2 +", "3 +")))
    np.testing.assert_allclose(after, same.simulate(TIMES)["y"], rtol=1e-12)
    assert np.abs(before - after).max() > 1


def test_a_change_of_what_it_imports_counts(folder: Path) -> None:
    (folder / "helper.py").write_text("LEVEL = 2.0\n")
    (folder / "props.py").write_text(
        "import math\nfrom helper import LEVEL\n\ndef cp(T):\n    return LEVEL + math.sin(T / 20)\n"
    )
    before = tank().simulate(TIMES)["y"]
    (folder / "helper.py").write_text("LEVEL = 3.0\n")
    assert np.abs(before - tank().simulate(TIMES)["y"]).max() > 1


def test_same_files_in_two_folders_read_what_lies_beside_each(folder: Path) -> None:
    text = (
        "from pathlib import Path\n\ndef cp(T):\n"
        "    return float((Path(__file__).parent / 'cp.txt').read_text())\n"
    )
    ends = []
    for name, cp in (("one", "2"), ("two", "4")):
        (folder / name).mkdir()
        (folder / name / "props.py").write_text(text)
        (folder / name / "cp.txt").write_text(cp)
        model = es.load_model("Tank.mo", functions={"Props.cp": f"{name}/props.py:cp"})
        ends.append(float(model.simulate(TIMES)["y"][-1]))
    expected = [300 + 50 * np.exp(-0.5 / cp * 20) for cp in (2, 4)]
    np.testing.assert_allclose(ends, expected, rtol=1e-6)


def test_it_travels_to_other_processes_as_it_was_read(folder: Path) -> None:
    model = tank()
    expected = model.simulate(TIMES)["y"]
    sent = pickle.dumps(model)
    (folder / "props.py").unlink()
    np.testing.assert_array_equal(pickle.loads(sent).simulate(TIMES)["y"], expected)


# --- failures ------------------------------------------------------------------------------------


def test_an_exception_is_a_failed_run_that_names_function_arguments_and_exception(
    folder: Path,
) -> None:
    model = tank()
    with pytest.raises(EstimicaError) as told:
        model.simulate(TIMES, start={"T": 450.0})
    assert "'Props.cp' (props.py:cp) with T = 450 raised ValueError: too hot" in str(told.value)
    model.simulate(TIMES)  # and the next one is as good as ever


@pytest.mark.parametrize(
    ("name", "said"),
    [("nothing", "with T = 350 returned nan"), ("two", "returned 2 numbers, where 1 are needed")],
)
def test_what_is_not_a_number_fails(folder: Path, name: str, said: str) -> None:
    model = es.load_model("Tank.mo", functions={"Props.cp": f"props.py:{name}"})
    with pytest.raises(EstimicaError, match=said):
        model.simulate(TIMES)


def test_wrong_derivatives_are_found(folder: Path) -> None:
    response = tank(derivatives="props.py:wrong").respond(
        Experiment(TIMES, {}, {}, {}, ("y",), wrt=("k",))
    )
    run = response.at()
    assert not run.ok
    assert "correct props.py:wrong" in run.failed_call


@pytest.mark.parametrize(
    ("functions", "code", "said"),
    [
        ({"Props.pc": "props.py:cp"}, "S088", "did you mean 'Props.cp'"),
        ({"Props.cp": "props.py:ccp"}, "M141", "did you mean 'cp'"),
        ({"Props.cp": "prop.py:cp"}, "M140", "no file 'prop.py'"),
        ({"Props.cp": "props.py"}, "M144", "props.py:function"),
        ({"Props.cp": {"derivatives": "props.py:dcp"}}, "M144", "value"),
        ({}, "U003", 'functions = { "Props.cp" = "file.py:function" }'),
    ],
)
def test_what_cannot_be_is_refused(
    folder: Path, functions: dict[str, str], code: str, said: str
) -> None:
    (folder / "Tank.mo").write_text(MODEL.format(body=WRITTEN if code == "S088" else EXTERNAL))
    with pytest.raises(EstimicaError) as told:
        es.load_model("Tank.mo", functions=functions)
    assert told.value.code == code
    assert said in str(told.value)


def test_base_modelica_has_none(folder: Path) -> None:
    text = "//! base 0.1.0\npackage 'M'\n  model 'M'\n    Real 'x';\n  equation\n    'x' = 1;\n"
    text += "  end 'M';\nend 'M';\n"
    with pytest.raises(EstimicaError, match="need the Modelica text itself"):
        es.load_model(text, functions={"f": "props.py:cp"})


# --- arguments -----------------------------------------------------------------------------------

MIXTURE = """
function mixture
  input String fluid;
  input Real p;
  input Real X[2];
  input Integer n;
  output Real rho;
  output Real h;
  {body}
end mixture;
model Flow
  parameter Real a = 0.25;
  parameter Real b = 2;
  input Real p(start = 3);
  output Real y;
  Real rho;
  Real h;
equation
  (rho, h) = mixture("Water", p, {{a, 1 - a}}, 2, {more});
  y = rho + b*h;
end Flow;
"""


def test_texts_arrays_and_several_outputs(folder: Path) -> None:
    (folder / "mixture.py").write_text(
        "def mixture(fluid, p, X, n):\n"
        "    assert fluid == 'Water' and X.shape == (2,)\n"
        "    return p * X[0] ** 2 * n, p**2 * X[1]\n"
    )
    text = MIXTURE.replace(", {more}", "").format(body='external "C";')
    model = es.load_model(text, functions={"mixture": "mixture.py:mixture"})
    response = model.respond(Experiment([0.0, 1.0], {"p": 3.0}, {}, {}, ("y",), wrt=("a", "b")))
    run = response.at()
    assert run.Y[0, 0] == pytest.approx(3 * 0.0625 * 2 + 2 * 9 * 0.75)
    np.testing.assert_allclose(run.YS[0, 0], [3 * 0.5 * 2 - 2 * 9, 9 * 0.75], rtol=1e-9)


def test_at_the_edge_slopes_are_those_of_one_side(folder: Path) -> None:
    (folder / "props.py").write_text(
        "def cp(T):\n    if T > 350:\n        raise ValueError('edge')\n    return T / 100\n"
    )
    true = sensitivities(es.load_model(MODEL.format(body="algorithm y := T/100;")))
    np.testing.assert_allclose(sensitivities(tank()), true, rtol=1e-6, atol=1e-7)


# --- where else equations are solved -------------------------------------------------------------

IMPLICIT = """
function h
  input Real T;
  output Real y;
  {body}
end h;
model Implicit
  parameter Real H = 20;
  input Real u(start = 1);
  Real T(start = 2);
  output Real y = T;
equation
  h(T) = H*u;
end Implicit;
"""


def test_operating_points_solve_for_an_argument(folder: Path) -> None:
    (folder / "h.py").write_text("def h(T):\n    return T**3 + T\n")
    text = IMPLICIT.format(body='external "C" y = h(T);')
    model = es.load_model(text, functions={"h": "h.py:h"}).at_points()
    response = model.respond(
        Experiment(np.arange(3.0), {"u": np.array([0.5, 1.5, 3.4])}, {}, {}, ("y",), wrt=("H",))
    )
    run = response.at()
    assert run.ok, run.text
    T = run.Y[:, 0]
    np.testing.assert_allclose(T**3 + T, [10, 30, 68], rtol=1e-9)
    np.testing.assert_allclose(run.YS[:, 0, 0], [0.5, 1.5, 3.4] / (3 * T**2 + 1), rtol=1e-7)


def test_a_constraint_is_differentiated_twice(folder: Path) -> None:
    """A bead on the curve h(x): its force needs the second derivative of a function of Python."""
    (folder / "curve.py").write_text(
        "def curve(x):\n    return x**2 / 2\n\ndef slope(x):\n    return x\n"
    )
    text = """
    function curve
      input Real x;
      output Real y;
      {body}
    end curve;
    model Bead
      parameter Real g = 9.81;
      Real x(start = 1, fixed = true, stateSelect = StateSelect.always);
      Real vx(start = 0, fixed = true, stateSelect = StateSelect.always);
      Real z;
      Real vz;
      Real s;
      output Real y = x;
    equation
      der(x) = vx;
      der(z) = vz;
      z = curve(x);
      der(vx) = -s*x;
      der(vz) = s - g;
    end Bead;
    """
    function = {"value": "curve.py:curve", "derivatives": "curve.py:slope"}
    by_python = es.load_model(
        text.format(body='external "C" y = curve(x);'), functions={"curve": function}
    )
    written = es.load_model(text.format(body="algorithm y := x^2/2;"))
    times = np.linspace(0, 2, 9)
    ours, theirs = (m.simulate(times)["y"] for m in (by_python, written))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
    slopes = [
        m.respond(Experiment(times, {}, {}, {}, ("y",), wrt=("g",))).at().YS[:, 0, 0]
        for m in (by_python, written)
    ]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-4, atol=1e-5)


def test_a_stiff_run_with_the_implicit_method(folder: Path) -> None:
    (folder / "props.py").write_text("def cp(T):\n    return 1e-4 * (2 + T / 300)\n")
    same = es.load_model(MODEL.format(body="algorithm y := 1e-4*(2 + T/300);"))
    options = es.Options(method="implicit")
    ours, theirs = (m.simulate(TIMES, options=options)["y"] for m in (tank(), same))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_parameters_that_follow_from_a_function(folder: Path) -> None:
    text = MODEL.format(body=EXTERNAL).replace("T0 = 300", "T0 = 100*Props.cp(k)")
    model = es.load_model(text, functions={"Props.cp": "props.py:cp"})
    same = es.load_model(text.replace(EXTERNAL, WRITTEN))
    np.testing.assert_allclose(
        sensitivities(model, ("k",)), sensitivities(same, ("k",)), rtol=1e-7, atol=1e-9
    )


def test_the_extended_system_cannot_be_written(folder: Path) -> None:
    with pytest.raises(EstimicaError, match="another language"):
        tank().sensitivity_system(["k"])
