"""Variants of a filter: the same mean and covariance, with other things done where pieces begin.

Smoothing remembers what a pass back over the data needs; starting again predicts from many origins
in one run; drawing takes in values that it draws by itself; a path has noise in its states instead
of a covariance. None has derivatives by the tuners.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca

from estimica.compiled.filter import FilterSystem, lower
from estimica.compiled.hybrid import HybridSystem


@dataclass(frozen=True, eq=False)
class FilterVariant:
    """A hybrid system whose states are those of the filter, and further ones before memories."""

    hybrid: HybridSystem
    columns: ca.SX  # what a run hands back
    further: ca.DM  # start values of the further states


def smoothing(s: FilterSystem) -> FilterVariant:
    """Behind each piece with values: means and covariances after it and before it, slopes of the
    outputs and the noise of measuring there, and since the piece with values before it Φ = dx/dx₀,
    the covariance R of the noise that came in with the states now, and its variances V."""
    h, n = s.hybrid, s.mean.shape[0]
    move, came, grown = ca.SX.sym("Phi", n, n), ca.SX.sym("R", n, n), ca.SX.sym("V", n)
    moved = [s.drift @ move, came @ s.drift.T + ca.diag(s.noise.diffusion**2)]
    rates = [ca.vec(moved[0]), ca.vec(moved[1]), s.noise.diffusion**2]
    counted = ca.vertcat(ca.vec(move), ca.vec(came), grown)
    new = ca.vertcat(ca.vec(ca.SX.eye(n)), ca.SX.zeros(n * n + n, 1))
    noise = s.measuring + ca.diag(s.seen.bent)
    before = ca.vertcat(s.mean, lower(s.covariance), ca.vec(s.seen.slopes), noise, counted)
    kept = ca.SX.sym("kept", before.shape[0])
    brings = ca.mmax(s.given) if s.given.shape[0] else ca.SX(0)
    begun = ca.if_else(brings > 0, new, counted)
    states = ca.vertcat(counted, kept)
    assert h.update is not None
    hybrid = _with_states(
        h,
        states,
        ca.vertcat(*rates, ca.SX.zeros(kept.shape[0], 1)),
        ca.vertcat(begun, before),
    )
    if s.event is not None:
        jumped = [ca.vec(s.event.matrix @ move), ca.vec(came @ s.event.matrix.T), grown, kept]
        hybrid = _with_jump(hybrid, states.shape[0], ca.vertcat(*jumped))
    columns = ca.vertcat(s.mean, lower(s.covariance), s.innovations, s.variances, kept)
    start = ca.vertcat(ca.DM(ca.evalf(new)), ca.DM.zeros(kept.shape[0], 1))
    return FilterVariant(hybrid, columns, start)


def starting_again(s: FilterSystem) -> FilterVariant:
    """Nothing is taken in: where a piece says so, mean and covariance are what it brings.

    Its inputs, behind those of the filter, are 1 where it does, the mean and the lower triangle of
    the covariance. Columns are outputs and their variances, with and without the noise of
    measuring, mean and covariance, all as they were before the piece.
    """
    h, n = s.hybrid, s.mean.shape[0]
    size = n * (n + 1) // 2
    again, mean, spread = ca.SX.sym("again"), ca.SX.sym("mean", n), ca.SX.sym("spread", size)
    C = s.covariance
    sure = ca.diag(s.seen.slopes @ C @ s.seen.slopes.T + s.seen.bent)
    seen = ca.vertcat(s.seen.expected, sure + s.measuring, sure, s.mean, lower(C))
    kept = ca.SX.sym("kept", seen.shape[0])
    memories = _memories(h)
    update = ca.vertcat(
        ca.if_else(again > 0, mean, s.mean),
        ca.if_else(again > 0, spread, lower(C)),
        ca.SX.zeros(h.nx - h.n_memory - n - size, 1),
        memories,
    )
    asked = replace(_with_inputs(h, ca.vertcat(again, mean, spread)), update=update)
    hybrid = _with_states(asked, kept, ca.SX.zeros(kept.shape[0], 1), seen)
    return FilterVariant(hybrid, kept, ca.DM.zeros(kept.shape[0], 1))


def drawing(s: FilterSystem) -> FilterVariant:
    """Values measured are standard normal numbers, from which the values themselves are drawn as
    the filter predicts them, each given those before it; the columns."""
    h, n, ny = s.hybrid, s.mean.shape[0], s.seen.slopes.shape[0]
    assert h.update is not None
    first = n + n * (n + 1) // 2
    update, draws, drawn = h.update, ca.SX.sym("draws", ny), []
    for k in range(ny):
        innovation, variance = update[first + k], update[first + ny + k]
        here = ca.substitute(innovation, s.given[k], ca.SX(1))
        predicted = -ca.substitute(here, s.measured[k], ca.SX(0))  # measured - predicted, at zero
        value = predicted + ca.sqrt(variance) * draws[k]
        drawn.append(s.given[k] * value)
        update = ca.substitute(update, s.measured[k], value)
    update = ca.vertcat(update[:first], *drawn, update[first + ny :])
    # the numbers stand where the values of the filter would
    u = ca.substitute(h.u, s.measured, draws)
    return FilterVariant(replace(h, u=u, update=update), s.innovations, ca.DM(0, 1))


def path(s: FilterSystem) -> FilterVariant:
    """One course of the states: at each piece the noise since the last one is drawn, from standard
    normal numbers behind the inputs of the filter. Columns are states and outputs."""
    h, n = s.hybrid, s.mean.shape[0]
    draws = ca.SX.sym("draws", n)
    after = s.mean + _cholesky(s.covariance) @ draws
    update = ca.vertcat(after, ca.SX.zeros(h.nx - h.n_memory - n, 1), _memories(h))
    hybrid = replace(_with_inputs(h, draws), update=update)
    return FilterVariant(hybrid, ca.vertcat(s.mean, s.noise.outputs, s.measuring), ca.DM(0, 1))


def _memories(h: HybridSystem) -> ca.SX:
    return ca.vertsplit(h.x, [0, h.nx - h.n_memory, h.nx])[1]


def _with_inputs(h: HybridSystem, more: ca.SX) -> HybridSystem:
    """The system with inputs behind its own."""
    udot = ca.SX.sym("further_udot", more.shape[0])
    return replace(h, u=ca.vertcat(h.u, more), udot=ca.vertcat(h.udot, udot))


def _with_states(h: HybridSystem, x: ca.SX, f: ca.SX, update: ca.SX) -> HybridSystem:
    """The system with states before its memories; the events leave them alone."""
    at, size = h.nx - h.n_memory, x.shape[0]

    def inserted(column: ca.SX, own: ca.SX) -> ca.SX:
        first, rest = ca.vertsplit(ca.densify(column), [0, at, at + h.n_memory])
        return ca.densify(ca.vertcat(first, own, rest))

    zero = ca.SX.zeros(size, 1)
    passages = {n: getattr(h, n) for n in ("before_event", "after_event")}
    return replace(
        h,
        x=inserted(h.x, x),
        f=inserted(h.f, f),
        x0=inserted(h.x0, zero),  # runs begin with the start values of the variant
        x_pre=inserted(h.x_pre, ca.SX.sym("further_pre", size)),
        event_x=inserted(h.event_x, x),
        reinit_fired=inserted(h.reinit_fired, zero),
        update=inserted(h.update, update),
        **{n: inserted(e, x) for n, e in passages.items() if e is not None},
    )


def _with_jump(h: HybridSystem, size: int, jumped: ca.SX) -> HybridSystem:
    """The system whose last states before its memories jump after events as the covariance does."""
    end = h.nx - h.n_memory
    first, _, rest = ca.vertsplit(h.after_event, [0, end - size, end, h.nx])
    return replace(h, after_event=ca.vertcat(first, jumped, rest))


def _cholesky(C: ca.SX) -> ca.SX:
    """L with L Lᵀ = C; a pivot that is not above zero is a state without noise of its own."""
    n = C.shape[0]
    L = ca.SX(n, n)
    for j in range(n):
        pivot = C[j, j] - ca.sumsqr(L[j, :j]) if j else C[j, j]
        root = ca.sqrt(ca.fmax(pivot, 0))
        L[j, j] = root
        for i in range(j + 1, n):
            rest = C[i, j] - ca.dot(L[i, :j], L[j, :j]) if j else C[i, j]
            L[i, j] = ca.if_else(root > 0, rest / ca.if_else(root > 0, root, 1), 0)
    return L
