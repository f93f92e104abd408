"""Problems of Hock and Schittkowski's collection with their published optima.

A limit g ≤ 0 is written as the criterion g + 1 with demand 1; an equality likewise. Source: W. Hock
and K. Schittkowski, Test Examples for Nonlinear Programming Codes, Springer, 1981.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Problem:
    number: int
    cost: str
    start: tuple[float, ...]
    best: float
    at_most: tuple[str, ...] = ()  # g, for g ≤ 0
    equal: tuple[str, ...] = ()  # h, for h = 0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    names: tuple[str, ...] = field(default=())

    @property
    def tuners(self) -> list[str]:
        return [f"x{k + 1}" for k in range(len(self.start))]


INF = math.inf
PROBLEMS = [
    Problem(1, "100*(x2 - x1^2)^2 + (1 - x1)^2", (-2, 1), 0.0, low=(-INF, -1.5)),
    Problem(3, "x2 + 1e-5*(x2 - x1)^2", (10, 1), 0.0, low=(-INF, 0)),
    Problem(4, "(x1 + 1)^3/3 + x2", (1.125, 0.125), 8 / 3, low=(1, 0)),
    Problem(
        5, "sin(x1 + x2) + (x1 - x2)^2 - 1.5*x1 + 2.5*x2 + 1", (0, 0),
        -math.sqrt(3) / 2 - math.pi / 3, low=(-1.5, -3), high=(4, 3),
    ),
    Problem(6, "(1 - x1)^2", (-1.2, 1), 0.0, equal=("10*(x2 - x1^2)",)),
    Problem(7, "log(1 + x1^2) - x2", (2, 2), -math.sqrt(3), equal=("(1 + x1^2)^2 + x2^2 - 4",)),
    Problem(
        10, "x1 - x2", (-10, 10), -1.0, at_most=("3*x1^2 - 2*x1*x2 + x2^2 - 1",)
    ),
    Problem(11, "(x1 - 5)^2 + x2^2 - 25", (4.9, 0.1), -8.498464223, at_most=("x1^2 - x2",)),
    Problem(12, "0.5*x1^2 + x2^2 - x1*x2 - 7*x1 - 7*x2", (0, 0), -30.0, at_most=("4*x1^2 + x2^2 - 25",)),
    Problem(
        14, "(x1 - 2)^2 + (x2 - 1)^2", (2, 2), 9 - 2.875 * math.sqrt(7),
        at_most=("0.25*x1^2 + x2^2 - 1",), equal=("x1 - 2*x2 + 1",),
    ),
    Problem(
        21, "0.01*x1^2 + x2^2 - 100", (2, -1), -99.96, at_most=("10 - 10*x1 + x2",),
        low=(2, -50), high=(50, 50),
    ),
    Problem(22, "(x1 - 2)^2 + (x2 - 1)^2", (2, 2), 1.0, at_most=("x1 + x2 - 2", "x1^2 - x2")),
    Problem(26, "(x1 - x2)^2 + (x2 - x3)^4", (-2.6, 2, 2), 0.0, equal=("(1 + x2^2)*x1 + x3^4 - 3",)),
    Problem(28, "(x1 + x2)^2 + (x2 + x3)^2", (-4, 1, 1), 0.0, equal=("x1 + 2*x2 + 3*x3 - 1",)),
    Problem(
        29, "-x1*x2*x3", (1, 1, 1), -16 * math.sqrt(2), at_most=("x1^2 + 2*x2^2 + 4*x3^2 - 48",)
    ),
    Problem(
        35, "9 - 8*x1 - 6*x2 - 4*x3 + 2*x1^2 + 2*x2^2 + x3^2 + 2*x1*x2 + 2*x1*x3", (0.5, 0.5, 0.5),
        1 / 9, at_most=("x1 + x2 + 2*x3 - 3",), low=(0, 0, 0),
    ),
    Problem(
        43, "x1^2 + x2^2 + 2*x3^2 + x4^2 - 5*x1 - 5*x2 - 21*x3 + 7*x4", (0, 0, 0, 0), -44.0,
        at_most=(
            "x1^2 + x2^2 + x3^2 + x4^2 + x1 - x2 + x3 - x4 - 8",
            "x1^2 + 2*x2^2 + x3^2 + 2*x4^2 - x1 - x4 - 10",
            "2*x1^2 + x2^2 + x3^2 + 2*x1 - x2 - x4 - 5",
        ),
    ),
    Problem(
        65, "(x1 - x2)^2 + (x1 + x2 - 10)^2/9 + (x3 - 5)^2", (-4.5, 4.5, 0), 0.9535288567,
        at_most=("x1^2 + x2^2 + x3^2 - 48",), low=(-4.5, -4.5, -5), high=(4.5, 4.5, 5),
    ),
    Problem(
        71, "x1*x4*(x1 + x2 + x3) + x3", (1, 5, 5, 1), 17.0140173,
        at_most=("25 - x1*x2*x3*x4",), equal=("x1^2 + x2^2 + x3^2 + x4^2 - 40",),
        low=(1, 1, 1, 1), high=(5, 5, 5, 5),
    ),
    Problem(
        76, "x1^2 + 0.5*x2^2 + x3^2 + 0.5*x4^2 - x1*x3 + x3*x4 - x1 - 3*x2 + x3 - x4",
        (0.5, 0.5, 0.5, 0.5), -4.681818181,
        at_most=("x1 + 2*x2 + x3 + x4 - 5", "3*x1 + x2 + 2*x3 - x4 - 4", "1.5 - x2 - 4*x3"),
        low=(0, 0, 0, 0),
    ),
    Problem(
        100,
        "(x1 - 10)^2 + 5*(x2 - 12)^2 + x3^4 + 3*(x4 - 11)^2 + 10*x5^6 + 7*x6^2 + x7^4 - 4*x6*x7"
        " - 10*x6 - 8*x7",
        (1, 2, 0, 4, 0, 1, 1), 680.6300573,
        at_most=(
            "2*x1^2 + 3*x2^4 + x3 + 4*x4^2 + 5*x5 - 127",
            "7*x1 + 3*x2 + 10*x3^2 + x4 - x5 - 282",
            "23*x1 + x2^2 + 6*x6^2 - 8*x7 - 196",
            "4*x1^2 + x2^2 - 3*x1*x2 + 2*x3^2 + 5*x6 - 11*x7",
        ),
    ),
]  # fmt: skip
