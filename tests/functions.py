"""Flat functions of closed form, written as iterations, choices and calls."""

from __future__ import annotations

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.function import (
    Assign,
    Break,
    Check,
    Choice,
    FlatFunction,
    GivenDerivative,
    Loop,
    Return,
    flat_function,
    invoke,
)
from estimica.flat.system import Equation, FlatSystem, Variability, Variable

n, c = ex.name, ex.const


def assign(target: str, value: Expression) -> Assign:
    return Assign((target,), (value,))


def square_root() -> FlatFunction:
    """Newton's iteration until the residual is small; it never ends for a < 0."""
    miss = ex.call("abs", ex.sub(ex.mul(n("y"), n("y")), n("a")))
    step = ex.mul(c(0.5), ex.add(n("y"), ex.div(n("a"), n("y"))))
    loop = Loop(ex.relation("gt", miss, ex.mul(c(1e-14), n("a"))), (assign("y", step),))
    return flat_function("root", ("a",), ("y",), (assign("y", ex.add(n("a"), ex.ONE)), loop))


def fourth_root() -> FlatFunction:
    """A call of a call."""
    root = square_root()
    (inner,) = invoke(root, [n("a")])
    return flat_function("fourth", ("a",), ("y",), (assign("y", invoke(root, [inner])[0]),))


def polar() -> FlatFunction:
    """(x, y) to (radius, angle): two outputs."""
    squares = ex.add(ex.mul(n("x"), n("x")), ex.mul(n("y"), n("y")))
    (radius,) = invoke(square_root(), [squares])
    angle = ex.call("atan2", n("y"), n("x"))
    return flat_function(
        "polar", ("x", "y"), ("r", "phi"), (Assign(("r", "phi"), (radius, angle)),)
    )


def guarded_root() -> FlatFunction:
    """√a, or -1 by an early return where a ≤ 0."""
    negative = ex.relation("le", n("a"), ex.ZERO)
    body = (
        Choice(negative, (assign("y", c(-1.0)), Return())),
        assign("y", invoke(square_root(), [n("a")])[0]),
    )
    return flat_function("guarded", ("a",), ("y",), body)


def chosen_root() -> FlatFunction:
    """The same as an expression: the side that is not chosen must not fail."""
    positive = ex.relation("gt", n("a"), ex.ZERO)
    value = ex.conditional(positive, invoke(square_root(), [n("a")])[0], c(-1.0))
    return flat_function("chosen", ("a",), ("y",), (assign("y", value),))


def geometric_sum() -> FlatFunction:
    """1 + q + q² + …: as many terms as `count` says, at most 30."""
    term = Assign(
        ("s", "t", "k"), (ex.add(n("s"), n("t")), ex.mul(n("t"), n("q")), ex.add(n("k"), ex.ONE))
    )
    enough = Choice(ex.relation("ge", n("k"), c(30.0)), (Break(),))
    body = (
        Assign(("s", "t", "k"), (ex.ZERO, ex.ONE, ex.ZERO)),
        Loop(ex.relation("lt", n("k"), n("count")), (enough, term)),
    )
    return flat_function("geometric", ("q", "count"), ("s",), body)


def checked_logarithm() -> FlatFunction:
    """log a, and a failure where a ≤ 0."""
    body = (
        Check(ex.relation("gt", n("a"), ex.ZERO), "a must be positive"),
        assign("y", ex.call("log", n("a"))),
    )
    return flat_function("logarithm", ("a",), ("y",), body)


def given_sine() -> FlatFunction:
    """sin(w·x) with a derivative of the author's that takes w as constant."""
    change = ex.mul(ex.mul(n("w"), ex.call("cos", ex.mul(n("w"), n("x")))), n("dx"))
    derivative = flat_function("sine_der", ("w", "x", "dx"), ("dy",), (assign("dy", change),))
    body = (assign("y", ex.call("sin", ex.mul(n("w"), n("x")))),)
    return flat_function("sine", ("w", "x"), ("y",), body, GivenDerivative(derivative, (1,)))


def mean_of(count: int) -> FlatFunction:
    """The mean of squares of many inputs: too many for a table of derivatives."""
    names = tuple(f"x[{k + 1}]" for k in range(count))
    total = ex.total(ex.mul(n(x), n(x)) for x in names)
    return flat_function("mean", names, ("y",), (assign("y", ex.div(total, c(count))),))


def looked_up() -> FlatFunction:
    """Elements of an array of constants and of one of formulas, at a place that is computed."""
    place = ex.call("floor", n("a"))
    fixed = ex.node("element", place, *(c(k * k) for k in range(1, 8)))
    moving = ex.node("element", place, *(ex.mul(c(k), n("a")) for k in range(1, 8)))
    return flat_function("looked", ("a",), ("y",), (assign("y", ex.add(fixed, moving)),))


def parameter(name: str, value: float) -> Variable:
    return Variable(name, variability=Variability.PARAMETER, binding=c(value))


def state(name: str, start: float) -> Variable:
    return Variable(name, start=c(start), fixed=True)


def system(variables: list[Variable], equations: list[tuple[Expression, Expression]]) -> FlatSystem:
    return FlatSystem("M", tuple(variables), tuple(Equation(a, b) for a, b in equations))
