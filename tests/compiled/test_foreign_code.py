"""Algorithms on whole numbers in machine code, against the same in Python."""

from __future__ import annotations

import ctypes
import random

import llvmlite.binding as llvm
import pytest

from estimica.compiled.llvm.foreign_code import FOREIGN_CODE
from estimica.flat.foreign import FOREIGN

SIZES = {"xorshift64star": 2, "xorshift128plus": 4, "xorshift1024star": 33}


def test_every_algorithm_is_in_both_tables() -> None:
    assert set(FOREIGN) == set(FOREIGN_CODE) == set(SIZES)


@pytest.mark.parametrize("name", sorted(FOREIGN_CODE))
def test_random_generators_are_the_same_bit_for_bit(name: str) -> None:
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
        size, draw = SIZES[name], random.Random(5)
        state = [float(draw.randint(-(2**31), 2**31 - 1)) for _ in range(size)]
        for _ in range(100):
            given, results = (ctypes.c_double * size)(*state), (ctypes.c_double * (size + 1))()
            call(ctypes.addressof(given), ctypes.addressof(results))
            assert list(results) == FOREIGN[name](state)
            state = list(results)[:size]
