"""A slow, plain run of a sorted system with events, by the book; for small test models only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.structure.building import Point

from estimica.flat.evaluate import EvaluationPoint, evaluate
from estimica.flat.expression import Expression
from estimica.structure.sorted_system import SortedSystem

Inputs = Callable[[float], Mapping[str, float]]


class Interpreter:
    """Values of states, memories, logicals and modes, stepped by Runge-Kutta and bisection."""

    def __init__(
        self, system: SortedSystem, inputs: Inputs = lambda t: {}, start: float = 0.0
    ) -> None:
        self.system, self.inputs, self.time = system, inputs, start
        kept = (*system.states, *system.memories, *system.logicals)
        parameters = Point.parameters(system)
        self.values = {
            n: evaluate(system.starts[n], parameters) if n in system.starts else 0.0 for n in kept
        }
        self.modes = dict.fromkeys(range(len(system.relations)), False)
        self.log: list[tuple[float, dict[str, float]]] = []
        self.event(initial=True)
        self.event()

    # -- one instant -----------------------------------------------------------------------------

    def point(self, values: Mapping[str, float] | None = None, time: float | None = None) -> Point:
        time = self.time if time is None else time
        known = {**self.inputs(time), **(values or self.values)}
        return Point(self.system, known, time, self.modes)

    def __getitem__(self, text: str) -> float:
        return self.point()[text]

    def _truth(self, point: Point, i: int, held: Mapping[int, bool] | None = None) -> bool:
        r = self.system.relations[i]
        if r.instant is not None:
            return self.time >= point.value(r.instant)
        value = point.value(r.difference)
        if held and i in held and abs(value) < 1e-9:
            return held[i]
        return value > 0 if r.strict else value >= 0

    def event(self, *, initial: bool = False, held: Mapping[int, bool] | None = None) -> None:
        """Iterate until nothing changes; `held` are modes that the event itself has set.

        At the initial event the previous values are the start values, and they stay so.
        """
        for _ in range(50):
            before, modes_before = dict(self.values), dict(self.modes)
            self._sweep(before, initial, held or {})
            self._reinit(before, initial)
            if initial or (self.values == before and self.modes == modes_before):
                break
        else:
            raise AssertionError("the event iteration does not end")
        self.log.append((self.time, dict(self.values)))

    def _sweep(self, before: Mapping[str, float], initial: bool, held: Mapping[int, bool]) -> None:
        system = self.system
        for _ in range(50):
            point = self.point()
            modes = {i: self._truth(point, i, held) for i in self.modes}
            evaluated = self._at(point, before, initial)
            new = {a.unknown: float(evaluated(a.value)) for a in system.logical_equations}
            new |= {a.unknown: evaluated(a.value) for a in system.memory_equations}
            if modes == self.modes and all(self.values[n] == v for n, v in new.items()):
                return
            self.modes = modes
            self.values.update(new)
        raise AssertionError("the sweeps of an event do not end")

    def _reinit(self, before: Mapping[str, float], initial: bool) -> None:
        evaluated = self._at(self.point(), before, initial)
        new = {r.state: evaluated(r.value) for r in self.system.reinits if evaluated(r.fired)}
        self.values.update(new)

    def _at(
        self, point: Point, before: Mapping[str, float], initial: bool
    ) -> Callable[[Expression], float]:
        values = EvaluationPoint(
            point.names, point.rates, before, self.time, initial, False, self.modes
        )
        return lambda e: evaluate(e, values=values)

    # -- between events --------------------------------------------------------------------------

    def run(self, stop: float, step: float = 0.05) -> Interpreter:
        """On to `stop`, with an event wherever a relation changes."""
        while self.time < stop - 1e-12:
            h = min(step, stop - self.time, self._next_instant() - self.time)
            self._advance(h if h > 0 else step)
        return self

    def _next_instant(self) -> float:
        point = self.point()
        instants = [point.value(r.instant) for r in self.system.relations if r.instant is not None]
        return min((t for t in instants if t > self.time), default=float("inf"))

    def _advance(self, h: float) -> None:
        old, start = dict(self.values), self.time
        due = self._next_instant()
        self.values, self.time = self._stepped(old, start, h), start + h
        crossed = self._crossed()
        if crossed:
            low, high = 0.0, h
            while high - low > 1e-14:
                middle = 0.5 * (low + high)
                self.values, self.time = self._stepped(old, start, middle), start + middle
                low, high = (low, middle) if self._crossed() else (middle, high)
            self.values, self.time = self._stepped(old, start, high), start + high
            self.event(held={i: not self.modes[i] for i in self._crossed()})
        elif abs(self.time - due) < 1e-13:
            self.time = due
            self.event()

    def _crossed(self) -> list[int]:
        point = self.point()
        return [
            i
            for i, r in enumerate(self.system.relations)
            if r.instant is None and self._truth(point, i) != self.modes[i]
        ]

    def _stepped(self, old: dict[str, float], t: float, h: float) -> dict[str, float]:
        states = self.system.states

        def rates(values: dict[str, float], time: float) -> list[float]:
            point = self.point(values, time)
            return [point.rates[n] for n in states]

        def moved(k: list[float], factor: float) -> dict[str, float]:
            return old | {n: old[n] + factor * r for n, r in zip(states, k, strict=True)}

        k1 = rates(old, t)
        k2 = rates(moved(k1, h / 2), t + h / 2)
        k3 = rates(moved(k2, h / 2), t + h / 2)
        k4 = rates(moved(k3, h), t + h)
        mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        return moved(mean, h)
