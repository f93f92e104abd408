"""Whether linear equations can become singular while a model runs.

Where a flow stands still, what it carries is not determined; where two brakes hold one shaft, the
torque of each is not. Such blocks are left to the engine, which keeps unknowns that nothing
determines as they are: a solution in closed form would divide zero by zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.structure.graph.tearing import Tearing, reduced_matrix
from estimica.structure.linear import DivisionGuard, LinearForm, TypicalValues

#: rows and columns are scaled to one; a singular value below this is rounding. Chosen: switches
#: that differ by ten decades between open and closed leave more than this
_TINY = 1e-13
#: variables that are set to zero one by one (chosen: this bounds the time; all together are tried
#: in any case)
_TRIED = 20


def may_be_singular(forms: Sequence[LinearForm], plan: Tearing, safety: DivisionGuard) -> bool:
    """Whether the equations of a block are singular where some variable is zero, or all of them
    are, or for one side of all conditions, as far as a few trials show."""
    factors = [f for form in forms for f in form.factors.values()]
    moving = _moving(factors, safety)
    if not moving and not any(e.op == "if" for e in ex.walk(*factors)):
        return False
    points = [dict.fromkeys(moving, 0.0), {}, *({n: 0.0} for n in moving[:_TRIED])]
    return any(
        _singular(_matrix(forms, plan, TypicalValues(safety.values | point, truth)))
        for point in points
        for truth in (True, False)
    )


def _moving(factors: Sequence[Expression], safety: DivisionGuard) -> list[str]:
    """Variables without which a factor vanishes: it is a product with one of them, or a choice."""
    found: dict[str, None] = {}
    stack, seen = list(factors), set[Expression]()
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if e.op == "name" and e.target not in safety.values:
            found[e.target] = None
        elif e.op == "if":
            stack += e.operands[1:]
        elif e.op in ("mul", "neg", "add", "sub", "noEvent", "abs"):
            stack += e.operands
        elif e.op in ("div", "smooth"):
            stack.append(e.operands[0])
    return list(found)


def _matrix(forms: Sequence[LinearForm], plan: Tearing, typical: TypicalValues) -> Vector:
    """The residuals' derivatives by the guessed unknowns, at a point."""
    factors = [{k: typical.value(f.factors[k]) for k in f.factors} for f in forms]
    with np.errstate(all="ignore"):
        return reduced_matrix(plan, factors)


def _singular(matrix: Vector) -> bool:
    if not np.isfinite(matrix).all():
        return False
    for axis in (1, 0):
        size = np.abs(matrix).max(axis=axis, keepdims=True)
        if not size.all():
            return True
        matrix = matrix / size
    return bool(np.linalg.matrix_rank(matrix, tol=_TINY) < len(matrix))
