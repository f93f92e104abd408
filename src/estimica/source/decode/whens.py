"""When-clauses of equation sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from estimica.base.errors import SourceError
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
from estimica.source.decode.equations import scalar_pairs
from estimica.source.decode.origins import SourceFiles
from estimica.source.interpreter.expressions import Frame, Interpreter
from estimica.source.interpreter.operators import as_text
from estimica.source.interpreter.values import Value, ValueMismatch, scalars
from estimica.source.syntax.nodes import Node


@dataclass(slots=True)
class Whens:
    """Decoded when-clauses, and the flags they needed for assertions inside them."""

    clauses: list[When] = field(default_factory=list)
    flags: list[Variable] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    assertions: list[Assertion] = field(default_factory=list)

    def flagged(self, interpreter: Interpreter, node: Node, frame: Frame, origin: Origin) -> Action:
        """`assert` and `terminate` inside a when: what must hold then is kept in a Boolean.

        The Boolean is asserted at all times.
        """
        kind, content = next(iter(node.items()))
        message = as_text(interpreter.value(content["message"], frame))
        condition = ex.ZERO
        if kind == "Assert":
            condition = interpreter.truth(content["condition"], frame)
        else:
            message = f"terminated: {message}"
            interpreter.notes.append("terminate() ends the run like a violated assertion")
        name = f"$check{len(self.flags) + 1}"
        self.flags.append(
            Variable(
                name,
                Kind.BOOLEAN,
                Variability.DISCRETE,
                start=ex.ONE,
                fixed=True,
                protected=True,
                origin=origin,
            )
        )
        self.assertions.append(Assertion(ex.name(name), message, False, origin))
        return Action(name, condition, False, origin)


def decode_whens(interpreter: Interpreter, chains: Sequence[Node], files: SourceFiles) -> Whens:
    """Every when-clause of the equation sections."""
    whens = Whens()
    for chain in chains:
        branches = []
        for clause in [chain["first"], *chain["else_when"]]:
            origin = files.origin(clause.get("span"), "when")
            with interpreter.at(origin):
                conditions = conditions_of(interpreter, clause["condition"], {})
                actions = _Actions(interpreter, files, whens).decode(clause["equations"])
            branches.append(Branch(conditions, actions))
        origin = files.origin(chain["first"].get("span"), "when")
        whens.clauses.append(When(tuple(branches), origin))
    return whens


def discrete_targets(whens: Whens) -> frozenset[str]:
    """The variables that when-clauses set."""
    return frozenset(name for when in whens.clauses for name in when.assigned)


def conditions_of(interpreter: Interpreter, node: Node, frame: Frame) -> tuple[Expression, ...]:
    """The conditions of a when-branch, one or several."""
    value = interpreter.value(node, frame)
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
                case "Assert" | "Terminate":
                    return [self._whens.flagged(self._interpreter, node, {}, origin)]
            self._interpreter.refuse(f"'{kind}' in a when-clause", "write it with other means")

    def _target(self, name: str) -> Value:
        value = self._interpreter.names.lookup(name)
        if value is None:
            raise SourceError("S013", f"{self._interpreter.place}: nothing is called '{name}'")
        return value

    def _set(self, name: str, value: Value, reinit: bool, origin: Origin) -> list[Action]:
        actions = []
        for target, new in scalar_pairs(self._target(name), value):
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
                value = ex.conditional(truth, chosen, value)
            result.append(Action(target, value, reinit, origin))
        return result
