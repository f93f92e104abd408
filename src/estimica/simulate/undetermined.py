"""Initial values that the conditions leave open once it is known which relations hold.

A shaft whose friction sticks stays at rest whatever the current of its motor is: "starts at rest"
then says nothing about that current. The variables by which the relations are decided, the torque
of the friction say, are held at their start values first, then the states: a model that starts
amid the range in which friction sticks does not slip at the first touch.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.equations import Equations
from estimica.flat import expression as ex
from estimica.simulate.roots.rank import balanced, independent

#: writes an expression of the model with the unknowns of the initial conditions
Write = Callable[[ca.SX], ca.SX]


class OpenValues:
    """Conditions that may be added where some are missing: `name = its start value`."""

    def __init__(
        self, e: Equations, starts: dict[str, ca.SX], written: Write, arguments: list[ca.SX]
    ) -> None:
        """`starts` are the start values of those that have one; `arguments` begin with U."""
        names = [*_deciding(e), *(n for n in e.system.states if n not in e.system.fixed)]
        offered = [e.value(n) - starts.get(n, ca.SX(0)) for n in names]
        column = ca.densify(written(ca.vertcat(*offered, ca.SX(0, 1))))
        slopes = ca.jacobian(column, arguments[0], {"allow_reverse": False})
        self.offered = ca.Function("offered", arguments, [column, slopes], {"cse": True})
        self.column = column

    def missing(self, J: Vector, n_states: int, *point: Vector | float) -> list[int]:
        """Which conditions to add to those of slope J; the first unknowns are the states."""
        n = J.shape[1]
        if not np.isfinite(J).all():
            return []  # where the slopes are not known, nothing is
        own = independent(balanced(J).T, [*range(n_states, n), *range(n_states)])
        if set(range(n_states)) <= set(own):
            return []
        slopes = np.array(self.offered(*point)[1])
        if not np.isfinite(slopes).all():
            return []
        rows = J.shape[0]
        found = independent(balanced(np.vstack([J, slopes])), range(rows + len(slopes)))
        return [k - rows for k in found if k >= rows]


def _deciding(e: Equations) -> list[str]:
    """Algebraic variables that stand in relations, as the model has them."""
    system = e.system
    known = {*system.parameters, *system.inputs, *system.states, *system.memories}
    known |= {*system.logicals, *(d.name for d in system.delays)}
    relations = [r.difference for r in system.relations if r.instant is None]
    found = (leaf.target for leaf in ex.walk(*relations) if leaf.op == "name")
    return [n for n in dict.fromkeys(found) if n not in known and n in e.environment]
