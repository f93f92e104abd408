"""Continuous equations of any index → a square system of index one, its states and invariants."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.calculus import DerivativeError, partial, tangent
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, FlatSystem, Origin, StateSelect
from estimica.structure.graph.blocks import incidence
from estimica.structure.graph.diagnosis import UnmatchedSystem, unmatched_error
from estimica.structure.graph.matching import match
from estimica.structure.index.pantelides import DifferentiationOrders, differentiation_orders
from estimica.structure.index.state_selection import (
    Factor,
    StatePreferences,
    StateSelection,
    select_states,
)
from estimica.structure.linear import DivisionGuard, degree
from estimica.structure.sorted_system import Assignment

_INPUT_ADVICE = "put a filter behind the input, or make the prescribed variable the input"


@dataclass(frozen=True, slots=True)
class ContinuousSystem:
    """The continuous part of a model: what the equations must determine, and what is known."""

    flat: FlatSystem
    counts: tuple[int, int]  # equations and unknowns of the whole model
    equations: tuple[Equation, ...]
    redundant: tuple[Equation, ...]  # left out, because they follow from the others
    unknowns: tuple[str, ...]
    inputs: frozenset[str]
    delayed: frozenset[str]
    starts: dict[str, Expression]
    fixed: frozenset[str]
    state_select: dict[str, StateSelect]
    reinitialised: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReducedSystem:
    """As many equations as unknowns; the unknowns are leaves `name` or `der`."""

    equations: tuple[Equation, ...]
    unknowns: tuple[Expression, ...]
    states: tuple[str, ...]
    links: tuple[Assignment, ...]  # der(x) := $der(x), where a derivative itself is a state
    constraints: tuple[Equation, ...]
    notes: tuple[str, ...]


def reduce_system(system: ContinuousSystem, safety: DivisionGuard) -> ReducedSystem:
    """Differentiate what must be differentiated and choose the states."""
    system = _with_known_rates(system)
    must, preferred = _wished_states(system)
    if preferred:
        # what had better be a state can be one where its equations have derivatives
        with contextlib.suppress(StructureError):
            return _Reducer(_with_rates(system, must + preferred), safety).run()
    return _Reducer(_with_rates(system, must), safety).run()


def _with_known_rates(system: ContinuousSystem) -> ContinuousSystem:
    """Derivatives of what the equations do not determine: those of inputs may be given."""
    unknowns = frozenset(system.unknowns)
    roots = [side for e in system.equations for side in (e.lhs, e.rhs)]
    foreign = [x for x in ex.walk(*roots) if x.op == "der" and x.target not in unknowns]
    if not foreign:
        return system
    rates = {x: ex.name(f"der({x.target})") for x in foreign}
    for rate, given in rates.items():
        if given.target not in system.inputs:
            raise _no_rate(system, rate)
    memo: dict[Expression, Expression] = {}
    equations = []
    for e in system.equations:
        lhs, rhs = ex.rewrite((e.lhs, e.rhs), lambda x: rates.get(x, x), memo)
        equations.append(replace(e, lhs=lhs, rhs=rhs))
    return replace(system, equations=tuple(equations))


def _no_rate(system: ContinuousSystem, rate: Expression) -> StructureError:
    origin = next(e.origin for e in system.equations if rate in ex.walk(e.lhs, e.rhs))
    if rate.target in system.inputs:
        reason = f"of input '{rate.target}' ({_INPUT_ADVICE})"
    else:
        reason = f"of '{rate.target}', which is not a continuous variable; write it differently"
    return StructureError("E302", f"{origin} needs the derivative {reason}")


def _wished_states(system: ContinuousSystem) -> tuple[list[str], list[str]]:
    """Variables that must be states, and that had better be, without a derivative of theirs."""
    roots = [side for e in system.equations for side in (e.lhs, e.rhs)]
    differentiated = {leaf.target for leaf in ex.walk(*roots) if leaf.op == "der"}
    if not differentiated:
        return [], []
    others = [n for n in system.unknowns if n not in differentiated]
    wish = system.state_select
    return (
        [n for n in others if wish.get(n) is StateSelect.ALWAYS],
        [n for n in others if wish.get(n) is StateSelect.PREFER],
    )


def _with_rates(system: ContinuousSystem, wished: Sequence[str]) -> ContinuousSystem:
    """Ask for the derivative of variables that are wished for as states, so that they can be."""
    extra = tuple(
        Equation(ex.name(f"$rate({n})"), ex.der(n), Origin(kind="hidden")) for n in wished
    )
    return replace(
        system,
        equations=system.equations + extra,
        unknowns=system.unknowns + tuple(f"$rate({n})" for n in wished),
    )


class _Reducer:
    """The variables by number, their derivatives by leaf, and the equations on every level."""

    def __init__(self, system: ContinuousSystem, safety: DivisionGuard) -> None:
        self.system, self.safety = system, safety
        self.names = list(system.unknowns)
        self.place: dict[Expression, tuple[int, int]] = {}
        for v, name in enumerate(self.names):
            self.place[ex.name(name)] = (v, 0)
            self.place[ex.der(name)] = (v, 1)
        self.rates: dict[Expression, Expression] = {}
        roots = [side for e in system.equations for side in (e.lhs, e.rhs)]
        self.differentiated = {leaf.target for leaf in ex.walk(*roots) if leaf.op == "der"}

    def run(self) -> ReducedSystem:
        orders = [self._orders(e) for e in self.system.equations]
        self._check_regular(orders)
        offsets = differentiation_orders(orders, len(self.names))
        levels = self._differentiated(offsets)
        reduced = self._assembled(offsets, levels, self._selection(offsets, orders))
        rows = incidence(reduced.equations, reduced.unknowns)
        if match(rows, len(reduced.unknowns)).unmatched_rows:
            # the choice does not determine everything: keep all candidates, project instead
            nothing = (frozenset[int](),)
            plain = StateSelection(nothing * len(offsets.c), nothing * len(offsets.d), ())
            reduced = self._assembled(offsets, levels, plain)
        return reduced

    def _orders(self, e: Equation) -> dict[int, int]:
        """The variables of `e` with the order of their highest derivative in it."""
        orders: dict[int, int] = {}
        for leaf in ex.walk(e.lhs, e.rhs):
            at = self.place.get(leaf)
            if at is not None:
                orders[at[0]] = max(orders.get(at[0], 0), at[1])
        return dict(sorted(orders.items()))

    def _check_regular(self, orders: Sequence[dict[int, int]]) -> None:
        rows = [list(row) for row in orders]
        matching = match(rows, len(self.names))
        if matching.unmatched_rows or matching.unmatched_columns:
            system = self.system
            problem = UnmatchedSystem(
                system.flat.name,
                system.counts,
                system.equations,
                system.unknowns,
                system.redundant,
                any(e.origin.kind == "flow sum" for e in system.flat.equations),
            )
            raise unmatched_error(problem, rows, matching)

    # -- differentiation -------------------------------------------------------------------------

    def _differentiated(self, offsets: DifferentiationOrders) -> list[list[Equation]]:
        """Every equation with its derivatives, up to the order that `offsets` asks for."""
        levels = []
        for e, c in zip(self.system.equations, offsets.c, strict=True):
            chain = [e]
            for _ in range(c):
                chain.append(self._rate_of(chain[-1], e))
            levels.append(chain)
        return levels

    def _rate_of(self, e: Equation, original: Equation) -> Equation:
        try:
            lhs, rhs = tangent((e.lhs, e.rhs), self._rate, self.rates)
        except DerivativeError as error:
            raise StructureError(
                "E302",
                f"{original.origin} ties states together and must be differentiated, "
                f"but {error}; choose the states by stateSelect or write it differently",
            ) from None
        origin = original.origin
        kind = (
            origin.kind if origin.kind.startswith("derivative") else f"derivative of {origin.kind}"
        )
        return replace(e, lhs=lhs, rhs=rhs, origin=replace(origin, kind=kind))

    def _rate(self, leaf: Expression) -> Expression:
        if leaf.op == "time":
            return ex.ONE
        at = self.place.get(leaf)
        if at is not None:
            v, order = at
            following = ex.der(leaf.target if order == 0 else f"der({leaf.target})")
            if order == 0:
                return following
            self.place[following] = (v, order + 1)
            return following
        if leaf.op == "name" and leaf.target in self.system.inputs:
            if f"der({leaf.target})" in self.system.inputs:
                return ex.name(f"der({leaf.target})")
            raise DerivativeError(
                f"that needs the derivative of input '{leaf.target}' ({_INPUT_ADVICE})"
            )
        if leaf.op == "name" and leaf.target in self.system.delayed:
            raise DerivativeError("a delayed signal has no derivative in closed form")
        return ex.ZERO

    # -- choice of states ------------------------------------------------------------------------

    def _selection(
        self, offsets: DifferentiationOrders, orders: Sequence[dict[int, int]]
    ) -> StateSelection:
        factors: list[dict[int, Factor]] = [
            self._factors(e, row, c, offsets) if c else {}
            for e, row, c in zip(self.system.equations, orders, offsets.c, strict=True)
        ]
        pairs = [(v, s) for v, d in enumerate(offsets.d) for s in range(1, d + 1)]
        rates = self._rates()
        integral = {w: x for x, w in rates.items()}
        reluctance = {
            (v, s): (
                self._reluctance(v, offsets.d[v] - s),
                self._reluctance(integral.get(v, v), 0),
            )
            for v, s in pairs
        }
        whole = {(v, s): self.names[v] for v, s in pairs if offsets.d[v] == s}
        select = self.system.state_select
        wishes = StatePreferences(
            reluctance,
            always=frozenset(
                at
                for at, name in whole.items()
                if select.get(name) is StateSelect.ALWAYS or name in self.system.reinitialised
            ),
            prefer=frozenset(at for at, n in whole.items() if select.get(n) is StateSelect.PREFER),
            rates=rates,
        )
        return select_states(offsets, factors, wishes)

    def _rates(self) -> dict[int, int]:
        """x → w for equations der(x) = w."""
        result: dict[int, int] = {}
        for e in self.system.equations:
            for rate, w in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
                if rate in self.place and rate.op == "der" and w.op == "name" and w in self.place:
                    result.setdefault(self.place[rate][0], self.place[w][0])
        return result

    def _factors(
        self, e: Equation, row: dict[int, int], c: int, offsets: DifferentiationOrders
    ) -> dict[int, Factor]:
        """The constant factors of the variables that drive the derivatives of `e`."""
        residual = ex.sub(e.lhs, e.rhs)
        result: dict[int, Factor] = {}
        for v, order in row.items():
            if order + c != offsets.d[v]:
                continue
            leaf = ex.name(self.names[v]) if order == 0 else ex.der(self.names[v])
            if degree(residual, (leaf,)) > 1:
                result[v] = None
                continue
            factor = self.safety.constant(partial(residual, leaf))
            if factor != 0.0:
                result[v] = factor
        return result

    def _reluctance(self, v: int, order: int) -> int:
        """How much derivative `order` of variable v wants to stay a state."""
        if order > 0:
            return 0
        name, system = self.names[v], self.system
        select = system.state_select.get(name, StateSelect.DEFAULT)
        if select is not StateSelect.DEFAULT:
            return {"never": 1, "avoid": 2, "prefer": 8, "always": 9}[select]
        if name in system.fixed:
            return 7
        if name not in self.differentiated:
            return 3
        return 5 if name in system.starts else 4

    # -- the result ------------------------------------------------------------------------------

    def _assembled(
        self,
        offsets: DifferentiationOrders,
        levels: Sequence[Sequence[Equation]],
        selection: StateSelection,
    ) -> ReducedSystem:
        used, constraints = self._divided(offsets, levels, selection)
        spelling = _Spelling(self.names, offsets, selection, self._rate_names(offsets))
        unknowns, states, links = list[Expression](), list[str](), list[Assignment]()
        for v, d in enumerate(offsets.d):
            if self.names[v] in spelling.borrowed:
                continue
            for order in range(d + 1):
                if order == d or d - order in selection.demoted[v]:
                    unknowns.append(spelling.leaf(v, order))
                else:
                    states.append(spelling.leaf(v, order).target)
            links += spelling.links(v)
        if links:
            used, constraints = self._respelt(used, spelling), self._respelt(constraints, spelling)
            used = [e for e in used if e.lhs is not e.rhs]
        return ReducedSystem(
            equations=tuple(used),
            unknowns=tuple(unknowns),
            states=tuple(states),
            links=tuple(links),
            constraints=tuple(constraints),
            notes=self._notes(offsets, selection, constraints),
        )

    def _rate_names(self, offsets: DifferentiationOrders) -> dict[int, str]:
        """Variables w that are nothing but the derivative of x, for every such x."""
        result: dict[int, str] = {}
        for e, c in zip(self.system.equations, offsets.c, strict=True):
            for rate, w in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
                if c or rate.op != "der" or w.op != "name":
                    continue
                other = self.place.get(w)
                if other is not None and offsets.d[other[0]] == 0:
                    result.setdefault(self.place[rate][0], w.target)
        return result

    def _divided(
        self,
        offsets: DifferentiationOrders,
        levels: Sequence[Sequence[Equation]],
        selection: StateSelection,
    ) -> tuple[list[Equation], list[Equation]]:
        """Equations that determine something, and invariants, the least differentiated first."""
        used, kept = list[Equation](), list[tuple[int, Equation]]()
        for e, c in enumerate(offsets.c):
            for times, equation in enumerate(levels[e]):
                if times == c or c - times in selection.used[e]:
                    used.append(equation)
                else:
                    kept.append((times, equation))
        return used, [equation for _, equation in sorted(kept, key=lambda k: k[0])]

    def _respelt(self, equations: list[Equation], spelling: _Spelling) -> list[Equation]:
        def leaf(x: Expression) -> Expression:
            at = self.place.get(x)
            return x if at is None else spelling.leaf(*at)

        memo: dict[Expression, Expression] = {}
        result = []
        for e in equations:
            lhs, rhs = ex.rewrite((e.lhs, e.rhs), leaf, memo)
            result.append(replace(e, lhs=lhs, rhs=rhs))
        return result

    def _notes(
        self,
        offsets: DifferentiationOrders,
        selection: StateSelection,
        constraints: Sequence[Equation],
    ) -> tuple[str, ...]:
        if not any(offsets.c):
            return ()
        tied = [e for e, c in zip(self.system.equations, offsets.c, strict=True) if c]
        notes = [
            f"the equations have index {offsets.index}: {len(tied)} of them "
            f"{'was' if len(tied) == 1 else 'were'} differentiated"
        ]
        lost = [
            self.names[v]
            for v, d in enumerate(offsets.d)
            if d in selection.demoted[v] and self.names[v] in self.differentiated
        ]
        if lost:
            notes.append(f"no states, because constraints give them: {_quoted(lost)}")
        if constraints:
            origins = dict.fromkeys(
                str(e.origin).removeprefix("derivative of ") for e in constraints
            )
            notes.append(
                "all variables of these constraints are kept as states, and every step is "
                f"projected onto them: {'; '.join(origins)}"
            )
        if selection.by_wish:
            names = _quoted([self.names[v] for v in selection.by_wish])
            notes.append(
                f"{names} follow from the states by stateSelect; "
                "the run fails where that choice becomes singular"
            )
        return tuple(notes)


class _Spelling:
    """Leaves for derivatives: where x' itself is a state it needs a name of its own.

    That is w where the model says w = der(x), and `$der(x)` where it says nothing of the kind.
    """

    def __init__(
        self,
        names: Sequence[str],
        offsets: DifferentiationOrders,
        selection: StateSelection,
        rate_names: dict[int, str],
    ) -> None:
        self.names = names
        self.own = [
            sum(1 for order in range(1, d) if d - order not in selection.demoted[v])
            for v, d in enumerate(offsets.d)
        ]
        self.rate_names = {v: w for v, w in rate_names.items() if self.own[v]}
        self.borrowed = frozenset(self.rate_names.values())

    def leaf(self, v: int, order: int) -> Expression:
        """The leaf for derivative `order` of variable v."""
        named = min(order, self.own[v])
        base = self._named(v, named)
        for _ in range(order - named - 1):
            base = f"der({base})"
        return ex.der(base) if order > named else ex.name(base)

    def links(self, v: int) -> list[Assignment]:
        """der(x) := w, or der(x) := $der(x), and so on."""
        return [
            Assignment(f"der({self._named(v, k)})", ex.name(self._named(v, k + 1)))
            for k in range(self.own[v])
        ]

    def _named(self, v: int, times: int) -> str:
        name = self.names[v]
        for k in range(times):
            name = self.rate_names[v] if k == 0 and v in self.rate_names else f"$der({name})"
        return name


def _quoted(names: Sequence[str]) -> str:
    shown = [f"'{n}'" for n in names]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:8], f"and {len(shown) - 8} more"])
