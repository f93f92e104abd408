"""CustomCriterion: a criterion of the user's own, an expression or a Python function of one sample.

Its sum over all samples is minimised. The derivatives of an expression are exact; those of a
function are differences.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.code.load import load_function
from estimica.base.code.reference import CodeRefusedError, means_code
from estimica.base.code.trusted import TrustedCode, trusted_code
from estimica.base.errors import FitError
from estimica.base.suggest import did_you_mean
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.loss import FLOOR
from estimica.estimate.criteria.roughness import Around, Shape, is_hollow, kernel_width, shape_of
from estimica.estimate.criteria.scoring import Criterion, Scoring, Sigmas
from estimica.source.formula import Formula, parse_formula

#: what a criterion may be written in; `dt` is the time that a sample stands for
NAMES = ("residual", "weight", "time", "dt", "measured", "simulated", "sigma")
MOVING = ("residual", "simulated")  # both change by one when the simulated value does


class Terms(ABC):
    """φ of each sample with its first and second derivative by the simulated value."""

    @abstractmethod
    def at(self, known: Mapping[str, Vector]) -> tuple[Vector, Vector, Vector]:
        """(φ, φ', φ'')."""


@dataclass(frozen=True, eq=False)
class CustomCriterion(Criterion):
    """Σφ over all samples."""

    blocks: tuple[Block, ...]
    terms: Terms
    name: str
    is_judge: bool = False  # whether its curvature is that of the expected cost
    may_be_rough: ClassVar[bool] = True

    def of(self, blocks: Sequence[Block]) -> Criterion:
        """The same criterion for other blocks."""
        return replace(self, blocks=tuple(blocks))

    def score(self, residuals: Sequence[Vector], sigmas: Sigmas = ()) -> Scoring:
        """Score the residuals of all blocks."""
        cost = 0.0
        scored: list[Vector] = []
        multipliers: list[float | Vector] = []
        for block, residual in zip(self.blocks, residuals, strict=True):
            value, first, second = self.terms.at(_known(block, residual))
            if self.is_judge:
                curvature = np.maximum(self._around(block, residual).curvature, 0.0)
            else:
                # only where it does not bend upwards: φ' need not vanish with the residual
                floor = FLOOR * np.abs(first) / _apart(residual)
                curvature = np.where(second > 0, second, floor)
            curvature = np.maximum(curvature, 1e-12 * float(curvature.max(initial=0.0)) or 1.0)
            cost += float(value.sum())
            scored.append(first / np.sqrt(2 * curvature))
            multipliers.append(np.sqrt(curvature / 2))
        return Scoring(cost, scored, multipliers)

    def shape(self, residuals: Sequence[Vector]) -> Shape:
        """The roughest shape that it has at these residuals."""
        pairs = zip(self.blocks, residuals, strict=True)
        shapes = [shape_of(self._around(b, r).moved, r) for b, r in pairs]
        return max(shapes, key=list(Shape).index, default=Shape.SMOOTH)

    def judge(self, residuals: Sequence[Vector]) -> Criterion | str:
        """Itself where it is smooth; else with the curvature over a kernel, or why not."""
        shape = self.shape(residuals)
        if shape is Shape.SMOOTH:
            return self
        if shape is Shape.STEPPED:
            return f"criterion '{self.name}' is flat or changes in steps"
        pairs = zip(self.blocks, residuals, strict=True)
        if is_hollow(np.concatenate([self._around(b, r).curvature for b, r in pairs])):
            return f"criterion '{self.name}' bends downwards between its kinks"
        return replace(self, is_judge=True)

    def _around(self, block: Block, residual: Vector) -> Around:
        known = _known(block, residual)

        def moved(shift: float) -> tuple[Vector, Vector, Vector]:
            return self.terms.at({n: v + shift if n in MOVING else v for n, v in known.items()})

        return Around(moved, kernel_width(residual))


class Expression(Terms):
    """A formula in the names of a sample."""

    def __init__(self, formula: Formula) -> None:
        self._value = formula
        self._first = [formula.partial(n) for n in MOVING if n in formula.names]
        self._second = [f.partial(n) for f in self._first for n in MOVING if n in f.names]

    def at(self, known: Mapping[str, Vector]) -> tuple[Vector, Vector, Vector]:
        """(φ, φ', φ''), exactly."""
        like = known["residual"]
        return (
            _shaped(self._value.at(known), like),
            _total(self._first, known),
            _total(self._second, known),
        )


class Function(Terms):
    """A Python function that gives one term for each sample."""

    def __init__(self, function: Callable[..., object], text: str) -> None:
        self._function = function
        self._text = text
        self._arguments = tuple(inspect.signature(function).parameters)
        for name in self._arguments:
            if name not in NAMES:
                raise FitError(
                    "F023",
                    f"criterion '{text}': argument '{name}' is none of {', '.join(NAMES)}"
                    f"{did_you_mean(name, NAMES)}",
                )

    def at(self, known: Mapping[str, Vector]) -> tuple[Vector, Vector, Vector]:
        """(φ, φ', φ'') by central differences."""
        r = known["residual"]
        size = float(np.sqrt(np.mean(r**2))) if len(r) else 0.0
        step = 1e-4 * np.maximum(np.abs(r), 0.1 * size)
        step[step == 0] = 1e-8
        low, here, high = (self._moved(known, shift) for shift in (-step, 0 * step, step))
        return here, (high - low) / (2 * step), (high - 2 * here + low) / step**2

    def _moved(self, known: Mapping[str, Vector], shift: Vector) -> Vector:
        values = {n: v + shift if n in MOVING else v for n, v in known.items()}
        try:
            found = self._function(**{n: values[n] for n in self._arguments})
            terms = np.asarray(found, np.float64)
        except Exception as error:  # the user's code may raise anything
            kind = type(error).__name__
            raise FitError("F024", f"criterion '{self._text}' raised {kind}: {error}") from None
        if terms.shape != shift.shape:
            raise FitError(
                "F025",
                f"criterion '{self._text}' gave shape {terms.shape} for {len(shift)} samples; "
                "return one term for each sample, not their sum",
            )
        return terms


def custom_criterion(
    text: str, blocks: Sequence[Block], code_for: Callable[[str], TrustedCode] | None = None
) -> Criterion:
    """The criterion of an expression, or of 'file.py:function', whose code `code_for` gives."""
    if means_code(text):
        terms: Terms = Function(_load(text, code_for or _beside_nothing), text)
    else:
        formula = parse_formula(text, "criterion")
        for unknown in formula.names:
            if unknown not in NAMES:
                known = did_you_mean(unknown, [*NAMES, "oe", "ml", "prediction"])
                raise FitError(
                    "F020",
                    f"criterion '{text}': '{unknown}' is not known{known}; it may be 'oe', 'ml', "
                    "'prediction', "
                    f"'file.py:function', or an expression in {', '.join(NAMES)}",
                )
        if not set(formula.names) & set(MOVING):
            raise FitError(
                "F021", f"criterion '{text}' depends neither on residual nor on simulated"
            )
        terms = Expression(formula)
    return CustomCriterion(tuple(blocks), terms, text)


def _beside_nothing(text: str) -> TrustedCode:
    """The code for a study that was not read from a file."""
    return trusted_code(text, Path())


def _load(text: str, code_for: Callable[[str], TrustedCode]) -> Callable[..., object]:
    try:
        return load_function(code_for(text)).call
    except CodeRefusedError as error:
        raise FitError("F022", f"criterion '{text}': {error}") from None


def _known(block: Block, residual: Vector) -> dict[str, Vector]:
    m = block.measured
    reference = m.value if m.transform is None else m.transform.value(m.value)
    sigma = block.sigma if isinstance(block.sigma, float) else np.nan
    relative = 1.0 if m.relative is None else m.relative
    return {
        "residual": residual,
        "weight": np.full_like(residual, block.weight),
        "time": m.time,
        "dt": _durations(m.time),
        "measured": reference,
        "simulated": reference + residual,
        "sigma": np.full_like(residual, sigma) * relative,
    }


def _durations(time: Vector) -> Vector:
    """The time that each sample stands for: the weights of the trapezoidal rule."""
    if len(time) < 2:
        return np.ones_like(time)
    half = np.diff(time) / 2
    whole: Vector = np.concatenate([half, [0.0]]) + np.concatenate([[0.0], half])
    return whole


def _total(formulas: Sequence[Formula], known: Mapping[str, Vector]) -> Vector:
    found = np.zeros_like(known["residual"])
    for formula in formulas:
        found = found + formula.at(known)
    return found


def _shaped(value: object, like: Vector) -> Vector:
    return np.broadcast_to(np.asarray(value, np.float64), like.shape)


def _apart(residual: Vector) -> Vector:
    """|r|, kept away from zero."""
    size = np.abs(residual)
    away: Vector = np.maximum(size, 1e-6 * float(size.max(initial=0.0)) or 1.0)
    return away
