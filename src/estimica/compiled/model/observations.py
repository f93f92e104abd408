"""Observations: outputs of a study that are formulas of the model's variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from estimica.base.quantities import Quantity

if TYPE_CHECKING:
    from estimica.source.formula import Formula

TIME = "time"


@dataclass(frozen=True)
class Observations:
    """Outputs as formulas, and the parameters in them that are not of the model."""

    texts: tuple[tuple[str, str], ...]  # output, formula
    parameters: tuple[str, ...]

    @staticmethod
    def of(texts: Mapping[str, str], known: Iterable[str]) -> Observations:
        """Those of formulas; names that are not `known` to the model are their parameters."""
        model = {*known, TIME}
        parsed = [_parsed(n, t) for n, t in texts.items()]
        own = dict.fromkeys(n for f in parsed for n in f.names if n not in model)
        return Observations(tuple(texts.items()), tuple(own))

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        """The formulas by output."""
        return {n: _parsed(n, t) for n, t in self.texts}

    def quantities(self) -> list[Quantity]:
        """The outputs and their parameters, as the tables of a model show them."""
        return [
            *(Quantity(n, description=t, role="algebraic") for n, t in self.texts),
            *(Quantity(n, role="parameter", tunable=True) for n in self.parameters),
        ]


def _parsed(name: str, text: str) -> Formula:
    from estimica.source.formula import parse_formula  # few studies have formulas

    return parse_formula(text, f"output '{name}'")
