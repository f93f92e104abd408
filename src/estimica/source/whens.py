"""When-clauses of equation sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import (
    Action,
    Assertion,
    Branch,
    Kind,
    Origin,
    Variability,
    Variable,
    When,
)
from estimica.source.equations import equated
from estimica.source.interpreter import Interpreter
from estimica.source.nodes import Node
from estimica.source.operators import as_text
from estimica.source.origins import SourceFiles
from estimica.source.values import Value, ValueMismatch, scalars


@dataclass(slots=True)
class Whens:
    """Decoded when-clauses, and the flags they needed for assertions inside them."""

    clauses: list[When] = field(default_factory=list)
    flags: list[Variable] = field(default_factory=list)
    assertions: list[Assertion] = field(default_factory=list)


def decode_whens(interpreter: Interpreter, flat: Mapping[str, Any], files: SourceFiles) -> Whens:
    """Every when-clause of the equation sections."""
    whens = Whens()
    for chain in flat["when_chains"]:
        branches = []
        for clause in [chain["first"], *chain["else_when"]]:
            origin = files.origin(clause.get("span"), "when")
            with interpreter.at(origin):
                conditions = _conditions(interpreter, clause["condition"])
                actions = _Actions(interpreter, files, whens).decode(clause["equations"])
            branches.append(Branch(conditions, actions))
        origin = files.origin(chain["first"].get("span"), "when")
        whens.clauses.append(When(tuple(branches), origin))
    return whens


def discrete_targets(whens: Whens) -> frozenset[str]:
    """The variables that when-clauses set."""
    return frozenset(
        action.target
        for when in whens.clauses
        for branch in when.branches
        for action in branch.actions
        if not action.reinit
    )


def _conditions(interpreter: Interpreter, node: Node) -> tuple[Expression, ...]:
    value = interpreter.value(node, {})
    found = [c for c in scalars(value) if isinstance(c, Expression)]
    settled = (interpreter.parameters.settle(c, "it decides a when-clause") for c in found)
    return tuple(settled)


class _Actions:
    """The equations inside one when-branch."""

    def __init__(self, interpreter: Interpreter, files: SourceFiles, whens: Whens) -> None:
        self._interpreter = interpreter
        self._files = files
        self._whens = whens

    def decode(self, nodes: list[Node]) -> tuple[Action, ...]:
        actions: dict[tuple[str, bool], Action] = {}
        for node in nodes:
            for action in self._one(node):
                actions[action.target, action.reinit] = action
        return tuple(actions.values())

    def _one(self, node: Node) -> list[Action]:
        kind, content = next(iter(node.items()))
        origin = self._files.origin(content.get("span"), "when equation")
        with self._interpreter.at(origin):
            match kind:
                case "Assign":
                    value = self._interpreter.value(content["value"], {})
                    return self._set(content["target"], value, False, origin)
                case "Reinit":
                    value = self._interpreter.value(content["value"], {})
                    return self._set(content["state"], value, True, origin)
                case "FunctionCallOutputs":
                    return self._outputs(content, origin)
                case "Conditional":
                    return self._conditional(content, origin)
                case "Assert":
                    return [self._flagged(content, origin)]
                case "Terminate":
                    return [self._terminated(content, origin)]
            self._interpreter.refuse(f"'{kind}' in a when-clause", "write it with other means")

    def _target(self, name: str) -> Value:
        value = self._interpreter.names.lookup(name)
        if value is None:
            raise SourceError("S013", f"{self._interpreter.place}: nothing is called '{name}'")
        return value

    def _set(self, name: str, value: Value, reinit: bool, origin: Origin) -> list[Action]:
        actions = []
        for target, new in equated(self._target(name), value):
            if target.op != "name":
                raise ValueMismatch(f"'{name}' cannot be assigned")
            actions.append(Action(target.target, new, reinit, origin))
        return actions

    def _outputs(self, content: Node, origin: Origin) -> list[Action]:
        values = self._interpreter.value(content["function"], {})
        parts = values if isinstance(values, tuple) else (values,)
        return [
            action
            for name, value in zip(content["outputs"], parts, strict=False)
            if name
            for action in self._set(name, value, False, origin)
        ]

    def _conditional(self, content: Node, origin: Origin) -> list[Action]:
        """if inside when: every target takes its branch's value, or stays what it was."""
        cases: list[tuple[Expression, dict[tuple[str, bool], Action]]] = []
        for condition, nodes in [*content["branches"], (None, content["else_branch"])]:
            truth = self._interpreter.truth(condition, {}) if condition is not None else ex.ONE
            if ex.is_const(truth, 0.0):
                continue
            with self._interpreter.guarded(truth):
                cases.append((truth, {(a.target, a.reinit): a for a in self.decode(nodes)}))
            if truth.op == "const":
                break
        result = []
        for key in dict.fromkeys(k for _, actions in cases for k in actions):
            target, reinit = key
            value = ex.name(target) if reinit else ex.pre(target)
            for truth, actions in reversed(cases):
                chosen = (
                    actions[key].value
                    if key in actions
                    else (ex.name(target) if reinit else ex.pre(target))
                )
                value = ex.choose(truth, chosen, value)
            result.append(Action(target, value, reinit, origin))
        return result

    def _flagged(self, content: Node, origin: Origin) -> Action:
        condition = self._interpreter.truth(content["condition"], {})
        message = as_text(self._interpreter.value(content["message"], {}))
        return self._flag(condition, message, origin)

    def _terminated(self, content: Node, origin: Origin) -> Action:
        message = as_text(self._interpreter.value(content["message"], {}))
        note = "terminate() ends the run like a violated assertion"
        if note not in self._interpreter.notes:
            self._interpreter.notes.append(note)
        return self._flag(ex.ZERO, f"terminated: {message}", origin)

    def _flag(self, condition: Expression, message: str, origin: Origin) -> Action:
        """What must hold at an instant is remembered in a variable that is asserted at all times."""
        name = f"$check{len(self._whens.flags) + 1}"
        flag = Variable(
            name,
            Kind.BOOLEAN,
            Variability.DISCRETE,
            start=ex.ONE,
            fixed=True,
            protected=True,
            origin=origin,
        )
        self._whens.flags.append(flag)
        self._whens.assertions.append(Assertion(ex.name(name), message, False, origin))
        return Action(name, condition, False, origin)
