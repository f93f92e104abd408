"""Hand-built flat systems from short texts, and a slow but plain evaluation of sorted ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import fsolve

from estimica.flat import expression as ex
from estimica.flat.calculus import time_derivative
from estimica.flat.evaluate import EvaluationPoint, evaluate
from estimica.flat.expression import Expression
from estimica.flat.system import (
    Action,
    Assertion,
    Branch,
    Equation,
    FlatSystem,
    Kind,
    Origin,
    Variability,
    Variable,
    When,
)
from estimica.structure.sorted_system import Assignment, SortedSystem

_BINARY = {ast.Add: ex.add, ast.Sub: ex.sub, ast.Mult: ex.mul, ast.Div: ex.div, ast.Pow: ex.power}
_COMPARE = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_LEAVES = {"time": ex.TIME, "true": ex.ONE, "false": ex.ZERO}


def parse(text: str) -> Expression:
    """An expression in Python's syntax; `a.b` and `x[1]` are names, `^` is power."""
    return _parse(ast.parse(text.replace("^", "**"), mode="eval").body)


def _parse(node: ast.expr) -> Expression:
    match node:
        case ast.Constant(value=value):
            return ex.const(float(value))
        case ast.Name() | ast.Attribute() | ast.Subscript():
            text = ast.unparse(node).replace(" ", "")
            return _LEAVES.get(text) or ex.name(text)
        case ast.BinOp(left, op, right):
            return _BINARY[type(op)](_parse(left), _parse(right))
        case ast.UnaryOp(ast.USub(), operand):
            return ex.neg(_parse(operand))
        case ast.UnaryOp(ast.Not(), operand):
            return ex.logical_not(_parse(operand))
        case ast.BoolOp(op, values):
            result = _parse(values[0])
            for value in values[1:]:
                join = ex.logical_and if isinstance(op, ast.And) else ex.logical_or
                result = join(result, _parse(value))
            return result
        case ast.Compare(left, [op], [right]):
            return ex.relation(_COMPARE[type(op)], _parse(left), _parse(right))
        case ast.IfExp(test, body, orelse):
            return ex.conditional(_parse(test), _parse(body), _parse(orelse))
        case ast.Call(ast.Name(function), arguments):
            return _call(function, [_parse(a) for a in arguments])
    raise AssertionError(ast.dump(node))


def _call(function: str, arguments: list[Expression]) -> Expression:
    if function in ("der", "pre"):
        return ex.node(function, arguments[0].target)
    if function in ("initial", "terminal"):
        return ex.node(function)
    return ex.build(function, *arguments)


def equation(text: str, kind: str = "equation", component: str = "") -> Equation:
    """`lhs = rhs`."""
    lhs, rhs = re.split(r"(?<![<>=!])=(?!=)", text)
    origin = Origin(text.strip(), component, kind)
    return Equation(parse(lhs.strip()), parse(rhs.strip()), origin)


def when(*branches: tuple[str | Sequence[str], Sequence[str]]) -> When:
    """Branches of (condition or conditions, actions); actions are `x = v` or `reinit(x, v)`."""
    result = []
    for conditions, actions in branches:
        listed = [conditions] if isinstance(conditions, str) else conditions
        result.append(Branch(tuple(parse(c) for c in listed), tuple(map(_action, actions))))
    return When(tuple(result), Origin("when", kind="when"))


def _action(text: str) -> Action:
    found = re.fullmatch(r"reinit\((\w+), (.*)\)", text)
    if found:
        return Action(found[1], parse(found[2]), reinit=True, origin=Origin(text, kind="when"))
    target, value = text.split("=", 1)
    return Action(target.strip(), parse(value.strip()), origin=Origin(text, kind="when"))


def real(name: str, start: float | str | None = None, **options: object) -> Variable:
    """A continuous Real; a start value given here is fixed unless told otherwise."""
    options.setdefault("fixed", start is not None)
    return Variable(name, start=_expression(start), **options)  # type: ignore[arg-type]


def parameter(name: str, value: float | str | None, **options: object) -> Variable:
    """A Real parameter."""
    return Variable(
        name,
        variability=Variability.PARAMETER,
        binding=_expression(value),
        fixed=value is not None,
        **options,  # type: ignore[arg-type]
    )


def discrete(name: str, kind: Kind = Kind.REAL, start: float | None = None) -> Variable:
    """A discrete variable."""
    return Variable(name, kind, Variability.DISCRETE, start=_expression(start), fixed=True)


def boolean(name: str, start: float | None = None) -> Variable:
    """A Boolean variable."""
    return discrete(name, Kind.BOOLEAN, start)


def integer(name: str, start: float | None = None) -> Variable:
    """An Integer variable."""
    return discrete(name, Kind.INTEGER, start)


def input_(name: str, kind: Kind = Kind.REAL) -> Variable:
    """An input of the top level."""
    return Variable(name, kind, causality="input")


def _expression(value: float | str | None) -> Expression | None:
    if value is None:
        return None
    return parse(value) if isinstance(value, str) else ex.const(value)


def system(
    variables: Sequence[Variable | str],
    equations: Sequence[str | Equation],
    *,
    initial: Sequence[str] = (),
    whens: Sequence[When] = (),
    asserts: Sequence[str] = (),
) -> FlatSystem:
    """A flat system; variables given as names are plain Reals."""
    return FlatSystem(
        "M",
        tuple(real(v) if isinstance(v, str) else v for v in variables),
        tuple(equation(e) if isinstance(e, str) else e for e in equations),
        tuple(equation(e, "initial equation") for e in initial),
        tuple(whens),
        tuple(Assertion(parse(a), a) for a in asserts),
    )


class Point:
    """All variables of a sorted system at one instant, computed block by block."""

    def __init__(
        self,
        system: SortedSystem,
        known: Mapping[str, float],
        time: float = 0.0,
        modes: Mapping[int, bool] | None = None,
    ) -> None:
        self.system, self.time = system, time
        self.names = self.parameters(system) | dict(known)
        self.rates: dict[str, float] = {}
        self.modes = modes or {}
        for block in system.blocks:
            if isinstance(block, Assignment):
                self._set(block.unknown, self.value(block.value))
            else:
                self._solve(block)
        for name, e in system.aliases.items():
            self.names[name] = self.value(e)
            rate = time_derivative(e, lambda leaf: ex.const(self.rates.get(leaf.target, 0.0)))
            self.rates.setdefault(name, self.value(rate))

    @staticmethod
    def parameters(system: SortedSystem) -> dict[str, float]:
        """The parameters by their bindings; 1 for those that have none."""
        values: dict[str, float] = {}
        for p in system.parameters:
            values[p] = evaluate(system.bindings[p], values) if p in system.bindings else 1.0
        return values

    def _set(self, unknown: str, value: float) -> None:
        if unknown.startswith("der("):
            self.rates[unknown[4:-1]] = value
        else:
            self.names[unknown] = value

    def _solve(self, block) -> None:  # type: ignore[no-untyped-def]
        def residuals(guess: np.ndarray) -> list[float]:
            for unknown, value in zip(block.torn, guess, strict=True):
                self._set(unknown, value)
            for a in block.inner:
                self._set(a.unknown, self.value(a.value))
            return [self.value(r) for r in block.residuals]

        start = np.ones(len(block.torn)) + 0.1 * np.arange(len(block.torn))
        if block.linear:
            zero = np.array(residuals(0 * start))
            J = np.array([np.array(residuals(e)) - zero for e in np.eye(len(start))]).T
            residuals(np.linalg.solve(J, -zero))
        else:
            found, info, status, message = fsolve(residuals, start, full_output=True, xtol=1e-13)
            assert status == 1 or np.abs(info["fvec"]).max() < 1e-9, message
            residuals(found)

    def value(self, e: Expression) -> float:
        values = EvaluationPoint(self.names, self.rates, time=self.time, modes=self.modes)
        return evaluate(e, values=values)

    def __getitem__(self, text: str) -> float:
        return self.value(parse(text))

    def worst_residual(self) -> float:
        """The largest error in the equations of the flat system (without events)."""
        return max(abs(self.value(ex.sub(e.lhs, e.rhs))) for e in self.system.flat.equations)
