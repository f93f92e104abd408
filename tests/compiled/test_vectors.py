"""Functions over several lanes at once, against the same functions of one."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import casadi as ca
import numpy as np
import pytest

from estimica.base.arrays import Vector
from estimica.compiled.llvm.machine_code import SETUP, compile_functions
from estimica.compiled.llvm.operations import instructions
from estimica.compiled.llvm.operations.width import Width
from estimica.compiled.llvm.run_setup import PART

X, P, T = ca.SX.sym("x", 3), ca.SX.sym("P", 2), ca.SX.sym("t")


def every_kind() -> ca.SX:
    """One of every kind of operation, within the domains of all of them."""
    x, y, z = ca.vertsplit(X)
    unary = [ca.sin, ca.cos, ca.tan, ca.asin, ca.acos, ca.atan, ca.sinh, ca.cosh, ca.tanh, ca.asinh]
    unary += [ca.atanh, ca.exp, ca.log, ca.log1p, ca.expm1, ca.erf, ca.sqrt, ca.fabs, ca.floor]
    unary += [ca.ceil, ca.erfinv, ca.sign, lambda a: ca.acosh(1 + a), lambda a: -a, lambda a: 1 / a]
    binary = [ca.fmin, ca.fmax, ca.atan2, ca.fmod, ca.hypot, ca.remainder, ca.copysign, ca.power]
    binary += [ca.logic_and, ca.logic_or, lambda a, b: a < b, lambda a, b: a <= b]
    binary += [lambda a, b: a == b, lambda a, b: a != b, lambda a, b: ca.if_else(a > b, a, b)]
    far = [ca.tanh(40 * (y - 0.5)), ca.logic_not(z), ca.tanh(1e3 * x)]
    constants = [ca.exp(P[0]) * x, ca.sin(P[1]) + P[0] ** P[1], T * y]
    return ca.vertcat(*(f(x) for f in unary), *(f(y, z) for f in binary), *far, *constants)


def run(expression: ca.SX, width: Width, x: Vector, p: Vector) -> Vector:
    """The function compiled for all lanes, with what its run constants yield computed before."""
    f = ca.Function("f", [T, X, P], [ca.densify(expression)])
    code = compile_functions([f], (2, 3), width)
    lanes = x.shape[1]
    saved, out = np.zeros((code.n_constants + 1, lanes)), np.zeros((f.nnz_out(0), lanes))
    given = table([np.array([0.7]), x, p, saved])
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    if code.n_constants:
        call(code.addresses[SETUP])(given, table([saved]))
    call(code.addresses["f"])(given, table([out]))
    return out


def table(arrays: Sequence[Vector]) -> ctypes.Array[ctypes.c_void_p]:
    """Pointers to the data."""
    return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))


def members(lanes: int) -> tuple[Vector, Vector]:
    """Arguments, one column a lane."""
    rng = np.random.default_rng(lanes)
    return rng.uniform(0.05, 0.95, (3, lanes)), rng.uniform(0.5, 1.5, (2, lanes))


@pytest.mark.parametrize("library", [True, False], ids=["vector library", "lane by lane"])
@pytest.mark.parametrize(("lanes", "step"), [(2, 2), (4, 2), (4, 4), (8, 4), (8, 8)])
def test_lanes_are_the_function_of_each(
    lanes: int, step: int, library: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not library:
        monkeypatch.setattr(instructions, "vector_function", lambda name: "")
    x, p = members(lanes)
    found = run(every_kind(), Width(lanes, frozenset({0}), step), x, p)
    for k in range(lanes):
        own = (np.ascontiguousarray(a[:, k : k + 1]) for a in (x, p))
        plain = run(every_kind(), Width(), *own)
        np.testing.assert_allclose(found[:, k], plain[:, 0], rtol=5e-15, atol=1e-300)


def test_long_functions_hand_lanes_on_from_part_to_part() -> None:
    x, p = members(8)
    y, c = X, P[0]
    for k in range(PART):
        y = ca.vertcat(y[1] + 0.1 * ca.sin(y[2]), y[2] - 0.01 * k * y[0] / PART, y[0] + 0.01 * c)
        c = c + ca.cos(c)
    found = run(ca.vertcat(y, c), Width(8, frozenset({0}), 4), x, p)
    f = ca.Function("f", [T, X, P], [ca.vertcat(y, c)])
    for k in range(8):
        expected = np.array(f(0.7, x[:, k], p[:, k])).ravel()
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-11)


def test_what_is_not_a_number_stays_in_its_lane() -> None:
    x, p = members(8)
    x[0, 3], x[1, 5] = np.nan, np.inf
    found = run(ca.vertcat(ca.exp(X[0]), ca.tanh(X[1]), X[2] * P[0]), Width(8, step=4), x, p)
    bad = np.isnan(found)
    assert bad[0].nonzero()[0].tolist() == [3]
    assert not bad[1:].any()
    assert found[1, 5] == 1.0
