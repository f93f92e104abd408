"""Which sensitivities can ever differ from zero, where a run is smooth; the others need no work.

S' = f_x S + f_θ and S(0) = ∂x0/∂θ: an entry lives where it begins as something else than zero, or
where what feeds it does.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from estimica.base.arrays import Flags


def living(feeds: Flags, moved: Flags, begun: Flags) -> Flags:
    """The living entries (nx, m), from where f_x, f_θ and S(0) have something."""
    alive: Flags = begun | moved
    while True:
        more = alive | (feeds.astype(int) @ alive.astype(int) > 0)
        if np.array_equal(more, alive):
            return alive
        alive = more


def places(matrix: ca.SX) -> Flags:
    """Where a matrix has something else than a zero that is written as one."""
    found = np.zeros(matrix.shape, bool)
    rows, columns = ca.sparsify(matrix).sparsity().get_triplet()
    found[list(rows), list(columns)] = True
    return found


def with_zeros(function: ca.Function, argument: int, zero: Flags) -> ca.Function:
    """The function of the same arguments that takes some elements of one of them to be zero."""
    given = [
        ca.SX.sym(function.name_in(k), function.sparsity_in(k)) for k in range(function.n_in())
    ]
    known = [ca.SX(0) if dead else given[argument][k] for k, dead in enumerate(zero)]
    changed = [ca.vertcat(*known) if k == argument else g for k, g in enumerate(given)]
    dense = [ca.densify(result) for result in function.call(changed)]
    return ca.Function(function.name(), given, dense, {"cse": True})
