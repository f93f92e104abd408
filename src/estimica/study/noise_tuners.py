"""Noise tuners: tuners that stand in formulas of sigma and are not parameters of the model."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from estimica.base.errors import EstimicaError
from estimica.source.formula import parse_formula
from estimica.study.case import Case
from estimica.study.tuner import Tuner


def sigma_texts(case: Case) -> dict[str, str]:
    """The formulas of sigma of a case, by output."""
    columns = case.columns_of_outputs.items()
    return {name: column.sigma for name, column in columns if isinstance(column.sigma, str)}


def names_in_sigmas(cases: Iterable[Case]) -> frozenset[str]:
    """All names in formulas of sigma that can be read."""
    found: set[str] = set()
    for case in cases:
        for text in sigma_texts(case).values():
            try:
                found |= set(parse_formula(text, "sigma").names)
            except EstimicaError:  # told where the case is checked
                continue
    return frozenset(found)


def noise_tuners(
    tuners: Iterable[Tuner], used: Collection[str], known: Collection[str]
) -> frozenset[str]:
    """Tuners that only formulas of sigma speak of; `known` are the names of the model."""
    return frozenset(
        t.name for t in tuners if not t.drives and t.name in used and t.name not in known
    )
