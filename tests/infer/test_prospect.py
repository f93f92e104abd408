"""Prospects: which of the open directions better data can determine, one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from estimica.infer.identifiability.result import Identifiability
from estimica.infer.identifiability.run import identifiability
from estimica.simulate.load import load_model
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tuner import Tuner

TIME = np.linspace(0, 10, 50)

# without an input b and c do not show; with one, a·b·c and tau do, but never a, b and c
GAINS = """model Gains
  parameter Real a = 2; parameter Real b = 1.5; parameter Real c = 0.7; parameter Real tau = 3;
  input Real u; Real x(start = 1, fixed = true); output Real y;
equation
  tau*der(x) + x = {gain}*u;
  y = {seen};
end Gains;"""


def judged(gain: str, seen: str, tuners: list[str], event: str = "") -> Identifiability:
    model = load_model(GAINS.format(gain=gain + event, seen=seen))
    table = pd.DataFrame({"time": TIME, "u": 0 * TIME, "y": 2 * np.exp(-TIME / 3)})
    case = Case("run", table, inputs={"u": "u"}, outputs={"y": "y"})
    return identifiability(Study(model, [Tuner(n) for n in tuners], [case]))


def test_of_two_gains_in_a_row_better_data_determine_the_product_only() -> None:
    found = judged("a*b", "2*x", ["a", "b", "tau"])
    assert len(found.advice) == 2  # each of them has no effect now
    for words in found.advice:
        assert "better data can help in part" in words
        assert words.endswith("whatever the data, only a·b is determined of 'a' and 'b'")


def test_of_two_open_directions_of_one_group_one_can_be_closed() -> None:
    # now only a·c shows; an input would show a·b as well, and what is left is a scale
    found = judged("b", "a*c*x", ["a", "b", "c", "tau"])
    (words,) = [w for w in found.advice if w.startswith("only a·c")]
    assert "no better data of the same inputs and outputs can help" in words
    (words,) = [w for w in found.advice if w.startswith("'b'")]
    assert "better data can help: the model's structure allows it" in words


def test_directions_of_one_group_are_counted_one_by_one() -> None:
    # at rest in x = a·b/c the speed c never shows: an input shows it, but never a without b
    model = load_model("""model Rest
      parameter Real a = 2; parameter Real b = 1.5; parameter Real c = 0.5;
      input Real u; Real x(start = 6, fixed = true); output Real y = x;
    equation
      der(x) = a*b - c*x + u;
    end Rest;""")
    table = pd.DataFrame({"time": TIME, "u": 0 * TIME, "y": 6 + 0 * TIME})
    case = Case("run", table, inputs={"u": "u"}, outputs={"y": "y"})
    found = identifiability(Study(model, [Tuner(n) for n in ("a", "b", "c")], [case]))
    assert (found.rank, found.structural and found.structural.rank) == (1, 2)
    (words,) = found.advice
    assert "of these two open directions better data can determine one" in words
    assert words.endswith(
        "one cannot be determined: whatever the data, only a·b is determined of 'a' and 'b'"
    )


@pytest.mark.parametrize("event", ["*(if u > 5 then 0.5 else 1)", ""])
def test_what_rests_on_simulations_is_said_to_be_numerical(event: str) -> None:
    found = judged("b", "a*c*x", ["a", "b", "c", "tau"], event)
    (words,) = [w for w in found.advice if w.startswith("only a·c")]
    assert found.structural is not None
    assert found.structural.exact is (not event)
    hedged = "no better data of the same inputs and outputs seem to help (numerically, near these"
    assert (hedged in words) is bool(event)
    assert found.structural.text.startswith("numerically, near these values: ") is bool(event)


def test_a_seen_direction_needs_no_hedge() -> None:
    found = judged("b", "a*x", ["a", "b", "tau"], "*(if u > 5 then 0.5 else 1)")
    assert found.structural is not None
    assert (found.structural.ok, found.structural.exact) == (True, True)
    assert "numerical" not in "".join(found.advice)
