"""CasADi SX functions as machine code, by LLVM: no C compiler, the same bits as CasADi itself
(only tanh may differ in the last place).

A compiled function has the signature `void f(double** arg, double** res)`: tables of pointers to
the nonzeros of its inputs and outputs. Unused inputs are never read.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from estimica.compiled.llvm.call_expansion import expanded
from estimica.compiled.llvm.function_code import FunctionLibrary
from estimica.compiled.llvm.kept_function import kept_of
from estimica.compiled.llvm.object_code import load_object_code
from estimica.compiled.llvm.operations.instructions import Instructions, Stream
from estimica.compiled.llvm.operations.width import PLAIN, Width
from estimica.compiled.llvm.processor import initialise_llvm
from estimica.compiled.llvm.run_setup import PART, Number, RunSetup

#: instructions from which on the optimiser is told to hurry
_LARGE, _HUGE = 20_000, 100_000


@dataclass(frozen=True, eq=False)
class MachineCode:
    """Functions in memory; their addresses are valid as long as this object lives.

    Where run constants were named, the function SETUP computes `n_constants` numbers from them,
    once for each run, which the others then read.
    """

    addresses: dict[str, int]
    engine: Any
    n_constants: int = 0


#: the name of the function that computes what depends on run constants only
SETUP = "setup"


class _Writer(Instructions):
    """Writes one function as LLVM assembly, and what it needs only once for each run apart."""

    def __init__(
        self,
        function: ca.Function,
        constants: tuple[int, int] | None,
        first: int,
        library: FunctionLibrary,
        width: Width,
    ) -> None:
        super().__init__(Stream("v", width))
        self.function, self.library = function, library
        self.constants = constants  # arguments: run constants, what the setup makes of them
        self.setup = RunSetup(constants[0] if constants else -1, first, width)
        self.work: dict[int, Number] = {}
        self.part_number = 0

    def write(self) -> str:
        """The whole function; a long one calls its parts, which hand values on in memory."""
        f = self.function
        n, name = f.n_instructions(), f.name()
        inner = name if self.width.lanes == 1 else f"{name}.lanes"
        given = f"ptr %arg, ptr %res{self.width.parameter}"
        # once for all lanes: two in line would share the registers
        kind = "" if self.width.lanes == 1 else "internal "
        far = "" if self.width.lanes == 1 else " noinline"
        if n <= PART:
            text = self.part(range(n), f"{kind}void @{inner}({given}){far}", frozenset())
        else:
            text = self.parts(n, inner, given)
        if self.width.lanes > 1:
            calls = self.width.calls(inner, "ptr %arg, ptr %res")
            text += f"define void @{name}(ptr %arg, ptr %res) nounwind {{\n{calls}  ret void\n}}\n"
        return text if self.setup.empty else text + self.setup.text(name)

    def parts(self, n: int, name: str, given: str) -> str:
        """A function cut into parts, and the function that calls them."""
        handed = f"ptr %arg, ptr %res, ptr %w{self.width.parameter}"
        starts = range(0, n, PART)
        parts, calls = [], []
        for number, (start, kept) in enumerate(zip(starts, self.handed_on(starts), strict=True)):
            self.part_number = number
            header = f"internal void @{name}.{number}({handed}) noinline"
            parts.append(self.part(range(start, min(start + PART, n)), header, kept))
            calls.append(f"  call void @{name}.{number}({handed})\n")
        size = self.function.sz_w() * self.width.lanes
        return "".join(parts) + (
            f"define void @{name}({given}) nounwind {{\n"
            f"  %w = alloca [{size} x double]\n{''.join(calls)}  ret void\n}}\n"
        )

    def handed_on(self, starts: range) -> list[frozenset[int]]:
        """For each part, the places of the work vector that later parts read."""
        f, live, needed = self.function, set[int](), []
        for k in range(f.n_instructions() - 1, -1, -1):
            if k + 1 == f.n_instructions() or k + 1 in starts:
                needed.append(frozenset(live))
            op = f.instruction_id(k)
            if op != ca.OP_OUTPUT:
                live.difference_update(f.instruction_output(k))
            if op not in (ca.OP_CONST, ca.OP_INPUT):
                live.update(f.instruction_input(k))
        return needed[::-1]

    def part(self, instructions: range, header: str, kept: frozenset[int]) -> str:
        """One function that runs some of the instructions."""
        f, main = self.function, Stream("v", self.width)
        for k in instructions:
            op, out, args = f.instruction_id(k), f.instruction_output(k), f.instruction_input(k)
            if op == ca.OP_OUTPUT:
                value = self.read(main, args[0])
                # a vector that waits for the end of the function would hold a register
                pointer = main.element(main.table("res", out[0]), out[1])
                main.store(value, pointer, at_once=self.width.lanes > 1)
            elif op == ca.OP_CONST:
                text = self.constant(f.instruction_constant(k))
                self.work[out[0]] = Number(main=text, part=-1, fixed=text)
            elif op == ca.OP_INPUT:
                self.work[out[0]] = self.input(main, args[0], args[1])
            elif op == ca.OP_CALL:
                self.called(main, k)
            elif all(self.work[a].fixed for a in args):
                self.stream = self.setup.stream()
                name = self.operation(op, [self.setup.operand(self.work[a]) for a in args])
                self.work[out[0]] = self.setup.result(name)
            else:
                operands = [self.read(main, a) for a in args]
                self.stream = main
                self.work[out[0]] = Number(self.operation(op, operands), self.part_number)
        for place in sorted(kept):
            handed = self.work[place]
            if not handed.fixed and handed.part == self.part_number:
                main.store(handed.main, main.element("%w", place))
        return f"define {header} nounwind {{\n" + main.body()

    def called(self, main: Stream, k: int) -> None:
        """A call of a function that is kept as one."""
        args, out = self.function.instruction_input(k), self.function.instruction_output(k)
        kept = kept_of(self.calls[k].which_function())
        if kept is None:
            raise NotImplementedError(f"CasADi operation {ca.OP_CALL} has no machine code")
        fixed = all(self.work[a].fixed for a in args)
        stream = self.setup.stream() if fixed else main
        operands = [self.setup.operand(self.work[a]) if fixed else self.read(main, a) for a in args]
        results = self.library.outputs(stream, kept.function, operands)
        for place, name in zip(out, results, strict=True):
            if place >= 0:
                value = self.setup.result(name) if fixed else Number(name, self.part_number)
                self.work[place] = value

    @cached_property
    def calls(self) -> ca.SX:
        """The instructions as expressions, of which calls know their function."""
        return self.function.instructions_sx()

    def input(self, main: Stream, index: int, offset: int) -> Number:
        """An element of an argument, read at once unless it is a run constant."""
        if self.constants is None or index != self.constants[0]:
            return Number(main.load(index, offset), self.part_number)
        return self.setup.constant(offset)

    def read(self, main: Stream, place: int) -> str:
        """The name of a number in the part that is being written."""
        value = self.work[place]
        if value.part in (-1, self.part_number) and value.main:
            return value.main
        if value.constant >= 0:
            assert self.constants is not None
            name = main.load(self.constants[0], value.constant)
        elif value.fixed:
            assert self.constants is not None
            name = main.load(self.constants[1], self.setup.saved(value))
        else:
            name = main.read(main.element("%w", place))
        value.main, value.part = name, self.part_number
        return name


def compile_functions(
    functions: Sequence[ca.Function],
    constants: tuple[int, int] | None = None,
    width: Width = PLAIN,
    *,
    hurried: bool = False,
) -> MachineCode:
    """Machine code of SX functions with distinct names.

    `constants` = (the argument that does not change during a run, the argument under which the
    functions find what SETUP has computed from it): then SETUP is among the functions. With a
    `width` of several lanes every number of arguments and results is so many, one after the other.
    What is called a few times only is `hurried`: compiled in a third of the time, to the same bits.
    """
    initialise_llvm()
    functions = [expanded(f) for f in functions]
    library = FunctionLibrary()
    writers: list[_Writer] = []
    bodies: list[str] = []
    for function in functions:
        first = writers[-1].setup.count if writers else 0
        writers.append(_Writer(function, constants, first, library, width))
        bodies.append(writers[-1].write())
    n_constants = writers[-1].setup.count if writers else 0
    names = [f.name() for f in functions]
    if n_constants:
        bodies.append(_setup([w.function.name() for w in writers if not w.setup.empty]))
        names.append(SETUP)
    declarations = sorted(library.externals.union(*(w.externals for w in writers)))
    size = max((f.n_instructions() for f in functions), default=0)
    level = 0 if hurried or size >= _HUGE else 2 if size < _LARGE else 1
    engine = load_object_code("\n".join(declarations + bodies), level)
    addresses = {name: engine.get_function_address(name) for name in names}
    return MachineCode(addresses, engine, n_constants)


def _setup(names: list[str]) -> str:
    """The function that runs every function's setup; its result 0 is where the numbers go."""
    calls = "".join(f"  call void @{name}.setup(ptr %arg, ptr %c)\n" for name in names)
    header = f"define void @{SETUP}(ptr %arg, ptr %res) nounwind {{\n  %c = load ptr, ptr %res\n"
    return f"{header}{calls}  ret void\n}}\n"


def evaluate(code: MachineCode, function: ca.Function, arguments: Sequence[Any]) -> list[ca.DM]:
    """Calls one compiled function from Python, for tests and for work done once."""
    inputs = [ca.DM(ca.project(ca.DM(a), function.sparsity_in(k))) for k, a in enumerate(arguments)]
    given = [(ctypes.c_double * max(1, len(v.nonzeros())))(*v.nonzeros()) for v in inputs]
    results = [(ctypes.c_double * max(1, function.nnz_out(k)))() for k in range(function.n_out())]
    table = ctypes.c_void_p * max(1, len(given), len(results))
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    prototype(code.addresses[function.name()])(
        table(*map(ctypes.addressof, given)), table(*map(ctypes.addressof, results))
    )
    return [
        ca.DM(function.sparsity_out(k), list(r)[: function.nnz_out(k)])
        for k, r in enumerate(results)
    ]
