"""Algorithms that are no formulas in machine code, against the same in Python."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import llvmlite.binding as llvm
import numpy as np
import pytest

from estimica.compiled.llvm.foreign_code import FOREIGN_CODE
from estimica.flat.foreign import FOREIGN

SIZES = {"xorshift64star": 2, "xorshift128plus": 4, "xorshift1024star": 33}


def test_every_algorithm_is_in_both_tables() -> None:
    assert set(FOREIGN) == set(FOREIGN_CODE) == {*SIZES, "fourier"}


@contextmanager
def compiled(name: str) -> Iterator[Callable[[Sequence[float], int], list[float]]]:
    """The machine code: of arguments and the number of results."""
    code = FOREIGN_CODE[name]
    visible = code.definition.replace("define internal", "define", 1)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("\n".join([*code.declarations, visible]))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine()
    with llvm.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        address = engine.get_function_address(code.name)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)

        def run(arguments: Sequence[float], size: int) -> list[float]:
            given, results = (
                (ctypes.c_double * len(arguments))(*arguments),
                (ctypes.c_double * size)(),
            )
            call(ctypes.addressof(given), ctypes.addressof(results))
            return list(results)

        yield run


@pytest.mark.parametrize("name", sorted(SIZES))
def test_random_generators_are_the_same_bit_for_bit(name: str) -> None:
    size, draw = SIZES[name], random.Random(5)
    state = [float(draw.randint(-(2**31), 2**31 - 1)) for _ in range(size)]
    with compiled(name) as run:
        for _ in range(100):
            results = run(state, size + 1)
            assert results == FOREIGN[name](state)
            state = results[:size]


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_fourier_transforms_are_those_of_numpy(n: int) -> None:
    given = [float(n), *np.random.default_rng(n).normal(size=2 * n)]
    with compiled("fourier") as run:
        np.testing.assert_allclose(run(given, 2 * n), FOREIGN["fourier"](given), atol=1e-12)
