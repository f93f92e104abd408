"""Width: how many members a function computes at once. One is plain code; with more, every number
is a vector whose lanes are neighbouring members, and the same text is written in vectors."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Width:
    """The types of numbers and truths; `shared` arguments are the same for all lanes, and plain."""

    lanes: int = 1
    shared: frozenset[int] = frozenset()
    step: int = 1  # lanes of one register: functions go through all lanes in such steps

    @property
    def real(self) -> str:
        """The type of a number."""
        return "double" if self.lanes == 1 else f"<{self.step} x double>"

    @property
    def truth(self) -> str:
        """The type of the result of a comparison."""
        return "i1" if self.lanes == 1 else f"<{self.step} x i1>"

    @property
    def suffix(self) -> str:
        """What LLVM's own functions of numbers are called by."""
        return "f64" if self.lanes == 1 else f"v{self.step}f64"

    @property
    def rounding(self) -> str:
        """Products and sums of vectors may be one instruction; plain code has CasADi's bits."""
        return "" if self.lanes == 1 else " contract"

    @property
    def alignment(self) -> str:
        """Vectors stand wherever a number may."""
        return "" if self.lanes == 1 else ", align 8"

    def constant(self, value: float) -> str:
        """A number, to the last bit, in all lanes."""
        number = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        return number if self.lanes == 1 else f"splat (double {number})"

    def place(self, base: str, offset: int) -> str:
        """The expression of the pointer to one number of a vector in memory."""
        return f"getelementptr double, ptr {base}, i64 {offset * self.lanes}"

    @property
    def parameter(self) -> str:
        """What functions take besides: their first lane."""
        return "" if self.lanes == 1 else ", i64 %lane"

    def calls(self, function: str, arguments: str) -> str:
        """Calls of a function for all lanes."""
        if self.lanes == 1:
            return f"  call void @{function}({arguments})\n"
        starts = range(0, self.lanes, self.step)
        return "".join(f"  call void @{function}({arguments}, i64 {k})\n" for k in starts)


PLAIN = Width()
