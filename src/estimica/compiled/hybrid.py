"""HybridSystem: a model as CasADi expressions of time, states, unknowns, constants, inputs, modes.

Between events
    x' = f(t, x, z, w, P, u, d),   0 = g(t, x, z, w, P, u, d),
with states x (the discrete Reals, the memories, at the end, their derivative zero), algebraic
unknowns z, delayed signals w, run constants P, inputs u and modes d = [state relations; time
relations; logicals], which only an event changes. `seed` is dP/dtheta for the tuners theta.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector


def _empty() -> ca.SX:
    return ca.SX(0, 1)


def _no_numbers() -> Vector:
    return np.zeros(0)


@dataclass(frozen=True, kw_only=True, eq=False)
class HybridSystem:
    """All expressions are SX columns; those left out are empty, `event_x` is then x itself."""

    t: ca.SX
    x: ca.SX
    f: ca.SX
    x0: ca.SX  # start values, functions of P
    z: ca.SX = field(default_factory=_empty)
    w: ca.SX = field(default_factory=_empty)
    P: ca.SX = field(default_factory=_empty)
    u: ca.SX = field(default_factory=_empty)
    d: ca.SX = field(default_factory=_empty)
    x_pre: ca.SX = None  # values before the event, in event_x, reinit_fired and event_l
    d_pre: ca.SX = None
    # [initial, terminal], and where `before_event` needs it the relation that is its cause, or -1
    flags: ca.SX = None
    udot: ca.SX = None  # slopes of the inputs, in g, before_event, event_x and after_event
    g: ca.SX = field(default_factory=_empty)
    zero: ca.SX = field(default_factory=_empty)  # d[i] is true where zero[i] > 0
    strict: tuple[bool, ...] = ()  # ... or >= 0 where this is False
    instants: ca.SX = field(default_factory=_empty)  # of P, the memories and d only
    until: tuple[bool, ...] = ()  # the time relation holds up to its instant, not from it on
    event_x: ca.SX = None  # memories: the new value; states: the reinit value, or x
    reinit_fired: ca.SX = None  # nonzero where a reinit of that state fires
    event_l: ca.SX = field(default_factory=_empty)  # the new logicals
    constraints: ca.SX = field(default_factory=_empty)  # vanish; x is projected on them
    delayed: ca.SX = field(default_factory=_empty)  # w[i](t) = delayed[i](t - delays[i])
    delays: ca.SX = field(default_factory=_empty)  # of P only
    checks: ca.SX = field(default_factory=_empty)  # not negative at any accepted step
    endings: ca.SX = field(default_factory=_empty)  # where one is negative, the run is over
    update: ca.SX | None = None  # the states after a piece of the inputs has begun, if they change
    # the states as an event begins, with all modes as they were, and when its iteration has ended
    before_event: ca.SX | None = None
    after_event: ca.SX | None = None
    messages: tuple[str, ...] = ()  # of the endings
    n_memory: int = 0
    seed: ca.SX = None  # dP/dtheta, (nP, ntheta), entries constants or elements of P
    z0: Vector = field(default_factory=_no_numbers)  # where Newton starts
    z_low: Vector = field(default_factory=lambda: np.array(-np.inf))  # min of the unknowns
    z_high: Vector = field(default_factory=lambda: np.array(np.inf))  # max; one may stand for all
    d0: Vector = field(default_factory=_no_numbers)

    def __post_init__(self) -> None:
        for name, symbol, like in (
            ("x_pre", "x_pre", self.x),
            ("d_pre", "d_pre", self.d),
            ("flags", "flags", ca.SX.sym("flags", 2)),
            ("udot", "udot", self.u),
        ):
            if getattr(self, name) is None:
                object.__setattr__(self, name, ca.SX.sym(symbol, like.shape[0]))
        if self.event_x is None:
            object.__setattr__(self, "event_x", self.x)
        if self.reinit_fired is None:
            object.__setattr__(self, "reinit_fired", ca.SX.zeros(self.nx, 1))
        if self.seed is None:
            object.__setattr__(self, "seed", ca.SX(self.nP, 0))
        for name, got, wanted in self._lengths():
            if got != wanted:
                raise AssertionError(f"HybridSystem.{name} has {got} elements, not {wanted}")

    def _lengths(self) -> Iterator[tuple[str, int, int]]:
        """(name, length, what it must be) of everything that must fit together."""
        yield "f", self.f.shape[0], self.nx
        yield "x0", self.x0.shape[0], self.nx
        yield "x_pre", self.x_pre.shape[0], self.nx
        yield "event_x", self.event_x.shape[0], self.nx
        yield "reinit_fired", self.reinit_fired.shape[0], self.nx
        for name in ("update", "before_event", "after_event"):
            given = getattr(self, name)
            yield name, self.nx if given is None else given.shape[0], self.nx
        yield "udot", self.udot.shape[0], self.nu
        yield "d_pre", self.d_pre.shape[0], self.nd
        yield "flags", min(self.flags.shape[0], 3), 3 if self.before_event is not None else 2
        yield "g", self.g.shape[0], self.nz
        yield "z0", self.z0.shape[0], self.nz
        yield "strict", len(self.strict), self.ng
        yield "until", len(self.until), self.nt
        yield "d", self.nd, self.ng + self.nt + self.nl
        yield "d0", self.d0.shape[0], self.nd
        yield "delayed", self.delayed.shape[0], self.nh
        yield "delays", self.delays.shape[0], self.nh
        yield "messages", len(self.messages), int(self.endings.shape[0])
        yield "seed", self.seed.shape[0], self.nP

    @property
    def nx(self) -> int:
        """States, memories included."""
        return int(self.x.shape[0])

    @property
    def nz(self) -> int:
        """Algebraic unknowns."""
        return int(self.z.shape[0])

    @property
    def nh(self) -> int:
        """Delayed signals."""
        return int(self.w.shape[0])

    @property
    def nP(self) -> int:
        """Run constants."""
        return int(self.P.shape[0])

    @property
    def nu(self) -> int:
        """Inputs."""
        return int(self.u.shape[0])

    @property
    def nd(self) -> int:
        """Modes and logicals."""
        return int(self.d.shape[0])

    @property
    def ng(self) -> int:
        """State relations."""
        return int(self.zero.shape[0])

    @property
    def nt(self) -> int:
        """Time relations."""
        return int(self.instants.shape[0])

    @property
    def nl(self) -> int:
        """Logicals."""
        return int(self.event_l.shape[0])

    @property
    def ntheta(self) -> int:
        """Tuners."""
        return int(self.seed.shape[1])
