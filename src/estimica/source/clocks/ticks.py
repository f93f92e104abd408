"""The clock of every partition: a base clock, a factor and a shift, given or inferred."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Origin
from estimica.source.clocks.operators import Application
from estimica.source.clocks.partitions import Conversion, Partition, Partitions

#: digits of an interval in seconds: 0.1 means a tenth, not the double next to it
_NANO = 10**9


@dataclass(frozen=True, slots=True)
class BaseClock:
    """Ticks every `interval` seconds, or whenever `condition` becomes true."""

    interval: Expression | None = None
    condition: Expression | None = None
    start: Expression = ex.ZERO  # the interval that the first tick of an event clock tells
    label: str = ""  # of an event clock: two of them are never the same


@dataclass(frozen=True, slots=True)
class Ticks:
    """Every `factor` intervals of a base clock, from `shift` intervals on."""

    base: BaseClock
    factor: Fraction
    shift: Fraction
    origin: Origin
    method: str = ""  # by which derivatives are integrated from tick to tick

    @property
    def interval(self) -> Expression | None:
        """The seconds between two ticks; None where they vary."""
        if self.base.interval is None:
            return None
        return ex.mul(ex.const(float(self.factor)), self.base.interval)

    @property
    def first(self) -> Expression:
        """The instant of the first tick of a periodic clock."""
        assert self.base.interval is not None
        return ex.mul(ex.const(float(self.shift)), self.base.interval)

    def same_as(self, other: Ticks) -> bool:
        """Whether both tick at the same instants, as far as that is known."""
        if self.base != other.base:
            return self.base.interval is not None and other.base.interval is not None
        return self.factor == other.factor and self.shift == other.shift


def ticks_of(partitions: Partitions) -> dict[str, Ticks]:
    """The clock of every partition that has one, by its root."""
    known: dict[str, Ticks] = {}
    root = partitions.joined.root
    for partition in partitions.found.values():
        given = [_given(c) for c in partition.clocks]
        for other in given[1:]:
            if not given[0].same_as(other):
                raise _conflict(given[0], other)
        if given:
            known[partition.root] = given[0]
    waiting = list(partitions.conversions)
    while waiting:
        left = []
        for c in waiting:
            source, of = known.get(root(c.source)), known.get(root(c.of))
            if c.factor is None or (source is None and of is None):
                left.append(c)
                continue
            if source is not None:
                _settle(known, root(c.of), _converted(source, c))
            if of is not None:
                _settle(known, root(c.source), _inverted(of, c))
        if len(left) == len(waiting):
            break
        waiting = left
    for partition in partitions.clocked():
        if partition.root not in known:
            raise _unknown(partition)
        if known[partition.root].shift < 0:
            raise SourceError(
                "S236",
                f"{partition.origin}: the clock of these equations would tick before the start; "
                "use a smaller backCounter, or shiftSample() before it",
            )
    return known


def _settle(known: dict[str, Ticks], root: str, ticks: Ticks) -> None:
    before = known.get(root)
    if before is None:
        known[root] = ticks
        return
    if not before.same_as(ticks):
        raise _conflict(before, ticks)
    if ticks.method and not before.method:
        known[root] = replace(before, method=ticks.method)


def _given(clock: Application) -> Ticks:
    none = Fraction(0)
    if clock.operator == "Clock.event":
        base = BaseClock(condition=clock.argument, start=clock.start, label=clock.result)
        return Ticks(base, Fraction(1), none, origin=clock.origin)
    if clock.operator == "Clock.periodic":
        factor = Fraction(*clock.numbers)
    else:
        assert clock.argument is not None
        if clock.argument.op != "const":
            return Ticks(BaseClock(clock.argument), Fraction(1), none, origin=clock.origin)
        value = clock.argument.value
        factor = Fraction(value).limit_denominator(_NANO)
        if abs(float(factor) - value) > abs(value) / _NANO:
            factor = Fraction(value)
    if factor <= 0:
        raise SourceError("S235", f"{clock.origin}: a clock of the interval {float(factor):g} s")
    return Ticks(BaseClock(ex.ONE), factor, none, origin=clock.origin)


def _converted(source: Ticks, c: Conversion) -> Ticks:
    assert c.factor is not None
    return replace(
        source,
        shift=source.shift + c.shift * source.factor,
        factor=source.factor * c.factor,
        method=c.method or source.method,
    )


def _inverted(of: Ticks, c: Conversion) -> Ticks:
    assert c.factor is not None
    factor = of.factor / c.factor
    # a solver is chosen for a clock, not for the clock that it was made from
    method = "" if c.method else of.method
    return replace(of, factor=factor, shift=of.shift - c.shift * factor, method=method)


def _conflict(one: Ticks, other: Ticks) -> SourceError:
    return SourceError(
        "S234",
        f"{one.origin} and {other.origin} give the same equations different clocks; "
        "put subSample(), superSample() or shiftSample() between them",
    )


def _unknown(partition: Partition) -> SourceError:
    return SourceError(
        "S237",
        f"{partition.equations[0].origin}: it has a clock (by '{partition.clocked}', "
        f"{partition.origin}), but nothing says which; give one, such as sample(u, Clock(0.1))",
    )
