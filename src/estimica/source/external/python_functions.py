"""Functions of a model that Python computes: calls of them, with derivatives of every order.

The function itself and its slopes are calls of Python. Further derivatives, which constraints that
are differentiated need, are differences of the slopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from estimica.base.code.numeric import Argument, NumericCode, NumericFunction, numeric_function
from estimica.base.errors import SourceError, UnsupportedError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.derived_function import change_name, difference_along
from estimica.flat.expression import Expression
from estimica.flat.function import (
    Assign,
    FlatFunction,
    Foreign,
    GivenDerivative,
    flat_function,
    invoke,
)
from estimica.flat.system import Kind
from estimica.source.evaluate.names import Function, Parameter
from estimica.source.evaluate.values import Frame, Value, is_array

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator

#: how often slopes are differentiated by differences; each time costs five digits
_ORDERS = 2


class PythonFunctions:
    """Which functions of a model Python computes, by their full names."""

    def __init__(self, codes: Mapping[str, NumericCode]) -> None:
        self._codes = codes
        self._used: set[str] = set()
        self._others: set[str] = set()  # functions that are called and not among them

    def call(self, evaluator: Evaluator, function: Function, arguments: Frame) -> Value:
        """The outputs of a call; None where the function is none of these."""
        code = self._codes.get(function.name)
        if code is None:
            self._others.add(function.name)
            return None
        self._used.add(function.name)
        names = [p.name for p in function.outputs]
        for parameter in function.outputs:
            if parameter.kind is not Kind.REAL or parameter.dimensions:
                _refuse(function, f"its output '{parameter.name}' is not a Real")
        if not names:
            _refuse(function, "it has no output")
        given: list[Expression] = []
        known = [_argument(function, p, arguments, given) for p in function.inputs]
        numeric = numeric_function(function.name, code, known, len(names))
        if not given:
            _refuse(function, "it has no input that is a number")
        results = invoke(_flat(numeric, _scalar_names(known), names), given)
        return results[0] if len(results) == 1 else tuple(results)

    def require_used(self) -> None:
        """SourceError where a function is named that the model does not call."""
        for name in self._codes:
            if name not in self._used:
                called = sorted(self._others)
                hint = did_you_mean(name, called)
                if not hint:
                    listed = ", ".join(called[:8]) + (", …" if len(called) > 8 else "")
                    hint = f" (it calls {listed})" if called else " (it calls none)"
                raise SourceError(
                    "S088", f"functions: the model does not call a function '{name}'{hint}"
                )

    def notes(self) -> Iterable[str]:
        """How values and derivatives are found, in words."""
        for name, code in self._codes.items():
            value, *slopes = code.spelt
            how = slopes[0] if slopes else "differences of five points, which lose four digits"
            yield f"'{name}' is computed by {value}, its derivatives by {how}"


def _argument(
    function: Function, parameter: Parameter, arguments: Frame, given: list[Expression]
) -> Argument:
    """What an input is; its numbers are added to `given`."""
    value = arguments[parameter.name]
    if isinstance(value, str):
        return Argument(parameter.name, value, real=False)
    parts = list(value.flat) if is_array(value) else [value]
    for part in parts:
        if not isinstance(part, Expression):
            _refuse(function, f"its input '{parameter.name}' is neither a number nor a text")
        given.append(part)
    shape = value.shape if is_array(value) else ()
    return Argument(parameter.name, None, shape, parameter.kind is Kind.REAL)


def _refuse(function: Function, why: str) -> NoReturn:
    raise UnsupportedError("U006", f"functions: Python cannot compute '{function.name}': {why}")


def _scalar_names(arguments: Iterable[Argument]) -> list[str]:
    names: list[str] = []
    for a in arguments:
        if a.text is None:
            names += [f"{a.name}[{k + 1}]" for k in range(a.size)] if a.shape else [a.name]
    return names


def _flat(numeric: NumericFunction, inputs: Sequence[str], outputs: Sequence[str]) -> FlatFunction:
    """The function with its derivative."""
    moving = numeric.moving
    call = Foreign(numeric.twin("value"), tuple(outputs), tuple(map(ex.name, inputs)))
    derivative = GivenDerivative(_change(numeric, inputs, outputs), moving) if moving else None
    return flat_function(numeric.name, inputs, outputs, (call,), derivative)


def _change(
    numeric: NumericFunction, inputs: Sequence[str], outputs: Sequence[str]
) -> FlatFunction:
    """(inputs, changes of those that move) to changes of outputs."""
    moving = [inputs[k] for k in numeric.moving]
    changes = [change_name(n) for n in moving]
    results = tuple(change_name(n) for n in outputs)
    slopes = tuple(f"slope({y},{n})" for y in outputs for n in moving)
    table = _slopes(numeric, inputs, slopes, _ORDERS)
    sums = []
    for k in range(len(outputs)):
        total = ex.ZERO
        for j, change in enumerate(changes):
            slope = ex.name(slopes[k * len(moving) + j])
            total = ex.add(total, ex.mul(slope, ex.name(change)))
        sums.append(total)
    body = (Assign(slopes, invoke(table, map(ex.name, inputs))), Assign(results, tuple(sums)))
    return flat_function(change_name(numeric.name), (*inputs, *changes), results, body)


def _slopes(
    numeric: NumericFunction, inputs: Sequence[str], slopes: Sequence[str], orders: int
) -> FlatFunction:
    """All slopes, output by output, which have derivatives themselves."""
    call = Foreign(numeric.twin("slopes"), tuple(slopes), tuple(map(ex.name, inputs)))
    name = f"slopes of {numeric.name}"
    derivative = None
    if orders:
        inner = _slopes(numeric, inputs, slopes, orders - 1)
        changes = [change_name(inputs[k]) for k in numeric.moving]
        results = tuple(change_name(n) for n in slopes)
        values = tuple(difference_along(inner, frozenset(numeric.moving)))
        body = (Assign(results, values),)
        change = flat_function(change_name(name), (*inputs, *changes), results, body)
        derivative = GivenDerivative(change, numeric.moving)
    return flat_function(name, inputs, slopes, (call,), derivative)
