"""Steady states: all derivatives zero, by Newton's method, by simulation, or by search."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError
from estimica.simulate.engine import run as engine
from estimica.simulate.engine.options import Pieces
from estimica.simulate.engine.run import integrate
from estimica.simulate.initial import MODE_ROUNDS, InitialPoint
from estimica.simulate.inputs import inputs_at
from estimica.simulate.points.system import rest_unknowns
from estimica.simulate.response import Response
from estimica.simulate.roots import newton
from estimica.simulate.roots.jacobian import Jacobian, jacobian_of
from estimica.simulate.roots.search import RootSearch


def steady_state(response: Response) -> dict[str, float]:
    """States and outputs of the steady state under the response's inputs at its begin."""
    point = steady_point(response)
    names = response.configuration.tuning.equations.system.states
    outputs = response.configuration.outputs
    values = outputs_at(response, point)
    found = dict(zip(names, map(float, point.x), strict=False))
    return found | dict(zip(outputs, map(float, values), strict=True))


def steady_point(
    response: Response, values: Vector | None = None, search: RootSearch | None = None
) -> InitialPoint:
    """The steady operating point; modes and logicals agree with it.

    `values` are other values of the independent constants, `search` is `search_at_rest` where it
    is at hand.
    """
    configuration = response.configuration
    u = inputs_at(response.pieces, response.begin)
    initialiser = configuration.initialiser
    values = response.values if values is None else values
    point = initialiser.operating_point(values, response.begin, u)
    search = search_at_rest(response) if search is None else search
    system = configuration.tuning.equations.system
    name, n = system.flat.name, len(system.states)
    for _ in range(MODE_ROUNDS):
        at_rest = _newton(search, point, response.begin, u, n)
        if at_rest is None:
            at_rest = _newton(search, _simulated(response, point), response.begin, u, n)
        if at_rest is None:
            at_rest, why = _searched(search, point, response.begin, u, n)
        if at_rest is None:
            raise SimulationError(
                "R002",
                f"no steady state of '{name}' found from these start values and inputs{why}; give "
                "start values nearer to it",
            )
        d = initialiser.settled(at_rest, response.begin, u)
        if np.array_equal(d, at_rest.d):
            return at_rest
        point = replace(at_rest, d=d)
    return point


def outputs_at(response: Response, point: InitialPoint) -> Vector:
    """The outputs at one operating point."""
    e = response.configuration.tuning.equations
    y = ca.vertcat(*(e.value(n) for n in response.configuration.outputs), ca.SX(0, 1))
    y = ca.substitute(y, ca.vertcat(e.homotopy, e.w), ca.vertcat(ca.SX(1), e.delayed))
    function = ca.Function("y", [e.t, e.x, e.z, e.P, e.u, e.d], [y])
    u = inputs_at(response.pieces, response.begin)
    P = point.P[: e.P.shape[0]]
    return np.array(function(response.begin, point.x, point.z, P, u, point.d)).ravel()


def search_at_rest(response: Response) -> RootSearch:
    """The search for states and algebraic unknowns at which all derivatives vanish."""
    tuning = response.configuration.tuning
    h = tuning.hybrid
    n = h.nx - h.n_memory
    R = ca.vertcat(h.f[:n, :], h.g, h.constraints)
    if h.nh:
        R = ca.substitute(R, h.w, h.delayed)
    U = ca.vertcat(h.x[:n, :], h.z)
    return RootSearch.of(rest_unknowns(tuning), R, U, [h.x[n:, :], h.t, h.P, h.u, h.d])


def _newton(
    search: RootSearch, point: InitialPoint, time: float, u: Vector, n: int
) -> InitialPoint | None:
    given = (point.x[n:], time, point.P, u, point.d)

    def evaluate(U: Vector) -> tuple[Vector, Jacobian]:
        R, J = search.full(U, *given)
        return np.array(R).ravel(), jacobian_of(J)

    def holds(U: Vector) -> bool:
        E, size = (np.array(a).ravel() for a in search.true(U, *given))
        return newton.is_near_zero(E, size)

    U = newton.solve(evaluate, np.concatenate([point.x[:n], point.z]), holds)
    return None if U is None else _with(point, U, n)


def _searched(
    search: RootSearch, point: InitialPoint, time: float, u: Vector, n: int
) -> tuple[InitialPoint | None, str]:
    """By a search in all directions; why it found nothing."""
    if search.full.size1_out(0) != search.full.size1_in(0):  # constraints come on top
        return None, ""
    U = np.concatenate([point.x[:n], point.z])
    root = search.find(U, point.x[n:], time, point.P, u, point.d)
    return (None, f": {root.text}") if root.U is None else (_with(point, root.U, n), "")


def _with(point: InitialPoint, U: Vector, n: int) -> InitialPoint:
    return replace(point, x=np.concatenate([U[:n], point.x[n:]]), z=U[n:])


def _simulated(response: Response, point: InitialPoint) -> InitialPoint:
    """The state after a long run with constant inputs: where Newton may succeed."""
    c = response.configuration
    u = inputs_at(response.pieces, response.begin)
    constant = Pieces(np.array([response.begin]), u[None, :], np.zeros((1, u.size)))
    span = 1.0
    for _ in range(12):
        begun = engine.RunStart(point.x, point.S, point.z, point.d)
        times = np.array([response.begin + span])
        run = integrate(c.kernel, point.P, begun, constant, times, response.options.adaptive)
        if not run.ok:
            return point
        moved = np.abs(run.x - point.x).max(initial=0.0)
        point = replace(point, x=run.x.copy(), z=run.z.copy(), d=run.d.copy())
        if moved <= 1e-9 * (1 + np.abs(point.x).max(initial=0.0)):
            return point
        span *= 4
    return point
