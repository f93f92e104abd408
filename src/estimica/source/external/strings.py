"""Twins of the functions of ModelicaStrings. Places in a text count characters from 1."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from estimica.flat import expression as ex
from estimica.source.evaluate.values import RuntimeText, Value, ValueMismatch, Written
from estimica.source.external.host import Host, Twin, text, truth, whole, with_known_texts

_SPACE = " \t\n\v\f\r"
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# a number that goes on as a Real is none
_INTEGER = re.compile(r"([+-]?)[0-9]++(?![.eE])")
_REAL = re.compile(r"([+-]?)(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++|(?![eE]))")
_QUOTED = re.compile(r'"((?:[^"]|(?<=\\)")++)"')
#: what the library takes for a number at most
_LONGEST_NUMBER = 100
_PLACE = "it is a place in a text"
_FLAG = "it says how a text is read"


def _length(host: Host, a: Sequence[Value]) -> Value:
    return ex.const(len(text(a[0])))


def _compare(host: Host, a: Sequence[Value]) -> Value:
    """1, 2, 3 for less, equal, greater: the enumeration Types.Compare."""
    first, second = text(a[0]), text(a[1])
    if not truth(host, a[2], _FLAG):
        first, second = first.lower(), second.lower()
    return ex.const((first > second) - (first < second) + 2)


def _substring(host: Host, a: Sequence[Value]) -> Value:
    start, end = max(whole(host, a[1], _PLACE), 1), whole(host, a[2], _PLACE)
    return text(a[0])[start - 1 : start if end < 0 else end]


def _skip_space(host: Host, a: Sequence[Value]) -> Value:
    return ex.const(_first_word(text(a[0]), whole(host, a[1], _PLACE)))


def _first_word(string: str, start: int) -> int:
    while start <= len(string) and string[start - 1] in _SPACE:
        start += 1
    return start


def _found(host: Host, a: Sequence[Value], pattern: re.Pattern[str]) -> re.Match[str] | None:
    """What stands at the second argument's place of the first, white space aside."""
    string = text(a[0])
    return pattern.match(string, _first_word(string, whole(host, a[1], _PLACE)) - 1)


def _next(match: re.Match[str] | None, a: Sequence[Value]) -> Value:
    """The place behind a match; where there is none, the place at which it was looked for."""
    return a[1] if match is None else ex.const(match.end() + 1)


def _scan_identifier(host: Host, a: Sequence[Value]) -> Written:
    match = _found(host, a, _IDENTIFIER)
    return Written({2: _next(match, a), 3: match[0] if match else ""})


def _scan_string(host: Host, a: Sequence[Value]) -> Written:
    match = _found(host, a, _QUOTED)
    return Written({2: _next(match, a), 3: match[1] if match else ""})


def _number(host: Host, a: Sequence[Value], pattern: re.Pattern[str]) -> re.Match[str] | None:
    match = _found(host, a, pattern)
    if match is None or len(match[0]) >= _LONGEST_NUMBER:
        return None
    return None if match[1] and truth(host, a[2], _FLAG) else match


def _scan_integer(host: Host, a: Sequence[Value]) -> Written:
    match = _number(host, a, _INTEGER)
    return Written({3: _next(match, a), 4: ex.const(int(match[0]) if match else 0)})


def _scan_real(host: Host, a: Sequence[Value]) -> Written:
    match = _number(host, a, _REAL)
    return Written({3: _next(match, a), 4: ex.const(float(match[0]) if match else 0.0)})


def _hash(host: Host, a: Sequence[Value]) -> Value:
    """Partow's hash of the bytes, as a signed Integer."""
    code = 0xAAAAAAAA
    for i, byte in enumerate(_of_now(a[0]).encode()):
        if i % 2 == 0:
            code ^= (code << 7) ^ (byte * (code >> 3))
        else:
            code ^= ~((code << 11) + (byte ^ (code >> 5)))
        code &= 0xFFFFFFFF
    return ex.const(code - (1 << 32) if code >> 31 else code)


def _digest(host: Host, a: Sequence[Value]) -> Value:
    """SHA-1 in hexadecimal digits: a name for what a text says, nothing secret."""
    return hashlib.sha1(_of_now(a[0]).encode(), usedforsecurity=False).hexdigest()


def _of_now(value: Value) -> str:
    """A text that must be known now: a number is made of it."""
    if isinstance(value, RuntimeText):
        raise ValueMismatch("a text that is known only during the run")
    return text(value)


_TWINS: dict[str, Twin] = {
    "ModelicaStrings_length": _length,
    "ModelicaStrings_compare": _compare,
    "ModelicaStrings_substring": _substring,
    "ModelicaStrings_skipWhiteSpace": _skip_space,
    "ModelicaStrings_scanIdentifier": _scan_identifier,
    "ModelicaStrings_scanString": _scan_string,
    "ModelicaStrings_scanInteger": _scan_integer,
    "ModelicaStrings_scanReal": _scan_real,
    "ModelicaStrings_hashString": _hash,
    "cryptographicsHash": _digest,
}
STRING_TWINS = {name: with_known_texts(twin) for name, twin in _TWINS.items()}
