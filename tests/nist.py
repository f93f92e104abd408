"""The certified nonlinear regressions of NIST (StRD): formulas in Modelica syntax, and their files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from estimica.base.arrays import Vector

_MISRA1A = "b1*(1 - exp(-b2*x))"
_CHWIRUT = "exp(-b1*x)/(b2 + b3*x)"
_GAUSS = "b1*exp(-b2*x) + b3*exp(-(x - b4)^2/b5^2) + b6*exp(-(x - b7)^2/b8^2)"
_LANCZOS = "b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)"
_CUBICS = "(b1 + b2*x + b3*x^2 + b4*x^3)/(1 + b5*x + b6*x^2 + b7*x^3)"

#: problem: its formula; Nelson's is one of log(y)
FORMULAS = {
    "Bennett5": "b1*(b2 + x)^(-1/b3)",
    "BoxBOD": _MISRA1A,
    "Chwirut1": _CHWIRUT,
    "Chwirut2": _CHWIRUT,
    "DanWood": "b1*x^b2",
    "ENSO": "b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12) + b5*cos(2*pi*x/b4) "
    "+ b6*sin(2*pi*x/b4) + b8*cos(2*pi*x/b7) + b9*sin(2*pi*x/b7)",
    "Eckerle4": "(b1/b2)*exp(-0.5*((x - b3)/b2)^2)",
    "Gauss1": _GAUSS,
    "Gauss2": _GAUSS,
    "Gauss3": _GAUSS,
    "Hahn1": _CUBICS,
    "Kirby2": "(b1 + b2*x + b3*x^2)/(1 + b4*x + b5*x^2)",
    "Lanczos1": _LANCZOS,
    "Lanczos2": _LANCZOS,
    "Lanczos3": _LANCZOS,
    "MGH09": "b1*(x^2 + x*b2)/(x^2 + x*b3 + b4)",
    "MGH10": "b1*exp(b2/(x + b3))",
    "MGH17": "b1 + b2*exp(-x*b4) + b3*exp(-x*b5)",
    "Misra1a": _MISRA1A,
    "Misra1b": "b1*(1 - (1 + b2*x/2)^(-2))",
    "Misra1c": "b1*(1 - (1 + 2*b2*x)^(-0.5))",
    "Misra1d": "b1*b2*x*((1 + b2*x)^(-1))",
    "Nelson": "b1 - b2*x1*exp(-b3*x2)",
    "Rat42": "b1/(1 + exp(b2 - b3*x))",
    "Rat43": "b1/((1 + exp(b2 - b3*x))^(1/b4))",
    "Roszman1": "b1 - b2*x - atan(b3/(x - b4))/pi",
    "Thurber": _CUBICS,
}

_NUMBER = r"([-+.\dEe]+)"
_PARAMETER = re.compile(rf"^\s*(b\d+)\s*=\s*{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s*$")


@dataclass(frozen=True)
class Problem:
    """One file: the data and what NIST certifies to eleven digits; Nelson's `y` is log(y)."""

    name: str
    formula: str
    inputs: dict[str, Vector]
    y: Vector
    starts: tuple[dict[str, float], dict[str, float]]
    certified: dict[str, float]
    deviations: dict[str, float]  # standard deviations of the certified values
    rss: float

    @property
    def certified_values(self) -> Vector:
        """The certified values in the order b1, b2, ..."""
        return np.array(list(self.certified.values()))


def read_problem(folder: Path, name: str) -> Problem:
    """A problem from the folder of .dat files."""
    lines = (folder / f"{name}.dat").read_text(encoding="latin-1").splitlines()
    found = [m.groups() for m in map(_PARAMETER.match, lines) if m]
    columns = [{row[0]: float(row[k]) for row in found} for k in range(1, 5)]
    rss = next(float(x.split(":")[1]) for x in lines if x.startswith("Residual Sum of Squares"))
    begin = max(k for k, line in enumerate(lines) if line.startswith("Data:"))
    heads = lines[begin].split()[1:]
    table = np.array([[float(v) for v in x.split()] for x in lines[begin + 1 :] if x.strip()])
    data = dict(zip(heads, table.T.copy(), strict=True))
    y = data.pop("y")
    return Problem(
        name,
        FORMULAS[name],
        data,
        np.log(y) if name == "Nelson" else y,
        (columns[0], columns[1]),
        columns[2],
        columns[3],
        rss,
    )
