"""Components that stand alone, for tests of causality and operating points."""

from __future__ import annotations

SOURCE = """
package Parts "Components without a test rig"
  connector Pin
    Real v;
    flow Real i;
  end Pin;
  connector Port
    Real p(nominal = 1e5);
    flow Real m;
  end Port;
  partial model OnePort
    Pin p;
    Pin n;
    Real v;
    Real i;
  equation
    v = p.v - n.v;
    0 = p.i + n.i;
    i = p.i;
  end OnePort;
  model Resistor
    extends OnePort;
    parameter Real R = 2;
    parameter Real G = 1/R;
  equation
    v = R*i;
  end Resistor;
  model Capacitor
    extends OnePort;
    parameter Real C = 2;
  equation
    C*der(v) = i;
  end Capacitor;
  model Valve "Nonlinear, in both directions"
    Port a;
    Port b;
    parameter Real K = 0.02;
    parameter Real c = 1.5;
    Real dp = a.p - b.p;
    Real m(start = 1);
  equation
    m = a.m;
    0 = a.m + b.m;
    dp = (m/K)*abs(m/K) + c*m;
  end Valve;
  model Line "Two valves and the volume between them"
    Port a;
    Port b;
    Valve first(K = 0.02);
    Valve second(K = 0.03);
  equation
    connect(a, first.a);
    connect(first.b, second.a);
    connect(second.b, b);
  end Line;
  model Tube "Cells that lose heat"
    input Real T_in;
    input Real m;
    parameter Integer cells = 20;
    parameter Real UA = 3;
    parameter Real cp = 2;
    parameter Real C = 100;
    Real T[cells](each start = 20);
    output Real T_out = T[cells];
  equation
    for i in 1:cells loop
      C*der(T[i]) = m*cp*((if i == 1 then T_in else T[i - 1]) - T[i])
        - UA/cells*(T[i] - 10)*(1 + 0.001*T[i]);
    end for;
  end Tube;
  model Tanks "What one loses the other gains"
    input Real p;
    parameter Real A1 = 2;
    parameter Real A2 = 3;
    parameter Real k = 0.5;
    Real h1(start = 1, fixed = true);
    Real h2(start = 2, fixed = true);
    Real q;
  equation
    A1*der(h1) = -q;
    A2*der(h2) = q;
    q = k*(h1 + p - h2)/(1 + 0.1*abs(h1));
  end Tanks;
  model Switch
    input Real u;
    parameter Real a = 1;
    Real x(start = 1);
    Boolean high;
    Real y;
  equation
    high = x > 2;
    x^3 + (if high then 2 else 1)*x = a*u;
    y = if u > 3 then x else 2*x;
  end Switch;
  model Root
    input Real u;
    parameter Real a = 1;
    Real x(start = 1);
  equation
    x^2 = a*u;
  end Root;
  model Steep "Newton's method alone does not get there"
    input Real u;
    parameter Real a = 1;
    Real x(start = 0);
  equation
    der(x) = u - homotopy(a*x + 200*atan(1e4*(x - 5)), a*x);
  end Steep;
end Parts;
"""
