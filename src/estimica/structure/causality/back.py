"""The causality of a back-calculation: what data give, and what is computed from them."""

from __future__ import annotations

from dataclasses import dataclass

from estimica.base.errors import StructureError
from estimica.base.suggest import did_you_mean
from estimica.flat.system import FlatSystem
from estimica.structure.causality.redefinition import Causality
from estimica.structure.parameters import is_parameter


@dataclass(frozen=True, slots=True)
class BackCausality:
    """Inputs that data give, names to compute, and relations that do not hold."""

    inputs: tuple[str, ...]
    compute: tuple[str, ...]
    leave_out: tuple[str, ...] = ()

    def of(self, flat: FlatSystem) -> Causality:
        """The same for one class, where parameters to be computed become unknowns."""
        for name in self.compute:
            if name not in flat.by_name:
                hint = did_you_mean(name, list(flat.by_name)) or "; see `estimica inspect`"
                raise StructureError(
                    "E207", f"'{name}' cannot be computed: '{flat.name}' has no such name{hint}"
                )
            if name in self.inputs:
                raise StructureError(
                    "E207", f"'{name}' is given by the data; there is nothing to compute"
                )
        unknowns = tuple(n for n in self.compute if is_parameter(flat.by_name[n]))
        return Causality(self.inputs, unknowns, self.leave_out)
