"""Steps: one step of a model's equations in time, its sensitivities, and its outputs.

A point is v = [x; z], states and algebraic unknowns; the latter are solved for, from where they
were. Whatever is written here is a CasADi function of numbers θ, inputs u and time.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from estimica.base.arrays import Vector
from estimica.estimate.collocation.elements import Radau
from estimica.simulate.response import Response

DEGREE = 3  # of Radau IIA, order 5: the usual choice for stiff equations (Hairer and Wanner 1996)
# to rounding, since derivatives are taken of the solution; thirty rounds are chosen as a guard
NEWTON = {"error_on_fail": False, "abstol": 1e-12, "abstolStep": 1e-12, "max_iter": 30}


class SymbolicEquations:
    """A model's equations, its constants written in what it is derived by, θ."""

    def __init__(self, response: Response) -> None:
        self._response = response
        tuning = response.configuration.tuning
        e = self._e = tuning.equations
        self.nx, self.nz, self.nu = (int(s.shape[0]) for s in (e.x, e.z, e.u))
        self.p = len(tuning.wrt)
        self._theta = ca.SX.sym("theta", self.p)
        own = [ca.SX(float(v)) for v in response.values]
        for k, c in enumerate(tuning.wrt):
            own[tuning.index[c.name]] = c.sign * self._theta[k]
        self._P = tuning.values_of(ca.vertcat(*own) if own else ca.SX(0, 1))
        self._here = [e.x, e.z, self._theta, e.t, e.u]
        both = self._expression(ca.vertcat(e.f, e.g))
        g = both[self.nx :] if self.nz else ca.SX(0, 1)
        self.f = ca.Function("f", self._here, [both[: self.nx]], {"cse": True})
        self.g = ca.Function("g", self._here, [g], {"cse": True})

    def outputs(self, names: Sequence[str]) -> ca.Function:
        """(x, z, θ, t, u) → variables of the model."""
        y = self._expression(ca.vertcat(*(self._e.value(n) for n in names)))
        return ca.Function("y", self._here, [y], {"cse": True})

    def jumps(self, names: Sequence[str]) -> bool:
        """Whether a variable depends on an input at once."""
        if self.nz:
            return True
        y = self._expression(ca.vertcat(*(self._e.value(n) for n in names)))
        return bool(names) and bool(ca.depends_on(y, self._e.u))

    def begin(self) -> ca.Function:
        """(guess v, θ, u) → v where the run begins."""
        e, initialiser = self._e, self._response.configuration.initialiser
        nx, first = self.nx, len(e.system.parameters)
        held = ca.vertcat(*(self._P[first + i] for i in range(nx)))
        v = ca.vertcat(e.x, e.z)
        if not initialiser.implicit:
            guess = ca.SX.sym("guess", v.shape[0])
            point = ca.vertcat(held, guess[nx:]) if self.nz else held
            return ca.Function("begin", [guess, self._theta, e.u], [ca.densify(point)])
        open_ = set(initialiser.open)
        parts = [e.x[i] - held[i] for i in range(nx) if i not in open_]
        residuals = ca.vertcat(*parts, self._expression(initialiser.residuals))
        residuals = ca.substitute(residuals, e.t, ca.SX(self._response.begin))
        problem = {"x": v, "p": ca.vertcat(self._theta, e.u), "g": ca.densify(residuals)}
        solver = ca.rootfinder("begin", "newton", problem, NEWTON)
        m = [ca.MX.sym("m", s.shape[0]) for s in (v, self._theta, e.u)]
        return ca.Function("begin", m, [solver(m[0], ca.vertcat(m[1], m[2]))])

    def first(self, guess: Vector) -> ca.Function:
        """(θ, u) → v where the run begins, found from `guess`, and ∂x/∂θ as a column."""
        theta, u = ca.MX.sym("theta", self.p), ca.MX.sym("u", self.nu)
        point = self.begin()(ca.DM(guess), theta, u)
        rates = ca.vec(ca.densify(ca.jacobian(point[: self.nx], theta)))
        return ca.Function("first", [theta, u], [point, rates])

    def _expression(self, expression: ca.SX) -> ca.SX:
        e = self._e
        old, new = ca.vertcat(e.x_pre, e.P, e.homotopy), ca.vertcat(e.x, self._P, ca.SX(1))
        return ca.densify(ca.substitute(ca.densify(expression), old, new))


def runge_kutta(w: SymbolicEquations) -> ca.Function:
    """(v, θ, t, h, u, rise) → v after h seconds; no algebraic unknowns."""
    x, theta, t, h, u, rise = _arguments(w, ca.SX)
    none = ca.SX(0, 1)

    def f(share: float, at: ca.SX) -> ca.SX:
        return w.f(at, none, theta, t + share * h, u + share * h * rise)

    k1 = f(0.0, x)
    k2 = f(0.5, x + 0.5 * h * k1)
    k3 = f(0.5, x + 0.5 * h * k2)
    k4 = f(1.0, x + h * k3)
    after = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return ca.Function("step", [x, theta, t, h, u, rise], [after], {"cse": True})


def radau(w: SymbolicEquations) -> ca.Function:
    """The same by collocation at Radau points."""
    scheme = Radau.of(DEGREE)
    v, theta, t, h, u, rise = _arguments(w, ca.SX)
    width = w.nx + w.nz
    V = ca.SX.sym("V", width * DEGREE)
    points = [V[j * width : (j + 1) * width] for j in range(DEGREE)]
    states = [v[: w.nx], *(p[: w.nx] for p in points)]
    defects = []
    for j, point in enumerate(points):
        share = float(scheme.points[j])
        here = (point[: w.nx], point[w.nx :] if w.nz else ca.SX(0, 1), theta, t + share * h)
        inputs = u + share * h * rise
        slope = sum(float(scheme.slopes[r, j]) * states[r] for r in range(DEGREE + 1))
        defects += [slope - h * w.f(*here, inputs), w.g(*here, inputs)]
    given = ca.vertcat(v, theta, t, h, u, rise)
    problem = {"x": V, "p": given, "g": ca.densify(ca.vertcat(*defects))}
    solver = ca.rootfinder("radau", "newton", problem, NEWTON)
    m = _arguments(w, ca.MX)
    stages = solver(ca.repmat(m[0], DEGREE, 1), ca.vertcat(*m))
    return ca.Function("step", list(m), [stages[(DEGREE - 1) * width :]])


def algebraic_solver(w: SymbolicEquations) -> ca.Function:
    """(v, θ, t, u) → v with its algebraic unknowns solved for, after a jump of the inputs."""
    if not w.nz:
        v, theta, t, _, u, _ = _arguments(w, ca.SX)
        return ca.Function("settled", [v, theta, t, u], [v])
    z, x, theta = ca.SX.sym("z", w.nz), ca.SX.sym("x", w.nx), ca.SX.sym("theta", w.p)
    t, u = ca.SX.sym("t"), ca.SX.sym("u", w.nu)
    problem = {"x": z, "p": ca.vertcat(x, theta, t, u), "g": w.g(x, z, theta, t, u)}
    solver = ca.rootfinder("settled", "newton", problem, NEWTON)
    v, th, tt, _, uu, _ = _arguments(w, ca.MX)
    here = v[: w.nx]
    solution = solver(v[w.nx :], ca.vertcat(here, th, tt, uu))
    return ca.Function("settled", [v, th, tt, uu], [ca.vertcat(here, solution)])


def output_function(w: SymbolicEquations, y: ca.Function) -> ca.Function:
    """(v, θ, t, u) → outputs, the algebraic unknowns solved for."""
    kind = ca.MX if w.nz else ca.SX
    v, theta, t, _, u, _ = _arguments(w, kind)
    there = algebraic_solver(w)(v, theta, t, u)
    z = there[w.nx :] if w.nz else kind(0, 1)
    return ca.Function("observed", [v, theta, t, u], [y(there[: w.nx], z, theta, t, u)])


def with_sensitivities(
    function: ca.Function, w: SymbolicEquations, rows: int | None = None
) -> ca.Function:
    """(v, S, θ, …) → what `function` gives of (v, θ, …), and its derivatives by θ.

    S = ∂x/∂θ and the derivatives of the first `rows` results are columns, one parameter after the
    other.
    """
    kind = ca.SX if function.is_a("SXFunction") else ca.MX
    inputs = [kind.sym(f"a{i}", *function.size_in(i)) for i in range(function.n_in())]
    column = kind.sym("S", w.nx * w.p)
    values = function(*inputs)
    along = ca.vertcat(inputs[0], inputs[1])
    S = ca.reshape(column, w.nx, w.p)
    seeds = ca.vertcat(S, ca.DM.zeros(w.nz, w.p), ca.DM.eye(w.p))
    moved = ca.jtimes(values if rows is None else values[:rows], along, seeds)
    results = [ca.densify(values), ca.densify(ca.vec(moved))]
    return ca.Function("rates", [inputs[0], column, *inputs[1:]], results)


def at_numbers(function: ca.Function, theta: Vector) -> ca.Function:
    """(v, …) → what `function` gives of (v, θ, …)."""
    kind = ca.SX if function.is_a("SXFunction") else ca.MX
    inputs = [kind.sym(f"a{i}", *function.size_in(i)) for i in range(function.n_in())]
    value = function(inputs[0], ca.DM(theta), *inputs[2:])
    return ca.Function("numbers", [inputs[0], *inputs[2:]], [value])


def _arguments(w: SymbolicEquations, kind: type) -> tuple[ca.SX, ...]:
    sizes = {"v": w.nx + w.nz, "theta": w.p, "t": 1, "h": 1, "u": w.nu, "rise": w.nu}
    return tuple(kind.sym(n, size) for n, size in sizes.items())  # type: ignore[attr-defined]
