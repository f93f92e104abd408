"""Alias removal: x = y, x = -y and x = (an expression of parameters) leave the system."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.calculus import partial
from estimica.flat.expression import Expression
from estimica.flat.system import Action, Branch, Equation, StateSelect, Variability, When
from estimica.structure.linear import DivisionGuard, solve_for
from estimica.structure.working_system import WorkingSystem

#: equations with more nodes than this are never looked at as a pair of variables; chosen: the
#: forms that are written, such as -a - (-b) = 0, have at most seven
_SMALL = 12
#: operations that depend on the event instant although their arguments may be constant
_RESTLESS = frozenset({"sample", "edge", "change", "delay"})
_WISH = list(StateSelect)


def remove_aliases(draft: WorkingSystem) -> WorkingSystem:
    """Rewrite the model without the variables that are nothing but another one, or a constant."""
    return _Remover(draft).run()


class _Remover:
    """Holds the growing map from removed variables to what they are."""

    def __init__(self, draft: WorkingSystem) -> None:
        self.draft = draft
        self.unknown = set(draft.unknowns)
        self.held = draft.assigned_in_whens  # a when gives them their value: they stay
        self.parameters = set(draft.parameters.order)
        self.safety = DivisionGuard(draft.parameters.values)
        self.removed: dict[str, Expression] = {}
        self.starts = dict(draft.starts)
        self.fixed = set(draft.fixed)
        self.select = dict(draft.state_select)
        self.notes: list[str] = []
        self.redundant: list[Equation] = []
        roots = [side for e in draft.equations for side in (e.lhs, e.rhs)]
        self.differentiated = {e.target for e in ex.walk(*roots) if e.op == "der"}
        self.position = {n: i for i, n in enumerate(draft.unknowns)}

    def run(self) -> WorkingSystem:
        equations = self._rewritten(self.draft.equations, self.draft.parameters.numbers)
        settled: set[Equation] = set()  # looked at, and not changed since
        while True:
            before = len(self.removed)
            left = [e for e in equations if e in settled or not self._take(e)]
            if len(self.removed) == before:
                return self._finished(left)
            equations = self._rewritten(left, self._resolved())
            settled = set(left).intersection(equations)

    def _rewritten(
        self, equations: Iterable[Equation], known: dict[str, Expression]
    ) -> list[Equation]:
        leaf, memo = substitution(known, self.parameters), dict[Expression, Expression]()
        result = []
        for e in equations:
            lhs, rhs = ex.rewrite((e.lhs, e.rhs), leaf, memo)
            if lhs is rhs:
                self.redundant.append(e)
            else:
                result.append(e if lhs is e.lhs and rhs is e.rhs else replace(e, lhs=lhs, rhs=rhs))
        return result

    def _resolved(self) -> dict[str, Expression]:
        """Removed variables in terms of those that are left, chains followed to their end."""
        resolved: dict[str, Expression] = {}
        for name in self.removed:
            self._follow(name, resolved)
        self.removed = resolved
        return resolved

    def _follow(self, name: str, resolved: dict[str, Expression]) -> None:
        chain = [name]
        while True:
            target = self.removed[chain[-1]]
            following = [n for n in ex.names_in(target) if n in self.removed and n not in resolved]
            if not following:
                break
            chain.append(following[0])
        for link in reversed(chain):
            resolved[link] = ex.rewrite(
                [self.removed[link]], substitution(resolved, self.parameters)
            )[0]

    def _take(self, e: Equation) -> bool:
        """Whether `e` was an alias and has been used up."""
        leaves = self._few_leaves(e)
        if leaves is None:
            return False
        names = sorted(x.target for x in leaves if x.op == "name")
        others = [x for x in leaves if x.op != "name"]
        if any(n in self.removed for n in names):
            return False  # changed in this round: looked at again in the next one
        if len(names) == 1 and not others:
            return self._take_constant(e, names[0])
        if len(names) == 1 and others == [ex.TIME]:
            return self._take_time(e, names[0])
        if len(names) == 2 and not others:
            return self._take_pair(e, names[0], names[1])
        if not names and not others:
            self._check_consistent(e)
        return False

    def _few_leaves(self, e: Equation) -> list[Expression] | None:
        """The leaves that are not parameters and no numbers; None for more than two."""
        leaves = []
        for node in ex.walk(e.lhs, e.rhs):
            if node.op not in ex.LEAVES:
                if node.op in _RESTLESS:
                    return None
            elif node.op == "name" and node.target in self.parameters:
                continue
            elif node.op != "const":
                leaves.append(node)
                if len(leaves) > 2:
                    return None
        return leaves

    def _take_constant(self, e: Equation, name: str) -> bool:
        if name not in self.unknown or name in self.held:
            return False
        leaf = ex.name(name)
        factor = partial(ex.sub(e.lhs, e.rhs), leaf)
        value = solve_for(e.lhs, e.rhs, leaf)
        if value is None or not self.safety.nonzero(factor):
            return False
        self._warn_constant(name, value)
        self.removed[name] = value
        return True

    def _take_time(self, e: Equation, name: str) -> bool:
        if name not in self.unknown or {e.lhs, e.rhs} != {ex.name(name), ex.TIME}:
            return False
        self.removed[name] = ex.TIME
        return True

    def _warn_constant(self, name: str, value: Expression) -> None:
        if name in self.fixed and self.starts.get(name, ex.ZERO) is not value:
            self.notes.append(f"'{name}' is constant; its fixed start value is not used")
            self.fixed.discard(name)

    def _check_consistent(self, e: Equation) -> None:
        if e.lhs.op == "const" and e.rhs.op == "const" and e.lhs is not e.rhs:
            raise StructureError(
                "E104",
                f"{e.origin} cannot hold: its sides are {e.lhs.value:g} and {e.rhs.value:g}; "
                "remove it or what contradicts it",
            )

    def _take_pair(self, e: Equation, a: str, b: str) -> bool:
        sign = _pair_sign(e, a, b)
        if sign is None:
            return False
        keep, drop = (a, b) if self._rank(a) > self._rank(b) else (b, a)
        if drop not in self.unknown or drop in self.held:
            return False
        if not self._same_type(keep, drop, sign):
            return False
        self.removed[drop] = ex.name(keep) if sign > 0 else ex.neg(ex.name(keep))
        self._inherit(keep, drop, sign)
        return True

    def _same_type(self, keep: str, drop: str, sign: int) -> bool:
        """A Real may be an alias of an Integer, never the other way; no Boolean is negated."""
        kinds = [self.draft.flat.by_name[n].kind for n in (keep, drop)]
        if kinds[0] is kinds[1]:
            return sign > 0 or kinds[0] not in ("Boolean", "enumeration")
        return kinds == ["Integer", "Real"]

    def _rank(self, name: str) -> tuple[object, ...]:
        """The higher, the better a representative of its aliases."""
        v = self.draft.flat.by_name[name]
        select = self.select.get(name, StateSelect.DEFAULT)
        return (
            name not in self.unknown,
            name in self.held,
            v.kind != "Real",
            select is StateSelect.ALWAYS,
            name in self.fixed,
            select is StateSelect.PREFER,
            name in self.differentiated,
            select is StateSelect.DEFAULT,
            v.variability is Variability.DISCRETE,
            v.causality == "output",
            name in self.starts,
            -name.count("."),
            -self.position.get(name, 0),
        )

    def _inherit(self, keep: str, drop: str, sign: int) -> None:
        """Start value, fixed flag, and wish to be a state pass on to the one that stays."""
        if drop in self.differentiated:
            self.differentiated.add(keep)
        if _WISH.index(self.select.get(drop, StateSelect.DEFAULT)) > _WISH.index(
            self.select.get(keep, StateSelect.DEFAULT)
        ):
            self.select[keep] = self.select[drop]
        start = self.starts.get(drop)
        if start is not None and sign < 0:
            start = ex.neg(start)
        if drop in self.fixed:
            if keep in self.fixed:
                self._compare_fixed(keep, drop, start)
            elif keep in self.unknown:
                self.fixed.add(keep)
                self.starts[keep] = start or ex.ZERO
            self.fixed.discard(drop)
        elif keep not in self.starts and start is not None:
            self.starts[keep] = start

    def _compare_fixed(self, keep: str, drop: str, start: Expression | None) -> None:
        if (start or ex.ZERO) is not self.starts.get(keep, ex.ZERO):
            self.notes.append(
                f"'{drop}' and '{keep}' are one quantity with two fixed start values; "
                f"that of '{keep}' is taken"
            )

    def _finished(self, equations: list[Equation]) -> WorkingSystem:
        draft = self.draft
        known = draft.parameters.numbers | self._resolved()
        leaf, memo = substitution(known, self.parameters), dict[Expression, Expression]()

        def new(e: Expression) -> Expression:
            return ex.rewrite([e], leaf, memo)[0]

        initial = [
            replace(e, lhs=new(e.lhs), rhs=new(e.rhs))
            for e in draft.initial_equations
            if not any(self._never_changes(side, known) for side in (e.lhs, e.rhs))
        ]
        kept = tuple(n for n in draft.unknowns if n not in self.removed)
        return replace(
            draft,
            unknowns=kept,
            equations=tuple(equations),
            initial_equations=tuple(e for e in initial if e.lhs is not e.rhs),
            whens=tuple(self._when(w, new) for w in draft.whens),
            assertions=tuple(replace(a, condition=new(a.condition)) for a in draft.assertions),
            starts={n: new(e) for n, e in self.starts.items() if n not in self.removed},
            fixed=frozenset(n for n in self.fixed if n not in self.removed),
            state_select={n: s for n, s in self.select.items() if n not in self.removed},
            aliases=dict(self.removed),
            notes=draft.notes + tuple(self.notes),
            redundant=tuple(self.redundant),
        )

    def _never_changes(self, e: Expression, known: Mapping[str, Expression]) -> bool:
        """Whether this is what a constant was before the start: then nothing asks for it."""
        value = known.get(e.target) if e.op == "pre" else None
        if value is None:
            return False
        return all(n in self.parameters for n in ex.names_in(value)) and not any(
            x.op == "time" for x in ex.walk(value)
        )

    def _when(self, when: When, new: Callable[[Expression], Expression]) -> When:
        branches = tuple(
            Branch(
                tuple(new(c) for c in branch.conditions),
                tuple(self._action(a, new) for a in branch.actions),
            )
            for branch in when.branches
        )
        return replace(when, branches=branches)

    def _action(self, action: Action, new: Callable[[Expression], Expression]) -> Action:
        value, target = new(action.value), new(ex.name(action.target))
        if target.op == "name":
            return replace(action, target=target.target, value=value)
        if target.op == "neg" and target.operands[0].op == "name":
            return replace(action, target=target.operands[0].target, value=ex.neg(value))
        raise StructureError(
            "E105",
            f"'{action.target}' is constant, but {action.origin} sets it; remove one of them",
        )


def substitution(
    known: dict[str, Expression], parameters: Collection[str]
) -> Callable[[Expression], Expression]:
    """The leaf rule that puts ±variable, time or an expression of parameters in place of names."""

    def leaf(e: Expression) -> Expression:
        if e.op not in ("name", "der", "pre"):
            return e
        value = known.get(e.target)
        if value is None:
            return e
        if e.op == "name":
            return value
        inner = value.operands[0] if value.op == "neg" else value
        if inner.op == "name" and inner.target not in parameters:
            derived = ex.node(e.op, inner.target)
            return derived if inner is value else ex.neg(derived)
        if e.op == "pre":
            return value
        return ex.ONE if inner is ex.TIME else ex.ZERO

    return leaf


def _pair_sign(e: Equation, a: str, b: str) -> int | None:
    """+1 for a = b, -1 for a = -b, None for anything else."""
    coefficients = {a: 0.0, b: 0.0}
    stack = [(e.lhs, 1.0), (e.rhs, -1.0)]
    for _ in range(_SMALL):
        if not stack:
            break
        node, factor = stack.pop()
        match node.op:
            case "name" if node.target in coefficients:
                coefficients[node.target] += factor
            case "add":
                stack += [(node.operands[0], factor), (node.operands[1], factor)]
            case "sub":
                stack += [(node.operands[0], factor), (node.operands[1], -factor)]
            case "neg":
                stack.append((node.operands[0], -factor))
            case _ if not ex.is_const(node, 0.0):
                return None
    if stack or not coefficients[a] or abs(coefficients[a]) != abs(coefficients[b]):
        return None
    return -1 if coefficients[a] == coefficients[b] else 1
