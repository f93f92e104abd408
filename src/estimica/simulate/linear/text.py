"""Transfer functions as texts: a ratio of polynomials in s with formulas as coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from estimica.base.errors import ModelError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.modelica_text import write_expression
from estimica.source.formula import parse_formula

Polynomial = tuple[Expression, ...]  # coefficients of 1, s, s², …
VARIABLE = "s"
HIGHEST = 50  # a power of s that is not a slip of the pen
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


def read_transfer_function(text: str) -> Rational:
    """The transfer function that `text` means, as in "K*exp(-T*s)/(1 + tau*s)"."""
    formula = parse_formula(text, "transfer function")
    rationals: dict[Expression, Rational] = {}
    holding = {ex.name(VARIABLE)}
    for e in ex.walk(formula.expression):
        if e in holding:
            rationals[e] = Rational((ex.ZERO, ex.ONE))
        elif holding.isdisjoint(e.operands):
            rationals[e] = Rational((e,))
        else:
            holding.add(e)
            rationals[e] = _combined(e, [rationals[a] for a in e.operands], text)
    return rationals[formula.expression]


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
    """A number or a formula without s."""
    if isinstance(given, str):
        formula = parse_formula(given, where)
        if VARIABLE in formula.names:
            raise ModelError("M100", f"{where}: '{given}' holds s; a coefficient is without it")
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


def _combined(e: Expression, parts: list[Rational], text: str) -> Rational:
    match e.op, parts:
        case "neg", [a]:
            return _negated(a)
        case "add", [a, b]:
            return _sum(a, b, text)
        case "sub", [a, b]:
            return _sum(a, _negated(b), text)
        case "mul", [a, b]:
            return _product(a, b)
        case "div", [a, b]:
            return _product(a, _inverse(b, text))
        case "pow", [a, b]:
            return _power(a, b, text)
        case "exp", [a]:
            return _delayed(a, text)
    _refuse(text, f"s cannot stand inside {e.op}(...); use +, -, *, /, ^ and exp(-T*s)")


def _negated(a: Rational) -> Rational:
    return Rational(tuple(ex.neg(c) for c in a.numerator), a.denominator, a.delay)


def _sum(a: Rational, b: Rational, text: str) -> Rational:
    if a.delay is not b.delay:
        _refuse(
            text,
            "terms with different delays are added; a delay must multiply the whole transfer "
            "function, as in exp(-T*s)*(...)/(...)",
        )
    if a.denominator == b.denominator:
        return Rational(_added(a.numerator, b.numerator), a.denominator, a.delay)
    over = _added(_times(a.numerator, b.denominator), _times(b.numerator, a.denominator))
    return Rational(over, _times(a.denominator, b.denominator), a.delay)


def _product(a: Rational, b: Rational) -> Rational:
    return Rational(
        _times(a.numerator, b.numerator),
        _times(a.denominator, b.denominator),
        ex.add(a.delay, b.delay),
    )


def _inverse(a: Rational, text: str) -> Rational:
    if all(ex.is_const(c, 0.0) for c in a.numerator):
        _refuse(text, "something is divided by zero")
    return Rational(a.denominator, a.numerator, ex.neg(a.delay))


def _power(base: Rational, exponent: Rational, text: str) -> Rational:
    number = exponent.constant
    if number is None or number.op != "const" or number.value != int(number.value):
        _refuse(text, "a power of s must be a whole number")
    count = int(number.value)
    if abs(count) > HIGHEST:
        _refuse(text, f"the power {count} is too high")
    factor = base if count >= 0 else _inverse(base, text)
    result = Rational((ex.ONE,))
    for _ in range(abs(count)):
        result = _product(result, factor)
    return result


def _delayed(exponent: Rational, text: str) -> Rational:
    over = exponent.denominator
    if len(over) > 1 or len(exponent.numerator) > 2 or exponent.delay is not ex.ZERO:
        _refuse(text, "only exp(-T*s) is a delay; T must not depend on s")
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


def _refuse(text: str, why: str) -> NoReturn:
    raise ModelError("M103", f"transfer function '{text}': {why}")


def polynomial_text(polynomial: Polynomial) -> str:
    """A polynomial as text, the highest power first."""
    terms = []
    for power, c in reversed(list(enumerate(polynomial))):
        if ex.is_const(c, 0.0) and len(polynomial) > 1:
            continue
        text = write_expression(c, spell=str) if ex.written_size(c) <= WRITTEN else "…"
        text = f"({text})" if c.op in ("add", "sub", "neg", "if") else text
        factor = "" if power == 0 else "s" if power == 1 else f"s^{power}"
        terms.append("*".join(t for t in ("" if text == "1" and factor else text, factor) if t))
    return " + ".join(terms) or "0"
