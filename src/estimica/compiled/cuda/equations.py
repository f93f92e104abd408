"""A tuned model as expressions of time, states, tuners and inputs alone: every other constant is a
number in the text, so that the compiler of the GPU folds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from estimica.base.arrays import Vector
from estimica.compiled.hybrid import HybridSystem
from estimica.compiled.kernel import has_events
from estimica.compiled.tuning import Tuning


@dataclass(frozen=True, eq=False)
class TunedEquations:
    """x' = f(t, x, u, θ), x(0) = x0(θ), y = y(t, x, u, θ); checks are not negative."""

    t: ca.SX
    x: ca.SX
    u: ca.SX
    theta: ca.SX
    f: ca.SX
    x0: ca.SX
    y: ca.SX
    checks: ca.SX


def why_not(hybrid: HybridSystem) -> str:
    """What a model has that no thread of a GPU follows, or nothing."""
    if hybrid.nz:
        return f"the model has algebraic unknowns ({hybrid.nz})"
    if hybrid.nh:
        return "the model has delays"
    if hybrid.nd or has_events(hybrid):
        return "the model has events"
    if hybrid.constraints.shape[0]:
        return "the model keeps states on constraints"
    if hybrid.endings.shape[0]:
        return "the model may end its run by terminate()"
    if hybrid.update is not None or hybrid.before_event is not None:
        return "the model's states change as its inputs do"
    return ""


def tuned_equations(tuning: Tuning, outputs: Sequence[str], values: Vector) -> TunedEquations:
    """The equations at the given values of independent constants, but for the tuners."""
    e, h = tuning.equations, tuning.hybrid
    theta = ca.SX.sym("theta", len(tuning.wrt))
    independent = [ca.SX(float(v)) for v in values]
    for k, constant in enumerate(tuning.wrt):
        independent[tuning.index[constant.name]] = constant.sign * theta[k]
    P = tuning.values_of(ca.vertcat(*independent, ca.SX(0, 1)))
    parts = [e.value(n) for n in outputs]
    y = ca.densify(ca.vertcat(*parts)) if parts else ca.SX(0, 1)
    y = ca.substitute(y, e.homotopy, ca.SX(1))
    # a function call, since substitution does not know calls of kept functions
    given = ca.Function("given", [h.t, h.x, h.u, e.P], [h.f, y, h.checks, h.x0])
    f, y, checks, x0 = given(h.t, h.x, h.u, P)
    return TunedEquations(h.t, h.x, h.u, theta, f, x0, y, checks)
