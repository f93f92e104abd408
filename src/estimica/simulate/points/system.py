"""PointSystem: the equations of one operating point, compiled.

Unknowns Z = [states; algebraic unknowns], equations G = [derivatives; algebraic equations] = 0,
outputs y(Z, u, d, P). Derivatives are by tuners and, where they move, by inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.llvm.machine_code import MachineCode, compile_functions
from estimica.compiled.tuning import Tuning
from estimica.flat.system import Origin
from estimica.simulate.points import layout as at
from estimica.simulate.points.conserved import Conserved
from estimica.simulate.roots.residual import residual_with_scale
from estimica.simulate.roots.search import NESTED, RootSearch, Unknowns, unknowns_of
from estimica.structure.parameters import is_parameter
from estimica.structure.sorted_system import Assignment, Block

_TIME = 0.0


@dataclass(frozen=True, eq=False)
class _Symbols:
    """Equations G of Z and what is given, limits, and the modes that the values imply."""

    G: ca.SX
    Z: ca.SX
    given: tuple[ca.SX, ca.SX, ca.SX]  # inputs, modes and logicals, constants
    limits: ca.SX
    modes: ca.SX


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
    n_limits: int
    scales: Vector  # typical sizes of the unknowns
    code: MachineCode
    conserved: Conserved | None
    search: RootSearch  # of (Z; u, d, P), for points that Newton's method does not solve
    symbols: _Symbols

    def constants(self, values: Vector, u: Vector) -> Vector:
        """The run constants for values of the independent ones; u are inputs of some point."""
        P = self.tuning.prepare(values)[0]
        if self.conserved is None:
            return P
        L, kept, rates, slopes = self.conserved.values(values, u)
        moving = np.vstack([rates.reshape(len(rates), L.size).T, slopes])
        return np.concatenate([P, L.ravel(), kept, moving.ravel()])

    @cached_property
    def switching(self) -> RootSearch | None:
        """The same search with relations that switch as the unknowns move; None where none do.

        With modes that are held, a law such as `if x > 0 then x^2 else -x^2` has no solution, or a
        wrong one, as long as the modes are those of another side.
        """
        s = self.symbols
        if not self.nd or not self.nz or not ca.depends_on(s.modes, s.Z):
            return None
        parts = [s.G, s.limits]
        for _ in range(NESTED):
            parts = ca.substitute(parts, [s.given[1]], [s.modes])
        names = rest_unknowns(self.tuning)
        return RootSearch.of(names, parts[0], s.Z, s.given, parts[1])

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
    conserved: Conserved | None = None,
) -> PointSystem:
    """Compile the equations of a point; what is conserved stands in for derivatives that say
    nothing new."""
    h, e = tuning.hybrid, tuning.equations
    n = h.nx - h.n_memory
    values = [e.value(o) for o in outputs]
    y = ca.substitute(_column(values), e.homotopy, ca.SX(1))
    G = ca.vertcat(h.f[:n], h.g) if n + h.nz else ca.SX(0, 1)
    extra = ca.SX(0, 1)
    rates_of_extra = ca.SX(0, len(tuning.wrt))
    if conserved is not None:
        L, kept = conserved.symbols()
        G[list(conserved.pivots)] = L @ h.x[:n] - kept
        extra = ca.vertcat(ca.vec(L.T), kept)
        rates_of_extra = ca.SX.sym("extra_rates", extra.shape[0], len(tuning.wrt))
    parts = [G, y, _modes(tuning), ca.densify(h.checks)]
    G, y, modes, checks = _at_rest(tuning, parts)
    Z = ca.vertcat(h.x[:n], h.z) if n + h.nz else ca.SX(0, 1)
    m = len(tuning.wrt) + len(moving)
    W = ca.SX.sym("W", Z.shape[0] * m)
    P = ca.vertcat(h.P, extra, ca.vec(rates_of_extra.T))
    arguments = [Z, h.u, h.d, P, W]
    J = ca.jacobian(G, Z, {"allow_reverse": False}) if Z.shape[0] else ca.SX(0, 0)
    by_p, by_u = _seed(tuning, moving)
    moved = ca.SX(extra.shape[0], m)
    moved[:, : len(tuning.wrt)] = rates_of_extra
    seeds = [(h.P, by_p), (h.u, by_u), (extra, moved)]
    rates = _push(G, seeds, m)
    slopes = _push(y, [*seeds, (Z, ca.reshape(W, m, Z.shape[0]).T)], m)
    given = [h.u, h.d, P]
    limits = _limits(tuning, Z)
    E, size = residual_with_scale(G, [Z, *given])
    functions = [
        ca.Function(name, arguments, list(results), {"cse": True})
        for name, results in (
            ("true", (E, size)),
            ("limits", (limits,)),
            ("residual", (ca.densify(G), J)),
            ("rates", (_flat(rates),)),
            ("output", (ca.densify(y), _flat(slopes))),
            ("modes", (ca.densify(modes),)),
            ("checks", (checks,)),
        )
    ]
    rows, columns = J.sparsity().get_triplet()
    unknowns = rest_unknowns(tuning)
    return PointSystem(
        tuning=tuning,
        outputs=tuple(outputs),
        unknowns=unknowns.names,
        n_states=n,
        moving=tuple(moving),
        linear=not Z.shape[0] or not any(ca.which_depends(G, Z, 2, True)),
        nonzeros=(np.array(rows, np.int64), np.array(columns, np.int64)),
        n_checks=int(checks.shape[0]),
        n_limits=int(limits.shape[0]),
        scales=unknowns.scales,
        code=compile_functions(functions, (at.P, at.SAVED)),
        conserved=conserved,
        search=RootSearch.of(unknowns, G, Z, given, limits),
        symbols=_Symbols(G, Z, (h.u, h.d, P), limits, modes),
    )


def rest_unknowns(tuning: Tuning) -> Unknowns:
    """The unknowns of a model at rest, with the words for the equations that they solve."""
    e = tuning.equations
    origins: dict[str, Origin] = {}
    for block in e.system.blocks:
        for part in (block,) if isinstance(block, Assignment) else block.inner:
            origins[part.unknown] = part.origin
        if isinstance(block, Block):
            origins |= dict(zip(block.torn, block.origins, strict=False))
    rates = [f"der({n})" for n in e.system.states]
    labels = [str(origins.get(n, f"the equation for '{n}'")) for n in (*rates, *e.torn)]
    return unknowns_of(e.system, (*e.system.states, *e.torn), labels)


def _limits(tuning: Tuning, Z: ca.SX) -> ca.SX:
    """What is not negative where every variable that the unknowns decide keeps to min and max."""
    e = tuning.equations
    parts: list[ca.SX] = []
    for v in e.system.flat.variables if Z.shape[0] else ():
        low, high = v.range
        if is_parameter(v) or not (np.isfinite(low) or np.isfinite(high)):
            continue
        value = e.value(v.name)
        parts += [value - low] if np.isfinite(low) else []
        parts += [high - value] if np.isfinite(high) else []
    (slack,) = _at_rest(tuning, [ca.substitute(_column(parts), e.homotopy, ca.SX(1))])
    pattern = ca.jacobian_sparsity(slack, Z) if parts else ca.Sparsity(0, 0)
    decided = sorted(set(pattern.get_triplet()[0]))
    return ca.densify(slack[decided]) if decided else ca.SX(0, 1)


def steady_equations(tuning: Tuning) -> ca.Function:
    """(Z, u, d, P) -> [derivatives; algebraic equations] and its Jacobian by Z."""
    h = tuning.hybrid
    n = h.nx - h.n_memory
    Z = ca.vertcat(h.x[:n], h.z) if n + h.nz else ca.SX(0, 1)
    (G,) = _at_rest(tuning, [ca.vertcat(h.f[:n], h.g) if n + h.nz else ca.SX(0, 1)])
    J = ca.jacobian(G, Z, {"allow_reverse": False}) if Z.shape[0] else ca.SX(0, 0)
    found = [ca.densify(G), ca.densify(J)]
    return ca.Function("steady", [Z, h.u, h.d, h.P], found, {"cse": True})


def _at_rest(tuning: Tuning, parts: list[ca.SX]) -> list[ca.SX]:
    """Expressions with delays over, memories at their start, and what was before as it is now."""
    h = tuning.hybrid
    n = h.nx - h.n_memory
    before = ca.vertcat(h.x_pre, h.flags, h.d_pre)
    parts = ca.substitute(parts, [before], [ca.vertcat(h.x, ca.DM([1, 0]), h.d)])
    for _ in range(h.nh):  # a delayed signal at rest is the signal itself
        parts = ca.substitute(parts, [h.w], [h.delayed])
    if h.n_memory:
        parts = ca.substitute(parts, [h.x[n:]], [h.x0[n:]])
    found: list[ca.SX] = ca.substitute(parts, [h.t], [ca.SX(_TIME)])
    return found


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


def _push(expression: ca.SX, seeds: Sequence[tuple[ca.SX, ca.SX]], columns: int) -> ca.SX:
    """The derivative of an expression along the tuners and moving inputs."""
    pairs = [(s, ca.SX(d)) for s, d in seeds if s.shape[0]]
    if not columns or not pairs or not expression.shape[0]:
        return ca.SX(expression.shape[0], columns)
    symbols = ca.vertcat(*(s for s, _ in pairs))
    directions = ca.densify(ca.vertcat(*(d for _, d in pairs)))
    return ca.jtimes(expression, symbols, directions)


def _flat(matrix: ca.SX) -> ca.SX:
    return ca.densify(ca.vec(ca.SX(matrix).T))
