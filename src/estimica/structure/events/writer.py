"""Rewrites expressions so that everything that makes an event is a mode or a hidden variable.

Relations outside noEvent become modes, which are frozen between events. Variables that the events
need and the user never wrote have names that begin with `$`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cached_property

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Origin, Variable
from estimica.structure.events.roles import VariableRoles
from estimica.structure.linear import linear_split
from estimica.structure.sorted_system import Assignment, Delay, Relation

#: how often variables of a simplified expression are replaced by what they are equal to; chosen:
#: libraries write such an expression as a variable of its own, of others at times
DEFINITIONS = 3


class Events(Enum):
    """Which relations make events."""

    ALL = "all"
    OF_TIME = "of the time"
    NONE = "none"


class EventWriter:
    """Turns expressions of the flat model into expressions of modes and hidden variables.

    `eventful` is for equations and conditions: their relations make events. `silent` is for what
    stands below noEvent or inside a when: relations there are evaluated as they stand. `observed`
    is for variables that are only looked at: what depends on the time alone makes events.
    """

    def __init__(self, roles: VariableRoles) -> None:
        self.roles = roles
        self.hidden = GeneratedVariables()
        self.relations = RelationTable(self.moves, roles.draft.flat.by_name)
        self.notes: dict[str, None] = {}
        self.origin = Origin()
        self._memos: dict[Events, dict[Expression, Expression]] = {e: {} for e in Events}
        self._moving: dict[Expression, bool] = {}
        self._settled: dict[Expression, Expression] = {}
        self._floors: dict[Expression, Expression] = {}

    def eventful(self, e: Expression, origin: Origin) -> Expression:
        """`e` with its relations as modes."""
        self.origin = origin
        return self._rewritten(e, Events.ALL)

    def observed(self, e: Expression, origin: Origin) -> Expression:
        """`e` with the relations of the time as modes and all others as they stand."""
        self.origin = origin
        return self._rewritten(e, Events.OF_TIME)

    def silent(self, e: Expression, origin: Origin) -> Expression:
        """`e` with its relations as they stand."""
        self.origin = origin
        return self._rewritten(e, Events.NONE)

    def settled(self, e: Expression) -> Expression:
        """`e` for use between events: no pre, no flags."""
        return ex.rewrite([e], self._settled_leaf, self._settled)[0]

    def moves(self, e: Expression) -> bool:
        """Whether `e` may change between events."""
        for node in ex.walk(e) if e not in self._moving else ():
            if node not in self._moving:
                if node.operands:
                    self._moving[node] = any(self._moving[a] for a in node.operands)
                else:
                    self._moving[node] = self._leaf_moves(node)
        return self._moving[e]

    def _leaf_moves(self, leaf: Expression) -> bool:
        if leaf.op == "name" and leaf.target.startswith("$delay"):
            return True
        return self.roles.moves(leaf)

    # -- rewriting -------------------------------------------------------------------------------

    def _rewritten(self, root: Expression, events: Events) -> Expression:
        memo = self._memos[events]
        stack = [(root, False)]
        while stack:
            e, ready = stack.pop()
            if e in memo:
                continue
            if not e.operands:
                memo[e] = self._leaf(e)
            elif e.op in ("noEvent", "smooth"):
                memo[e] = self._rewritten(e.operands[0], Events.NONE)
            elif ready:
                memo[e] = self._node(e, [memo[a] for a in e.operands], events)
            else:
                stack.append((e, True))
                stack.extend((a, False) for a in reversed(e.operands) if a not in memo)
        return memo[root]

    def _leaf(self, e: Expression) -> Expression:
        return self.previous(ex.name(e.target)) if e.op == "pre" else e

    def _node(self, e: Expression, a: list[Expression], events: Events) -> Expression:
        if e.op in ex.RELATIONS and self._has_event(a, events):
            return self._relation(e.op, a)
        if e.op in ex.STEPWISE and self._has_event(a, events):
            return _STEPS[e.op](self, a)
        match e.op:
            case "sample":
                return self._sample(a)
            case "edge":
                return ex.logical_and(a[0], ex.logical_not(self.previous(a[0])))
            case "change":
                return ex.relation("ne", a[0], self.previous(a[0]))
            case "delay":
                return self.hidden.delay(e, self.settled(a[0]), self.settled(a[1]))
            case "homotopy":
                return self._kept_homotopy(*a)
        return ex.rebuild(e, a)

    def _has_event(self, a: list[Expression], events: Events) -> bool:
        if events is Events.NONE or not any(map(self.moves, a)):
            return False
        leaves = (x for x in ex.walk(*a) if not x.operands)
        return events is Events.ALL or all(x is ex.TIME for x in leaves if self.moves(x))

    def _relation(self, op: str, a: list[Expression]) -> Expression:
        if op in ("eq", "ne"):
            self.notes[f"a comparison of Reals for equality makes no event ({self.origin})"] = None
            return ex.relation(op, *a)
        return self.relations.mode(op, self.settled(a[0]), self.settled(a[1]), self.origin)

    def _sample(self, a: list[Expression]) -> Expression:
        if any(map(self.moves, a)):
            raise StructureError(
                "E401", f"the start and interval of sample() must be constant ({self.origin})"
            )
        sample = self.hidden.sample(*a)
        for instant in self.hidden.ticks.values():
            self.relations.stop_at(self.settled(instant), self.origin)
        return sample

    def _kept_homotopy(self, actual: Expression, simplified: Expression) -> Expression:
        """The simplified expression is of use only where it needs no other unknown."""
        leaves = {e for e in ex.walk(actual) if not e.operands}
        for _ in range(DEFINITIONS):
            others = [e for e in ex.walk(simplified) if not e.operands and e not in leaves]
            others = [e for e in others if e.op in ("name", "der") and self.roles.moves(e)]
            if not others:
                return ex.node("homotopy", actual, simplified)
            if not all(e in self._definitions for e in others):
                break
            written = {e: self._rewritten(self._definitions[e], Events.NONE) for e in others}
            (simplified,) = ex.rewrite([simplified], _replacing(written))
        return actual

    @cached_property
    def _definitions(self) -> dict[Expression, Expression]:
        """What variables are equal to, where an equation says so."""
        found: dict[Expression, Expression] = {}
        for e in self.roles.draft.equations:
            for side, other in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
                if side.op == "name":
                    found.setdefault(side, other)
        return found

    # -- previous values -------------------------------------------------------------------------

    def previous(self, e: Expression) -> Expression:
        """The value of `e` before the event."""
        roles = self.roles
        if e.op != "name":
            label = f"{len(self.hidden.logicals) + 1}"
            return ex.pre(self.hidden.held(label, e))
        name = e.target
        if name in roles.draft.inputs:
            if roles.is_real_input(name):
                raise StructureError(
                    "E402",
                    f"the previous value of input '{name}' is not known ({self.origin}); "
                    "store it in a discrete variable",
                )
            return ex.pre(self.hidden.held(name, e))
        return ex.pre(name)

    def _settled_leaf(self, e: Expression) -> Expression:
        if e.op in ("initial", "terminal"):
            return self.hidden.flag(e)
        if e.op != "pre":
            return e
        if e.target in self.roles.continuous:
            return ex.name(e.target)
        real = e.target in self.roles.memories or e.target in self.hidden.memories
        return self.hidden.previous(e.target, real=real)

    # -- functions with jumps --------------------------------------------------------------------

    def floor(self, a: Expression) -> Expression:
        """The largest whole number not above `a`, as a hidden Integer that changes at events."""
        a = self.settled(a)
        if a not in self._floors:
            name = f"$floor{len(self._floors) + 1}"
            self._floors[a] = ex.name(name)
            before = self.hidden.previous(name, real=False)
            one_up = ex.add(before, ex.ONE)
            up = self.relations.mode("ge", a, one_up, self.origin)
            down = self.relations.mode("lt", a, before, self.origin)
            whole = ex.call("floor", a)
            risen = ex.call("max", whole, ex.add(ex.pre(name), ex.ONE))
            fallen = ex.call("min", whole, ex.sub(ex.pre(name), ex.ONE))
            moved = ex.conditional(up, risen, ex.conditional(down, fallen, ex.pre(name)))
            self.hidden.logical(name, ex.conditional(ex.INITIAL, whole, moved), self.origin)
        return self._floors[a]

    def truncated(self, a: Expression) -> Expression:
        """The whole part of `a`, rounded towards zero."""
        positive = self.relations.mode("ge", self.settled(a), ex.ZERO, self.origin)
        return ex.conditional(positive, self.floor(a), ex.neg(self.floor(ex.neg(a))))

    def sign(self, a: Expression) -> Expression:
        """-1, 0 or 1."""
        a = self.settled(a)
        above = self.relations.mode("gt", a, ex.ZERO, self.origin)
        below = self.relations.mode("lt", a, ex.ZERO, self.origin)
        return ex.conditional(above, ex.ONE, ex.conditional(below, ex.const(-1.0), ex.ZERO))


def _replacing(written: dict[Expression, Expression]) -> Callable[[Expression], Expression]:
    return lambda e: written.get(e, e)


Step = Callable[[EventWriter, list[Expression]], Expression]
_STEPS: dict[str, Step] = {
    "sign": lambda w, a: w.sign(a[0]),
    "floor": lambda w, a: w.floor(a[0]),
    "integer": lambda w, a: w.floor(a[0]),
    "ceil": lambda w, a: ex.neg(w.floor(ex.neg(a[0]))),
    "idiv": lambda w, a: w.truncated(ex.div(a[0], a[1])),
    "mod": lambda w, a: ex.sub(a[0], ex.mul(w.floor(ex.div(a[0], a[1])), a[1])),
    "rem": lambda w, a: ex.sub(a[0], ex.mul(w.truncated(ex.div(a[0], a[1])), a[1])),
}


#: samples this much of an interval early still count, so that rounding does not part two of them;
#: after k intervals the time is rounded by up to 2e-16 k of one: enough for four million samples
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
        margin = _margin(interval, ex.call("abs", due))
        reached = ex.relation("ge", ex.add(ex.TIME, margin), due)
        size = ex.add(ex.call("abs", start), ex.call("abs", ex.TIME))
        early = ex.add(start, _margin(interval, size))
        passed = ex.call("ceil", ex.div(ex.sub(ex.TIME, early), interval))
        first = ex.call("max", ex.ZERO, passed)
        following = ex.conditional(reached, ex.add(ex.pre(tick), ex.ONE), ex.pre(tick))
        self.logical(tick, ex.conditional(ex.INITIAL, first, following))
        self.logical(sample, ex.logical_and(reached, ex.logical_not(ex.INITIAL)))
        self.ticks[tick] = ex.add(start, ex.mul(ex.name(tick), interval))


def _margin(interval: Expression, size: Expression) -> Expression:
    """How early a sample still counts; an interval without end must not make all times early."""
    return ex.mul(ex.const(SIMULTANEOUS), ex.call("min", interval, size))


#: stands for "never" where an instant has no finite value
NEVER = ex.const(1e300)


class RelationTable:
    """Collects the relations of a model; equal ones share one mode, opposite ones as well."""

    def __init__(self, moves: Callable[[Expression], bool], variables: dict[str, Variable]) -> None:
        """`moves` tells whether an expression may change between events."""
        self.moves, self.variables = moves, variables
        self.found: list[Relation] = []
        self._states: dict[tuple[Expression, bool], int] = {}
        self._instants: dict[Expression, int] = {}

    def mode(self, op: str, a: Expression, b: Expression, origin: Origin) -> Expression:
        """The truth of `a op b` (lt, le, gt, ge) in terms of modes."""
        if op in ("lt", "le"):
            op, a, b = ("gt" if op == "lt" else "ge"), b, a
        difference, strict = ex.sub(a, b), op == "gt"
        timed = self._time_mode(difference, strict, origin)
        if timed is not None:
            return timed
        opposite = self._states.get((ex.sub(b, a), not strict))
        if opposite is not None:
            return ex.logical_not(ex.node("mode", opposite))
        key = (difference, strict)
        if key not in self._states:
            self._states[key] = self._add(Relation(difference, strict, origin=origin))
        return ex.node("mode", self._states[key])

    def stop_at(self, instant: Expression, origin: Origin) -> Expression:
        """The mode that is true from `instant` on."""
        if instant not in self._instants:
            difference = ex.sub(ex.TIME, instant)
            self._instants[instant] = self._add(
                Relation(difference, strict=False, instant=instant, origin=origin)
            )
        return ex.node("mode", self._instants[instant])

    def _add(self, relation: Relation) -> int:
        self.found.append(relation)
        return len(self.found) - 1

    def _time_mode(self, difference: Expression, strict: bool, origin: Origin) -> Expression | None:
        """factor·time + rest > 0 with both constant between events, or None."""
        if not any(e is ex.TIME for e in ex.walk(difference)):
            return None
        parts = linear_split(difference, ex.TIME)
        if parts is None or any(self.moves(p) for p in parts):
            return None
        factor, rest = parts
        sign, instant = self._sign(factor), _root(factor, rest)
        if sign:
            mode = self.stop_at(instant, origin)
            return mode if sign > 0 else ex.logical_not(mode)
        zero = ex.relation("eq", factor, ex.ZERO) if _can_vanish(factor) else ex.ZERO
        mode = self.stop_at(ex.conditional(zero, NEVER, instant), origin)
        constant = ex.relation("gt" if strict else "ge", rest, ex.ZERO)
        rising = ex.relation("gt", factor, ex.ZERO)
        return ex.conditional(zero, constant, ex.conditional(rising, mode, ex.logical_not(mode)))

    def _sign(self, e: Expression) -> int:
        """+1 or -1 where the sign is certain, 0 where it is not."""
        match e.op:
            case "const":
                return (e.value > 0) - (e.value < 0)
            case "name":
                v = self.variables.get(e.target)
                low = v.minimum if v is not None else None
                return int(low is not None and low.op == "const" and low.value > 0)
            case "neg":
                return -self._sign(e.operands[0])
            case "mul" | "div":
                return self._sign(e.operands[0]) * self._sign(e.operands[1])
            case _:
                return 0


def _root(factor: Expression, rest: Expression) -> Expression:
    """The t for which factor·t + rest = 0."""
    if factor.op == "neg":
        return ex.neg(_root(factor.operands[0], rest))
    if factor.op == "div":
        top, bottom = factor.operands
        return ex.div(ex.mul(ex.neg(rest), bottom), top)
    if ex.is_const(factor) and factor.value < 0:
        return ex.div(rest, ex.neg(factor))
    return ex.div(ex.neg(rest), factor)


def _can_vanish(e: Expression) -> bool:
    match e.op:
        case "const":
            return e.value == 0.0
        case "neg" | "div":
            return _can_vanish(e.operands[0])
        case _:
            return True
