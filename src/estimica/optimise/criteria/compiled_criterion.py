"""CompiledCriterion: a criterion with its formulas, what it looks at, and its value there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from estimica.base.code.trusted import TrustedCode
from estimica.base.errors import DesignError
from estimica.base.quantities import Quantity
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.optimise.criteria.dense_signal import DenseSignal
from estimica.optimise.criteria.measures import MEASURES, NotReached, Window, band_of, rest
from estimica.optimise.criteria.score import Measure
from estimica.optimise.criteria.signals import (
    SignalFormula,
    TrajectoryFunction,
    trajectory_function,
)
from estimica.optimise.criteria.smooth_constraint import (
    BandConstraint,
    ConstraintSource,
    PeakConstraint,
)
from estimica.optimise.criteria.value_with_gradient import ValueWithGradient
from estimica.study.criterion import Criterion


@dataclass(frozen=True, eq=False)
class CompiledCriterion:
    """A criterion with its expressions."""

    criterion: Criterion
    of: SignalFormula | None
    reference: SignalFormula | None
    function: TrajectoryFunction | None

    @property
    def window(self) -> tuple[object, ...]:
        """What it looks at; criteria that look at the same share it."""
        c = self.criterion
        return c.of, c.reference, c.from_, c.to, c.at_rest


def compiled_criterion(
    criterion: Criterion,
    known: Mapping[str, Quantity],
    links: ParameterMap,
    code_for: Callable[[str], TrustedCode] | None,
) -> CompiledCriterion:
    """A criterion with its formulas, or its function, checked."""
    where = f"criterion '{criterion.name}'"
    if criterion.kind == "function":
        assert criterion.function is not None
        return CompiledCriterion(criterion, None, None, trajectory_function(criterion, code_for))
    of = SignalFormula(criterion.of, where, known, links)
    reference = None
    if criterion.reference is not None:
        text = criterion.reference
        text = text if isinstance(text, str) else repr(float(text))
        reference = SignalFormula(text, f"{where}, reference", known, links)
    elif criterion.kind == "steady-state-error":
        raise DesignError("O035", f"{where}: kind 'steady-state-error' needs a reference")
    return CompiledCriterion(criterion, of, reference, None)


def measured(compiled: CompiledCriterion, window: Window, slopes: bool) -> Measure:
    """The value of a criterion in its window, with its gradient where that is known."""
    c = compiled.criterion
    if c.kind == "settling-time" and c.band is None and not window.step.value:
        raise DesignError(
            "O037", f"criterion '{c.name}': there is no step that the band is a share of; give band"
        )
    found = MEASURES[c.kind](window, c)
    known = slopes and bool(np.isfinite(found.gradient).all())
    return Measure(
        found.value,
        found.gradient if known else None,
        _kept(window, c) if slopes else None,
        found.at_least if isinstance(found, NotReached) else None,
    )


def _kept(window: Window, c: Criterion) -> ConstraintSource | None:
    """What it means that a criterion with jumps or kinks is bounded."""
    if c.kind == "settling-time":
        return BandConstraint(window.beyond, band_of(window, c))
    if c.kind in ("peak", "maximum"):
        return PeakConstraint(window.error, both=c.kind == "peak")
    return None


def window_of(compiled: CompiledCriterion, signals: Mapping[str, DenseSignal]) -> Window:
    """What a criterion looks at, of the signals by their formulas."""
    c = compiled.criterion
    assert compiled.of is not None
    y = signals[compiled.of.text]
    r = signals[compiled.reference.text] if compiled.reference is not None else None
    whole = r
    begin = y.begin if c.from_ is None else c.from_
    end = y.end if c.to is None else min(c.to, y.end)
    if c.at_rest and r is not None:
        begin = max(begin, rest(r.within(y.begin, end)))
        if begin >= end:
            raise DesignError(
                "O036",
                f"criterion '{c.name}': the reference is not at rest before {end:g}; simulate "
                "longer, or leave at_rest out",
            )
    y = y.within(begin, end)
    r = r.within(begin, end) if r is not None else None
    step = _step(y, r, whole if c.at_rest else None)
    return Window(y, r, step, c.at_rest)


def _step(y: DenseSignal, r: DenseSignal | None, whole: DenseSignal | None) -> ValueWithGradient:
    """How far the reference goes in the whole run, or how far the signal has to go."""
    if whole is not None:
        return whole.last - whole.first
    return (y.last if r is None else r.last) - y.first
