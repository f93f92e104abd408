"""Initial values keep to min and max: of several solutions one inside, and never one outside
without a word."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app


def started(text: str, outputs: list[str]):
    return es.load_model(text).simulate([0.0, 0.5], outputs=outputs)


ROOT = """
model Root
  parameter Real a = 4;
  Real x({range}start = {start});
equation
  x*x = a + time;
end Root;
"""


@pytest.mark.parametrize(
    ("start", "range_", "sign"),
    [
        (-1.5, "min = 0, ", 1.0),
        (1.5, "max = 0, ", -1.0),
        (-100.0, "min = 0, ", 1.0),
        (-1.5, "", -1.0),
    ],
    ids=["min", "max", "far", "none"],
)
def test_of_two_roots_the_one_inside(start, range_, sign):
    found = started(ROOT.format(start=start, range=range_), ["x"])
    np.testing.assert_allclose(found.value("x"), sign * np.sqrt([4.0, 4.5]), rtol=1e-9)
    assert not found.notes


def test_the_root_inside_has_its_own_sensitivity():
    model = es.load_model(ROOT.format(start=-1.5, range="min = 0, "))
    found = model.sensitivities([0.0, 0.5], wrt=["a"], outputs=["x"])
    np.testing.assert_allclose(found.jacobian[:, 0, 0], 0.5 / np.sqrt([4.0, 4.5]), rtol=1e-9)


def test_a_start_value_outside_is_a_note():
    model = es.load_model(ROOT.format(start=-1.5, range="min = 0, "))
    assert "start values outside of min and max: 'x' (start -1.5, min 0)" in model.notes
    assert not es.load_model(ROOT.format(start=1.5, range="min = 0, ")).notes


def test_several_unknowns():
    """A circle and a hyperbola meet at (3, 4), (4, 3) and on the other side of zero."""
    text = """
model Two
  Real x(start = 3.1, min = 3.5);
  Real y(start = 4.2);
equation
  x^2 + y^2 = 25;
  x*y = 12;
end Two;
"""
    found = started(text, ["x", "y"])
    np.testing.assert_allclose(found.values[0], [4.0, 3.0], rtol=1e-9)


def test_a_state_at_rest_begins_inside():
    """x' = (x - 1)*(x + 2) stands still at 1 and at -2."""
    text = """
model Rest
  Real x(start = -3, min = 0);
initial equation
  der(x) = 0;
equation
  der(x) = -(x - 1)*(x + 2);
end Rest;
"""
    np.testing.assert_allclose(started(text, ["x"]).value("x"), [1.0, 1.0], atol=1e-8)


OUTSIDE = """
model Outside
  Real y(start = 1, min = 0);
equation
  y + exp(y) = 0.1*time;
end Outside;
"""


def test_the_only_solution_is_outside_and_it_is_said(tmp_path):
    found = started(OUTSIDE, ["y"])
    omega = -0.5671432904097838  # -W(1)
    assert found.value("y")[0] == pytest.approx(omega, rel=1e-9)
    assert found.notes == (
        "the run begins outside of min and max, no solution inside was found: "
        "'y' = -0.567143 (min 0)",
    )
    path = tmp_path / "Outside.mo"
    path.write_text(OUTSIDE)
    command = ["simulate", str(path), "--stop", "1", "--output", "y"]
    assert "outside of min and max" in CliRunner().invoke(app, command).output
    told = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert told["notes"] == list(found.notes)
