"""DenseSignal: a signal between two times as polynomials, with its derivatives by the tuners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev

from estimica.base.arrays import Indices, Vector
from estimica.optimise.criteria.panels import NODES, TO_COEFFICIENTS, Panels
from estimica.optimise.criteria.value_with_gradient import ValueWithGradient

#: f(t, z) and its derivative by z
Integrand = Callable[[Vector, Vector], tuple[Vector, Vector]]
#: exact up to degree 23: the square of a signal (degree 16) times the time (1), with some to spare
GAUSS, WEIGHTS = np.polynomial.legendre.leggauss(12)
_ORDERS = np.arange(NODES)
#: coefficients @ DERIVATIVE are those of the derivative by the local coordinate
DERIVATIVE = np.array([np.append(chebyshev.chebder(row), 0.0) for row in np.eye(NODES)])
#: where roots are bracketed: four places for each of the at most eight of a polynomial
_PLACES = np.cos(np.linspace(np.pi, 0, 33))
_FINE = np.cos(np.outer(np.linspace(np.pi, 0, 33), _ORDERS)).T
_SIGNS = (-1.0) ** _ORDERS  # the basis at the begin of a panel; at its end all are 1
FLAT = 1e-12  # of the largest coefficient: no slope to speak of
JUMP = 1e-7  # of a signal's size: less is the error of a simulation that goes on after an event
KINK = 1e-5  # of a signal's largest rate: less is the same, divided by the width of a panel


@dataclass(frozen=True, eq=False)
class PanelPositions:
    """Places in panels: which panel, and where in it from -1 to 1."""

    panel: Indices
    x: Vector


@dataclass(frozen=True, eq=False)
class DenseSignal:
    """z(t) on panels; `slopes` are the coefficients of its derivatives by the tuners."""

    panels: Panels
    coefficients: Vector  # (panels, NODES)
    slopes: Vector  # (panels, NODES, m)
    #: breaks that the tuners move, with the derivatives of their times; NaN where not known
    moves: Mapping[float, Vector] = field(default_factory=dict)
    ending: ValueWithGradient | None = None  # what it jumps to where it ends

    @staticmethod
    def of(
        panels: Panels, values: Vector, slopes: Vector, moves: Mapping[float, Vector] | None = None
    ) -> DenseSignal:
        """From values (panels, NODES) and slopes (panels, NODES, m) at the nodes."""
        turned = np.einsum("pkm,kc->pcm", slopes, TO_COEFFICIENTS)
        return DenseSignal(panels, values @ TO_COEFFICIENTS, turned, moves or {})

    # -- parts and combinations ------------------------------------------------------------------

    def within(self, begin: float, end: float) -> DenseSignal:
        """The part of a window, which begins and ends with panels."""
        middle = (self.panels.low + self.panels.high) / 2
        kept = (middle > begin) & (middle < end)
        breaks = self.panels.breaks
        inner = breaks[(breaks > begin) & (breaks < end)]
        panels = Panels(
            self.panels.low[kept],
            self.panels.high[kept],
            np.concatenate([[self.panels.low[kept][0]], inner, [self.panels.high[kept][-1]]]),
        )
        ending = self.ending if bool(kept[-1]) else None
        return DenseSignal(panels, self.coefficients[kept], self.slopes[kept], self.moves, ending)

    def __sub__(self, other: DenseSignal) -> DenseSignal:
        coefficients, slopes = self.coefficients - other.coefficients, self.slopes - other.slopes
        ending = self.last - other.last if self.ending or other.ending else None
        return DenseSignal(self.panels, coefficients, slopes, self.moves, ending)

    def jumps_to(self, value: float) -> bool:
        """Whether a value at the end is another than it comes to."""
        return abs(value - self.before_end.value) > JUMP * self._size

    def closed(self, ending: ValueWithGradient) -> DenseSignal:
        """The same with a jump where it ends."""
        return replace(self, ending=ending)

    # -- values ----------------------------------------------------------------------------------

    @property
    def begin(self) -> float:
        """Where it begins."""
        return float(self.panels.low[0])

    @property
    def end(self) -> float:
        """Where it ends."""
        return float(self.panels.high[-1])

    @property
    def first(self) -> ValueWithGradient:
        """The value where it begins."""
        return self._at(0, -1.0)

    @property
    def last(self) -> ValueWithGradient:
        """The value where it ends."""
        return self.before_end if self.ending is None else self.ending

    @property
    def before_end(self) -> ValueWithGradient:
        """The value that it comes to, with an end that the tuners may move."""
        value, move = self._at(-1, 1.0), self.moves.get(self.end)
        if move is None:
            return value
        return ValueWithGradient(value.value, value.gradient + self.last_rate * move)

    @property
    def length(self) -> ValueWithGradient:
        """Seconds from begin to end."""
        move = self.moves.get(self.end, np.zeros(self.slopes.shape[2]))
        return ValueWithGradient(self.end - self.begin, move)

    def at(self, time: float) -> ValueWithGradient:
        """The value at a time; at a break the one after it."""
        k = int(np.clip(np.searchsorted(self.panels.low, time, "right") - 1, 0, len(self) - 1))
        return self._at(k, self._local(k, time))

    def rate_at(self, time: float) -> float:
        """The time derivative at a time."""
        k = int(np.clip(np.searchsorted(self.panels.low, time, "right") - 1, 0, len(self) - 1))
        return self._rate(k, self._local(k, time))

    def _at(self, k: int, x: float) -> ValueWithGradient:
        basis = np.cos(_ORDERS * np.arccos(np.clip(x, -1.0, 1.0)))
        return ValueWithGradient(float(self.coefficients[k] @ basis), basis @ self.slopes[k])

    def _local(self, k: int, time: float) -> float:
        low, high = self.panels.low[k], self.panels.high[k]
        return float((2 * time - low - high) / (high - low))

    def __len__(self) -> int:
        return len(self.coefficients)

    @cached_property
    def fine(self) -> Vector:
        """Values at 33 places of each panel."""
        return np.asarray(self.coefficients @ _FINE)

    @cached_property
    def _rates(self) -> Vector:
        """Coefficients of the derivative by the local coordinate."""
        return np.asarray(self.coefficients @ DERIVATIVE)

    def _rate(self, k: int, x: float) -> float:
        basis = np.cos(_ORDERS * np.arccos(np.clip(x, -1.0, 1.0)))
        return float(self._rates[k] @ basis) * 2 / float(self.panels.high[k] - self.panels.low[k])

    @cached_property
    def _size(self) -> float:
        """The largest value, at most."""
        return float(np.abs(self.coefficients).sum(axis=1).max())

    @cached_property
    def _fastest(self) -> float:
        """The largest rate, at most."""
        widths = self.panels.high - self.panels.low
        return float((2 * np.abs(self._rates).sum(axis=1) / widths).max())

    def kink(self, k: int) -> tuple[float, Vector] | None:
        """How sharply it turns between panels k and k + 1, of its fastest, and how the tuners move
        that time: S⁺ − S⁻ = (ż⁻ − ż⁺)·dt/dp. None where it goes on smoothly, or jumps."""
        left, right = self._at(k, 1.0), self._at(k + 1, -1.0)
        turn = self._rate(k, 1.0) - self._rate(k + 1, -1.0)
        if abs(left.value - right.value) > JUMP * self._size:
            return None
        if not abs(turn) > KINK * self._fastest:
            return None
        return abs(turn) / self._fastest, (right.gradient - left.gradient) / turn

    @property
    def last_rate(self) -> float:
        """The time derivative where it ends."""
        return self._rate(-1, 1.0)

    # -- extrema and crossings -------------------------------------------------------------------

    @cached_property
    def _turns(self) -> PanelPositions:
        """Local extrema between the ends; kinks and jumps are among them."""
        inner = _roots(self._rates)
        before, after = self._rates.sum(axis=1)[:-1], (self._rates @ _SIGNS)[1:]
        jump = np.abs((self.coefficients @ _SIGNS)[1:] - self.coefficients.sum(axis=1)[:-1])
        broken = np.isin(self.panels.high[:-1], self.panels.breaks)
        jumps = broken & (jump > JUMP * self._size)
        left = np.flatnonzero((np.sign(before) * np.sign(after) < 0) | jumps)
        right = np.flatnonzero(jumps) + 1
        panel = np.concatenate([inner.panel, left, right])
        x = np.concatenate([inner.x, np.ones(len(left)), -np.ones(len(right))])
        return PanelPositions(panel, x)

    def turn(self, wish: Callable[[Vector], Vector]) -> ValueWithGradient | None:
        """The local extremum whose value is wished for most; None where there is none."""
        values = wish(self._values(self._turns))
        return self._graded(self._turns, int(np.argmax(values))) if len(values) else None

    def turns_after(self, time: float) -> list[ValueWithGradient]:
        """All local extrema after a time."""
        late = np.flatnonzero(self._times(self._turns) > time)
        return [self._graded(self._turns, int(k)) for k in late]

    def highest(self) -> ValueWithGradient:
        """The greatest value; where it is an extremum, its gradient does not see the time move."""
        candidates = [self.first, self.before_end, self.last]
        turn = self.turn(lambda values: values)
        return max([*candidates, turn] if turn else candidates, key=lambda g: g.value)

    def lowest(self) -> ValueWithGradient:
        """The least value."""
        candidates = [self.first, self.before_end, self.last]
        turn = self.turn(lambda values: -values)
        return min([*candidates, turn] if turn else candidates, key=lambda g: g.value)

    def above(self, level: ValueWithGradient) -> DenseSignal:
        """The same, counted from a level."""
        coefficients, slopes = self.coefficients.copy(), self.slopes.copy()
        coefficients[:, 0] -= level.value
        slopes[:, 0] -= level.gradient
        ending = self.ending - level if self.ending else None
        return DenseSignal(self.panels, coefficients, slopes, self.moves, ending)

    def crossing(self, level: ValueWithGradient, *, last: bool = False) -> ValueWithGradient | None:
        """The first or last time at which it passes a level, with its derivatives.

        Where it jumps over the level, they are those of the break.
        """
        moved = self.coefficients.copy()
        moved[:, 0] -= level.value
        roots = _roots(moved)
        left, right = moved.sum(axis=1)[:-1], (moved @ _SIGNS)[1:]
        over = np.flatnonzero(np.sign(left) * np.sign(right) < 0)
        over = over[~np.isin(over, roots.panel[roots.x > 1 - 1e-9])]
        panel = np.concatenate([roots.panel, over])
        x = np.concatenate([roots.x, np.ones(len(over))])
        if not len(panel):
            return None
        times = self._times(PanelPositions(panel, x))
        k = int(np.argmax(times) if last else np.argmin(times))
        time = float(times[k])
        slope = self._at(int(panel[k]), float(x[k])).gradient - level.gradient
        if k >= len(roots.panel) and bool(np.isin(time, self.panels.breaks)):
            return ValueWithGradient(time, self.moves.get(time, np.zeros_like(slope)))
        rate = self._rate(int(panel[k]), float(x[k]))
        return ValueWithGradient(time, -slope / rate if rate else np.full_like(slope, np.nan))

    def _values(self, places: PanelPositions) -> Vector:
        basis = np.cos(_ORDERS * np.arccos(np.clip(places.x, -1, 1))[:, None])
        return np.asarray((basis * self.coefficients[places.panel]).sum(axis=1))

    def _times(self, places: PanelPositions) -> Vector:
        low, high = self.panels.low[places.panel], self.panels.high[places.panel]
        return np.asarray((low + high + places.x * (high - low)) / 2)

    def _graded(self, places: PanelPositions, k: int) -> ValueWithGradient:
        """The value with its gradient, which at a break that moves follows the break."""
        panel, x = int(places.panel[k]), float(places.x[k])
        value = self._at(panel, x)
        edge = self.panels.high[panel] if x == 1 else self.panels.low[panel] if x == -1 else None
        if edge is None or edge not in self.moves:
            return value
        before = panel if x == 1 else panel - 1
        own = self.kink(before)
        left, right = self.coefficients[before].sum(), self.coefficients[before + 1] @ _SIGNS
        if own is None and abs(left - right) <= JUMP * self._size:
            return value  # an event that this signal does not see
        moved = self._rate(panel, x) * (self.moves[float(edge)] if own is None else own[1])
        return ValueWithGradient(value.value, value.gradient + moved)

    # -- integrals -------------------------------------------------------------------------------

    def integral(self) -> ValueWithGradient:
        """∫z dt."""
        return self._integrated(self._pieces(None), lambda t, z: (z, np.ones_like(z)))

    def square_integral(self) -> ValueWithGradient:
        """∫z² dt."""
        return self._integrated(self._pieces(None), lambda t, z: (z * z, 2 * z))

    def size_integral(self, *, over_time: bool = False) -> ValueWithGradient:
        """∫|z| dt, or ∫(t − begin)·|z| dt; cut where z changes its sign."""
        begin = self.begin

        def size(t: Vector, z: Vector) -> tuple[Vector, Vector]:
            factor = (t - begin if over_time else 1.0) * np.sign(z)
            return factor * z, factor

        return self._integrated(self._pieces(_roots(self.coefficients)), size)

    def _pieces(self, cuts: PanelPositions | None) -> tuple[Indices, Vector, Vector]:
        """(panel, from, to) in local coordinates: whole panels, cut at places."""
        panel = np.arange(len(self))
        low, high = np.full(len(self), -1.0), np.full(len(self), 1.0)
        if cuts is None or not len(cuts.panel):
            return panel, low, high
        panel = np.concatenate([panel, cuts.panel])
        low = np.concatenate([low, cuts.x])
        order = np.lexsort([low, panel])
        panel, low = panel[order], low[order]
        high = np.where(np.append(panel[1:] == panel[:-1], False), np.append(low[1:], 1.0), 1.0)
        return panel, low, high

    def _integrated(
        self,
        pieces: tuple[Indices, Vector, Vector],
        integrand: Integrand,
    ) -> ValueWithGradient:
        panel, low, high = pieces
        half = (high - low) / 2
        x = ((high + low) / 2)[:, None] + half[:, None] * GAUSS  # (Q, G)
        basis = np.cos(_ORDERS * np.arccos(np.clip(x, -1, 1))[:, :, None])  # (Q, G, NODES)
        z = np.einsum("qgk,qk->qg", basis, self.coefficients[panel])
        begin, end = self.panels.low[panel], self.panels.high[panel]
        t = ((begin + end) / 2)[:, None] + ((end - begin) / 2)[:, None] * x
        value, rate = integrand(t, z)
        weight = WEIGHTS * (half * (end - begin) / 2)[:, None]
        by_node = np.einsum("qg,qgk->qk", weight * rate, basis)
        gradient = np.einsum("qk,qkm->m", by_node, self.slopes[panel])
        gradient += self._moved(integrand)
        return ValueWithGradient(float((weight * value).sum()), gradient)

    def _moved(self, integrand: Integrand) -> Vector:
        """What an integral changes by because breaks move at which its integrand jumps."""
        moved = np.zeros(self.slopes.shape[2])
        for k in np.flatnonzero(np.isin(self.panels.high[:-1], list(self.moves))):
            time = float(self.panels.high[k])
            left, right = self.coefficients[k].sum(), self.coefficients[k + 1] @ _SIGNS
            ends, _ = integrand(np.array([time, time]), np.array([left, right]))
            if abs(ends[0] - ends[1]) > 1e-9 * float(np.abs(ends).max()):
                moved += (ends[0] - ends[1]) * self.moves[time]
        if self.end in self.moves:
            last, _ = integrand(np.array([self.end]), np.array([self.coefficients[-1].sum()]))
            moved += last[0] * self.moves[self.end]
        return moved


def _roots(coefficients: Vector) -> PanelPositions:
    """Where polynomials change their sign within their panels, by Newton's method in brackets."""
    fine = coefficients @ _FINE
    size = np.abs(coefficients).sum(axis=1)
    alive = size > FLAT * size.max(initial=0.0)
    signs = np.sign(fine)
    signs[signs == 0] = 1.0
    panel, cell = np.nonzero((signs[:, :-1] != signs[:, 1:]) & alive[:, None])
    low, high = _PLACES[cell], _PLACES[cell + 1]
    rising = fine[panel, cell + 1] > fine[panel, cell]
    own, small = coefficients[panel], 1e-15 * size[panel]
    rates = own @ DERIVATIVE
    x = (low + high) / 2
    open_ = np.arange(len(x))
    for _ in range(60):
        basis = np.cos(_ORDERS * np.arccos(x[open_])[:, None])
        value = (basis * own[open_]).sum(axis=1)
        rate = (basis * rates[open_]).sum(axis=1)
        above = (value > 0) == rising[open_]
        high[open_] = np.where(above, x[open_], high[open_])
        low[open_] = np.where(above, low[open_], x[open_])
        with np.errstate(all="ignore"):
            newton = x[open_] - value / rate
        inside = (newton > low[open_]) & (newton < high[open_])
        moved = np.where(inside, newton, (low[open_] + high[open_]) / 2)
        done = (np.abs(newton - x[open_]) < 1e-13) | (np.abs(value) < small[open_])
        done |= high[open_] - low[open_] < 1e-14
        x[open_] = np.where(done, x[open_], moved)
        open_ = open_[~done]
        if not len(open_):
            break
    return PanelPositions(panel, x)


def motion(signals: Sequence[DenseSignal], times: Sequence[float]) -> dict[float, Vector]:
    """Derivatives of the times of events, from signals that turn sharply there and do not jump.

    S⁺ − S⁻ = (ẋ⁻ − ẋ⁺)·dt/dp where x is continuous; NaN where no signal tells.
    """
    moving = {}
    for time in times:
        best, move = 0.0, np.full(signals[0].slopes.shape[2] if signals else 0, np.nan)
        for x in signals:
            k = int(np.argmin(np.abs(x.panels.high - time)))
            kink = None if k == len(x) - 1 else x.kink(k)
            if kink is not None and kink[0] > best:
                best, move = kink
        moving[float(time)] = move
    return moving
