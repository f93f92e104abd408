"""When-clauses of equation sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import (
    Action,
    Assertion,
    Branch,
    Equation,
    Kind,
    Origin,
    Variability,
    Variable,
    When,
)
from estimica.source.evaluate.texts import as_text
from estimica.source.evaluate.values import Frame, Value, ValueMismatch, scalars
from estimica.source.flatten.loops import rounds
from estimica.source.flatten.origins import origin_of
from estimica.source.instance.classes import Class
from estimica.source.instants import KeptState
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator

ActionKey = tuple[str, bool]


@dataclass(slots=True)
class Whens:
    """When-clauses, and the flags they needed for assertions inside them."""

    clauses: list[When] = field(default_factory=list)
    flags: list[Variable] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    assertions: list[Assertion] = field(default_factory=list)
    #: what when-statements of algorithms assign, some of it beside other statements
    assigned_at_events: set[str] = field(default_factory=set)
    #: what is done in the when-branch that is being read
    _branch: list[Action] | None = None

    def discrete(self) -> frozenset[str]:
        """The variables that change at events only."""
        clauses = frozenset(name for when in self.clauses for name in when.assigned)
        return clauses | self.assigned_at_events

    def flagged(
        self,
        evaluator: Evaluator,
        call: tree.Call,
        scope: Class,
        frame: Frame,
        origin: Origin,
    ) -> Action | None:
        """`assert` and `terminate` inside a when: what must hold then is kept in a Boolean.

        The Boolean is asserted at all times.
        """
        if call.function.text == "terminate":
            message = _farewell(evaluator, call, scope, frame)
            return self._check(ex.ZERO, Assertion(ex.ZERO, message, False, origin, True))
        arguments = dict(zip(("condition", "message", "level"), call.arguments, strict=False))
        arguments.update(call.named)
        message = as_text(evaluator.one(arguments["message"], scope, frame))
        condition = evaluator.truth(arguments["condition"], scope, frame)
        level = arguments.get("level")
        value = evaluator.one(level, scope, frame) if level is not None else None
        warning = isinstance(value, Expression) and ex.is_const(value, 1.0)
        if ex.is_const(condition, 1.0):
            return None
        return self._check(condition, Assertion(condition, message, warning, origin))

    def _check(self, condition: Expression, assertion: Assertion) -> Action:
        """The action that keeps whether a condition holds, which is then looked at all the time."""
        origin = assertion.origin
        name = self.flag(origin, Kind.BOOLEAN, start=ex.ONE, prefix="$check")
        self.assertions.append(replace(assertion, condition=ex.name(name)))
        return Action(name, condition, False, origin)

    @contextmanager
    def checking(self, evaluator: Evaluator, origin: Origin) -> Iterator[list[Action]]:
        """Inside, what branches, loops and functions assert counts at the instants of a when."""
        actions: list[Action] = []

        def take(condition: Expression, message: str, warning: bool) -> None:
            assertion = Assertion(condition, message, warning, origin)
            actions.append(self._check(condition, assertion))

        before, self._branch = self._branch, actions
        try:
            with evaluator.recording(take):
                yield actions
        finally:
            self._branch = before

    def terminated(
        self,
        evaluator: Evaluator,
        call: tree.Call,
        scope: Class,
        frame: Frame,
        origin: Origin,
    ) -> None:
        """`terminate` in branches and loops: it ends the run where those are gone through."""
        goes_on = ex.logical_not(evaluator.condition())
        message = _farewell(evaluator, call, scope, frame)
        assertion = Assertion(goes_on, message, False, origin, True)
        if self._branch is not None:
            self._branch.append(self._check(goes_on, assertion))
        else:
            self.assertions.append(assertion)

    def keeping(self, states: Iterable[KeptState], origin: Origin) -> list[Action]:
        """What a branch does to keep what functions called in it will need at its next instant."""
        actions = []
        for state in states:
            for name, start, after in zip(state.names, state.start, state.after, strict=True):
                self.flags.append(
                    Variable(
                        name,
                        Kind.INTEGER,
                        Variability.DISCRETE,
                        start=start,
                        fixed=True,
                        protected=True,
                        origin=origin,
                    )
                )
                actions.append(Action(name, after, False, origin))
        return actions

    def flag(self, origin: Origin, kind: Kind, *, start: Expression | None, prefix: str) -> str:
        """A new discrete variable of our own."""
        name = f"{prefix}{len(self.flags) + 1}"
        self.flags.append(
            Variable(
                name,
                kind,
                Variability.DISCRETE,
                start=start,
                fixed=start is not None,
                protected=True,
                origin=origin,
            )
        )
        return name


def _farewell(evaluator: Evaluator, call: tree.Call, scope: Class, frame: Frame) -> str:
    """The message of `terminate`."""
    arguments = dict(zip(("message",), call.arguments, strict=False))
    arguments.update(call.named)
    if "message" not in arguments or len(arguments) > 1:
        raise ValueMismatch("terminate() takes one argument, its message")
    return as_text(evaluator.one(arguments["message"], scope, frame))


def read_when(
    evaluator: Evaluator,
    whens: Whens,
    node: tree.When,
    scope: Class,
    frame: Frame,
    component: str,
) -> None:
    """Add a when-clause of an equation section."""
    origin = origin_of(node, scope, "when", component)
    branches = []
    for condition, body in node.branches:
        with evaluator.at(origin):
            conditions = conditions_of(evaluator, condition, scope, frame)
        if not conditions:
            continue
        with (
            evaluator.instants.branch(conditions) as kept,
            whens.checking(evaluator, origin) as checks,
        ):
            actions = _Actions(evaluator, whens, scope, component).read(body, frame)
        keeping = whens.keeping(kept.values(), origin)
        branches.append(Branch(conditions, (*actions, *checks, *keeping)))
    if any(b.actions for b in branches):
        whens.clauses.append(When(tuple(branches), origin))


def conditions_of(
    evaluator: Evaluator, node: tree.Expression, scope: Class, frame: Frame
) -> tuple[Expression, ...]:
    """The conditions of a when-branch, one or several.

    One that never holds stays: the variables of `when false` keep their values.
    """
    value = evaluator.one(node, scope, frame)
    found = [c for c in scalars(value) if isinstance(c, Expression)]
    settled = [evaluator.parameters.settle(c, "it decides a when-clause") for c in found]
    return tuple(settled)


@dataclass(slots=True)
class _Actions:
    """The equations inside one when-branch."""

    evaluator: Evaluator
    whens: Whens
    scope: Class
    component: str

    def read(self, nodes: Sequence[tree.Equation], frame: Frame) -> tuple[Action, ...]:
        actions: dict[ActionKey, Action] = {}
        for node in nodes:
            origin = origin_of(node, self.scope, "when equation", self.component)
            with self.evaluator.at(origin):
                for action in self._one(node, frame, origin):
                    actions[action.target, action.reinit] = action
        return tuple(actions.values())

    def _one(self, node: tree.Equation, frame: Frame, origin: Origin) -> list[Action]:
        match node:
            case tree.Equality():
                self.evaluator.require_one_kind((node.left, node.right), self.scope, frame)
                value = self.evaluator.value(node.right, self.scope, frame)
                target = self.evaluator.value(node.left, self.scope, frame)
                return self._set(target, value, False, origin)
            case tree.If():
                return self._conditional(node, frame, origin)
            case tree.For():
                return [
                    action
                    for inner in rounds(
                        self.evaluator, node.iterators, node.body, self.scope, frame
                    )
                    for action in self.read(node.body, inner)
                ]
            case tree.CallEquation():
                return self._call(node.call, frame, origin)
            case tree.Connect():
                return []
        self.evaluator.refuse("this equation in a when-clause", "write it with other means")

    def _call(self, call: tree.Call, frame: Frame, origin: Origin) -> list[Action]:
        word = call.function.text
        if word in ("assert", "terminate"):
            action = self.whens.flagged(self.evaluator, call, self.scope, frame, origin)
            return [action] if action is not None else []
        if word == "reinit":
            target = self.evaluator.value(call.arguments[0], self.scope, frame)
            value = self.evaluator.value(call.arguments[1], self.scope, frame)
            return self._set(target, value, True, origin)
        self.evaluator.notes.append(f"a call without a result is left out: {word}")
        return []

    def _set(self, target: Value, value: Value, reinit: bool, origin: Origin) -> list[Action]:
        from estimica.source.flatten.equations import sides

        actions = []
        for left, right in sides(target, value):
            name, new = left, right
            if left.op == "neg" and left.operands[0].op == "name":
                name, new = left.operands[0], ex.neg(right)
            if name.op != "name":
                raise ValueMismatch("the left side of an equation in a when-clause is no variable")
            actions.append(Action(name.target, new, reinit, origin))
        return actions

    def _conditional(self, node: tree.If, frame: Frame, origin: Origin) -> list[Action]:
        """if inside when: every target takes its branch's value, or stays what it was."""
        cases: list[tuple[Expression, dict[ActionKey, Action]]] = []
        for condition, body in node.branches:
            truth = ex.ONE
            if condition is not None:
                truth = self.evaluator.truth(condition, self.scope, frame)
            if ex.is_const(truth, 0.0):
                continue
            with self.evaluator.guarded(truth):
                actions = self.read(body, frame)
            cases.append((truth, {(a.target, a.reinit): a for a in actions}))
            if truth.op == "const":
                break
        return chosen_actions(cases, origin)


def chosen_actions(
    cases: Sequence[tuple[Expression, dict[ActionKey, Action]]], origin: Origin
) -> list[Action]:
    """One action for each target of any case."""
    result = []
    for key in dict.fromkeys(k for _, actions in cases for k in actions):
        target, reinit = key
        unchanged = ex.name(target) if reinit else ex.pre(target)
        if target.startswith("$check"):
            unchanged = ex.ONE
        value = unchanged
        for truth, actions in reversed(cases):
            chosen = actions[key].value if key in actions else unchanged
            value = ex.conditional(truth, chosen, value)
        result.append(Action(target, value, reinit, origin))
    return result
