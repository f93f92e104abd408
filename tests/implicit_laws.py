"""Implicit laws as engineers write them, each with a witness: a closed form, or bisection by SciPy.

Every law has one input u and is asked for one variable, from default start values. The witness knows
nothing of Modelica: it is a function of u alone, or a residual and an interval for `brentq`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import lambertw

Witness = Callable[[float], float]


@dataclass(frozen=True)
class Law:
    """A class with an input u: declarations, equations, the variable asked for, and its values."""

    name: str
    declared: str
    equations: str
    truth: Witness
    u: tuple[float, ...] = (0.5, 1.0, 3.0, 10.0)
    asked: str = "x"


def within(low: float, high: float, residual: Callable[[float, float], float]) -> Witness:
    """The root of residual(x, u) in an interval."""
    return lambda u: float(brentq(residual, low, high, (u,), xtol=1e-300, rtol=1e-14, maxiter=900))


def package(laws: tuple[Law, ...]) -> str:
    """The laws as the classes of one Modelica package."""
    classes = (
        f"model {law.name}\n  input Real u;\n  {law.declared}\nequation\n  {law.equations}\n"
        f"end {law.name};\n"
        for law in laws
    )
    return f"package Laws\n{''.join(classes)}end Laws;\n"


X = "Real x;"
LN10 = float(np.log(10))


def _colebrook(f: float, re: float, rough: float = 1e-3) -> float:
    return float(1 / np.sqrt(f) + 2 * np.log10(rough / 3.7 + 2.51 / (re * np.sqrt(f))))


def _mean(a: float, b: float) -> float:
    return a if a == b else float((a - b) / np.log(a / b))


def _rootsum(x: float, u: float) -> float:
    return float(np.sqrt(x) + np.sqrt(x + 1) - 1 - u)


LAWS = (
    # -- powers, roots, reciprocals --------------------------------------------------------------
    Law("Reciprocal", X, "1/x = u;", lambda u: 1 / u),
    Law("ReciprocalNegative", X, "1/x = -u;", lambda u: -1 / u),
    Law("ReciprocalSquare", X, "1/x^2 = u;", lambda u: u**-0.5),
    Law("ReciprocalRoot", X, "1/sqrt(x) = u;", lambda u: u**-2.0),
    Law("Square", X, "x^2 = u;", lambda u: u**0.5),
    Law("SquareSmall", X, "x^2 = 1e-16*u;", lambda u: 1e-8 * u**0.5),
    Law("SquareLarge", X, "x^2 = 1e12*u;", lambda u: 1e6 * u**0.5),
    Law("SquareNegative", "Real x(max = 0);", "x^2 = u;", lambda u: -(u**0.5)),
    Law("Cube", X, "x^3 = u;", lambda u: u ** (1 / 3)),
    Law("Fourth", X, "x^4 = 1e8*u;", lambda u: 1e2 * u**0.25),
    Law("Root", X, "sqrt(x) = u;", lambda u: u**2),
    Law("RootShifted", X, "sqrt(x - 300) = u;", lambda u: 300 + u**2),
    Law("RootBelow", X, "sqrt(300 - x) = u;", lambda u: 300 - u**2),
    Law("RootSum", X, "sqrt(x) + sqrt(x + 1) = 1 + u;", within(0, 1e3, _rootsum)),
    Law("Power", X, "x^0.8 = u;", lambda u: u**1.25),
    Law("PowerNegative", X, "x^(-0.2) = u;", lambda u: u**-5.0),
    Law("PowerParameter", "parameter Real n = 1.3; Real x;", "x^n = u;", lambda u: u ** (1 / 1.3)),
    Law("SignedSquare", X, "x*abs(x) = u;", lambda u: u**0.5),
    Law(
        "SignedSquareBack", X, "x*abs(x) = -u;", lambda u: -(u**0.5)
    ),
    Law("SquareAndLine", X, "x^2 + x = u;", lambda u: (np.sqrt(1 + 4 * u) - 1) / 2),
    Law("Cubic", X, "x^3 - 2*x = 5 + u;", within(1.5, 9, lambda x, u: x**3 - 2 * x - 5 - u)),
    Law("Rational", X, "x/(1 + x) = 0.05*u;", lambda u: 0.05 * u / (1 - 0.05 * u)),
    Law("RootTimes", X, "x*sqrt(x) = u;", lambda u: u ** (2 / 3)),
    Law("OverRoot", X, "x/sqrt(x + 1) = u;", lambda u: (u**2 + np.sqrt(u**4 + 4 * u**2)) / 2),
    # -- logarithms and exponentials -------------------------------------------------------------
    Law("Log", X, "log(x) = u;", np.exp),
    Law("LogNegative", X, "log(x) = -10*u;", lambda u: np.exp(-10 * u)),
    Law("Log10", X, "log10(x) = u;", lambda u: 10.0**u),
    Law("Exp", X, "exp(x) = 2*u;", lambda u: np.log(2 * u), (1.0, 3.0, 10.0)),
    Law("ExpLarge", X, "exp(-5000/x) = 1e-3*u;", lambda u: -5000 / np.log(1e-3 * u)),
    Law("TimesLog", X, "x*log(x) = u;", lambda u: float(u / lambertw(u).real)),
    Law("TimesExp", X, "x*exp(x) = u;", lambda u: float(lambertw(u).real)),
    Law("PlusLog", X, "x + log(x) = u;", lambda u: float(lambertw(np.exp(u)).real)),
    Law("LogShifted", X, "log(x - 3) = -u;", lambda u: 3 + np.exp(-u)),
    Law("OverLog", X, "(x - 1)/log(x) = 1 + u;", within(
        1.0001, 1e4, lambda x, u: (x - 1) / np.log(x) - 1 - u
    )),
    Law("Antoine", X, "8.07 - 1730.63/(233.4 + x) = log10(100*u);", lambda u: (
        1730.63 / (8.07 - np.log10(100 * u)) - 233.4
    )),
    # -- circular and hyperbolic functions -------------------------------------------------------
    Law("Sine", X, "sin(x) = 0.09*u;", lambda u: np.arcsin(0.09 * u)),
    Law("Tangent", "Real x(min = 0, max = 1.57);", "tan(x) = u;", np.arctan),
    Law("Hyperbolic", X, "tanh(x) = 0.09*u;", lambda u: np.arctanh(0.09 * u)),
    Law("Kepler", X, "x - 0.8*sin(x) = u;", within(0, 20, lambda x, u: x - 0.8 * np.sin(x) - u)),
    Law("Catenary", "Real x(min = 0.01);", "cosh(1/x) = 1 + u;", lambda u: 1 / np.arccosh(1 + u)),
    # -- flow ------------------------------------------------------------------------------------
    Law("Valve", "parameter Real Kv = 0.01; Real x;", "1e5*u = (x/Kv)^2;", lambda u: (
        0.01 * np.sqrt(1e5 * u)
    )),
    Law("ValveFactor", "parameter Real k = 2; Real x; Real z;", "u = z*x; z = k/sqrt(x);", lambda u: (
        (u / 2) ** 2
    )),
    Law("ValveFlow", "parameter Real k = 2; Real x; Real z;", "x = u/z; z = k/sqrt(x);", lambda u: (
        (u / 2) ** 2
    )),
    Law("Colebrook", X, "1/sqrt(x) = -2*log10(1e-3/3.7 + 2.51/(1e4*u*sqrt(x)));", within(
        1e-4, 1.0, lambda f, u: _colebrook(f, 1e4 * u)
    )),
    Law("PipeFlow", (
        "parameter Real D = 0.05; Real x \"m/s\"; Real re; Real f;"
    ), (
        "re = x*D/1e-6; 1/sqrt(f) = -2*log10(1e-3/3.7 + 2.51/(re*sqrt(f)));"
        "1e4*u = f*10/D*1000*x^2/2;"
    ), within(1e-3, 50, lambda v, u: (
        brentq(_colebrook, 1e-4, 1, (v * 0.05 / 1e-6,), xtol=1e-16) * 10 / 0.05 * 500 * v**2 - 1e4 * u
    ))),
    Law("Blasius", X, "100*u = 0.316*(x*1e4)^(-0.25)*x^2*1e3;", lambda u: (
        (100 * u / 0.316e3 * 1e4**0.25) ** (1 / 1.75)
    )),
    Law("Orifice", X, "u = 0.6*x*sqrt(2/1000*1e5)/sqrt(1 - x^2);", lambda u: (
        (u / (0.6 * np.sqrt(200))) / np.sqrt(1 + (u / (0.6 * np.sqrt(200))) ** 2)
    )),
    Law("TwoValves", "Real x; Real p;", "1e5*u - p = (x/0.01)^2; p = (x/0.02)^2;", lambda u: (
        np.sqrt(1e5 * u / (1 / 0.01**2 + 1 / 0.02**2))
    )),
    Law("PumpAndPipe", X, "1e5*(2 - x^2) = 1e4*u*x^1.8;", within(
        1e-3, 1.5, lambda x, u: 1e5 * (2 - x**2) - 1e4 * u * x**1.8
    )),
    # -- heat ------------------------------------------------------------------------------------
    Law("Series", X, "1/x = 1/(3*u) + 0.1;", lambda u: 1 / (1 / (3 * u) + 0.1)),
    Law("Exchanger", "Real x \"second difference\";", "500*u = 100*(50 - x)/log(50/x);", within(
        1e-300, 1e5, lambda x, u: 5 * u - _mean(50.0, x)
    ), (0.5, 1.0, 3.0)),
    Law("ExchangerRates", "Real x; Real Q; Real a; Real b;", (
        "Q = 10*(90 - x); a = 90 - (20 + Q/20); b = x - 20; Q = u*(a - b)/log(a/b);"
    ), within(20.5, 89.9, lambda t, u: 10 * (90 - t) - u * _mean(70 - (90 - t) / 2, t - 20)),
        (0.5, 2.0, 5.0, 9.0)),
    Law("Radiation", "Real x(start = 300, nominal = 300);", "5.67e-8*x^4 + 10*(x - 280) = 500*u;",
        within(1, 3000, lambda x, u: 5.67e-8 * x**4 + 10 * (x - 280) - 500 * u)),
    Law("RadiationCold", X, "5.67e-8*x^4 = 500*u;", lambda u: (500 * u / 5.67e-8) ** 0.25),
    Law("Nusselt", X, "x = 0.023*(1e4*u)^0.8*x^0.1;", lambda u: (
        (0.023 * (1e4 * u) ** 0.8) ** (1 / 0.9)
    )),
    # -- electricity, chemistry, machines --------------------------------------------------------
    Law("Diode", X, "u = 1e-12*(exp(x/0.025) - 1) + x/1e3;", within(
        0, 5, lambda v, u: 1e-12 * np.expm1(v / 0.025) + v / 1e3 - u
    ), (1e-6, 1e-3, 0.5, 1.0)),
    Law("DiodeResistor", "Real x; Real i;", "u = 100*i + x; i = 1e-12*(exp(x/0.025) - 1);", within(
        0, 10, lambda v, u: 100e-12 * np.expm1(v / 0.025) + v - u
    )),
    Law("Acid", "Real x(min = 0);", "x^2/(1e-3*u - x) = 1.8e-5;", lambda u: (
        (-1.8e-5 + np.sqrt(1.8e-10 * 1.8 + 4 * 1.8e-5 * 1e-3 * u)) / 2
    )),
    Law("VanDerWaals", "Real x;", "(1e5*u + 0.14/x^2)*(x - 3.9e-5) = 8.314*600;", within(
        1e-4, 1.0, lambda v, u: (1e5 * u + 0.14 / v**2) * (v - 3.9e-5) - 8.314 * 600
    )),
    Law("Turbine", X, "u = 5*x*sqrt(1 - (0.3)^2)/sqrt(x + 1e-3);", within(
        1e-9, 1e3, lambda x, u: 5 * x * np.sqrt(0.91) / np.sqrt(x + 1e-3) - u
    )),
)  # fmt: skip
