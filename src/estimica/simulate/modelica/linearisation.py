"""Linearisation: x' = A·Δx + B·Δu, y = C·Δx + D·Δu at an operating point, exactly."""

from __future__ import annotations

from dataclasses import dataclass, fields

import casadi as ca
import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import SimulationError
from estimica.base.result import plain_object
from estimica.base.saving.saved import Saved
from estimica.simulate.inputs import inputs_at
from estimica.simulate.modelica.steady import outputs_at, steady_point
from estimica.simulate.response import Response


@dataclass(frozen=True, eq=False)
class Linearisation(Saved):
    """State-space matrices with the names of their rows and columns and the operating point."""

    A: Vector  # the matrix ∂ẋ/∂x
    B: Vector  # the matrix ∂ẋ/∂u
    C: Vector  # the matrix ∂y/∂x
    D: Vector  # the matrix ∂y/∂u
    states: tuple[str, ...]  # names of x
    inputs: tuple[str, ...]  # names of u
    outputs: tuple[str, ...]  # names of y
    x: Vector  # the states there
    u: Vector  # the inputs there
    y: Vector  # the outputs there

    @property
    def poles(self) -> Complex:
        """Eigenvalues of A."""
        return np.linalg.eigvals(self.A).astype(complex)

    def to_dict(self) -> dict[str, object]:
        """Plain values by the names of the fields."""
        return plain_object({f.name: getattr(self, f.name) for f in fields(self)})

    def __repr__(self) -> str:
        return (
            f"<Linearisation: {len(self.states)} states, {len(self.inputs)} inputs, "
            f"{len(self.outputs)} outputs>"
        )


def linearise(response: Response, *, steady: bool = False) -> Linearisation:
    """Differentiate the model at its start, or at its steady state; algebraic unknowns follow."""
    c = response.configuration
    e = c.tuning.equations
    u = inputs_at(response.pieces, response.begin)
    if steady:
        point = steady_point(response)
    else:
        point = c.initialiser.operating_point(response.values, response.begin, u)
    f_x, f_u, y_x, y_u = _matrices(response, point.P, point.x, point.z, point.d, u)
    return Linearisation(
        A=f_x,
        B=f_u,
        C=y_x,
        D=y_u,
        states=e.system.states,
        inputs=e.system.inputs,
        outputs=c.outputs,
        x=point.x[: len(e.system.states)],
        u=u,
        y=outputs_at(response, point),
    )


def _matrices(
    response: Response, P: Vector, x: Vector, z: Vector, d: Vector, u: Vector
) -> tuple[Vector, Vector, Vector, Vector]:
    """The four matrices with z eliminated: M − M_z·g_z⁻¹·g."""
    e = response.configuration.tuning.equations
    h = response.configuration.tuning.hybrid
    n = len(e.system.states)
    y = ca.vertcat(*(e.value(k) for k in response.configuration.outputs), ca.SX(0, 1))
    y = ca.substitute(y, e.homotopy, ca.SX(1))
    expressions = [h.f[:n, :], y, h.g]
    if h.nh:
        expressions = ca.substitute(expressions, [h.w], [h.delayed])
    forward = {"allow_reverse": False}
    jacobians = [ca.jacobian(a, b, forward) for a in expressions for b in (h.x[:n, :], h.u, h.z)]
    function = ca.Function("matrices", [h.t, h.x, h.z, h.P, h.u, h.d], jacobians, {"cse": True})
    M = [np.array(m) for m in function(response.begin, x, z, P, u, d)]
    f_x, f_u, f_z, y_x, y_u, y_z, g_x, g_u, g_z = M
    if not all(np.isfinite(m).all() for m in M):
        raise SimulationError("R003", "the model has no finite derivative at this operating point")
    if z.size:
        z_x, z_u = (-np.linalg.solve(g_z, m) for m in (g_x, g_u))
        f_x, f_u, y_x, y_u = f_x + f_z @ z_x, f_u + f_z @ z_u, y_x + y_z @ z_x, y_u + y_z @ z_u
    return f_x, f_u, y_x, y_u
