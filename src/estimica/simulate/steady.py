"""Steady states: all derivatives zero, by Newton from the start values, else by simulation."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import numpy.typing as npt

from estimica.base.errors import SimulationError
from estimica.simulate import engine, newton
from estimica.simulate.engine import Pieces, integrate
from estimica.simulate.initial import MODE_ROUNDS, Start
from estimica.simulate.inputs import inputs_at
from estimica.simulate.response import Response

Vector = npt.NDArray[np.float64]


def steady_state(response: Response) -> dict[str, float]:
    """States and outputs of the steady state under the response's inputs at its begin."""
    point = steady_point(response)
    names = response.configuration.tuning.equations.system.states
    outputs = response.configuration.outputs
    values = outputs_at(response, point)
    found = dict(zip(names, map(float, point.x), strict=False))
    return found | dict(zip(outputs, map(float, values), strict=True))


def steady_point(
    response: Response, values: Vector | None = None, function: ca.Function | None = None
) -> Start:
    """The steady operating point; modes and logicals agree with it.

    `values` are other values of the independent constants, `function` the `derivatives` where
    they are at hand.
    """
    configuration = response.configuration
    u = inputs_at(response.pieces, response.begin)
    initialiser = configuration.initialiser
    values = response.values if values is None else values
    point = initialiser.operating_point(values, response.begin, u)
    function = derivatives(response) if function is None else function
    system = configuration.tuning.equations.system
    name, n = system.flat.name, len(system.states)
    for _ in range(MODE_ROUNDS):
        found = _newton(function, point, response.begin, u, n)
        if found is None:
            found = _newton(function, _simulated(response, point), response.begin, u, n)
        if found is None:
            raise SimulationError(
                "R002",
                f"no steady state of '{name}' found from these start values and inputs; give start "
                "values nearer to it",
            )
        d = initialiser.settled(found, response.begin, u)
        if np.array_equal(d, found.d):
            return found
        point = replace(found, d=d)
    return point


def outputs_at(response: Response, point: Start) -> Vector:
    """The outputs at one operating point."""
    e = response.configuration.tuning.equations
    y = ca.vertcat(*(e.value(n) for n in response.configuration.outputs), ca.SX(0, 1))
    y = ca.substitute(y, ca.vertcat(e.homotopy, e.w), ca.vertcat(ca.SX(1), e.delayed))
    function = ca.Function("y", [e.t, e.x, e.z, e.P, e.u, e.d], [y])
    u = inputs_at(response.pieces, response.begin)
    P = point.P[: e.P.shape[0]]
    return np.array(function(response.begin, point.x, point.z, P, u, point.d)).ravel()


def derivatives(response: Response) -> ca.Function:
    """What vanishes in a steady state, and its Jacobian by states and algebraic unknowns."""
    h = response.configuration.tuning.hybrid
    n = h.nx - h.n_memory
    R = ca.vertcat(h.f[:n, :], h.g, h.constraints)
    if h.nh:
        R = ca.substitute(R, h.w, h.delayed)
    unknowns = ca.vertcat(h.x[:n, :], h.z)
    J = ca.jacobian(R, unknowns, {"allow_reverse": False})
    return ca.Function("steady", [h.t, h.x, h.z, h.P, h.u, h.d], [R, J], {"cse": True})


def _newton(function: ca.Function, point: Start, time: float, u: Vector, n: int) -> Start | None:
    def evaluate(U: Vector) -> tuple[Vector, Vector]:
        x = np.concatenate([U[:n], point.x[n:]])
        R, J = (np.array(a) for a in function(time, x, U[n:], point.P, u, point.d))
        return R.ravel(), J

    U = newton.solve(evaluate, np.concatenate([point.x[:n], point.z]))
    if U is None:
        return None
    return replace(point, x=np.concatenate([U[:n], point.x[n:]]), z=U[n:])


def _simulated(response: Response, point: Start) -> Start:
    """The state after a long run with constant inputs: where Newton may succeed."""
    c = response.configuration
    u = inputs_at(response.pieces, response.begin)
    constant = Pieces(np.array([response.begin]), u[None, :], np.zeros((1, u.size)))
    span = 1.0
    for _ in range(12):
        begun = engine.Start(point.x, point.S, point.z, point.d)
        times = np.array([response.begin + span])
        run = integrate(c.kernel, point.P, begun, constant, times, response.options)
        if not run.ok:
            return point
        moved = np.abs(run.x - point.x).max(initial=0.0)
        point = replace(point, x=run.x.copy(), z=run.z.copy(), d=run.d.copy())
        if moved <= 1e-9 * (1 + np.abs(point.x).max(initial=0.0)):
            return point
        span *= 4
    return point
