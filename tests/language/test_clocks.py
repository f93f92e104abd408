"""Synchronous Modelica against recursions written out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import EstimicaError

TIGHT = es.Options(rtol=1e-9, atol=1e-11)
#: between the ticks of all clocks here, so that it does not matter what a value at a tick means
TIMES = np.arange(0.0125, 1.0, 0.025)


def run(text: str, *outputs: str, times=TIMES, **given):
    model = es.load_model(text)
    trajectory = model.simulate([0.0, *times], outputs=list(outputs), options=TIGHT, **given)
    return [trajectory.value(n)[1:] for n in outputs]


def model(declarations: str, equations: str) -> str:
    return f"model M\n{declarations}\nequation\n{equations}\nend M;"


def ticks(times, interval: float, first: float = 0.0):
    """How many ticks there were at each of `times`."""
    return np.maximum(np.floor((times - first) / interval + 1e-9) + 1, 0)


def test_a_discrete_controller():
    """PI controller with a sample time of 0.1 s and a plant der(w) = u, which stays linear."""
    text = model(
        """
  parameter Real k = 0.8, Ti = 0.5;
  Real w(start=0, fixed=true), u;
  Real e, x(start=0), y;
""",
        """
  der(w) = u;
  e = 1 - sample(w, Clock(1, 10));
  x = previous(x) + e*interval(e)/Ti;
  y = k*(x + e);
  u = hold(y);
""",
    )
    times = np.arange(0.05, 2, 0.1)
    w, u, x = run(text, "w", "u", "x", times=times)
    level, integral, expected = 0.0, 0.0, []
    for _ in times:
        error = 1 - level
        integral += error * 0.1 / 0.5
        action = 0.8 * (integral + error)
        expected.append((level + 0.05 * action, action, integral))
        level += 0.1 * action
    np.testing.assert_allclose(np.transpose([w, u, x]), expected, atol=1e-8)


def test_rates_and_phases_of_a_counter():
    text = model(
        """
  Integer n(start=0), sub, sup, shift, back, m(start=0), k(start=0), j(start=0), i(start=0);
""",
        """
  when Clock(1, 10) then
    n = previous(n) + 1;
  end when;
  sub = subSample(n, 3);
  m = previous(m) + sub - sub + 1;
  sup = superSample(n, 2);
  k = previous(k) + sup - sup + 1;
  shift = shiftSample(n, 3, 2);
  j = previous(j) + shift - shift + 1;
  back = backSample(shift, 1, 1);
  i = previous(i) + back - back + 1;
""",
    )
    n, m, k, j, i, sub, sup, shift, back = run(
        text, "n", "m", "k", "j", "i", "sub", "sup", "shift", "back"
    )
    np.testing.assert_array_equal(n, ticks(TIMES, 0.1))
    np.testing.assert_array_equal(m, ticks(TIMES, 0.3))
    np.testing.assert_array_equal(k, ticks(TIMES, 0.05))
    np.testing.assert_array_equal(j, ticks(TIMES, 0.1, 0.15))
    np.testing.assert_array_equal(i, ticks(TIMES, 0.1, 0.05))
    np.testing.assert_array_equal(sub, 3 * (ticks(TIMES, 0.3) - 1) + 1)
    np.testing.assert_array_equal(sup, n)
    # the last value of the faster or earlier clock
    np.testing.assert_array_equal(shift, np.where(j > 0, j + 1, 0))
    np.testing.assert_array_equal(back, np.where(i > 1, i, 0))


def test_a_factor_that_both_clocks_give():
    text = model(
        "Real slow, fast; Real y = hold(fast);",
        """
  slow = sample(time, Clock(1, 5));
  fast = superSample(slow) + 0*sample(time, Clock(1, 20));
  when Clock(1, 20) then
    z = previous(z) + fast;
  end when;
""".replace("z", "zz"),
    ).replace("Real slow", "Real zz(start=0); Real slow")
    slow, fast = run(text, "slow", "fast")
    np.testing.assert_allclose(slow, np.floor(TIMES / 0.2 + 1e-9) * 0.2, atol=1e-9)
    np.testing.assert_allclose(fast, slow, atol=1e-9)


def test_an_event_clock_and_its_interval():
    """A clock that ticks whenever a wheel has turned by one radian: the angle is t^2 + t."""
    text = model(
        """
  Real angle = time^2 + time, last;
  Integer n(start=0), half(start=0);
  Real h, first(start=0);
  Clock c = Clock(angle - last > 1, 0.125);
  Clock c2 = subSample(c, 2);
""",
        """
  last = hold(first);
  first = sample(angle, c);
  n = previous(n) + 1;
  h = interval(n);
  when c then
    n2 = n;
  end when;
  when c2 then
    half = previous(half) + 1;
  end when;
""",
    ).replace("Integer n(", "Integer n2; Integer n(")
    times = np.linspace(0.01, 2.9, 80)
    n, half, h, last = run(text, "n", "half", "h", "last", times=times)
    turns = np.floor(times**2 + times)
    near = np.abs(times**2 + times - np.round(times**2 + times)) < 1e-3
    np.testing.assert_array_equal(n[~near], turns[~near])
    np.testing.assert_array_equal(half[~near], np.ceil(turns / 2)[~near])
    instants = (-1 + np.sqrt(1 + 4 * turns)) / 2
    before = (-1 + np.sqrt(1 + 4 * np.maximum(turns - 1, 0))) / 2
    wanted = np.where(turns > 1, instants - before, np.where(turns == 1, 0.125, 0))
    np.testing.assert_allclose(h[~near], wanted[~near], atol=1e-6)
    np.testing.assert_allclose(last[~near], turns[~near], atol=1e-6)


def test_what_is_sampled_is_the_value_before_the_tick():
    """A step at the instant of a tick is seen at the next one; so is what a tick sets."""
    text = model(
        "Real s, n(start=0), u, w;",
        """
  u = if time >= 0.3 then 1 else 0;
  s = sample(u, Clock(1, 10));
  when Clock(1, 10) then
    n = previous(n) + 1;
    w = sample(hold(n));
  end when;
  assert(n < 100, "too many ticks");
""",
    )
    s, n, w = run(text, "s", "n", "w")
    np.testing.assert_array_equal(s, TIMES > 0.4)
    np.testing.assert_array_equal(w, n - 1)


def test_what_is_solved_for_is_sampled_before_the_tick_too():
    """b + b^3 = 2 + hold(x), of which x is the last b that was sampled."""
    text = model(
        "Real a(start=1), b(start=1), s, x(start=0); Integer n(start=0);",
        """
  a + b = 2 + hold(x);
  a = b^3;
  s = sample(b, Clock(1, 10));
  when Clock(1, 10) then
    n = previous(n) + 1;
  end when;
  when Clock(1, 10) then
    x = s + n - previous(n) - 1;
  end when;
""",
    )
    b, n, x = run(text, "b", "n", "x")
    held = [0.0]
    for _ in range(11):
        roots = np.roots([1, 0, 1, -2 - held[-1]])
        held.append(float(roots[np.argmin(np.abs(roots.imag))].real))
    np.testing.assert_allclose(x, [held[int(k)] for k in n], atol=1e-8)
    np.testing.assert_allclose(b, [held[int(k) + 1] for k in n], atol=1e-8)


def test_hold_has_the_start_value_until_the_first_tick():
    text = model(
        "Real x(start=7), y = hold(x); Clock c = shiftSample(Clock(1, 5), 1, 2);",
        "x = sample(time + 1, c);",
    )
    (y,) = run(text, "y")
    seen = 0.1 + 0.2 * np.floor((TIMES - 0.1) / 0.2 + 1e-9)
    np.testing.assert_allclose(y, np.where(TIMES < 0.1, 7, seen + 1), atol=1e-9)


def test_expressions_are_held_and_sampled():
    """A clock that nothing but an expression has, and an event clock of a held value."""
    text = model(
        """
  Real y = hold(2*sample(der(x), Clock(1, 10)) + 1), x(start=0, fixed=true);
  Integer n(start=0);
""",
        """
  der(x) = 2*time;
  when Clock(hold(n2) > 4.5) then
    n = previous(n) + 1;
  end when;
  when Clock(1, 10) then
    n2 = if previous(n2) > 4.5 then 0 else previous(n2) + 1;
  end when;
""",
    ).replace("Integer n(", "Real n2(start=0); Integer n(")
    y, n = run(text, "y", "n")
    np.testing.assert_allclose(y, 4 * np.floor(TIMES / 0.1 + 1e-9) * 0.1 + 1, atol=1e-8)
    np.testing.assert_array_equal(n, np.floor((np.floor(TIMES / 0.1 + 1e-9) + 2) / 6))


def test_the_first_tick():
    text = model(
        "Real x, t; Boolean first; Integer n(start=0);",
        """
  t = sample(time, Clock(0.25));
  first = firstTick(t);
  x = if firstTick() then 5 + t else previous(x) * 2;
  n = previous(n) + (if first then 1 else 0);
""",
    )
    x, n = run(text, "x", "n")
    np.testing.assert_array_equal(x, 5 * 2 ** np.floor(TIMES / 0.25))
    np.testing.assert_array_equal(n, np.ones_like(TIMES))


def test_equations_that_need_each_other_and_are_written_the_other_way_round():
    text = model(
        "Real a, b, c, u; Boolean p, q;",
        """
  u = sample(time, Clock(1, 10));
  a + b = 3*u;
  a - b = u;
  2*c + 1 = a;
  p = u > 0.45;
  q = not p;
""",
    )
    a, b, c, q = run(text, "a", "b", "c", "q")
    u = np.floor(TIMES / 0.1 + 1e-9) * 0.1
    np.testing.assert_allclose(a, 2 * u, atol=1e-9)
    np.testing.assert_allclose(b, u, atol=1e-9)
    np.testing.assert_allclose(c, (2 * u - 1) / 2, atol=1e-9)
    np.testing.assert_array_equal(q, u <= 0.45)


def test_an_algorithm_with_a_clock():
    text = """
model M
  Integer n(start=0), total(start=0);
  Real v[2];
algorithm
  when Clock(1, 10) then
    n := previous(n) + 1;
    total := previous(total);
    for i in 1:2 loop
      total := total + i*n;
      v[i] := i*total;
    end for;
  end when;
end M;
"""
    n, total, v = run(text, "n", "total", "v[2]")
    np.testing.assert_array_equal(n, ticks(TIMES, 0.1))
    np.testing.assert_array_equal(total, 3 * n * (n + 1) / 2)
    np.testing.assert_array_equal(v, 2 * total)


def test_arrays_are_sampled_element_by_element():
    text = model(
        "Real u[3] = {time, 2*time, 3*time}, s[3], y[3] = hold(s), p[3](each start=1);",
        "s = sample(u, Clock(1, 10)); p = previous(p) + s;",
    )
    y, p = run(text, "y[3]", "p[2]")
    k = np.floor(TIMES / 0.1 + 1e-9)
    np.testing.assert_allclose(y, 0.3 * k, atol=1e-9)
    np.testing.assert_allclose(p, 1 + 0.2 * k * (k + 1) / 2, atol=1e-9)


@pytest.mark.parametrize(
    ("method", "growth"),
    [
        ("ExplicitEuler", 1 - 0.2),
        ("ImplicitEuler", 1 / 1.2),
        ("ImplicitTrapezoid", 0.9 / 1.1),
        ("ExplicitMidPoint2", 1 - 0.2 + 0.02),
        ("ExplicitRungeKutta4", 1 - 0.2 + 0.02 - 0.2**3 / 6 + 0.2**4 / 24),
    ],
)
def test_derivatives_are_integrated_from_tick_to_tick(method, growth):
    """der(x) = -2 x with steps of 0.1, and der(z) = u with the sampled ramp u = t."""
    text = model(
        f"""
  Real x(start=1), z(start=0), u, y = hold(x);
  Clock c = Clock(Clock(1, 10), solverMethod="{method}");
""",
        """
  u = sample(time, c);
  der(x) = -2*x + 0*u;
  der(z) = u;
  when c then
    seen = x;
  end when;
""",
    ).replace("Real x(", "Real seen; Real x(")
    y, z = run(text, "y", "z")
    k = np.floor(TIMES / 0.1 + 1e-9)
    np.testing.assert_allclose(y, growth**k, atol=1e-9)
    area = {"ExplicitEuler": k * (k - 1), "ImplicitEuler": k * (k + 1)}.get(method, k * k)
    np.testing.assert_allclose(z, 0.01 * area / 2, atol=1e-9)


def test_the_interval_of_a_clock_is_tunable():
    text = model(
        "parameter Real T = 0.2; Integer n(start=0);",
        "when Clock(T) then n = previous(n) + 1; end when;",
    )
    loaded = es.load_model(text)
    for interval in (0.2, 0.1):
        got = loaded.simulate([0.0, *TIMES], outputs=["n"], parameters={"T": interval})
        np.testing.assert_array_equal(got.value("n")[1:], ticks(TIMES, interval))


@pytest.mark.parametrize(
    ("declarations", "equations", "told"),
    [
        ("Real x(start=0);", "x = previous(x) + 1;", "nothing says which"),
        ("Real x;", "x = sample(time, Clock(1,10)) + sample(time, Clock(1,20));", "different"),
        ("Real u = time, x, y;", "x = sample(u, Clock(1,10)); y = x + hold(x);", "hold"),
        ("Real u = time, x, y;", "x = sample(u, Clock(1,10)); y = sample(x);", "sample"),
        ("Real x, y;", "x = sample(time, Clock(1,10)); y^5 + y = x;", "iteration"),
        ("Real x;", "der(x) = sample(time, Clock(1,10));", "solverMethod"),
        ("Real x, y;", "x = sample(time, Clock(1,10)); y = backSample(x, 1);", "before the start"),
        ("Real x, y, z;", "x = sample(time, Clock(1,10)); y + z = x;", "determines"),
        (
            "Integer n(start=1);",
            "when Clock(n, 10) then n = previous(n) + 1; end when;",
            "interval",
        ),
        ("Real y;", "y = sample(time, superSample(Clock(time > 0.5), 2));", "periodic"),
    ],
)
def test_what_is_wrong_is_told(declarations, equations, told):
    with pytest.raises(EstimicaError, match=told):
        es.load_model(model(declarations, equations))


def test_a_condition_that_holds_from_the_start_makes_a_tick():
    text = model(
        "Integer n(start=0); Boolean b = time < 0.2 or time > 0.6;",
        "when Clock(b) then n = previous(n) + 1; end when;",
    )
    (n,) = run(text, "n")
    np.testing.assert_array_equal(n, np.where(TIMES < 0.6, 1, 2))
