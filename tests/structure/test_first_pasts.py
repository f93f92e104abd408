"""First values of pre(x) that other initial equations give, as in the steps of a state graph."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

GRAPH = """
model Graph
  block Step
    Boolean now;
    Boolean next;
    Boolean old;
    Boolean set;
    Boolean reset;
  initial equation
    pre(next) = pre(now);
    pre(old) = pre(now);
  equation
    now = pre(next);
    next = set or now and not reset;
    when reset then
      old = now;
    end when;
  end Step;
  Step a;
  Step b;
  Boolean active;
  Real spent(start=0, fixed=true) "time with b active";
initial equation
  active = true;
  b.now = false;
equation
  active = a.now;
  a.set = false;
  a.reset = a.now and time > 1;
  b.set = a.reset;
  b.reset = false;
  der(spent) = if b.now then 1 else 0;
end Graph;
"""

TIMER = """
model Timer
  parameter Real T = 0.4;
  discrete Real begun;
  Real x(start=0, fixed=true);
initial equation
  pre(begun) = time;
equation
  when sample(0.5, 0.5) then
    begun = time;
  end when;
  der(x) = if time - begun < T then 1 else 0;
end Timer;
"""


def test_a_step_begins_as_its_initial_equation_says():
    run = es.load_model(GRAPH).simulate(
        [0, 0.5, 1.5, 2], outputs=["a.now", "a.old", "b.now", "b.old", "spent"]
    )
    np.testing.assert_allclose(
        run.values,
        [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0.5], [0, 1, 1, 0, 1]],
        atol=1e-9,
    )


def test_tied_values_without_any_other_are_false():
    text = GRAPH.replace("  active = true;\n", "").replace("  b.now = false;\n", "")
    run = es.load_model(text).simulate([0, 2], outputs=["a.now", "b.now"])
    np.testing.assert_array_equal(run.values, 0)


@pytest.mark.parametrize("begin", [0.0, 0.2])
def test_a_memory_may_begin_with_the_time(begin):
    run = es.load_model(TIMER).simulate([begin, 0.45, 0.75, 1.2], outputs=["begun", "x"])
    first = min(0.45 - begin, 0.4)
    np.testing.assert_allclose(run.value("begun"), [begin, begin, 0.5, 1.0])
    wanted = [0, first, min(0.5 - begin, 0.4) + 0.25, min(0.5 - begin, 0.4) + 0.4 + 0.2]
    np.testing.assert_allclose(run.value("x"), wanted, atol=1e-9)


def test_an_initial_equation_may_ask_for_the_derivative_of_what_is_no_state():
    model = es.load_model(
        "model A Real x(start=0.4); Real v(start=0, fixed=true); Real w = 2*v*x; "
        "initial equation der(w) = 4; equation der(x) = v; der(v) = 3 - x; end A;"
    )
    run = model.simulate([0, 1], outputs=["x"])
    assert run.value("x")[0] == pytest.approx(1.0)  # 2 x (3 - x) = 4
    assert run.value("x")[1] == pytest.approx(3 - 2 * np.cos(1.0), abs=1e-6)
