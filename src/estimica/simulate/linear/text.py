"""Transfer functions as texts: ratios of polynomials in s or z with formulas as coefficients."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from estimica.base.errors import ModelError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.modelica_text import write_expression
from estimica.source.formula import parse_formula

Polynomial = tuple[Expression, ...]  # coefficients of 1, s, s², … or 1, z, z², …
VARIABLE = "s"
SHIFT = "z"  # of models in discrete time; never the name of a parameter
HIGHEST = 50  # a power of s that is not a slip of the pen
#: of z, whose power is a delay in samples. Chosen: a model as long as that is a record
MOST_SAMPLES = 10_000
_NEGATIVE_POWER = re.compile(r"\^\s*-\s*(\d+)")
#: of a polynomial; its roots and states are those of a square matrix of that size
DEGREE = 200
#: parts of a coefficient that is written out; in a product of n factors they double with each
WRITTEN = 200


@dataclass(frozen=True)
class Rational:
    """exp(-delay·s) · numerator(s) / denominator(s)."""

    numerator: Polynomial
    denominator: Polynomial = (ex.ONE,)
    delay: Expression = ex.ZERO

    @property
    def constant(self) -> Expression | None:
        """The coefficient that it is, where there is no s in it."""
        plain = len(self.numerator) == len(self.denominator) == 1 and self.delay is ex.ZERO
        if not plain:
            return None
        return ex.div(self.numerator[0], self.denominator[0])


def variable_of(text: str) -> str:
    """What a transfer function is written in: z in discrete time, else s."""
    names = parse_formula(readable(text), "transfer function").names
    if SHIFT in names and VARIABLE in names:
        raise ModelError(
            "M180",
            f"transfer function '{text}' holds both s and z; s is for models in continuous time, "
            "z for those in discrete time, and neither is a parameter: rename one",
        )
    return SHIFT if SHIFT in names else VARIABLE


def readable(text: str) -> str:
    """The text with powers as z^-1 in brackets, as formulas need them."""
    return _NEGATIVE_POWER.sub(r"^(-\1)", text)


def read_transfer_function(text: str) -> Rational:
    """The transfer function that `text` means, as in "K*exp(-T*s)/(1 + tau*s)" or "b/(z - a)"."""
    formula = parse_formula(readable(text), "transfer function")
    reading = _Reading(text, variable_of(text))
    rationals: dict[Expression, Rational] = {}
    holding = {ex.name(reading.variable)}
    for e in ex.walk(formula.expression):
        if e in holding:
            rationals[e] = Rational((ex.ZERO, ex.ONE))
        elif holding.isdisjoint(e.operands):
            rationals[e] = Rational((e,))
        else:
            holding.add(e)
            rationals[e] = _combined(e, [rationals[a] for a in e.operands], reading)
    return rationals[formula.expression]


@dataclass(frozen=True)
class _Reading:
    """What is read: its text, and the variable of its polynomials."""

    text: str
    variable: str

    def refuse(self, why: str) -> NoReturn:
        raise ModelError("M103", f"transfer function '{self.text}': {why}")


def from_coefficients(
    numerator: Sequence[str | float], denominator: Sequence[str | float], delay: str | float
) -> Rational:
    """A transfer function from coefficients of falling powers of s."""
    return Rational(
        _trimmed([coefficient(c, "numerator") for c in reversed(_row(numerator))]),
        _trimmed([coefficient(c, "denominator") for c in reversed(_row(denominator))]),
        coefficient(delay, "delay"),
    )


def coefficient(given: object, where: str) -> Expression:
    """A number or a formula without s and z."""
    if isinstance(given, str):
        formula = parse_formula(given, where)
        for variable in (VARIABLE, SHIFT):
            if variable in formula.names:
                raise ModelError(
                    "M100", f"{where}: '{given}' holds {variable}; a coefficient is without it"
                )
        return formula.expression
    try:
        return ex.const(float(given))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ModelError("M101", f"{where}: {given!r} is neither a number nor a formula") from None


def _row(given: Sequence[str | float]) -> list[str | float]:
    if isinstance(given, (str, int, float)):
        return [given]
    row = list(given)
    if not row:
        raise ModelError("M102", "a polynomial without coefficients; give at least one")
    return row


# --- arithmetic ----------------------------------------------------------------------------------


def _combined(e: Expression, parts: list[Rational], reading: _Reading) -> Rational:
    match e.op, parts:
        case "neg", [a]:
            return _negated(a)
        case "add", [a, b]:
            return _sum(a, b, reading)
        case "sub", [a, b]:
            return _sum(a, _negated(b), reading)
        case "mul", [a, b]:
            return _product(a, b)
        case "div", [a, b]:
            return _product(a, _inverse(b, reading))
        case "pow", [a, b]:
            return _power(a, b, reading)
        case "exp", [a] if reading.variable == VARIABLE:
            return _delayed(a, reading)
    known = "^ and exp(-T*s)" if reading.variable == VARIABLE else "and ^; z^-n is a delay"
    reading.refuse(f"{reading.variable} cannot stand inside {e.op}(...); use +, -, *, /, {known}")


def _negated(a: Rational) -> Rational:
    return Rational(tuple(ex.neg(c) for c in a.numerator), a.denominator, a.delay)


def _sum(a: Rational, b: Rational, reading: _Reading) -> Rational:
    if reading.variable == SHIFT:
        a, b = _equally_late(a, b)
    if a.delay is not b.delay:
        reading.refuse(
            "terms with different delays are added; a delay must multiply the whole transfer "
            "function, as in exp(-T*s)*(...)/(...)",
        )
    if a.denominator == b.denominator:
        return Rational(_added(a.numerator, b.numerator), a.denominator, a.delay)
    over = _added(_times(a.numerator, b.denominator), _times(b.numerator, a.denominator))
    return Rational(over, _times(a.denominator, b.denominator), a.delay)


def _equally_late(a: Rational, b: Rational) -> tuple[Rational, Rational]:
    """Both with the longer of their delays, which are whole samples."""
    late = max(samples_of(a.delay), samples_of(b.delay))
    first, second = (
        Rational(_raised(r.numerator, late - samples_of(r.delay)), r.denominator, ex.const(late))
        for r in (a, b)
    )
    return first, second


def _raised(polynomial: Polynomial, by: int) -> Polynomial:
    """z^by times it."""
    if all(ex.is_const(c, 0.0) for c in polynomial):
        return polynomial
    degree = len(polynomial) - 1 + by
    if degree > DEGREE:
        raise ModelError("M103", f"transfer function: z^{degree} is too high; at most z^{DEGREE}")
    return (*[ex.ZERO] * by, *polynomial)


def samples_of(delay: Expression) -> int:
    """A delay of a model in z, which is a whole number of samples."""
    return int(delay.value)


def _product(a: Rational, b: Rational) -> Rational:
    return Rational(
        _times(a.numerator, b.numerator),
        _times(a.denominator, b.denominator),
        ex.add(a.delay, b.delay),
    )


def _inverse(a: Rational, reading: _Reading) -> Rational:
    if all(ex.is_const(c, 0.0) for c in a.numerator):
        reading.refuse("something is divided by zero")
    return Rational(a.denominator, a.numerator, ex.neg(a.delay))


def _power(base: Rational, exponent: Rational, reading: _Reading) -> Rational:
    number = exponent.constant
    if number is None or number.op != "const" or number.value != int(number.value):
        reading.refuse(f"a power of {reading.variable} must be a whole number")
    count = int(number.value)
    alone = reading.variable == SHIFT and base == Rational((ex.ZERO, ex.ONE))
    if abs(count) > (MOST_SAMPLES if alone else HIGHEST):
        reading.refuse(f"the power {count} is too high")
    if alone:
        return _shifted(count)
    factor = base if count >= 0 else _inverse(base, reading)
    result = Rational((ex.ONE,))
    for _ in range(abs(count)):
        result = _product(result, factor)
    return result


def _shifted(count: int) -> Rational:
    """z^count: a delay of -count samples where that is negative."""
    if count < 0:
        return Rational((ex.ONE,), delay=ex.const(float(-count)))
    return Rational((*[ex.ZERO] * count, ex.ONE))


def _delayed(exponent: Rational, reading: _Reading) -> Rational:
    over = exponent.denominator
    if len(over) > 1 or len(exponent.numerator) > 2 or exponent.delay is not ex.ZERO:
        reading.refuse("only exp(-T*s) is a delay; T must not depend on s")
    constant, slope = (ex.div(c, over[0]) for c in exponent.numerator)
    gain = ex.ONE if ex.is_const(constant, 0.0) else ex.call("exp", constant)
    return Rational((gain,), delay=ex.neg(slope))


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    degree = len(a) + len(b) - 2
    if degree > DEGREE:
        raise ModelError("M103", f"transfer function: s^{degree} is too high; at most s^{DEGREE}")
    found = [ex.ZERO] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for k, y in enumerate(b):
            found[i + k] = ex.add(found[i + k], ex.mul(x, y))
    return _trimmed(found)


def _added(a: Polynomial, b: Polynomial) -> Polynomial:
    size = max(len(a), len(b))
    x, y = ((*p, *[ex.ZERO] * (size - len(p))) for p in (a, b))
    return _trimmed([ex.add(p, q) for p, q in zip(x, y, strict=True)])


def _trimmed(coefficients: Sequence[Expression]) -> Polynomial:
    found = list(coefficients)
    while len(found) > 1 and ex.is_const(found[-1], 0.0):
        found.pop()
    return tuple(found)


def causal(transfer: Rational) -> Rational:
    """A transfer function in z with the longest delay that leaves a proper ratio of polynomials.

    What is late need not be a state, and a power of z above and below is cancelled.
    """
    late = samples_of(transfer.delay)
    above, up = _lowered(transfer.numerator)
    below, down = _lowered(transfer.denominator)
    if all(ex.is_const(c, 0.0) for c in above):
        return Rational((ex.ZERO,))
    late += down - up
    missing = max(len(above) - len(below), 0)  # powers of z that the ratio lacks below
    below, late = _raised(below, missing), late - missing
    if late < 0:
        above, late = _raised(above, -late), 0
    if len(above) > len(below):
        raise ModelError(
            "M104",
            f"the transfer function has z^{len(above) - 1} above and z^{len(below) - 1} below: it "
            f"would answer to the future; multiply it by z^-{len(above) - len(below)}",
        )
    return Rational(above, below, ex.const(float(late)))


def _lowered(polynomial: Polynomial) -> tuple[Polynomial, int]:
    """The polynomial without factors z, and how many it had."""
    count = 0
    while count < len(polynomial) - 1 and ex.is_const(polynomial[count], 0.0):
        count += 1
    return polynomial[count:], count


def polynomial_text(polynomial: Polynomial, variable: str = VARIABLE) -> str:
    """A polynomial as text, the highest power first."""
    terms: list[str] = []
    for power, c in reversed(list(enumerate(polynomial))):
        if ex.is_const(c, 0.0) and len(polynomial) > 1:
            continue
        below = bool(terms) and (c.op == "neg" or (c.op == "const" and c.value < 0))
        c = ex.neg(c) if below else c  # its minus stands between the terms
        text = write_expression(c, spell=str) if ex.written_size(c) <= WRITTEN else "…"
        text = f"({text})" if c.op in ("add", "sub", "neg", "if") else text
        factor = "" if power == 0 else variable if power == 1 else f"{variable}^{power}"
        term = "*".join(t for t in ("" if text == "1" and factor else text, factor) if t)
        terms.append(f"{' - ' if below else ' + ' if terms else ''}{term}")
    return "".join(terms) or "0"
