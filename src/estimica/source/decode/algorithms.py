"""Algorithm sections of models: executed symbolically into equations and when-clauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Action, Branch, Equation, Kind, Origin, Variability, Variable, When
from estimica.source.decode.origins import SourceFiles
from estimica.source.decode.sections import AlgorithmSection
from estimica.source.decode.variables import given_start
from estimica.source.decode.whens import Whens, conditions_of
from estimica.source.interpreter import statements
from estimica.source.interpreter.expressions import Frame, Interpreter
from estimica.source.interpreter.names import Declaration
from estimica.source.interpreter.operators import choose
from estimica.source.interpreter.values import Value, elementwise, is_array, scalars
from estimica.source.syntax.nodes import Node, span_of


def sections_of(flat: Mapping[str, Any], key: str) -> list[AlgorithmSection]:
    """The algorithm sections that the compiler hands over."""
    return [
        AlgorithmSection(raw["statements"], raw["origin"].removeprefix("algorithm from ").strip())
        for raw in flat[key]
    ]


def decode_algorithms(
    interpreter: Interpreter, sections: Sequence[AlgorithmSection], files: SourceFiles, whens: Whens
) -> list[Equation]:
    """The equations of algorithm sections; their when-statements are added to `whens`."""
    return [
        equation
        for section in sections
        for equation in _Execution(interpreter, files, whens, section, "algorithm").equations()
    ]


def decode_initial_algorithms(
    interpreter: Interpreter, sections: Sequence[AlgorithmSection], files: SourceFiles, whens: Whens
) -> list[Equation]:
    """The equations of initial algorithm sections."""
    return [
        equation
        for section in sections
        for equation in _Execution(
            interpreter, files, whens, section, "initial algorithm"
        ).equations()
    ]


class _Execution:
    def __init__(
        self,
        interpreter: Interpreter,
        files: SourceFiles,
        whens: Whens,
        section: AlgorithmSection,
        kind: str,
    ) -> None:
        self._interpreter = interpreter
        self._files = files
        self._whens = whens
        self._section = section
        self._kind = kind
        self._targets = {d.name: d for d in self._assigned(section.statements)}
        self._whenned = self._counted()

    def equations(self) -> Iterator[Equation]:
        initial: Frame = {name: self._before(d) for name, d in self._targets.items()}
        frame = dict(initial)
        for statement in self._section.statements:
            with self._interpreter.at(self._origin(statement)):
                if "When" in statement:
                    frame = self._when(statement["When"], frame)
                else:
                    frame = statements.frame_after(self._interpreter, [statement], frame)
        origin = self._origin(self._section.statements[0])
        for name, declared in self._targets.items():
            for symbol, before, after in _thrice(declared.symbol, initial[name], frame[name]):
                if after is not before and after is not symbol:
                    yield Equation(symbol, after, origin)

    def _origin(self, statement: Node) -> Origin:
        return self._files.origin(span_of(statement), self._kind, self._section.component)

    def _before(self, declared: Declaration) -> Value:
        """What a variable is worth before it is assigned: pre() if discrete, else its start."""
        if self._kind == "initial algorithm":
            return elementwise(lambda s: s, declared.symbol)
        if declared.variability is Variability.DISCRETE or declared.name in self._whenned:
            return elementwise(lambda s: ex.pre(s.target), declared.symbol)
        start: Value = ex.ZERO
        if given_start(declared.raw, declared):
            start = self._interpreter.value(declared.raw["start"], {})
        return elementwise(lambda _, s: s, declared.symbol, start)

    def _assigned(self, nodes: Sequence[Node]) -> Iterator[Declaration]:
        names = self._interpreter.names
        for path in _assigned_paths(nodes):
            idents = [ident for ident, _ in path]
            for length in range(len(idents), 0, -1):
                found = names.by_plain_name(".".join(idents[:length]))
                if found:
                    yield from found
                    break

    def _counted(self) -> dict[str, int]:
        """How many statements assign each variable that a when-statement assigns."""
        counts: dict[str, int] = {}
        whenned: set[str] = set()
        for statement in self._section.statements:
            for declared in {d.name: d for d in self._assigned([statement])}.values():
                counts[declared.name] = counts.get(declared.name, 0) + 1
                if "When" in statement:
                    whenned.add(declared.name)
        return {name: counts[name] for name in whenned}

    # --- when-statements ---

    def _when(self, content: Node, frame: Frame) -> Frame:
        branches: list[Branch] = []
        after = dict(frame)
        fired_before = ex.ZERO
        for block in content["blocks"]:
            origin = self._files.origin(
                span_of(block["stmts"][0]) if block["stmts"] else None, "when"
            )
            conditions = conditions_of(self._interpreter, block["cond"], frame)
            actions, body = self._body(block["stmts"], frame, origin)
            branches.append(Branch(conditions, tuple(actions)))
            shared = [n for n in self._whenned if self._whenned[n] > 1]
            if shared:
                fired = ex.logical_and(
                    self._fired(conditions, origin), ex.logical_not(fired_before)
                )
                fired_before = ex.logical_or(fired_before, fired)
                for name in shared:
                    after[name] = choose(fired, body[name], after[name])
        for name, count in self._whenned.items():
            if count == 1 and any(
                _is_target(self._targets[name], a.target) for b in branches for a in b.actions
            ):
                after[name] = self._targets[name].symbol
        if any(b.actions for b in branches):
            self._whens.clauses.append(When(tuple(branches), self._origin({"When": content})))
        return after

    def _body(
        self, nodes: Sequence[Node], frame: Frame, origin: Origin
    ) -> tuple[list[Action], Frame]:
        actions: list[Action] = []
        plain = [n for n in nodes if not {"Reinit", "Terminate", "Assert"} & n.keys()]
        body = statements.frame_after(self._interpreter, plain, frame) if plain else dict(frame)
        for name, declared in self._targets.items():
            if self._whenned.get(name) != 1:
                continue
            for symbol, before, value in _thrice(declared.symbol, frame[name], body[name]):
                if value is not before:
                    actions.append(Action(symbol.target, value, False, origin))
        for node in nodes:
            if "Reinit" in node:
                actions += self._reinit(node["Reinit"], body, origin)
            elif "Terminate" in node or "Assert" in node:
                actions.append(self._whens.flagged(self._interpreter, node, body, origin))
        return actions, body

    def _reinit(self, content: Node, frame: Frame, origin: Origin) -> list[Action]:
        hidden = {k: v for k, v in frame.items() if k not in self._interpreter.names.declared}
        target = self._interpreter.value(content["target"], hidden)
        value = self._interpreter.value(content["value"], frame)
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
                name = f"$condition{len(self._whens.flags) + 1}"
                self._whens.flags.append(
                    Variable(
                        name, Kind.BOOLEAN, Variability.DISCRETE, protected=True, origin=origin
                    )
                )
                self._whens.equations.append(Equation(ex.name(name), condition, origin))
                condition = ex.name(name)
            result = ex.logical_or(result, ex.node("edge", condition))
        return result


def _is_target(declared: Declaration, name: str) -> bool:
    return any(n == name for n, _ in declared.elements())


def _thrice(a: Value, b: Value, c: Value) -> Iterator[tuple[Expression, Expression, Expression]]:
    if is_array(a):
        assert is_array(b)
        assert is_array(c)
        yield from zip(a.flat, b.flat, c.flat, strict=True)
    else:
        assert isinstance(a, Expression)
        assert isinstance(b, Expression)
        assert isinstance(c, Expression)
        yield a, b, c


def _assigned_paths(nodes: Sequence[Node]) -> Iterator[list[tuple[str, list[Any]]]]:
    for node in nodes:
        kind, content = next(iter(node.items()))
        match kind:
            case "Assignment":
                yield [(p["ident"], p["subs"]) for p in content["comp"]["parts"]]
            case "FunctionCall":
                for output in content["outputs"]:
                    if output and output["parts"]:
                        yield [(p["ident"], p["subs"]) for p in output["parts"]]
            case "If":
                for block in content["cond_blocks"]:
                    yield from _assigned_paths(block["stmts"])
                yield from _assigned_paths(content["else_block"] or [])
            case "For":
                yield from _assigned_paths(content["equations"])
            case "While":
                yield from _assigned_paths(content["block"]["stmts"])
            case "When":
                for block in content["blocks"]:
                    yield from _assigned_paths(block["stmts"])
