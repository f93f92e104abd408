"""PointSystem: the equations of one operating point, compiled.

Unknowns Z = [states; algebraic unknowns], equations G = [derivatives; algebraic equations] = 0,
outputs y(Z, u, d, P). Derivatives are by tuners and, where they move, by inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt

from estimica.compiled.machine_code import MachineCode, compile_functions
from estimica.compiled.tuning import Tuning
from estimica.flat.system import Variable
from estimica.simulate import point_layout as at

Vector = npt.NDArray[np.float64]
_TIME = 0.0


@dataclass(frozen=True, eq=False)
class PointSystem:
    """Compiled functions of one point: `m` tuners and moving inputs, `outputs` by name."""

    tuning: Tuning
    outputs: tuple[str, ...]
    unknowns: tuple[str, ...]  # names of Z
    n_states: int
    moving: tuple[int, ...]  # inputs that derivatives are taken by
    linear: bool
    nonzeros: tuple[Vector, Vector]  # rows and columns of G_Z
    n_checks: int
    scales: Vector  # typical sizes of the unknowns
    code: MachineCode
    derivatives: ca.Function  # (Z, u, d, P) -> [f; g] and its Jacobian by Z, nothing replaced

    def constants(self, values: Vector) -> Vector:
        """The run constants for values of the independent ones."""
        return self.tuning.prepare(values)[0]

    @property
    def m(self) -> int:
        """Columns of derivatives."""
        return len(self.tuning.wrt) + len(self.moving)

    @property
    def nz(self) -> int:
        """Unknowns of a point."""
        return len(self.unknowns)

    @property
    def nu(self) -> int:
        """Inputs."""
        return self.tuning.hybrid.nu

    @property
    def nd(self) -> int:
        """Modes and logicals."""
        return self.tuning.hybrid.nd


def build_system(
    tuning: Tuning,
    outputs: Sequence[str],
    moving: Sequence[int] = (),
    replaced: Sequence[tuple[int, ca.SX]] = (),
) -> PointSystem:
    """Compile the equations of a point; `replaced` are rows of G that say nothing, and what does
    instead, as functions of the states and of P."""
    h, e = tuning.hybrid, tuning.equations
    n = h.nx - h.n_memory
    values = [e.value(o) for o in outputs]
    y = ca.substitute(_column(values), e.homotopy, ca.SX(1))
    plain = ca.vertcat(h.f[:n], h.g) if n + h.nz else ca.SX(0, 1)
    G = ca.SX(plain)
    for row, expression in replaced:
        G[row] = expression
    x_pre = ca.vertcat(h.x_pre, h.flags)
    settled = ca.vertcat(h.x, ca.DM([1, 0]))
    modes = ca.substitute(_modes(tuning), x_pre, settled)
    checks = ca.densify(h.checks)
    parts = [G, y, modes, checks, plain]
    if h.n_memory:  # a memory has its start value
        parts = ca.substitute(parts, [h.x[n:]], [h.x0[n:]])
    for _ in range(h.nh):  # a delayed signal at rest is the signal itself
        parts = ca.substitute(parts, [h.w], [h.delayed])
    parts = ca.substitute(parts, [h.t, h.d_pre], [ca.SX(_TIME), h.d])
    G, y, modes, checks, plain = parts
    Z = ca.vertcat(h.x[:n], h.z) if n + h.nz else ca.SX(0, 1)
    m = len(tuning.wrt) + len(moving)
    W = ca.SX.sym("W", Z.shape[0] * m)
    arguments = [Z, h.u, h.d, h.P, W]
    J = ca.jacobian(G, Z, {"allow_reverse": False}) if Z.shape[0] else ca.SX(0, 0)
    seed = _seed(tuning, moving)
    rates = _push(G, h, seed, None, None)
    slopes = _push(y, h, seed, Z, ca.reshape(W, m, Z.shape[0]).T if m else None)
    functions = [
        ca.Function(name, arguments, list(results), {"cse": True})
        for name, results in (
            ("residual", (ca.densify(G), J)),
            ("rates", (_flat(rates),)),
            ("output", (ca.densify(y), _flat(slopes))),
            ("modes", (ca.densify(modes),)),
            ("checks", (checks,)),
        )
    ]
    rows, columns = J.sparsity().get_triplet()
    return PointSystem(
        tuning=tuning,
        outputs=tuple(outputs),
        unknowns=(*e.system.states, *e.torn),
        n_states=n,
        moving=tuple(moving),
        linear=not Z.shape[0] or not any(ca.which_depends(G, Z, 2, True)),
        nonzeros=(np.array(rows, np.int64), np.array(columns, np.int64)),
        n_checks=int(checks.shape[0]),
        scales=np.array(
            [_scale(e.system.flat.by_name.get(u)) for u in (*e.system.states, *e.torn)]
        ),
        code=compile_functions(functions, (at.P, at.SAVED)),
        derivatives=_derivatives(plain, Z, arguments[:-1]),
    )


def _derivatives(plain: ca.SX, Z: ca.SX, arguments: list[ca.SX]) -> ca.Function:
    J = ca.jacobian(plain, Z, {"allow_reverse": False}) if Z.shape[0] else ca.SX(0, 0)
    return ca.Function("derivatives", arguments, [ca.densify(plain), ca.densify(J)], {"cse": True})


def _column(parts: list[ca.SX]) -> ca.SX:
    return ca.densify(ca.vertcat(*parts)) if parts else ca.SX(0, 1)


def _modes(tuning: Tuning) -> ca.SX:
    """Modes and logicals as the values imply them."""
    h = tuning.hybrid
    state = [(h.zero[i] > 0) if strict else (h.zero[i] >= 0) for i, strict in enumerate(h.strict)]
    timed = [
        ca.logic_not(h.t >= h.instants[i]) if until else (h.t >= h.instants[i])
        for i, until in enumerate(h.until)
    ]
    return ca.densify(ca.vertcat(*state, *timed, h.event_l, ca.SX(0, 1)))


def _seed(tuning: Tuning, moving: Sequence[int]) -> tuple[ca.SX, ca.SX]:
    """dP/dtheta and du/dtheta: tuners move P, moving inputs move themselves."""
    h = tuning.hybrid
    n, k = len(tuning.wrt), len(moving)
    by_p = ca.horzcat(h.seed, ca.SX(h.nP, k)) if n else ca.SX(h.nP, k)
    by_u = ca.SX(h.nu, n + k)
    for column, place in enumerate(moving):
        by_u[place, n + column] = 1
    return by_p, by_u


def _push(
    expression: ca.SX, h: object, seed: tuple[ca.SX, ca.SX], Z: ca.SX | None, W: ca.SX | None
) -> ca.SX:
    """The derivative of an expression along the tuners and moving inputs."""
    columns = seed[0].shape[1]
    pairs = [(h.P, seed[0]), (h.u, seed[1])]  # type: ignore[attr-defined]
    if Z is not None and W is not None:
        pairs.append((Z, W))
    pairs = [(s, ca.SX(d)) for s, d in pairs if s.shape[0]]
    if not columns or not pairs or not expression.shape[0]:
        return ca.SX(expression.shape[0], columns)
    symbols = ca.vertcat(*(s for s, _ in pairs))
    directions = ca.densify(ca.vertcat(*(d for _, d in pairs)))
    return ca.jtimes(expression, symbols, directions)


def _flat(matrix: ca.SX) -> ca.SX:
    return ca.densify(ca.vec(ca.SX(matrix).T))


def _scale(v: Variable | None) -> float:
    """A typical size: the nominal value, else the size of the start value, else 1."""
    for e in (v.nominal, v.start) if v is not None else ():
        if e is not None and e.op == "const" and e.value and np.isfinite(e.value):
            return abs(e.value)
    return 1.0
