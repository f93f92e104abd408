"""Rewrites expressions so that everything that makes an event is a mode or a hidden variable."""

from __future__ import annotations

from collections.abc import Callable

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Origin
from estimica.structure.events.generated_variables import GeneratedVariables
from estimica.structure.events.relations import RelationTable
from estimica.structure.events.roles import VariableRoles


class EventWriter:
    """Turns expressions of the flat model into expressions of modes and hidden variables.

    `eventful` is for equations and conditions: their relations make events. `silent` is for what
    stands below noEvent or inside a when: relations there are evaluated as they stand.
    """

    def __init__(self, roles: VariableRoles) -> None:
        self.roles = roles
        self.hidden = GeneratedVariables()
        self.relations = RelationTable(self.moves, roles.draft.flat.by_name)
        self.notes: dict[str, None] = {}
        self.origin = Origin()
        self._memos: dict[bool, dict[Expression, Expression]] = {True: {}, False: {}}
        self._moving: dict[Expression, bool] = {}
        self._settled: dict[Expression, Expression] = {}
        self._floors: dict[Expression, Expression] = {}

    def eventful(self, e: Expression, origin: Origin) -> Expression:
        """`e` with its relations as modes."""
        self.origin = origin
        return self._rewritten(e, events=True)

    def silent(self, e: Expression, origin: Origin) -> Expression:
        """`e` with its relations as they stand."""
        self.origin = origin
        return self._rewritten(e, events=False)

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

    def _rewritten(self, root: Expression, *, events: bool) -> Expression:
        memo = self._memos[events]
        stack = [(root, False)]
        while stack:
            e, ready = stack.pop()
            if e in memo:
                continue
            if not e.operands:
                memo[e] = self._leaf(e)
            elif e.op in ("noEvent", "smooth"):
                memo[e] = self._rewritten(e.operands[0], events=False)
            elif ready:
                memo[e] = self._node(e, [memo[a] for a in e.operands], events=events)
            else:
                stack.append((e, True))
                stack.extend((a, False) for a in reversed(e.operands) if a not in memo)
        return memo[root]

    def _leaf(self, e: Expression) -> Expression:
        return self.previous(ex.name(e.target)) if e.op == "pre" else e

    def _node(self, e: Expression, a: list[Expression], *, events: bool) -> Expression:
        if e.op in ex.RELATIONS and events and any(map(self.moves, a)):
            return self._relation(e.op, a)
        if e.op in ex.STEPWISE and events and any(map(self.moves, a)):
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
        return ex.build(e.op, *a)

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
        others = [e for e in ex.walk(simplified) if not e.operands and e not in leaves]
        fits = not any(e.op in ("name", "der") and self.roles.moves(e) for e in others)
        return ex.node("homotopy", actual, simplified) if fits else actual

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
