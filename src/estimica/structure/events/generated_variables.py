"""Variables that the events need and the user never wrote; their names begin with `$`."""

from __future__ import annotations

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Origin
from estimica.structure.sorted_system import Assignment, Delay

#: samples this much of an interval early still count, so that rounding does not part two of them
SIMULTANEOUS = 1e-9


class GeneratedVariables:
    """Collects hidden logicals and memories with their equations, and delayed signals."""

    def __init__(self) -> None:
        self.logicals: dict[str, Assignment] = {}
        self.memories: dict[str, Assignment] = {}
        self.delays: dict[Expression, Delay] = {}
        self.copies: dict[str, str] = {}  # `$pre(x)` → x, whose start value it shares
        self._samples: dict[Expression, str] = {}
        self.ticks: dict[str, Expression] = {}

    def logical(self, name: str, value: Expression, origin: Origin | None = None) -> Expression:
        """A hidden logical that takes `value` at every event."""
        self.logicals.setdefault(name, Assignment(name, value, origin or Origin(kind="hidden")))
        return ex.name(name)

    def previous(self, name: str, *, real: bool) -> Expression:
        """The value that `name` had before the event, for equations that know no `pre`."""
        copy = f"$pre({name})"
        table = self.memories if real else self.logicals
        table.setdefault(copy, Assignment(copy, ex.pre(name), Origin(kind="hidden")))
        self.copies[copy] = name
        return ex.name(copy)

    def flag(self, leaf: Expression) -> Expression:
        """initial() or terminal(), for equations that know no flags."""
        return self.logical(f"${leaf.op}", leaf)

    def held(self, label: str, value: Expression, *, real: bool = False) -> str:
        """A hidden copy of `value`, so that `pre` can be asked of it."""
        name = f"$held({label})"
        table = self.memories if real else self.logicals
        table.setdefault(name, Assignment(name, value, Origin(kind="hidden")))
        return name

    def delay(self, e: Expression, body: Expression, duration: Expression) -> Expression:
        """The delayed signal for the node `e`."""
        if e not in self.delays:
            name = f"$delay{len(self.delays) + 1}"
            self.delays[e] = Delay(name, body, duration, Origin(kind="delay"))
        return ex.name(self.delays[e].name)

    def sample(self, start: Expression, interval: Expression) -> Expression:
        """True at the instants start + k·interval.

        A hidden Integer counts them; it is exact, so that the instants carry no rounding from one
        to the next and their derivatives by start and interval are exact as well.
        """
        key = ex.node("sample", start, interval)
        if key not in self._samples:
            number = len(self._samples) + 1
            self._samples[key] = f"$sample{number}"
            self._add_sample(number, start, interval)
        return ex.name(self._samples[key])

    def _add_sample(self, number: int, start: Expression, interval: Expression) -> None:
        tick, sample = f"$tick{number}", f"$sample{number}"
        due = ex.add(start, ex.mul(ex.pre(tick), interval))
        margin = ex.mul(ex.const(SIMULTANEOUS), interval)
        reached = ex.relation("ge", ex.add(ex.TIME, margin), due)
        passed = ex.call("ceil", ex.div(ex.sub(ex.TIME, ex.add(start, margin)), interval))
        first = ex.call("max", ex.ZERO, passed)
        following = ex.conditional(reached, ex.add(ex.pre(tick), ex.ONE), ex.pre(tick))
        self.logical(tick, ex.conditional(ex.INITIAL, first, following))
        self.logical(sample, ex.logical_and(reached, ex.logical_not(ex.INITIAL)))
        self.ticks[tick] = ex.add(start, ex.mul(ex.name(tick), interval))
