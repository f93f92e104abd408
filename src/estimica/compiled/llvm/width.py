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

    @property
    def real(self) -> str:
        """The type of a number."""
        return "double" if self.lanes == 1 else f"<{self.lanes} x double>"

    @property
    def truth(self) -> str:
        """The type of the result of a comparison."""
        return "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"

    @property
    def suffix(self) -> str:
        """What LLVM's own functions of numbers are called by."""
        return "f64" if self.lanes == 1 else f"v{self.lanes}f64"

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


PLAIN = Width()
