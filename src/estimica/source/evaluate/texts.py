"""Values as texts: String(…), and what messages show."""

from __future__ import annotations

import re
from collections.abc import Mapping

from estimica.flat.expression import Expression
from estimica.flat.system import Kind
from estimica.source.evaluate.names import ScalarType
from estimica.source.evaluate.values import RuntimeText, Value, ValueMismatch, scalars

#: what the language says: significant digits of a Real where nothing else is asked for
_DIGITS = 6
#: a format of the C library without its leading %
_FORMAT = re.compile(r"[-+ #0]*\d*(\.\d+)?[diouxXeEfFgGs]")


def as_text(value: Value, type: ScalarType | None = None) -> str:
    """A value inside a message: a text, a number, or `{name}` for what is known in the run only."""
    if isinstance(value, str):
        return value
    if isinstance(value, Expression):
        return formatted(value, type, {})
    parts = [as_text(v) for v in scalars(value)]
    text = ", ".join(parts)
    return RuntimeText(text) if any(isinstance(p, RuntimeText) for p in parts) else text


def joined(a: str, b: str) -> str:
    """Both, one after the other."""
    runtime = isinstance(a, RuntimeText) or isinstance(b, RuntimeText)
    return RuntimeText(str(a) + str(b)) if runtime else a + b


def formatted(value: Expression, type: ScalarType | None, options: Mapping[str, Value]) -> str:
    """String(value, options) with the options `format`, `significantDigits`, `minimumLength`,
    `leftJustified`; of what is known in the run only, the name in braces."""
    if value.op != "const":
        return RuntimeText("{" + (value.target if value.op == "name" else "…") + "}")
    if "format" in options:
        return _by_format(value.value, options["format"])
    text = _plain(value.value, type, _whole(options, "significantDigits", _DIGITS))
    width = _whole(options, "minimumLength", 0)
    return text.ljust(width) if _whole(options, "leftJustified", 1) else text.rjust(width)


def _plain(number: float, type: ScalarType | None, digits: int) -> str:
    kind = type.kind if type is not None else None
    if kind is Kind.BOOLEAN:
        return "true" if number else "false"
    if kind is Kind.ENUMERATION and type is not None and 1 <= number <= len(type.literals):
        return type.literals[int(number) - 1]
    if kind in (Kind.INTEGER, Kind.ENUMERATION):
        return f"{number:.0f}"
    return f"{number:.{max(digits, 1)}g}"


def _by_format(number: float, format: Value) -> str:
    if not isinstance(format, str) or not _FORMAT.fullmatch(format.lstrip("%")):
        raise ValueMismatch(f'String() with the format {format!r}; give one such as "6.2f"')
    format = format.lstrip("%")
    return ("%" + format) % (int(number) if format[-1] in "diouxX" else number)


def _whole(options: Mapping[str, Value], name: str, default: int) -> int:
    value = options.get(name)
    if value is None:
        return default
    if not isinstance(value, Expression) or value.op != "const":
        raise ValueMismatch(f"String() with a {name} that is known only during the run")
    return int(value.value)
