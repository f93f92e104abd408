"""LLVM functions give what CasADi's own evaluation gives, bit by bit."""

from __future__ import annotations

import ctypes
import math

import casadi as ca
import numpy as np
import pytest

from estimica.compiled.llvm.machine_code import SETUP, compile_functions, evaluate
from estimica.compiled.llvm.run_setup import PART

x, y = ca.SX.sym("x"), ca.SX.sym("y")
OPERATIONS = {
    "add": x + y, "subtract": x - y, "multiply": x * y, "divide": x / y, "negate": -x,
    "twice": 2 * x, "square": x**2, "inverse": 1 / x, "power": x**y, "cube": x**3,
    "fractional power": x**2.5, "sqrt": ca.sqrt(x), "exp": ca.exp(x), "log": ca.log(x),
    "log1p": ca.log1p(x), "expm1": ca.expm1(x), "sin": ca.sin(x), "cos": ca.cos(x),
    "tan": ca.tan(x), "asin": ca.asin(x), "acos": ca.acos(x), "atan": ca.atan(x),
    "atan2": ca.atan2(x, y), "sinh": ca.sinh(x), "cosh": ca.cosh(x),
    "asinh": ca.asinh(x), "acosh": ca.acosh(x + 2), "atanh": ca.atanh(x), "erf": ca.erf(x),
    "fabs": ca.fabs(x), "sign": ca.sign(x), "floor": ca.floor(x), "ceil": ca.ceil(x),
    "fmin": ca.fmin(x, y), "fmax": ca.fmax(x, y), "fmod": ca.fmod(x, y),
    "remainder": ca.remainder(x, y), "copysign": ca.copysign(x, y), "hypot": ca.hypot(x, y),
    "less": x < y, "less or equal": x <= y, "equal": x == y, "not equal": x != y,
    "and": ca.logic_and(x, y), "or": ca.logic_or(x, y), "not": ca.logic_not(x),
    "if": ca.if_else(x > y, x, y), "if zero": ca.if_else(x, y, 0),
}  # fmt: skip
POINTS = [
    (0.3, 0.7), (-0.3, 0.7), (0.8, -0.6), (-0.9, -0.2), (0.0, 0.0), (-0.0, 1.0), (1.0, 1.0),
    (-1.0, 2.0), (2.5, -1.25), (math.nan, 1.0), (1.0, math.nan), (math.inf, -1.0), (1e300, 1e300),
]  # fmt: skip


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def test_every_operation_has_the_bits_of_casadi() -> None:
    f = ca.Function("f", [x, y], [ca.vertcat(*OPERATIONS.values())])
    code = compile_functions([f])
    for point in POINTS:
        wanted = np.array(f(*point)).ravel()
        got = np.array(evaluate(code, f, point)[0]).ravel()
        wrong = [n for n, a, b in zip(OPERATIONS, wanted, got, strict=True) if not same(a, b)]
        assert not wrong, (point, wrong)


def test_inverse_error_function_is_exact() -> None:
    f = ca.Function("f", [x], [ca.erfinv(x)])
    code = compile_functions([f])
    for value in (-0.999, -0.9, -0.3, 0.0, 1e-9, 0.5, 0.71, 0.99):
        found = float(evaluate(code, f, [value])[0])
        assert math.erf(found) == pytest.approx(value, abs=1e-15)
    assert float(evaluate(code, f, [1.0])[0]) == math.inf
    assert math.isnan(float(evaluate(code, f, [1.5])[0]))


def test_hyperbolic_tangent_is_right_to_two_units_in_the_last_place() -> None:
    f = ca.Function("f", [x], [ca.tanh(x)])
    code = compile_functions([f])
    rng = np.random.default_rng(1)
    values = [*rng.uniform(-1, 1, 300), *rng.normal(0, 8, 200), 0.625, 1e-9, 1e-300, 22.0, 400.0]
    for value in values:
        found, wanted = float(evaluate(code, f, [value])[0]), math.tanh(value)
        assert abs(found - wanted) <= 2 * math.ulp(wanted), value
    assert float(evaluate(code, f, [0.0])[0]) == 0.0
    assert float(evaluate(code, f, [-math.inf])[0]) == -1.0
    assert math.isnan(float(evaluate(code, f, [math.nan])[0]))


def test_sparse_results_and_unused_inputs() -> None:
    v, unused = ca.SX.sym("v", 3), ca.SX.sym("unused", 2)
    jacobian = ca.jacobian(ca.vertcat(v[0] * v[2], ca.sin(v[1])), v)
    f = ca.Function("f", [v, unused], [jacobian, ca.SX(2, 2), ca.densify(v)])
    code = compile_functions([f])
    point = [[1.0, 2.0, 3.0], [0.0, 0.0]]
    for got, wanted in zip(evaluate(code, f, point), f(*point), strict=True):
        assert got.sparsity() == wanted.sparsity()
        assert np.array_equal(np.array(got), np.array(wanted))


def test_several_functions_share_one_module() -> None:
    f, g = ca.Function("f", [x], [ca.sin(x)]), ca.Function("g", [x], [ca.sin(x) + 1])
    code = compile_functions([f, g])
    assert len(set(code.addresses.values())) == 2
    assert float(evaluate(code, g, [0.5])[0]) == math.sin(0.5) + 1


def test_operation_without_machine_code_is_named() -> None:
    inner = ca.Function("inner", [x], [x**2], {"never_inline": True})
    f = ca.Function("f", [x], [inner(x)])
    with pytest.raises(NotImplementedError, match="has no machine code"):
        compile_functions([f])


def test_long_functions_are_cut_into_parts() -> None:
    v = ca.SX.sym("v", 40)
    rows = [v[k] * ca.sin(v[(k + 1) % 40]) + v[(k + 7) % 40] for k in range(40)]
    for _ in range(60):
        rows = [rows[k] * 0.5 + ca.cos(rows[(k + 3) % 40]) for k in range(40)]
    f = ca.Function("f", [v], [ca.vertcat(*rows), ca.vertcat(*rows[:7])], {"cse": True})
    assert f.n_instructions() > 4 * PART
    code = compile_functions([f])
    point = np.linspace(-1, 1, 40)
    for got, wanted in zip(evaluate(code, f, [point]), f(point), strict=True):
        assert np.array_equal(np.array(got), np.array(wanted))


@pytest.mark.parametrize("length", [1, 60])
def test_what_depends_on_run_constants_only_is_computed_once(length: int) -> None:
    v, p = ca.SX.sym("v", 8), ca.SX.sym("p", 3)
    heavy = ca.exp(p[0]) / (1 + p[1] ** 2)
    rows = [v[k] * heavy + ca.sqrt(p[2]) + p[0] for k in range(8)]
    for _ in range(length):
        rows = [ca.sin(rows[k]) + ca.log(p[1] + k) * rows[(k + 1) % 8] for k in range(8)]
    fixed = ca.vertcat(heavy, 2.5, p[1])
    f = ca.Function("f", [v, p], [ca.vertcat(*rows), fixed], {"cse": True})
    code = compile_functions([f], (1, 2))
    assert 3 <= code.n_constants <= 12
    values, constants = np.linspace(-1, 1, 8), np.array([0.3, 1.7, 2.2])
    saved, first, second = np.zeros(code.n_constants), np.zeros(8), np.zeros(3)
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

    def table(*arrays: np.ndarray) -> ctypes.Array:
        return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))

    arguments = table(values, constants, saved)
    prototype(code.addresses[SETUP])(arguments, table(saved))
    assert heavy_value(constants) in saved
    prototype(code.addresses["f"])(arguments, table(first, second))
    wanted = f(values, constants)
    assert np.array_equal(first, np.array(wanted[0]).ravel())
    assert np.array_equal(second, np.array(wanted[1]).ravel())


def heavy_value(p: np.ndarray) -> float:
    return float(np.exp(p[0]) / (1 + p[1] ** 2))


def test_a_long_setup_hands_its_numbers_on_from_part_to_part() -> None:
    """A chain over all run constants, of which the last links need the first ones again."""
    n = 3 * PART
    x, constants, saved = ca.SX.sym("x"), ca.SX.sym("c", n), ca.SX.sym("s", n + 10)
    links = [ca.sin(constants[0])]
    for k in range(1, n):
        links.append(ca.cos(links[-1]) * constants[k] + links[0])
    results = ca.vertcat(x * links[-1], x + links[0], x - links[n // 2] * constants[1])
    f = ca.Function("f", [x, constants, saved], [results])
    code = compile_functions([f], (1, 2))
    given = np.linspace(0.1, 1.0, n)
    memory, found, argument = np.zeros(code.n_constants), np.zeros(3), np.array([0.7])

    def table(*arrays: np.ndarray) -> ctypes.Array[ctypes.c_void_p]:
        return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))

    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    arguments = table(argument, given, memory)
    prototype(code.addresses[SETUP])(arguments, table(memory))
    prototype(code.addresses["f"])(arguments, table(found))
    wanted = np.array(f(argument, given, np.zeros(n + 10))).ravel()
    np.testing.assert_array_equal(found, wanted)
