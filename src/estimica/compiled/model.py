"""Model: the one interface. Anything that turns inputs and parameters into outputs is one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from estimica.base.quantities import Quantity, as_table

if TYPE_CHECKING:
    import pandas as pd

VARYING = frozenset({"input", "state", "memory", "logical", "algebraic", "alias"})


class Model(ABC):
    """The tables that every kind of model offers; simulation is added by the subclass."""

    name: str
    description: str

    @abstractmethod
    def quantities(self) -> Sequence[Quantity]:
        """Every parameter and variable, in the order of the source."""

    @abstractmethod
    def output_names(self) -> Sequence[str]:
        """Names of the declared outputs."""

    @property
    def parameters(self) -> pd.DataFrame:
        """Parameters and constants with their values, and which can be tuned."""
        return as_table(q for q in self.quantities() if q.role in ("parameter", "constant"))

    @property
    def inputs(self) -> pd.DataFrame:
        """Inputs of the model with the values they keep where none is given."""
        return as_table(q for q in self.quantities() if q.role == "input")

    @property
    def outputs(self) -> pd.DataFrame:
        """Variables declared as outputs; any other variable can be asked for too."""
        names = set(self.output_names())
        return as_table(q for q in self.quantities() if q.name in names)

    @property
    def states(self) -> pd.DataFrame:
        """Continuous states with their start values."""
        return as_table(q for q in self.quantities() if q.role == "state")

    @property
    def variables(self) -> pd.DataFrame:
        """Everything that changes: states, algebraic and discrete variables, removed aliases."""
        return as_table(q for q in self.quantities() if q.role in VARYING)
