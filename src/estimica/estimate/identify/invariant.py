"""Invariant: a combination of unknowns that keeps its value, as it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Invariant:
    """A product of powers or a sum that the data do determine."""

    kind: str  # "product" or "sum"
    terms: tuple[tuple[str, float], ...]  # names with their exponents or factors
    numerical: bool = False  # holds near the estimate as far as numbers show; no symmetry is seen

    @property
    def text(self) -> str:
        """As it is written: `R·C`, `B/C`, `J_c + 0.01501·m`."""
        return product(self.terms) if self.kind == "product" else _sum(self.terms)


def product(terms: Sequence[tuple[str, float]]) -> str:
    """Powers multiplied and divided."""
    above = [_power(n, x) for n, x in terms if x > 0]
    below = [_power(n, -x) for n, x in terms if x < 0]
    if not above:
        return f"1/({'·'.join(below)})" if len(below) > 1 else f"1/{below[0]}"
    if not below:
        return "·".join(above)
    return f"{'·'.join(above)}/" + (f"({'·'.join(below)})" if len(below) > 1 else below[0])


def _power(name: str, exponent: float) -> str:
    name = _bracketed(name)
    if exponent == 1:
        return name
    if float(exponent).is_integer():
        return name + str(int(exponent)).translate(DIGITS)
    return f"{name}^{exponent:.4g}"


def _sum(terms: Sequence[tuple[str, float]]) -> str:
    text = ""
    for name, factor in terms:
        sign = "-" if factor < 0 else "+"
        size = abs(factor)
        term = _bracketed(name) if size == 1 else f"{size:.4g}·{_bracketed(name)}"
        text += (f" {sign} " if text else "−" if factor < 0 else "") + term
    return text.replace(" - ", " − ")


def _bracketed(name: str) -> str:
    return f"({name})" if " " in name else name
