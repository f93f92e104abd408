"""Switches whose state depends on the solution and the solution on their state, and relations that
rest where the solution does: against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import estimica as es

OPTIONS = es.Options(rtol=1e-9, atol=1e-11)


def test_a_bridge_of_ideal_diodes_rectifies():
    diodes = "\n".join(
        f"  off{k} = s{k} < 0;\n"
        f"  v{k} = s{k}*(if off{k} then 1 else Ron);\n"
        f"  i{k} = s{k}*(if off{k} then Goff else 1);"
        for k in range(1, 5)
    )
    names = ", ".join(f"s{k}, v{k}, i{k}" for k in range(1, 5))
    model = es.load_model(f"""
model Bridge "diodes 1 and 2 from the ends of the source to p, 3 and 4 from n to its ends"
  parameter Real Ron = 1e-6, Goff = 1e-8, R = 10, U = 5;
  Real u, iSource, pa, pb, p, n, iLoad, {names}, Q(start=0, fixed=true);
  Boolean off1, off2, off3, off4;
equation
{diodes}
  u = U*sin(2*time);
  u = pa - pb;
  pa = 0;
  v1 = pa - p;
  v2 = pb - p;
  v3 = n - pa;
  v4 = n - pb;
  p - n = R*iLoad;
  i1 + i2 = iLoad;
  i3 + i4 = iLoad;
  iSource = i1 - i3;
  der(Q) = iLoad;
end Bridge;
""")
    t = np.linspace(0, 7, 141)
    run = model.simulate(t, outputs=["iLoad", "Q", "iSource"], options=OPTIONS)
    half = np.floor(2 * t / np.pi)
    charge = 5 / 10 * (half * 1.0 + (1 - np.cos(2 * t - half * np.pi)) / 2)
    np.testing.assert_allclose(run.value("iLoad"), np.abs(np.sin(2 * t)) / 2, atol=2e-6)
    np.testing.assert_allclose(run.value("Q"), charge, atol=1e-5)
    np.testing.assert_allclose(run.value("iSource"), np.sin(2 * t) / 2, atol=2e-6)


FRICTION = """
model Friction "a mass that sticks and slips, in the form of Modelica.Mechanics"
  parameter Real mass = 2, A = 3, f0 = 2, w = 2;
  parameter Integer Forward = 1, Stuck = 0, Backward = -1;
  Real v(start=0, fixed=true), a, f, sa;
  Integer mode(start=0, fixed=true);
  Boolean startForward(start=false, fixed=true), startBackward(start=false, fixed=true), locked;
equation
  der(v) = a;
  mass*a = A*sin(w*time) - f;
  startForward = pre(mode) == Stuck and (sa > f0 or pre(startForward) and sa > f0);
  startBackward = pre(mode) == Stuck and (sa < -f0 or pre(startBackward) and sa < -f0);
  locked = not (pre(mode) == Forward or startForward or pre(mode) == Backward or startBackward);
  a = if locked then 0 elseif startForward then sa - f0 elseif startBackward then sa + f0
      elseif pre(mode) == Forward then sa - f0 else sa + f0;
  f = if locked then sa elseif startForward then f0 elseif startBackward then -f0
      elseif pre(mode) == Forward then f0 else -f0;
  mode = if (pre(mode) == Forward or startForward) and v > 0 then Forward
         elseif (pre(mode) == Backward or startBackward) and v < 0 then Backward else Stuck;
end Friction;
"""


def sticking_and_slipping(t, mass=2.0, A=3.0, f0=2.0, w=2.0):
    """v at times t: the force overcomes friction at sin(wt) = ±f0/A, until v is zero again."""
    v = np.zeros_like(t)
    angle, sign = np.arcsin(f0 / A), 1.0
    for half in range(int(t[-1] * w / np.pi) + 2):
        begin = (angle + half * np.pi) / w

        def speed(s, begin=begin, sign=sign):
            gained = A / w * (np.cos(w * begin) - np.cos(w * s))
            return sign * (sign * gained - f0 * (s - begin)) / mass

        end = brentq(speed, begin + 1e-3, begin + 0.999 * np.pi / w)
        inside = (t >= begin) & (t <= end)
        v[inside] = speed(t[inside])
        sign = -sign
    return v


def test_dry_friction_sticks_and_slips():
    t = np.linspace(0, 9, 181)
    run = es.load_model(FRICTION).simulate(t, outputs=["v", "mode"], options=OPTIONS)
    v = sticking_and_slipping(t)
    np.testing.assert_allclose(run.value("v"), v, atol=1e-8)
    assert set(run.value("mode")) == {-1.0, 0.0, 1.0}


@pytest.mark.parametrize("stop", [30.0, 3000.0])
def test_a_relation_may_rest_where_the_solution_does(stop):
    """Once x has reached u, rounding decides on which side of it; that is no end of the run."""
    model = es.load_model("""
model Rest
  parameter Real up = 1, down = 3;
  Real u, x(start=0, fixed=true);
equation
  u = if time < 10 then 1 else 0.5;
  der(x) = (u - x)/(if u - x > 0 then up else down);
end Rest;
""")
    t = np.linspace(0, stop, 301)
    run = model.simulate(t, outputs=["x"])
    x = np.where(t < 10, 1 - np.exp(-t), 0.5 + (0.5 - np.exp(-10)) * np.exp(-(t - 10) / 3))
    np.testing.assert_allclose(run.value("x"), x, atol=2e-5)


def test_a_thyristor_blocks_until_it_is_fired():
    model = es.load_model("""
model Dimmer
  parameter Real Ron = 1e-5, Goff = 1e-5, R = 10;
  Real u, s, v, i; Boolean off(start=true, fixed=true), fire;
equation
  u = 100*sin(time);
  fire = sin(2*time - 2) > 0.9;
  off = s < 0 or pre(off) and not fire;
  v = s*(if off then 1 else Ron);
  i = s*(if off then Goff else 1);
  u = v + R*i;
end Dimmer;
""")
    t = np.linspace(0, 12, 481)
    run = model.simulate(t, outputs=["i"], options=OPTIONS)
    begin = 1 + np.arcsin(0.9) / 2  # of the first pulse within a positive half wave
    phase = t % (2 * np.pi)
    conducting = (phase > begin) & (phase < np.pi)
    i = np.where(conducting, 100 * np.sin(t) / (10 + 1e-5), 100 * np.sin(t) * 1e-5 / (1 + 1e-4))
    np.testing.assert_allclose(run.value("i"), i, atol=1e-8)


def test_a_schmitt_trigger_leaps_where_its_branch_ends():
    model = es.load_model("""
model Schmitt
  parameter Real gain = 1e4, limit = 15;
  Real u, v(start=-7), out(start=-15);
equation
  u = 20*sin(time);
  out = noEvent(if gain*v > limit then limit elseif gain*v < -limit then -limit else gain*v);
  v = (u + out)/2;
end Schmitt;
""")
    t = np.linspace(0, 12, 241)
    run = model.simulate(t, outputs=["v", "out"], options=OPTIONS)
    edge = 15 - 2 * 15 / 1e4  # of the input, up to which gain*v stays beyond the limit
    out, expected = -15.0, []
    for u in 20 * np.sin(np.linspace(0, 12, 24001)):
        out = 15.0 if u >= edge else -15.0 if u <= -edge else out
        expected.append(out)
    expected = np.array(expected)[::100]
    np.testing.assert_allclose(run.value("out"), expected, atol=1e-9)
    np.testing.assert_allclose(run.value("v"), (20 * np.sin(t) + expected) / 2, atol=1e-8)


def test_a_delayed_whole_number_stays_whole():
    model = es.load_model("""
model Late
  Integer n(start=1, fixed=true), late; Real xr;
equation
  when sample(0, 0.7) then
    n = pre(n) + 2;
  end when;
  xr = n;
  late = integer(delay(xr, 0.3));
end Late;
""")
    t = np.linspace(0, 10, 101) + 0.05
    run = model.simulate(np.concatenate([[0.0], t]), outputs=["late", "n"], options=OPTIONS)
    np.testing.assert_array_equal(run.value("n")[1:], 3 + 2 * np.floor(t / 0.7))
    np.testing.assert_array_equal(
        run.value("late")[1:], 3 + 2 * np.maximum(np.floor((t - 0.3) / 0.7), 0)
    )


def test_an_unknown_that_is_zero_beside_large_terms():
    """The residual is rounded to 1e-11: Newton's step for m gets no smaller than that."""
    model = es.load_model("""
model Standstill
  parameter Real p1 = 101325.3, k = 100;
  Real m, p, head;
equation
  head = if time < 1 then 500*(1 - time) else 0;
  p = p1 + head;
  p = p1 + k*m + m^3;
end Standstill;
""")
    t = np.linspace(0, 2, 41)
    run = model.simulate(t, outputs=["m"], options=OPTIONS)
    m = run.value("m")
    np.testing.assert_allclose(100 * m + m**3, 500 * np.maximum(1 - t, 0), atol=1e-9)


@pytest.mark.parametrize("U", [40.0, 100.0, 230.0])
def test_a_current_goes_over_from_a_diode_to_the_transistor_beside_it(U):
    """Where it is zero, rounding decides which of the two conducts: neither is consistent then."""
    model = es.load_model("""
model Leg
  parameter Real Ron = 1e-5, Goff = 1e-5, R = 3, L = 0.7, U = 100;
  Real i(start=-1, fixed=true), v, s1, i1, s2, i2;
  Boolean off1, off2, fire;
equation
  fire = time >= 0;
  off1 = s1 < 0 or not fire;
  v = s1*(if off1 then 1 else Ron);
  i1 = s1*(if off1 then Goff else 1);
  off2 = s2 < 0;
  -v = s2*(if off2 then 1 else Ron);
  i2 = s2*(if off2 then Goff else 1);
  i = i1 - i2;
  L*der(i) = U - v - R*i;
end Leg;
""")
    t = np.linspace(0, 1, 101)
    run = model.simulate(t, parameters={"U": U}, outputs=["i", "i1", "i2"], options=OPTIONS)
    i = U / 3 + (-1 - U / 3) * np.exp(-3 * t / 0.7)
    np.testing.assert_allclose(run.value("i"), i, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(run.value("i1"), np.maximum(i, 0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(run.value("i2"), np.maximum(-i, 0), rtol=1e-5, atol=1e-5)


def test_homotopy_chooses_among_several_solutions():
    """A multivibrator: of its three states at the start the simplified law names one."""
    model = es.load_model("""
model Multivibrator
  parameter Real gain = 1e4, limit = 1;
  Real x(start=0.1, fixed=true), u, out, easy;
equation
  u = 0.5*out - x;
  easy = -limit;
  out = homotopy(
    smooth(0, noEvent(if gain*u > limit then limit else if gain*u < -limit then -limit else gain*u)),
    easy);
  der(x) = out - x;
end Multivibrator;
""")
    turn = 0.5 - 1 / 1e4  # where the amplifier leaves its limit
    first = np.log(1.1 / (1 - turn))
    t = np.linspace(0, first + 1, 41)
    run = model.simulate(t, outputs=["x", "out"], options=OPTIONS)
    falling = t < first
    x = np.where(falling, -1 + 1.1 * np.exp(-t), 1 - (1 + turn) * np.exp(first - t))
    np.testing.assert_allclose(run.value("x"), x, atol=1e-4)
    np.testing.assert_allclose(run.value("out"), np.where(falling, -1, 1), rtol=1e-12)


@pytest.mark.parametrize("threshold", ["if time < 1 then 1 else 3", "limit"])
def test_a_threshold_that_is_raised_when_it_is_reached_is_not_crossed(threshold):
    model = es.load_model(f"""
model Raised
  Real x(start=0, fixed=true);
  discrete Real limit(start=1, fixed=true);
  Integer n(start=0, fixed=true);
equation
  der(x) = 1;
  when sample(1, 10) then
    limit = 3;
  end when;
  when x > ({threshold}) then
    n = pre(n) + 1;
  end when;
end Raised;
""")
    run = model.simulate(np.array([0.0, 0.9, 1.0, 1.1, 2.9, 3.1]), outputs=["n"])
    np.testing.assert_array_equal(run.value("n"), [0, 0, 0, 0, 0, 1])


def test_an_instant_at_which_a_kink_comes_through_a_delay_is_not_missed():
    model = es.load_model("""
model Kink
  Real x(start=0, fixed=true), y(start=0, fixed=true);
  Boolean late;
equation
  der(x) = if time < 1 then 1 else -1;
  der(y) = delay(x, 1);
  late = time >= 2;
end Kink;
""")
    t = np.array([0.0, 1.5, 1.99, 2.0, 2.01, 2.5, 4.0])
    np.testing.assert_array_equal(model.simulate(t, outputs=["late"]).value("late"), t >= 2)


def test_a_bridge_of_six_diodes_rectifies_currents_of_inductances():
    """Chains through a closed and an open switch amplify rounding: the currents stay what they are,
    and the direct one is half the sum of their sizes."""
    phases = "\n".join(
        f"  p{k}.off = p{k}.s < 0;\n  n{k}.off = n{k}.s < 0;\n"
        f"  p{k}.v = p{k}.s*(if p{k}.off then 1 else Ron);\n"
        f"  p{k}.i = p{k}.s*(if p{k}.off then Goff else 1);\n"
        f"  n{k}.v = n{k}.s*(if n{k}.off then 1 else Ron);\n"
        f"  n{k}.i = n{k}.s*(if n{k}.off then Goff else 1);\n"
        f"  p{k}.v = a{k} - p;\n  n{k}.v = n - a{k};\n  i{k} = p{k}.i - n{k}.i;\n"
        f"  L*der(i{k}) = 100*sin(300*time - {k}*2.0943951023931953) + star - r*i{k} - a{k};\n"
        for k in range(3)
    )
    model = es.load_model(f"""
model Bridge
  record Diode
    Real s, v, i;
    Boolean off;
  end Diode;
  parameter Real Ron = 1e-5, Goff = 1e-5, R = 1, r = 0.03, L = 1e-3;
  Diode p0, p1, p2, n0, n1, n2;
  Real a0, a1, a2, p, n, star, iDC;
  Real i0(start=0, fixed=true), i1(start=0, fixed=true), i2(start=0, fixed=true);
equation
{phases}
  iDC = p0.i + p1.i + p2.i;
  p - n = R*iDC;
  n = 0;
  star = -1e5*(i0 + i1 + i2);
end Bridge;
""")
    t = np.linspace(0, 0.1, 301)
    run = model.simulate(t, outputs=["i0", "i1", "i2", "iDC"])
    currents = np.array([run.value(f"i{k}") for k in range(3)])
    assert abs(currents.sum(axis=0)).max() < 0.01  # what open diodes let through
    np.testing.assert_allclose(run.value("iDC"), abs(currents).sum(axis=0) / 2, atol=0.01)
    assert run.value("iDC").max() > 100
