"""Whether equations stay continuous where relations change, so that sensitivities do not jump.

At an event whose time moves with a tuner, x̃ jumps by (f₋ − f₊) dt*/dθ. It does not where f₋ = f₊ on
the surface of the relation, as for a dead zone or a saturation, nor where no tuner moves the time.
Both can be told from the equations: the second by what a relation depends on, the first by
evaluating the equation at points of the surface with the relation true and with it false.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.calculus import DerivativeError, partial
from estimica.flat.evaluate import EvaluationPoint, evaluate
from estimica.flat.expression import Expression
from estimica.flat.modelica_text import write_expression
from estimica.flat.system import Equation, FlatSystem, Kind, Origin, Variability

INEQUALITIES = frozenset({"lt", "le", "gt", "ge"})
#: points of a surface that are looked at: what differs does so at nearly all of them (chosen)
POINTS = 8
TRIALS = 60  # to find them; a start from which Newton's method fails is drawn again (chosen)
#: both sides may differ by so much of the largest number in the equation: rounding, far below any
#: jump in earnest (chosen)
ROUNDING = 1e-7
_ANYTHING = (-math.inf, math.inf)


@dataclass(frozen=True)
class Jump:
    """An equation whose value jumps, or may jump, where a condition changes."""

    origin: Origin
    condition: str


def jumps(flat: FlatSystem, tuners: Sequence[str]) -> Iterator[Jump]:
    """Where the sensitivities by `tuners` may jump."""
    system = _System(flat, tuners)
    for equation in flat.equations:
        yield from system.jumps(equation)


class _System:
    def __init__(self, flat: FlatSystem, tuners: Sequence[str]) -> None:
        self.flat = flat
        self.rng = np.random.default_rng(1)
        self.fixed = self._unmoved(set(tuners))
        self.logical = {
            e.lhs.target: e.rhs
            for e in flat.equations
            if e.lhs.op == "name" and flat.by_name[e.lhs.target].kind is not Kind.REAL
        }
        self.values = self._parameters()

    def _unmoved(self, tuners: set[str]) -> set[str]:
        """Variables that no tuner moves: inputs, other parameters, what is computed from them."""
        known: set[str] = set()
        for v in self.flat.variables:
            bound = v.variability in (Variability.PARAMETER, Variability.CONSTANT)
            if v.causality == "input" or (bound and (v.binding is not None or v.fixed)):
                known.add(v.name)
        known -= tuners
        changed = True
        while changed:  # parameters that are computed from tuners move, too
            lost = {
                v.name
                for v in self.flat.variables
                if v.name in known and v.binding is not None and not self._of(v.binding, known)
            }
            changed = bool(lost)
            known -= lost
        changed = True
        while changed:
            found = {
                side.target
                for e in self.flat.equations
                for side, other in ((e.lhs, e.rhs), (e.rhs, e.lhs))
                if side.op == "name" and side.target not in known and self._of(other, known)
            } - tuners
            bound_names = {v.name for v in self.flat.variables if v.binding is not None}
            changed = bool(found - bound_names)
            known |= found - bound_names
        return known

    @staticmethod
    def _of(e: Expression, known: set[str]) -> bool:
        return all(
            leaf.op not in ("der", "pre") and (leaf.op != "name" or leaf.target in known)
            for leaf in ex.walk(e)
            if leaf.op in ex.LEAVES
        )

    def _parameters(self) -> dict[str, float]:
        """Values of parameters, as far as they are numbers."""
        known: dict[str, float] = {}
        for _ in self.flat.variables:
            new = 0
            for v in self.flat.variables:
                given = v.binding if v.binding is not None else v.start
                if v.name in known or given is None or v.variability is Variability.CONTINUOUS:
                    continue
                if ex.names_in(given) <= set(known):
                    known[v.name] = evaluate(given, known)
                    new += 1
            if not new:
                break
        return known

    def jumps(self, equation: Equation) -> Iterator[Jump]:
        if equation.lhs.op == "name" and equation.lhs.target in self.logical:
            return  # counts where it is used
        e = self._written_out(ex.sub(equation.lhs, equation.rhs))
        trusted = set(ex.walk(*(n for n in ex.walk(e) if n.op == "smooth")))
        for node in ex.walk(e):
            if node in trusted or node.op in ("const", "name", "der"):
                continue
            if node.op in ex.STEPWISE and not self._of(node, self.fixed):
                yield Jump(equation.origin, self._text(node))
            elif node.op in ex.RELATIONS and not self._of(node, self.fixed):
                continuous = node.op in INEQUALITIES and self._is_continuous(e, node)
                if not continuous:
                    yield Jump(equation.origin, self._text(node))

    def _written_out(self, e: Expression) -> Expression:
        """With the definitions of logical variables in their places."""
        for _ in self.logical:
            used = ex.names_in(e) & self.logical.keys()
            if not used:
                break
            (e,) = ex.rewrite([e], lambda n: self.logical.get(n.target, n) if n.op == "name" else n)
        return e

    @staticmethod
    def _text(e: Expression) -> str:
        text = write_expression(e)
        return text if len(text) <= 80 else f"{text[:77]}..."  # chosen: a line of a terminal

    def _is_continuous(self, e: Expression, relation: Expression) -> bool:
        """Whether the equation has one value where the two sides of the relation are equal."""
        surface = ex.sub(*relation.operands)
        leaves = sorted(
            {n for n in ex.walk(e) if n.op in ("name", "der", "pre", "time")},
            key=lambda n: (n.op, *map(str, n.args)),
        )
        pivots = [n for n in leaves if n in set(ex.walk(surface)) and n.op in ("name", "der")]
        pivots = [n for n in pivots if n.target not in self.fixed]
        # variables move; a tuner that is the width of a zone, say, keeps its value where it can
        pivots = [n for n in pivots if n.target not in self.values] or pivots
        yes, no = (ex.rewrite([e], lambda n: n, {relation: side})[0] for side in (ex.ONE, ex.ZERO))
        seen = 0
        for trial in range(TRIALS):
            pivot = pivots[trial % len(pivots)]
            values = {n: self._drawn(n) for n in leaves}
            if not self._onto(surface, pivot, values) or not self._within(pivot, values[pivot]):
                continue
            point = _point(values)
            a, b = evaluate(yes, values=point), evaluate(no, values=point)
            if not (math.isfinite(a) and math.isfinite(b)):
                continue
            size = max(1.0, abs(a), abs(b), *(abs(v) for v in values.values()))
            if abs(a - b) > ROUNDING * size:
                return False
            seen += 1
            if seen == POINTS:
                return True
        return False

    def _within(self, leaf: Expression, value: float) -> bool:
        """Whether a value is one that the variable may have."""
        low, high = self.flat.by_name[leaf.target].range if leaf.op == "name" else _ANYTHING
        return low <= value <= high

    def _drawn(self, leaf: Expression) -> float:
        """A value for a leaf: parameters have their own, others anything of their size."""
        if leaf.op == "name" and leaf.target in self.values:
            return self.values[leaf.target]
        size = 1.0
        if leaf.op != "time":
            v = self.flat.by_name[leaf.target]
            for given in (v.nominal, v.start):
                if given is not None and given.op == "const" and given.value:
                    size = abs(given.value)
                    break
        return float(self.rng.normal(0.0, 2.0 * size))

    def _onto(
        self, surface: Expression, pivot: Expression, values: dict[Expression, float]
    ) -> bool:
        """Moves the pivot until the surface is reached; whether it could be."""
        try:
            slope = partial(surface, pivot)
        except DerivativeError:
            return False
        for _ in range(50):  # Newton's method doubles the digits each time
            point = _point(values)
            off, rate = evaluate(surface, values=point), evaluate(slope, values=point)
            if not (math.isfinite(off) and math.isfinite(rate)) or rate == 0.0:
                return False
            step = off / rate
            values[pivot] -= step
            if abs(step) <= 1e-14 * max(1e-6, abs(values[pivot])):
                return True
        return False


def _point(values: Mapping[Expression, float]) -> EvaluationPoint:
    return EvaluationPoint(
        names={n.target: v for n, v in values.items() if n.op == "name"},
        derivatives={n.target: v for n, v in values.items() if n.op == "der"},
        previous={n.target: v for n, v in values.items() if n.op == "pre"},
        time=next((v for n, v in values.items() if n.op == "time"), 0.0),
    )
