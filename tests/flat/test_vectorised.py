"""Programs over arrays: the same numbers as the plain evaluation, each node once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from estimica.flat import expression as ex
from estimica.flat import vectorised
from estimica.flat.calculus import partial
from estimica.flat.evaluate import evaluate
from estimica.flat.expression import Expression
from estimica.flat.vectorised import BLOCK, ArrayProgram

X, Y, B = ex.name("x"), ex.name("y"), ex.name("b")
ONE_OPERAND = [*sorted(ex.ELEMENTARY), "neg", "sign", "floor", "ceil", "integer", "not"]
TWO_OPERANDS = ["add", "sub", "mul", "div", "pow", "min", "max", "idiv", "mod", "rem", "atan2",
                "and", "or", *sorted(ex.RELATIONS)]  # fmt: skip
NODES = {
    **{op: ex.node(op, X) for op in ONE_OPERAND},
    **{op: ex.node(op, X, Y) for op in TWO_OPERANDS},
    "if": ex.node("if", ex.node("lt", X, Y), X, ex.node("mul", Y, B)),
    "wrappers": ex.node("noEvent", ex.node("smooth", ex.node("homotopy", X, Y), ex.ZERO)),
    **{f"power {n}": ex.node("pow", X, ex.const(n)) for n in (0.5, -1, 2, -2, 3, 4, 5, 1.7)},
}


def values(roots: list[Expression], **arguments: float | np.ndarray) -> np.ndarray:
    vector = [isinstance(v, np.ndarray) for v in arguments.values()]
    size = next((len(v) for v in arguments.values() if isinstance(v, np.ndarray)), 1)
    out = np.empty((len(roots), size))
    program = ArrayProgram(roots, [ex.name(n) for n in arguments], vector)
    sound = program.run(list(arguments.values()), out)
    assert sound == bool(np.isfinite(out).all())
    return out


@pytest.mark.parametrize("op", NODES)
def test_every_operation_agrees_with_the_plain_evaluation(op: str) -> None:
    x, y = np.array([0.3, 0.9, 0.5]), np.array([0.4, 0.2, 0.5])
    found = values([NODES[op]], x=x, y=y, b=2.0)[0]
    expected = [evaluate(NODES[op], {"x": a, "y": c, "b": 2.0}) for a, c in zip(x, y, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("op", NODES)
def test_numbers_alone_give_numbers(op: str) -> None:
    expected = evaluate(NODES[op], {"x": 0.7, "y": 0.2, "b": 3.0})
    assert values([NODES[op]], x=0.7, y=0.2, b=3.0)[0, 0] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17])
def test_blocks_make_no_difference(size: int) -> None:
    x = np.linspace(0.1, 2.0, size)
    f = ex.mul(B, ex.call("exp", ex.neg(ex.mul(X, B))))
    found = values([f, partial(f, B), X, B, ex.ONE, f], x=x, b=0.7)
    e = np.exp(-x * 0.7)
    expected = [0.7 * e, e * (1 - 0.7 * x), x, 0.7 + 0 * x, 1 + 0 * x, 0.7 * e]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


def test_shared_nodes_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def counted(op: str) -> None:
        plain = vectorised._OPERATIONS[op]

        def call(*arguments: object) -> None:
            calls[op] += 1
            plain(*arguments)

        monkeypatch.setitem(vectorised._OPERATIONS, op, call)

    for op in ("exp", "mul"):
        counted(op)
    e = ex.call("exp", ex.mul(X, B))
    f = ex.add(ex.mul(e, e), e)
    values([f, partial(f, B), partial(f, X)], x=np.ones(3), b=0.5)
    assert calls["exp"] == 1
    assert calls["mul"] <= 9


def test_registers_are_used_again() -> None:
    f = X
    for _ in range(200):
        f = ex.call("sin", ex.add(f, B))
    assert len(ArrayProgram([f], [X, B], [True, False])._buffers) <= 2


def test_undefined_numbers_are_told_and_warn_nobody() -> None:
    out = np.empty((2, 2))
    roots = [ex.call("log", X), ex.div(ex.ONE, X)]
    assert not ArrayProgram(roots, [X], [True]).run([np.array([-1.0, 0.0])], out)
    np.testing.assert_array_equal(out, [[np.nan, -np.inf], [-1.0, np.inf]])


def test_a_parameter_that_is_absent_at_a_point_moves_nothing_there() -> None:
    f = ex.power(X, B)
    roots = [partial(f, B), ex.div(X, ex.mul(X, X))]
    out = np.empty((2, 2))
    ArrayProgram(roots, [X, B], [True, False], absent=True).run([np.array([0.0, 2.0]), 0.5], out)
    np.testing.assert_allclose(out, [[0.0, np.sqrt(2) * np.log(2)], [0.0, 0.5]])


def test_nodes_given_as_arguments_are_not_computed() -> None:
    square = ex.mul(X, X)
    out = np.empty((1, 2))
    program = ArrayProgram([ex.add(square, B)], [square, B], [True, False])
    program.run([np.array([10.0, 20.0]), 1.0], out)
    np.testing.assert_array_equal(out, [[11.0, 21.0]])
