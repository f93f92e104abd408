"""Flat functions inside CasADi expressions: calls that stay calls, with exact derivatives.

CasADi sees an opaque function of scalars. Its derivative in any direction is the product with the
table of its partial derivatives, which is a function of the same kind: so all directions share one
call of it, and derivatives of every order are there.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import casadi as ca

from estimica.compiled.llvm.function_code import FunctionLibrary
from estimica.compiled.llvm.object_code import load_object_code
from estimica.compiled.llvm.operations.instructions import Stream
from estimica.flat.calculus import MOST_COLUMNS, function_change, function_jacobian
from estimica.flat.function import FlatFunction, influences

#: names of derivatives contain those of what they are derivatives of
_PREFIX = "kept_function_"
_numbers = itertools.count()
_kept: dict[tuple[FlatFunction, tuple[int, ...]], KeptFunction] = {}
_by_name: dict[str, KeptFunction] = {}


def call_kept(function: FlatFunction, arguments: Sequence[ca.SX]) -> list[ca.SX]:
    """The outputs of a call."""
    columns = tuple(k for k, a in enumerate(arguments) if not a.is_constant())
    results = _kept_function(function, columns).call(list(arguments))
    return list(results)


def kept_of(function: ca.Function) -> KeptFunction | None:
    """What a function that CasADi calls stands for; None for one of its own."""
    return _by_name.get(function.name())


def is_derived(function: ca.Function) -> bool:
    """Whether CasADi has made this function, which can be written out, by differentiation."""
    return _PREFIX in function.name() and kept_of(function) is None


def _kept_function(function: FlatFunction, columns: tuple[int, ...]) -> KeptFunction:
    """CasADi does not hold what it calls back, so these live for ever; there are few of them."""
    key = (function, columns)
    if key not in _kept:
        made = KeptFunction(function, columns)
        _kept[key] = _by_name[made.name()] = made
    return _kept[key]


class KeptFunction(ca.Callback):  # type: ignore[misc]
    """A flat function as CasADi sees it; its inputs besides `columns` are constants."""

    def __init__(self, function: FlatFunction, columns: tuple[int, ...]) -> None:
        ca.Callback.__init__(self)
        self.function, self.columns = function, columns
        self.construct(f"{_PREFIX}{next(_numbers)}", {"never_inline": True})

    @cached_property
    def jacobian_table(self) -> tuple[KeptFunction, dict[tuple[int, int], int]] | None:
        """The function that has all derivatives among its outputs, and where each of them is."""
        table = function_jacobian(self.function, self.columns)
        if table is None:
            return None
        return _kept_function(table.function, self.columns), dict(table.place)

    # -- what CasADi asks ------------------------------------------------------------------------

    def get_n_in(self) -> int:
        """One for each scalar."""
        return len(self.function.inputs)

    def get_n_out(self) -> int:
        """One for each scalar."""
        return len(self.function.outputs)

    def eval(self, arguments: Sequence[ca.DM]) -> list[float]:
        """The numbers, where CasADi evaluates by itself."""
        return self._numeric([float(a) for a in arguments])

    def has_jac_sparsity(self, output: int, given: int) -> bool:
        """It is known."""
        return True

    def get_jac_sparsity(self, output: int, given: int, symmetric: bool) -> ca.Sparsity:
        """Whether an output depends on an input at all."""
        depends = given in self.columns and given in self._influences[output]
        return ca.Sparsity.dense(1, 1) if depends else ca.Sparsity(1, 1)

    @cached_property
    def _influences(self) -> list[frozenset[int]]:
        found = influences(self.function)
        return [found[n] for n in self.function.outputs]

    def has_forward(self, directions: int) -> bool:
        """In any number of directions."""
        return True

    def get_forward(
        self, directions: int, name: str, inputs: list[str], outputs: list[str], options: Any
    ) -> ca.Function:
        """(inputs, outputs, changes of inputs) to changes of outputs."""
        x, y, dx = self._symbols(directions, len(self.function.inputs))
        return ca.Function(name, [*x, *y, *dx], self._changes(x, dx, directions), inputs, outputs)

    def has_reverse(self, directions: int) -> bool:
        """Where there is a table; it is not made here, since every table is asked as well."""
        return len(self.columns) <= MOST_COLUMNS

    def get_reverse(
        self, directions: int, name: str, inputs: list[str], outputs: list[str], options: Any
    ) -> ca.Function:
        """(inputs, outputs, weights of outputs) to weights of inputs."""
        x, y, weights = self._symbols(directions, len(self.function.outputs))
        results = [ca.SX.zeros(1, directions) for _ in x]
        assert self.jacobian_table is not None
        table, place = self.jacobian_table
        derivatives = table.call(x)
        for (k, j), number in place.items():
            results[j] = results[j] + derivatives[number] * weights[k]
        return ca.Function(name, [*x, *y, *weights], results, inputs, outputs)

    def _symbols(
        self, directions: int, moving: int
    ) -> tuple[list[ca.SX], list[ca.SX], list[ca.SX]]:
        x = [ca.SX.sym("x") for _ in self.function.inputs]
        y = [ca.SX.sym("y") for _ in self.function.outputs]
        return x, y, [ca.SX.sym("d", 1, directions) for _ in range(moving)]

    def _changes(self, x: list[ca.SX], dx: list[ca.SX], directions: int) -> list[ca.SX]:
        if self.jacobian_table is None:
            return self._changes_one_by_one(x, dx, directions)
        table, place = self.jacobian_table
        results = [ca.SX.zeros(1, directions) for _ in self.function.outputs]
        derivatives = table.call(x)
        for (k, j), number in place.items():
            results[k] = results[k] + derivatives[number] * dx[j]
        return results

    def _changes_one_by_one(self, x: list[ca.SX], dx: list[ca.SX], directions: int) -> list[ca.SX]:
        columns = (*self.columns, *(len(x) + j for j in self.columns))
        change = _kept_function(function_change(self.function), columns)
        moving = set(self.columns)
        by_direction = [
            change.call([*x, *(d[k] if j in moving else ca.SX(0) for j, d in enumerate(dx))])
            for k in range(directions)
        ]
        return [ca.horzcat(*parts) for parts in zip(*by_direction, strict=True)]

    # -- numbers ---------------------------------------------------------------------------------

    @cached_property
    def _numeric(self) -> Callable[[Sequence[float]], list[float]]:
        """The compiled function itself, called from Python."""
        library, stream = FunctionLibrary(), Stream("v")
        n_in, n_out = len(self.function.inputs), len(self.function.outputs)
        places = [stream.element("%arg", k) for k in range(n_in)]
        loaded = [stream.value(f"load double, ptr {p}") for p in places]
        library.invoke(stream, self.function, loaded, "%out")
        main = "define void @main(ptr %arg, ptr %out) nounwind {\n" + stream.body()
        engine = load_object_code("\n".join([*sorted(library.externals), main]), 1)
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        compiled = prototype(engine.get_function_address("main"))
        given, results = (ctypes.c_double * n for n in (max(1, n_in), max(1, n_out)))

        def numeric(values: Sequence[float], engine: Any = engine) -> list[float]:
            arguments, found = given(*values), results()  # both must live during the call
            compiled(ctypes.addressof(arguments), ctypes.addressof(found))
            return list(found)[:n_out]

        return numeric
