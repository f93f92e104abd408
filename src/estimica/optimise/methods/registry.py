"""Methods: each takes a problem and a start, and goes on until nothing is gained.

All of them come from maintained libraries: SLSQP, L-BFGS-B and COBYLA from SciPy, pattern search
and the genetic algorithm from pymoo. The problem counts, remembers the best design and ends a
search that has had enough.

A further method is a module with such a function, a row here and a name in `DesignMethod`. Modules
are named as text and imported on use, so that a search loads what it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from estimica.optimise.methods.stop import Search
from estimica.study.tables.optimisation import DesignMethod


@dataclass(frozen=True)
class MethodFacts:
    """Where a search is, `module:function` in this folder, and what it can do."""

    home: str
    gradients: bool
    constraints: bool

    @property
    def search(self) -> Search:
        """The function that searches."""
        module, _, function = self.home.partition(":")
        search: Search = getattr(import_module(f"estimica.optimise.methods.{module}"), function)
        return search


METHODS: dict[DesignMethod, MethodFacts] = {
    "sqp": MethodFacts("sqp:sqp", gradients=True, constraints=True),
    "quasi-newton": MethodFacts("quasi_newton:quasi_newton", gradients=True, constraints=False),
    "pattern": MethodFacts("pattern:pattern", gradients=False, constraints=False),
    "simplex": MethodFacts("simplex:simplex", gradients=False, constraints=True),
    "genetic": MethodFacts("genetic:genetic", gradients=False, constraints=True),
}
