"""Odd values: what the fuzz writes where something sensible stood; the same for every kind of file."""

from __future__ import annotations

import random

DIGITS = "9" * 5000  # beyond the 4300 that Python turns into an integer
NUMBERS = (
    "0", "-1", "-0.0", "1e300", "1e-300", "-1e308", "1.7976931348623157e308", "5e-324", "1e400",
    "1e-400", "1e100", "1e101", "1e-101", "0.1", "3", "2147483648", "9223372036854775808", "9" * 30,
    "9" * 310, DIGITS, "1e-12", "1e12", "1e150", "7.5", "-273.15",
)  # fmt: skip
TEXTS = (
    "", " ", "x", "y", "u", "time", "nan", "inf", "..", "../..", "/", "/dev/null", "/etc/passwd",
    "\\", "'", '"', "é", "\u202e", "😀", "%s%n", "{}", "$HOME", "~", "a b", "a.b[1]", "der(x)", "log",
    "auto", "value^2", "9^(9^(9^9))", "integer(9^400)", "1/0", "x" * 3000, "(" * 40, "-", "1,5",
    "1_000", "0x10", "M.mo", "d.csv", "oe", "ml", "true", "residual^2", "exp(1e9)", "sqrt(-1)",
)  # fmt: skip
BYTES = (b"\0", b"\xff", b"\xff\xfe", b"\xc3\x28", b"\r", b"\x1b[31m", b"\xef\xbb\xbf", b"\x80" * 9)


def mangled_bytes(content: bytes, chance: random.Random) -> bytes:
    """One to four injuries of the bytes: flipped, cut, spliced, repeated, replaced."""
    text = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        # heads of files say what follows: half of the injuries are there
        at = min(at, chance.randrange(200)) if chance.random() < 0.5 else at
        match chance.randrange(6):
            case 0 | 1:
                if at < len(text):
                    text[at] ^= 1 << chance.randrange(8)
            case 2:
                del text[at : at + chance.choice((1, 4, 40, 4000))]
            case 3:
                text[at:at] = chance.choice(BYTES)
            case 4:
                text[at:at] = text[at : at + chance.choice((4, 100))]
            case _:
                text[at : at + 4] = chance.randbytes(4)
    return bytes(text[: chance.randrange(len(text) + 1)] if chance.random() < 0.1 else text)
