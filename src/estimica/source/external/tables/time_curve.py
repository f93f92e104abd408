"""A table over time: zero before its start, shifted, with events at its points.

A short table chooses its piece by time, and every choice makes its own event. A long one would give
the solver thousands of relations to watch; there the block's variable for the next event chooses,
which stays as it is between events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate.values import Value
from estimica.source.external.host import Host
from estimica.source.external.tables.curve import MAX_EVENTS, Pieces, choice, interpolate, pieces_of
from estimica.source.external.tables.long_curve import LongLines, long_curve, long_steps
from estimica.source.external.tables.points import Curve, Events, Extrapolation, Smoothness
from estimica.source.external.tables.settings import Settings

#: what the library takes for never
NEVER = 1e60
#: an instant this near before an event, in parts of the table's length, counts as the event: the
#: sums and quotients of a shifted, scaled, periodic time are rounded
_NEAR = 1e-10
_HALF = ex.const(0.5)


def time_value(
    host: Host, settings: Settings, curve: Curve, time: Expression, next_event: Value
) -> Expression:
    """The value at `time`; `next_event` is what the caller holds as the next event's instant."""
    time = host.in_time(time)
    curve = replace(curve, events=_due(settings), closed=False)
    if _is_long(settings) and isinstance(next_event, Expression) and next_event.op == "name":
        value = _held(host, settings, curve, time, next_event)
    else:
        value = interpolate(host, curve, ex.sub(time, settings.shift))
    start = settings.start
    earliest = host.parameters.peek(start)
    if earliest is not None and earliest <= 0.0 and not ex.names_in(start):
        return value
    return ex.conditional(ex.relation("lt", time, start), ex.ZERO, value)


def next_time_event(host: Host, settings: Settings, time: Expression) -> Expression:
    """The first event after `time`: never for a short table, whose choices make the events."""
    if not _is_long(settings):
        return ex.const(NEVER)
    places = _places(host, settings)
    first, last = places[0], places[-1]
    span = ex.sub(last, first)
    near = ex.mul(ex.const(_NEAR), span)
    within = ex.add(ex.sub(host.in_time(time), settings.shift), near)
    offset = settings.shift
    if settings.extrapolation is Extrapolation.PERIODIC:
        base = ex.mul(span, ex.call("floor", ex.div(ex.sub(within, first), span)))
        within, offset = ex.sub(within, base), ex.add(offset, base)
        places = places[1:]
        pieces = Pieces(list(places), list(places[:-1]), [])
    else:
        pieces = Pieces([*places, ex.const(NEVER)], list(places), [])
    steps = long_steps(pieces.parts, pieces.cuts)
    if steps is not None:
        following = steps.value(within)
    else:
        sides = [lambda cut: ex.relation("lt", within, cut)] * len(pieces.cuts)
        following = choice(pieces, sides)
    after = ex.add(following, offset)
    early = ex.relation("lt", host.in_time(time), settings.start)
    return ex.node("noEvent", ex.conditional(early, settings.start, after))


def _due(settings: Settings) -> Events:
    """Where events are due; constant segments jump at every point."""
    return Events.ALWAYS if settings.smoothness is Smoothness.CONSTANT else settings.events


def _is_long(settings: Settings) -> bool:
    segments = settings.smoothness in (Smoothness.LINEAR, Smoothness.CONSTANT)
    return segments and _due(settings) is Events.ALWAYS and len(settings.matrix) > MAX_EVENTS


def _places(host: Host, settings: Settings) -> Sequence[Expression]:
    """The points in time, each once."""
    xs = settings.column(0)
    kept = [xs[0]]
    for x in xs[1:]:
        if x.op == kept[-1].op == "const":  # quickly: a table may have many
            if x.value > kept[-1].value:
                kept.append(x)
            continue
        width = host.parameters.peek(ex.sub(x, kept[-1]))
        if width is None or width > 0.0:
            kept.append(x)
    return kept


def _held(
    host: Host, settings: Settings, curve: Curve, time: Expression, next_event: Expression
) -> Expression:
    """The piece that ends with the next event."""
    places = _places(host, settings)
    first, last = places[0], places[-1]
    shifted, end = ex.sub(time, settings.shift), ex.sub(next_event, settings.shift)
    if settings.extrapolation is Extrapolation.PERIODIC:
        span = ex.sub(last, first)
        periods = ex.sub(ex.div(ex.sub(end, first), span), ex.const(_NEAR))
        base = ex.mul(span, ex.sub(ex.node("noEvent", ex.call("ceil", periods)), ex.ONE))
        shifted, end = ex.sub(shifted, base), ex.sub(end, base)
    long = long_curve(curve)
    if isinstance(long, LongLines):
        first_place, last_place = curve.xs[0].value, curve.xs[-1].value
        return long.ending(last_place + (last_place - first_place)).value_of(shifted, end)
    pieces = pieces_of(host, curve, shifted)
    # between two points, so that no rounding of the event's instant takes the wrong piece
    after = [*pieces.cuts[1:], ex.add(last, ex.sub(last, first))]
    middles = dict(zip(pieces.cuts, after, strict=True))

    def ends_by(cut: Expression) -> Expression:
        middle = ex.mul(_HALF, ex.add(cut, middles[cut]))
        return ex.node("noEvent", ex.relation("lt", end, middle))

    return choice(pieces, [ends_by] * len(pieces.cuts))
