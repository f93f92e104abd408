"""A small model with its data, and a study of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TANK = """
model Tank "A tank that is filled and drains"
  parameter Real a(unit = "1/s", min = 0, max = 10, nominal = 1) = 0.5 "Outflow rate";
  parameter Real b(unit = "1") = 2 "Gain of the pump";
  parameter Real idle = 1 "Nothing follows from it";
  parameter Real twice = 2*b "Follows from b";
  parameter Integer n = 2 "Number of copies";
  final parameter Real g = 9.81 "Gravity";
  constant Real c = 3 "A constant";
  parameter Real w[2] = {1, 0} "Weights";
  input Real u(unit = "A") "Current of the pump";
  output Real y(unit = "m") "Level";
  output Real T(unit = "K") "Temperature";
  Real x(unit = "m", start = 1, fixed = true) "Level";
  Real z(start = 0, fixed = true) "What leaves";
  Real copies[n];
equation
  der(x) = -a*x + b*u;
  der(z) = a*x;
  y = w[1]*x + w[2];
  T = 300 + x;
  copies = fill(x, n);
end Tank;
"""

STUDY = """
[model]
source = "Tank.mo"

[tune]
a = { start = 0.4, min = 0, max = 5 }
b = 1.5

[[case]]
name = "run 1"
data = "run1.csv"
inputs = { u = "current" }
outputs = { y = "level" }
free_start = ["x"]
"""


def write_tank(folder: Path) -> None:
    """Write Tank.mo and run1.csv (t, current, level, temp [degC], other)."""
    (folder / "Tank.mo").write_text(TANK, encoding="utf-8")
    t = np.arange(0.0, 10.5, 0.5)
    u = np.where(t < 5, 1.0, 0.0)
    x = np.where(t < 5, 4 - 3 * np.exp(-0.5 * t), (4 - 3 * np.exp(-2.5)) * np.exp(-0.5 * (t - 5)))
    rows = [
        f"{a:g},{b:g},{c:.6f},{27 + c:.6f},{k}"
        for k, (a, b, c) in enumerate(zip(t, u, x, strict=True))
    ]
    header = "t [s],current [A],level [m],temp [degC],other"
    (folder / "run1.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def write_study(folder: Path, *changes: tuple[str, str], text: str = STUDY) -> Path:
    """Write a study of the tank with some texts replaced, and say where."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path
