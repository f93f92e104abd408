"""Decimals: functions that the standard library lacks, to all digits of the context."""

from __future__ import annotations

from decimal import Decimal, getcontext, localcontext
from functools import lru_cache


def sine_and_cosine(x: Decimal) -> tuple[Decimal, Decimal]:
    """(sin x, cos x)."""
    with localcontext() as context:
        context.prec += 10 + max(x.adjusted(), 0)
        turn = 2 * pi(context.prec)
        x = x - turn * (x / turn).to_integral_value()
        sine = _sum(x, x, 2)
        cosine = _sum(Decimal(1), x, 1)
    return +sine, +cosine


def arctangent(x: Decimal) -> Decimal:
    """atan x, by halving the angle until the series is fast."""
    with localcontext() as context:
        context.prec += 15
        doubled = 0
        while abs(x) > Decimal("0.01"):
            x = x / (1 + (1 + x * x).sqrt())
            doubled += 1
        total, power, k = x, x, 1
        while abs(power) > Decimal(10) ** -context.prec:
            power = -power * x * x
            k += 2
            total += power / k
        total *= Decimal(2) ** doubled
    return +total


def arcsine(x: Decimal) -> Decimal:
    """asin x."""
    return arctangent(x / (1 - x * x).sqrt())


@lru_cache
def pi(digits: int) -> Decimal:
    """π, by Machin's formula."""
    with localcontext() as context:
        context.prec = digits + 10
        return 16 * arctangent(Decimal(1) / 5) - 4 * arctangent(Decimal(1) / 239)


def _sum(first: Decimal, x: Decimal, k: int) -> Decimal:
    """first·(1 − x²/(k(k+1)) + …)."""
    total = term = first
    smallest = Decimal(10) ** -getcontext().prec
    while abs(term) > smallest:
        term = -term * x * x / (k * (k + 1))
        k += 2
        total += term
    return total
