"""What a function computes from run constants only: once for each run, in parts of its own."""

from __future__ import annotations

from dataclasses import dataclass

from estimica.compiled.llvm.operations.instructions import Stream
from estimica.compiled.llvm.operations.width import PLAIN, Width

#: longer functions are cut into parts, since the optimiser's time grows faster than their length
PART = 600


@dataclass
class Number:
    """A number of the program: where it can be had in the function and in its setup."""

    main: str = ""  # its name in part number `part` of the function; "": nowhere
    part: int = 0
    fixed: str = ""  # its name in the setup, where it depends on run constants only
    fixed_part: int = -1  # the part of the setup where that name is known; -1: everywhere
    constant: int = -1  # its place among the run constants
    saved: int = -1  # its place among what the setup computes


class RunSetup:
    """The setup of one function; `count` numbers of all setups so far have a place in memory."""

    def __init__(self, run_constants: int, first: int, width: Width = PLAIN) -> None:
        self.run_constants = run_constants  # their place in the table of arguments
        self.count, self.width = first, width
        self.streams = [Stream("s", width)]

    def stream(self) -> Stream:
        """Where the next operation belongs."""
        if len(self.streams[-1].lines) >= PART:
            self.streams.append(Stream("s", self.width))
        return self.streams[-1]

    def result(self, name: str) -> Number:
        """What the last operation has computed."""
        return Number(fixed=name, fixed_part=len(self.streams) - 1)

    def constant(self, offset: int) -> Number:
        """A run constant."""
        number = self.result(self.streams[-1].load(self.run_constants, offset))
        number.constant = offset
        return number

    def operand(self, number: Number) -> str:
        """The name of a number in the last part; from earlier ones it comes through memory."""
        last = len(self.streams) - 1
        if number.fixed_part in (-1, last):
            return number.fixed
        stream = self.streams[-1]
        if number.constant >= 0:
            name = stream.load(self.run_constants, number.constant)
        else:
            name = stream.read(stream.element("%c", self.saved(number)))
        number.fixed, number.fixed_part = name, last
        return name

    def saved(self, number: Number) -> int:
        """The place in memory of a number, which is put there where it was not before."""
        if number.saved < 0:
            number.saved = self.count
            self.count += 1
            stream = self.streams[number.fixed_part]
            stream.store(number.fixed, stream.element("%c", number.saved))
        return number.saved

    @property
    def empty(self) -> bool:
        """Whether nothing is asked of it."""
        return not any(stream.stores for stream in self.streams)

    def text(self, name: str) -> str:
        """The function `name`.setup and its parts."""
        parts, calls, width = [], [], self.width
        given, first = "ptr %arg, ptr %c", ""
        if width.lanes > 1:
            given = f"ptr %arg, ptr %all{width.parameter}"
            first = "  %c = getelementptr double, ptr %all, i64 %lane\n"
        for k, stream in enumerate(self.streams):
            header = f"define internal void @{name}.setup.{k}({given}) noinline nounwind"
            parts.append(f"{header} {{\n{first}{stream.body()}")
            calls.append(width.calls(f"{name}.setup.{k}", "ptr %arg, ptr %c"))
        whole = f"define internal void @{name}.setup(ptr %arg, ptr %c) nounwind {{\n"
        return "".join(parts) + f"{whole}{''.join(calls)}  ret void\n}}\n"
