"""Algorithm sections of models: executed symbolically into equations and when-clauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Action, Branch, Equation, Kind, Origin, Variability, When
from estimica.source.evaluate import statements
from estimica.source.evaluate.operators import choose
from estimica.source.evaluate.references import first_names
from estimica.source.evaluate.values import Frame, Record, Value, is_array, scalars
from estimica.source.flatten.origins import origin_of
from estimica.source.flatten.walk import PlacedSection
from estimica.source.flatten.whens import Whens, conditions_of
from estimica.source.instance.components import Component
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator
    from estimica.source.flatten.names.model import ModelNames


@dataclass(frozen=True, slots=True)
class _Target:
    """An assignment that stands somewhere in a section."""

    reference: tree.Reference
    statement: int  # the number of the section's statement that holds it
    in_when: bool
    repeated: bool  # in a loop, to the same variable in every round


def read_algorithm(
    placed: PlacedSection, names: ModelNames, evaluator: Evaluator, whens: Whens
) -> list[Equation]:
    """The equations of an algorithm section; its when-statements are added to `whens`."""
    if not placed.section.body:
        return []
    return list(_Execution(placed, names, evaluator, whens).equations())


class _Execution:
    def __init__(
        self, placed: PlacedSection, names: ModelNames, evaluator: Evaluator, whens: Whens
    ) -> None:
        self._placed = placed
        self._scope = placed.scope
        self._names = names
        self._evaluator = evaluator
        self._whens = whens
        self._kind = "initial algorithm" if placed.section.initial else "algorithm"
        self._heads: dict[str, Component] = {}  # first identifiers of what is assigned
        self._targets: dict[str, None] = {}  # scalars that are assigned
        self._whole: set[str] = set()  # of those: by assignments without subscripts
        self._whenned: dict[str, int] = {}  # of those in when-statements: by how many statements
        with evaluator.at(self._origin(placed.section.body[0])):
            self._find_targets()

    def _find_targets(self) -> None:
        counts: dict[str, set[int]] = {}
        whenned: set[str] = set()
        repeated: set[str] = set()
        for target in _assigned(self._placed.section.body):
            head = target.reference.parts[0].name
            found = self._scope.lookup(head)
            if not isinstance(found, Component):
                self._names.value(target.reference, self._scope, {})  # says what is wrong
                continue
            self._heads[head] = found.actual()
            plain = tree.Reference(
                tuple(tree.Part(p.name) for p in target.reference.parts), target.reference.at
            )
            value = self._names.value(plain, self._scope, {})
            for scalar in scalars(value):
                if not isinstance(scalar, Expression) or scalar.op != "name":
                    continue
                name = scalar.target
                self._targets[name] = None
                if not any(p.subscripts for p in target.reference.parts):
                    self._whole.add(name)
                counts.setdefault(name, set()).add(target.statement)
                if target.in_when:
                    whenned.add(name)
                if target.repeated:
                    repeated.add(name)
        self._whenned = {n: len(counts[n]) + (n in repeated) for n in whenned}
        self._whens.assigned_at_events.update(self._whenned)

    def equations(self) -> Iterator[Equation]:
        evaluator = self._evaluator
        before = {name: self._before(name) for name in self._targets}
        frame: Frame = {
            head: _mapped(self._names.symbol(component), before)
            for head, component in self._heads.items()
        }
        body = self._placed.section.body
        evaluator.other_statement = self._other
        with evaluator.algorithm(frozenset(self._heads)):
            for statement in body:
                with evaluator.at(self._origin(statement)):
                    if isinstance(statement, tree.When):
                        frame = self._when(statement, frame)
                    else:
                        frame = statements.body_after(evaluator, (statement,), self._scope, frame)
        evaluator.other_statement = None
        origin = self._origin(body[0])
        after = self._scalars(frame)
        for name, first in before.items():
            last = after[name]
            # what it was may also be what it is assigned, as 0 is
            changed = last is not first or (name in self._whole and name not in self._whenned)
            if changed and last is not ex.name(name):
                yield Equation(ex.name(name), last, origin)

    def _scalars(self, frame: Frame) -> dict[str, Expression]:
        """The values of all targets in a frame."""
        found: dict[str, Expression] = {}
        for head, component in self._heads.items():
            _pair(self._names.symbol(component), frame[head], found)
        return {name: found[name] for name in self._targets if name in found}

    def _origin(self, node: tree.Equation) -> Origin:
        return origin_of(node, self._scope, self._kind, self._placed.instance.path)

    def _before(self, name: str) -> Expression:
        """What a variable is worth before it is assigned: pre() if discrete, else its start."""
        if self._kind == "initial algorithm":
            return ex.name(name)
        view = self._names.variable(name)
        assert view is not None
        if view.variability is Variability.DISCRETE or name in self._whenned:
            return ex.pre(name)
        start = view.component.attributes.of("start").binding
        if start is None:
            return ex.ZERO
        value = self._names.bound_value(start)
        if is_array(value):
            value = value[view.position]
        return value if isinstance(value, Expression) else ex.ZERO

    # --- when-statements ---

    def _other(self, node: tree.Equation, scope: object, frame: Frame) -> bool:
        """Statements that only models have, in loops and branches."""
        if isinstance(node, tree.When):
            frame.update(self._when(node, dict(frame)))
            return True
        if isinstance(node, tree.CallEquation) and node.call.function.text == "terminate":
            self._whens.terminated(
                self._evaluator, node.call, self._scope, frame, self._origin(node)
            )
            return True
        return False

    def _when(self, node: tree.When, frame: Frame) -> Frame:
        branches: list[Branch] = []
        after = dict(frame)
        fired_before = ex.ZERO
        origin = origin_of(node, self._scope, "when", self._placed.instance.path)
        shared = {n for n, count in self._whenned.items() if count > 1}
        for condition, statements_ in node.branches:
            conditions = conditions_of(self._evaluator, condition, self._scope, frame)
            if not conditions:
                continue
            with (
                self._evaluator.instants.branch(conditions) as kept,
                self._whens.checking(self._evaluator, origin) as checks,
            ):
                actions, body = self._body(statements_, frame, origin)
            actions += checks
            actions += self._whens.keeping(kept.values(), origin)
            branches.append(Branch(conditions, tuple(actions)))
            if shared:
                fired = ex.logical_and(
                    self._fired(conditions, origin), ex.logical_not(fired_before)
                )
                fired_before = ex.logical_or(fired_before, fired)
                values = self._scalars(body)
                now = self._scalars(after)
                changed = {
                    name: choose(fired, values[name], now[name])
                    for name in shared
                    if values.get(name) is not now.get(name)
                }
                after = self._replaced(after, changed)
        set_here = {a.target for b in branches for a in b.actions if not a.reinit}
        own: dict[str, Value] = {
            n: ex.name(n) for n, count in self._whenned.items() if count == 1 and n in set_here
        }
        after = self._replaced(after, own)
        if any(b.actions for b in branches):
            self._whens.clauses.append(When(tuple(branches), origin))
        return after

    def _replaced(self, frame: Frame, new: Mapping[str, Value]) -> Frame:
        if not new:
            return frame
        result = dict(frame)
        for head, component in self._heads.items():
            result[head] = _substituted(self._names.symbol(component), frame[head], new)
        return result

    def _body(
        self, nodes: Sequence[tree.Equation], frame: Frame, origin: Origin
    ) -> tuple[list[Action], Frame]:
        actions: list[Action] = []
        plain = tuple(n for n in nodes if not _is_model_call(n))
        body = dict(frame)
        if plain:
            body = statements.body_after(self._evaluator, plain, self._scope, frame)
        old, new = self._scalars(frame), self._scalars(body)
        for name in self._targets:
            if self._whenned.get(name) == 1 and new[name] is not old[name]:
                actions.append(Action(name, new[name], False, origin))
        for node in nodes:
            if not isinstance(node, tree.CallEquation) or not _is_model_call(node):
                continue
            if node.call.function.text == "reinit":
                actions += self._reinit(node.call, body, origin)
                continue
            action = self._whens.flagged(self._evaluator, node.call, self._scope, body, origin)
            if action is not None:
                actions.append(action)
        return actions, body

    def _reinit(self, call: tree.Call, frame: Frame, origin: Origin) -> list[Action]:
        target = self._evaluator.one(
            call.arguments[0], self._scope, self._evaluator.without_variables(frame)
        )
        value = self._evaluator.one(call.arguments[1], self._scope, frame)
        return [
            Action(t.target, v, True, origin)
            for t, v in zip(scalars(target), scalars(value), strict=True)
            if isinstance(t, Expression) and isinstance(v, Expression)
        ]

    def _fired(self, conditions: Sequence[Expression], origin: Origin) -> Expression:
        """Whether one of `conditions` has become true at this instant."""
        result = ex.ZERO
        for condition in conditions:
            if condition.op in ("initial", "sample", "edge", "change"):
                result = ex.logical_or(result, condition)
                continue
            if condition.op != "name":
                name = self._whens.flag(origin, Kind.BOOLEAN, start=None, prefix="$condition")
                self._whens.equations.append(Equation(ex.name(name), condition, origin))
                condition = ex.name(name)
            result = ex.logical_or(result, ex.node("edge", condition))
        return result


_MODEL_CALLS = frozenset(("reinit", "terminate", "assert"))


def _is_model_call(node: tree.Equation) -> bool:
    return isinstance(node, tree.CallEquation) and node.call.function.text in _MODEL_CALLS


def _mapped(symbol: Value, new: dict[str, Expression]) -> Value:
    """A symbol with the scalars named in `new` replaced."""
    return _substituted(symbol, symbol, new)


def _substituted(symbol: Value, value: Value, new: Mapping[str, Value]) -> Value:
    """`value`, with what belongs to the names in `new` replaced; `symbol` says what belongs."""
    if isinstance(symbol, Record):
        assert isinstance(value, Record)
        return Record({k: _substituted(symbol[k], value[k], new) for k in symbol}, symbol.type)
    if is_array(symbol):
        assert is_array(value)
        result = value.copy()
        for position, name in enumerate(symbol.flat):
            result.flat[position] = _substituted(name, value.flat[position], new)
        return result
    if isinstance(symbol, Expression) and symbol.op == "name":
        return new.get(symbol.target, value)
    return value


def _pair(symbol: Value, value: Value, found: dict[str, Expression]) -> None:
    """Every scalar name of `symbol` with its value."""
    if isinstance(symbol, Record):
        if isinstance(value, Record):
            for key, inner in symbol.items():
                if key in value:
                    _pair(inner, value[key], found)
    elif is_array(symbol):
        if is_array(value):
            for a, b in zip(symbol.flat, value.flat, strict=True):
                _pair(a, b, found)
    elif isinstance(symbol, Expression) and symbol.op == "name" and isinstance(value, Expression):
        found[symbol.target] = value


def _assigned(nodes: Sequence[tree.Equation]) -> Iterator[_Target]:
    for k, node in enumerate(nodes):
        yield from _in_statement(node, k, None, frozenset())


def _in_statement(
    node: tree.Equation, k: int, when: frozenset[str] | None, loops: frozenset[str]
) -> Iterator[_Target]:
    """The assignments in a statement; `when` are the loops around the when-statement it is in."""
    match node:
        case tree.Assignment():
            target = node.target
            elements = target.elements if isinstance(target, tree.Several) else (target,)
            for element in elements:
                if isinstance(element, tree.Reference):
                    used = first_names(*(s for p in element.parts for s in p.subscripts))
                    repeated = bool(when) and not (when or frozenset()) & used
                    yield _Target(element, k, when is not None, repeated)
        case tree.For():
            inner = loops | {i.name for i in node.iterators}
            for statement in node.body:
                yield from _in_statement(statement, k, when, inner)
        case tree.While():
            for statement in node.body:
                yield from _in_statement(statement, k, when, loops)
        case tree.If():
            for _, body in node.branches:
                for statement in body:
                    yield from _in_statement(statement, k, when, loops)
        case tree.When():
            for _, body in node.branches:
                for statement in body:
                    yield from _in_statement(statement, k, loops, loops)
