"""Shapes of laws: the formulas that are tried on back-calculated points, and how each is fitted."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.saving.packing import restores

ITERATIONS = 100  # chosen: a guard against creeping; the best so far then stands
SMALL = 1e-10  # relative step at which a search has ended: the next would be far smaller
LITTLE = 1e-14  # of the sum of squares: a gain below a millionth of a standard error


class CannotFit(Exception):
    """Why a law cannot be fitted to these points, in words."""


@restores
class Shape(ABC):
    """A formula in regressors and parameters; `X` has a row for each regressor."""

    kind: str  # line, power, …
    regressors: tuple[str, ...]
    symbols: tuple[str, ...]  # of its parameters

    @abstractmethod
    def require(self, X: Vector) -> None:
        """Raise CannotFit where these points are outside its domain."""

    @abstractmethod
    def fit(self, X: Vector, y: Vector, weight: Vector, start: Vector | None = None) -> Vector:
        """Parameters that minimise Σ (weight·(value − y))²."""

    @abstractmethod
    def value(self, parameters: Vector, X: Vector) -> Vector:
        """The law at points."""

    @abstractmethod
    def slopes(self, parameters: Vector, X: Vector) -> Vector:
        """Derivatives with respect to its parameters, (points, parameters)."""

    @abstractmethod
    def text(self, parameters: Sequence[str]) -> str:
        """The right-hand side in Modelica syntax, with these texts as parameters."""

    @property
    def label(self) -> str:
        """What it is called in tables."""
        return self.kind


class Sum(Shape):
    """b0·t0 + b1·t1 + …, linear in its parameters; each term is a product of powers or a log."""

    def __init__(
        self, kind: str, regressors: tuple[str, ...], exponents: Sequence[tuple[int, ...]]
    ) -> None:
        self.kind = kind
        self.regressors = regressors
        self.exponents = tuple(exponents)
        letters = ("c",) if len(self.exponents) == 1 else None
        self.symbols = letters or tuple(f"b{k}" for k in range(len(self.exponents)))
        self.symbols = free_names(self.symbols, regressors)

    @property
    def label(self) -> str:
        """A polynomial is told with its degree."""
        if self.kind != "polynomial":
            return self.kind
        return f"polynomial of degree {max(sum(e) for e in self.exponents)}"

    def require(self, X: Vector) -> None:
        """Reciprocals do not like zero."""
        for name, x in zip(self.regressors, X, strict=True):
            if self.kind == "reciprocal":
                _refuse(name, x, x == 0, "is 0")

    def terms(self, X: Vector) -> Vector:
        """One column for each parameter."""
        columns = np.ones((X.shape[1], len(self.exponents)))
        for k, exponents in enumerate(self.exponents):
            for x, n in zip(X, exponents, strict=True):
                if n:
                    columns[:, k] *= x ** float(n)
        return columns

    def fit(self, X: Vector, y: Vector, weight: Vector, start: Vector | None = None) -> Vector:
        """By one orthogonal decomposition of the scaled terms."""
        matrix = self.terms(X) * weight[:, None]
        size = np.sqrt((matrix**2).sum(axis=0))
        if not np.isfinite(size).all() or not size.all():
            raise CannotFit("its terms are too large or vanish at these points")
        # columns of length one: 1e-13 is rounding over some hundred points
        solution, _, rank, _ = np.linalg.lstsq(matrix / size, y * weight, rcond=1e-13)
        if rank < len(size):
            raise CannotFit(f"the points determine only {rank} of its {len(size)} parameters")
        return np.asarray(solution / size)

    def value(self, parameters: Vector, X: Vector) -> Vector:
        """Σ bₖ·tₖ."""
        return np.asarray(self.terms(X) @ parameters)

    def slopes(self, parameters: Vector, X: Vector) -> Vector:
        """The terms."""
        return self.terms(X)

    def text(self, parameters: Sequence[str]) -> str:
        """As b0 + b1*x + b2*x^2."""
        parts = [p + self._term(e) for p, e in zip(parameters, self.exponents, strict=True)]
        return " + ".join(parts).replace("+ -", "- ")

    def _term(self, exponents: tuple[int, ...]) -> str:
        factors = ""
        for name, n in zip(self.regressors, exponents, strict=True):
            if n:
                factors += ("*" if n > 0 else "/") + (name if abs(n) == 1 else f"{name}^{abs(n)}")
        return factors


class Logarithmic(Sum):
    """b0 + b1·log(x) + …"""

    def __init__(self, regressors: tuple[str, ...]) -> None:
        super().__init__("logarithmic", regressors, _first_powers(len(regressors)))

    def require(self, X: Vector) -> None:
        """Positive regressors only."""
        for name, x in zip(self.regressors, X, strict=True):
            _refuse(name, x, x <= 0, "is not positive")

    def terms(self, X: Vector) -> Vector:
        """Ones and logarithms."""
        return super().terms(np.log(X))

    def _term(self, exponents: tuple[int, ...]) -> str:
        names = [n for n, k in zip(self.regressors, exponents, strict=True) if k]
        return "".join(f"*log({n})" for n in names)


class Product(Shape):
    """c·exp(Σ aₖ·φₖ): a power law with φ = log x, an exponential with φ = x, Arrhenius' with 1/x.

    The search goes by the amplitude A = c·exp(Σ aₖ·φ̄ₖ) in the middle of the points, which the
    exponents leave nearly alone, and in the scale of the points, not in that of their logarithms.
    """

    def __init__(self, kind: str, regressors: tuple[str, ...]) -> None:
        self.kind = kind
        self.regressors = regressors
        letters = ("c", "a", "b", *(f"a{k}" for k in range(3, 20)))
        self.symbols = free_names(letters[: len(regressors) + 1], regressors)

    def require(self, X: Vector) -> None:
        """A power needs positive regressors, and so has Arrhenius' law."""
        if self.kind != "exponential":
            for name, x in zip(self.regressors, X, strict=True):
                _refuse(name, x, x <= 0, "is not positive")

    def _regressors(self, X: Vector) -> Vector:
        return np.log(X) if self.kind == "power" else 1 / X if self.kind == "arrhenius" else X

    def fit(self, X: Vector, y: Vector, weight: Vector, start: Vector | None = None) -> Vector:
        """From the fit of the logarithms, by damped Gauss-Newton steps in the scale of y."""
        phi = self._regressors(X)
        middle = phi.mean(axis=1)
        spread = phi.std(axis=1)
        if not spread.all():
            raise CannotFit(f"{self.regressors[int(np.argmin(spread))]} does not change")
        unit = (phi - middle[:, None]) / spread[:, None]
        if start is None:
            q = self._begin(unit, y, weight)
        else:
            q = np.array([start[0] * math.exp(start[1:] @ middle), *(start[1:] * spread)])
        q = _searched(unit, y, weight, q)
        a = q[1:] / spread
        with np.errstate(over="ignore", under="ignore"):
            c = q[0] * np.exp(-(a @ middle))
        if not np.isfinite(c) or c == 0:
            raise CannotFit(f"its factor {self.symbols[0]} is beyond what a number can hold")
        return np.array([c, *a])

    def _begin(self, unit: Vector, y: Vector, weight: Vector) -> Vector:
        """The fit of log|y|, each point weighted as it counts in the scale of y."""
        sign = 1.0 if (weight * y).sum() >= 0 else -1.0
        usable = sign * y > 0
        if usable.sum() <= len(unit) + 1:
            raise CannotFit("too few points of one sign")
        share = np.where(usable, weight * np.abs(y), 0.0)
        matrix = np.column_stack([np.ones(len(y)), *unit]) * share[:, None]
        logs = np.log(np.abs(np.where(usable, y, 1.0)))
        solution, _, rank, _ = np.linalg.lstsq(matrix, logs * share, rcond=1e-13)
        if rank <= len(unit):
            raise CannotFit(f"the points determine only {rank} of its {len(unit) + 1} parameters")
        # exp overflows at 709
        return np.array([sign * math.exp(min(solution[0], 700.0)), *solution[1:]])

    def value(self, parameters: Vector, X: Vector) -> Vector:
        """c·exp(Σ aₖ·φₖ)."""
        phi = self._regressors(X)
        c, a = parameters[0], parameters[1:]
        with np.errstate(over="ignore"):
            return np.asarray(np.sign(c) * np.exp(math.log(abs(c)) + a @ phi))

    def slopes(self, parameters: Vector, X: Vector) -> Vector:
        """Derivatives with respect to c and the exponents."""
        value = self.value(parameters, X)
        return np.column_stack([value / parameters[0], (value * self._regressors(X)).T])

    def text(self, parameters: Sequence[str]) -> str:
        """As c*x^a*z^b, c*exp(a*x + b*z) or c*exp(a/x + b/z)."""
        c, *a = parameters
        pairs = list(zip(self.regressors, a, strict=True))
        if self.kind == "power":
            powers = [f"{n}^{f'({p})' if p.startswith('-') else p}" for n, p in pairs]
            return "*".join([c, *powers])
        sign = "/" if self.kind == "arrhenius" else "*"
        inner = " + ".join(f"{p}{sign}{n}" for n, p in pairs).replace("+ -", "- ")
        return f"{c}*exp({inner})"


def _searched(unit: Vector, y: Vector, weight: Vector, q: Vector) -> Vector:
    """The least squares of A·exp(Σ aₖ·uₖ) by Levenberg and Marquardt's steps."""
    # Of columns of length one: at first hardly any, since the logarithms were fitted before. Below
    # 1e-15 it is lost in rounding; beyond 1e8 steps are so short that nothing more is gained.
    damping = 1e-4
    value, cost = _amplitudes(unit, y, weight, q)
    for _ in range(ITERATIONS):
        slopes = np.column_stack([value / q[0], (value * unit).T]) * weight[:, None]
        size = np.sqrt((slopes**2).sum(axis=0))
        size[size == 0] = 1.0
        scaled = slopes / size
        square = scaled.T @ scaled + damping * np.eye(len(q))
        step = np.linalg.lstsq(square, scaled.T @ (weight * (y - value)), rcond=None)[0] / size
        tried, lower = _amplitudes(unit, y, weight, q + step)
        if lower <= cost:
            small = (np.abs(step) <= SMALL * (np.abs(q) + SMALL)).all()
            small |= cost - lower <= LITTLE * cost
            q, value, cost, damping = q + step, tried, lower, max(damping / 10, 1e-15)
            if small:
                break
        else:
            damping = max(damping, 1e-8) * 10
            if damping > 1e8:
                break
    return q


def _amplitudes(unit: Vector, y: Vector, weight: Vector, q: Vector) -> tuple[Vector, float]:
    with np.errstate(over="ignore", invalid="ignore"):
        value = q[0] * np.exp(q[1:] @ unit)
        cost = float(((weight * (value - y)) ** 2).sum())
    if q[0] == 0 or not np.isfinite(cost):
        return value, math.inf
    return value, cost


def shapes(regressors: tuple[str, ...], kinds: Sequence[str], max_degree: int) -> Iterator[Shape]:
    """The shapes of these kinds in all the regressors; of polynomials each degree from 2."""
    n = len(regressors)
    for kind in kinds:
        if kind == "line":
            yield Sum("line", regressors, _first_powers(n))
        elif kind == "polynomial":
            for degree in range(2, max_degree + 1):
                yield Sum("polynomial", regressors, _powers(n, degree))
        elif kind == "reciprocal":
            yield Sum("reciprocal", regressors, _first_powers(n, -1))
        elif kind == "logarithmic":
            yield Logarithmic(regressors)
        elif kind in ("power", "exponential", "arrhenius"):
            yield Product(kind, regressors)


def constant() -> Shape:
    """c: nothing depends on anything."""
    return Sum("constant", (), [()])


def free_names(names: Sequence[str], taken: Sequence[str]) -> tuple[str, ...]:
    """The names, with an underscore behind those that are taken already."""
    return tuple(n + "_" * (n in taken) for n in names)


def _first_powers(n: int, power: int = 1) -> list[tuple[int, ...]]:
    return [(0,) * n, *(tuple(power * (k == j) for k in range(n)) for j in range(n))]


def _powers(n: int, degree: int) -> list[tuple[int, ...]]:
    """Exponents of all products up to a total degree, lower degrees first."""
    found = []
    for total in range(degree + 1):
        for chosen in combinations_with_replacement(range(n), total):
            found.append(tuple(chosen.count(k) for k in range(n)))
    return found


def _refuse(name: str, x: Vector, bad: Flags, what: str) -> None:
    if bad.any():
        count, k = int(bad.sum()), int(np.argmax(bad))
        raise CannotFit(f"{name} {what} at {count} of {len(x)} points, first {x[k]:.4g}")
