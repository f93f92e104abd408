"""Derivatives of every operation against central differences."""

from __future__ import annotations

import math

import pytest

from estimica.flat import expression as ex
from estimica.flat.calculus import DerivativeError, partial, tangent, time_derivative
from estimica.flat.evaluate import evaluate
from estimica.flat.expression import Expression

X, Y = ex.name("x"), ex.name("y")


def _table() -> Expression:
    points = (ex.ZERO, ex.ONE, ex.ONE, ex.const(3.0), Y, ex.const(2.0))
    return ex.node("table", X, *points)


EXPRESSIONS: dict[str, Expression] = {
    "add": ex.add(X, Y),
    "sub": ex.sub(X, ex.mul(Y, Y)),
    "mul": ex.mul(X, ex.mul(X, Y)),
    "div": ex.div(X, Y),
    "div by itself": ex.div(Y, ex.add(X, X)),
    "neg": ex.neg(ex.mul(X, X)),
    "pow number": ex.power(X, ex.const(3.0)),
    "pow fraction": ex.power(X, ex.const(0.5)),
    "pow variable": ex.power(X, Y),
    "exponential": ex.power(ex.const(2.0), X),
    "if": ex.conditional(ex.relation("gt", X, ex.ZERO), ex.mul(X, X), Y),
    "min": ex.call("min", X, ex.mul(Y, Y)),
    "max": ex.call("max", X, ex.mul(Y, Y)),
    "mod": ex.call("mod", ex.mul(ex.const(5.0), X), Y),
    "rem": ex.call("rem", ex.mul(ex.const(5.0), X), Y),
    "idiv": ex.call("idiv", ex.mul(ex.const(5.0), X), Y),
    "floor": ex.call("floor", ex.mul(ex.const(5.0), X)),
    "atan2": ex.call("atan2", X, Y),
    "noEvent": ex.node("noEvent", ex.mul(X, Y)),
    "smooth": ex.node("smooth", ex.mul(X, Y), ex.ONE),
    "smooth order 0": ex.node("smooth", ex.mul(X, Y), ex.ZERO),
    "homotopy": ex.node("homotopy", ex.mul(X, Y), X),
    "abs": ex.call("abs", ex.neg(ex.mul(X, X))),
    "nested": ex.call("sin", ex.div(ex.call("exp", ex.mul(X, Y)), ex.add(X, Y))),
    **{f: ex.call(f, ex.mul(ex.const(0.5), X)) for f in sorted(ex.ELEMENTARY - {"abs"})},
}


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
@pytest.mark.parametrize("leaf", ["x", "y"])
def test_partial_derivative_matches_central_difference(name: str, leaf: str) -> None:
    e = EXPRESSIONS[name]
    point = {"x": 0.7, "y": 1.3}
    h = 1e-6
    high, low = (evaluate(e, point | {leaf: point[leaf] + s}) for s in (h, -h))
    found = evaluate(partial(e, ex.name(leaf)), point)
    assert found == pytest.approx((high - low) / (2 * h), rel=1e-8, abs=1e-9)


def _interpolated(u: float, points: list[float]) -> float:
    xs, ys = points[0::2], points[1::2]
    k = max(i for i in range(len(xs) - 1) if i == 0 or u >= xs[i])
    return ys[k] + (ys[k + 1] - ys[k]) / (xs[k + 1] - xs[k]) * (u - xs[k])


def test_table_derivative_covers_argument_abscissae_and_ordinates() -> None:
    names = ["u", "x1", "y1", "x2", "y2", "x3", "y3"]
    leaves = [ex.name(n) for n in names]
    values = [1.4, 0.0, 1.0, 1.0, 3.0, 2.0, 2.5]
    e = ex.node("table", *leaves)
    for k in range(len(names)):
        shifted = [[v + s * (i == k) for i, v in enumerate(values)] for s in (1e-6, -1e-6)]
        expected = (
            _interpolated(shifted[0][0], shifted[0][1:])
            - _interpolated(shifted[1][0], shifted[1][1:])
        ) / 2e-6
        found = _evaluate_tables(partial(e, leaves[k]), dict(zip(names, values, strict=True)))
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-9), names[k]


def _evaluate_tables(e: Expression, point: dict[str, float]) -> float:
    """`evaluate` knows no tables: their values are put in as numbers."""
    memo: dict[Expression, float] = {}
    for node in ex.walk(e):
        a = [memo[x] for x in node.operands]
        if node.op == "table":
            memo[node] = _interpolated(a[0], a[1:])
        elif node.op == "table_slope":
            memo[node] = (_interpolated(a[0] + 1e-7, a[1:]) - _interpolated(a[0], a[1:])) / 1e-7
        elif node.operands:
            memo[node] = ex.fold(node.op, *a) or 0.0
        else:
            memo[node] = evaluate(node, point)
    return memo[e]


def test_time_derivative_follows_states_and_time() -> None:
    e = ex.mul(ex.call("sin", ex.TIME), X)
    rates = {X: ex.der("x")}
    derivative = time_derivative(e, lambda leaf: rates.get(leaf, ex.ZERO))
    expected = ex.add(
        ex.mul(ex.call("cos", ex.TIME), X), ex.mul(ex.call("sin", ex.TIME), ex.der("x"))
    )
    assert derivative is expected


def test_shared_memo_gives_the_same_nodes() -> None:
    memo: dict[Expression, Expression] = {}
    common = ex.call("exp", X)
    first, second = ex.mul(common, Y), ex.add(common, Y)
    apart = [partial(first, X), partial(second, X)]
    together = tangent([first, second], lambda leaf: ex.ONE if leaf is X else ex.ZERO, memo)
    assert together == apart


def test_min_and_max_make_no_events() -> None:
    condition = partial(ex.call("max", X, Y), X).operands[0]
    assert condition.op == "noEvent"


def test_delay_has_no_derivative() -> None:
    with pytest.raises(DerivativeError, match="a delayed signal has no derivative in closed form"):
        partial(ex.node("delay", X, ex.ONE), X)


def test_deep_sums_do_not_exhaust_the_stack() -> None:
    e = ex.total(ex.mul(ex.const(float(k)), X) for k in range(5000))
    assert evaluate(partial(e, X), {"x": 0.0}) == math.comb(5000, 2)
