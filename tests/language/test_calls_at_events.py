"""Calls at events of functions that are no formulas: Fourier transforms, hidden random states."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es
from estimica.flat.foreign import FOREIGN

FINE = es.Options(rtol=1e-10, atol=1e-12)
#: what stands in the Modelica Standard Library, as far as it is needed
FOURIER = """
function transform
  input Real u[:];
  output Integer info;
  output Real amplitudes[div(size(u, 1), 2) + 1];
  output Real phases[div(size(u, 1), 2) + 1];
protected
  Real work[3*size(u, 1) + 2*(div(size(u, 1), 2) + 1)];
  external "C" info = ModelicaFFT_kiss_fftr(u, size(u, 1), work, size(work, 1), amplitudes, phases);
end transform;
"""


def sampled(n: int, when: str, inside: str) -> str:
    return f"""
model M
  {FOURIER}
  parameter Integer n = {n};
  parameter Real level = 3;
  Real x(start = 0, fixed = true);
  Real buffer[n](each start = 0, each fixed = true);
  Integer k(start = 0, fixed = true);
  Integer info(start = 7, fixed = true);
  Real a[div(n, 2) + 1](each start = 0, each fixed = true);
  Real p[div(n, 2) + 1](each start = 0, each fixed = true);
equation
  der(x) = 1;
algorithm
  when sample(0, 1/n) then
    k := pre(k) + 1;
    if k <= n then buffer[k] := 1 + level*cos(2*3.141592653589793*3*x + 0.4); end if;
    {inside}
  end when;
  {when}
end M;
"""


@pytest.mark.parametrize(
    ("n", "when", "inside"),
    [
        (12, "", "if k == n then (info, a, p) := transform(buffer); end if;"),
        (12, "when terminal() then (info, a, p) := transform(buffer); end when;", ""),
        (240, "when terminal() then (info, a, p) := transform(buffer); end when;", ""),
    ],
)
def test_the_spectrum_of_what_was_sampled(n: int, when: str, inside: str) -> None:
    """Against the closed form of a sampled cosine; the library divides by n/2 + 1."""
    lines = n // 2 + 1
    names = ["info", *(f"a[{k + 1}]" for k in range(6)), "p[4]"]
    model = es.load_model(sampled(n, when, inside))
    found = model.simulate(np.linspace(0.0, 1.0, 5), outputs=names, options=FINE)
    last = [float(found.value(name)[-1]) for name in names]
    assert last[0] == 0
    expected = np.array([1.0, 0.0, 0.0, 1.5, 0.0, 0.0]) * n / lines
    np.testing.assert_allclose(last[1:-1], expected, atol=1e-7)
    assert last[-1] == pytest.approx(0.4, abs=1e-6)
    assert found.value("a[4]")[1] == 0.0  # not before its time


def test_a_spectrum_follows_what_is_tuned() -> None:
    """The line of the cosine is proportional to its level, the others do not depend on it."""
    when = "when terminal() then (info, a, p) := transform(buffer); end when;"
    model = es.load_model(sampled(12, when, ""))
    found = model.response(
        np.linspace(0.0, 1.0, 5), wrt=["level"], outputs=["a[1]", "a[4]"], options=FINE
    )
    slopes = found.at().YS[-1, :, 0]
    np.testing.assert_allclose(slopes, [0.0, 0.5 * 12 / 7], atol=1e-7)


RANDOM = """
model M
  function begin
    input Integer state[33]; input Integer id; output Integer same;
  protected
    function keep
      input Integer state[33]; input Integer id;
      external "C" ModelicaRandom_setInternalState_xorshift1024star(state, 33, id);
    end keep;
  algorithm
    keep(state, id);
    same := id;
  end begin;
  impure function draw
    input Integer id; output Real y;
    external "C" y = ModelicaRandom_impureRandom_xorshift1024star(id);
  end draw;
  impure function die
    input Integer id; output Integer y;
  algorithm
    y := integer(6*draw(id)) + 1;
  end die;
  parameter Integer id = begin(cat(1, 17*(1:32), {0}), 5);
  discrete Real a(start = 0, fixed = true);
  discrete Real b(start = 0, fixed = true);
  Integer c(start = 0, fixed = true);
  discrete Real other(start = 0, fixed = true);
equation
  when sample(0.1, 0.2) then
    a = draw(id);
    b = draw(id);
    c = die(id);
  end when;
  when sample(0.1, 0.2) then
    other = draw(id);
  end when;
end M;
"""


def test_hidden_random_numbers_are_those_of_the_generator() -> None:
    """Three draws at each instant, in the order of the text, then again: a run repeats itself."""
    state = [*(17.0 * k for k in range(1, 33)), 0.0]
    drawn = []
    for _ in range(9):
        *state, number = FOREIGN["xorshift1024star"](state)
        drawn.append(number)
    times = [0.0, 0.2, 0.4, 0.6]
    model = es.load_model(RANDOM)
    found = model.simulate(times, outputs=["a", "b", "c", "other"])
    np.testing.assert_array_equal(found.value("a")[1:], drawn[0::3])
    np.testing.assert_array_equal(found.value("b")[1:], drawn[1::3])
    np.testing.assert_array_equal(found.value("c")[1:], np.floor(6 * np.array(drawn[2::3])) + 1)
    others = found.value("other")[1:]
    assert len({*others, *drawn}) == 12  # a sequence of its own
    again = model.simulate(times, outputs=["other"])
    np.testing.assert_array_equal(again.value("other")[1:], others)


def test_a_hidden_random_number_of_no_instant_is_refused() -> None:
    text = RANDOM.replace("equation\n  when", "  Real y = draw(id);\nequation\n  when", 1)
    with pytest.raises(es.EstimicaError, match="when-clause"):
        es.load_model(text)
