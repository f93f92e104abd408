"""Values as texts: String(…), and what messages show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from estimica.flat import expression as ex
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
    if not isinstance(a, RuntimeText) and not isinstance(b, RuntimeText):
        return a + b
    first, second = (x.parts if isinstance(x, RuntimeText) else (x,) for x in (a, b))
    return RuntimeText(str(a) + str(b), (*first, *second) if first and second else ())


def settled(text: str, number: Callable[[Expression], float | None]) -> str:
    """A text with the numbers that its parts have now, where they have some."""
    if not isinstance(text, RuntimeText) or not text.parts:
        return text
    written: list[str] = []
    for part in text.parts:
        if isinstance(part, str):
            written.append(part)
            continue
        found = number(part[0])
        if found is None:
            return text
        written.append(part[1](found))
    return "".join(written)


def formatted(value: Expression, type: ScalarType | None, options: Mapping[str, Value]) -> str:
    """String(value, options) with the options `format`, `significantDigits`, `minimumLength`,
    `leftJustified`; of what is known in the run only, the name in braces."""
    if value.op != "const":
        shown = "{" + (value.target if value.op == "name" else "…") + "}"
        return RuntimeText(shown, ((value, lambda n: formatted(ex.const(n), type, options)),))
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
