"""Tuning: which run constants are set from outside, and how the others and their rates follow.

The run constants P are the parameters and the start values. Those with a number as default, and
those that the user sets or tunes, are independent; the rest follow from them once per run.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean
from estimica.compiled.equations import Equations
from estimica.compiled.hybrid import HybridSystem
from estimica.compiled.living import places
from estimica.compiled.llvm.call_expansion import has_calls
from estimica.compiled.tunability import sources_of, why_not_tunable


@dataclass(frozen=True)
class Constant:
    """An entry of P that a user's name means; `sign` is -1 for the start of a negated alias."""

    name: str
    sign: float = 1.0


@dataclass(frozen=True, eq=False)
class Tuning:
    """A hybrid system for one choice of tuners, and the function that prepares a run."""

    equations: Equations
    hybrid: HybridSystem
    independent: tuple[str, ...]
    index: dict[str, int]
    defaults: Vector  # of the independent constants
    wrt: tuple[Constant, ...]
    given: frozenset[str]  # constants that the user sets or tunes
    n_free: int
    _function: ca.Function
    _values: ca.Function
    _own: threading.local = field(default_factory=threading.local, repr=False)

    def values_of(self, p: ca.SX) -> ca.SX:
        """All parameters and start values as expressions of the independent ones."""
        return self._values(p)

    @property
    def preparation(self) -> ca.Function:
        """What `prepare` evaluates: independent constants and d(free)/dθ to (P, x0, S0 by rows)."""
        return self._function

    @property
    def begun(self) -> Flags:
        """Which entries of S0 (nx, m) can differ from zero."""
        given = [ca.SX.sym("given", self._function.sparsity_in(k)) for k in range(2)]
        return places(self._function(*given)[2].T)

    def prepare(
        self, values: Vector, free_rates: Vector | None = None
    ) -> tuple[Vector, Vector, Vector]:
        """(P, x0, S0) for values of the independent constants; `free_rates` is d(free)/dθ."""
        prepare: _ConstantsFunction | None = getattr(self._own, "prepare", None)
        if prepare is None:
            h, n = self.hybrid, len(self.wrt)
            sizes = (len(self.independent), (self.n_free, n)), (h.nP, h.nx, (h.nx, n))
            prepare = self._own.prepare = _ConstantsFunction(self._function, *sizes)
        return prepare(values, free_rates)


class _ConstantsFunction:
    """The function that prepares a run with arrays of its own; each thread needs one."""

    def __init__(
        self, function: ca.Function, given: tuple[object, ...], results: tuple[object, ...]
    ) -> None:
        self._values, self._rates = (np.zeros(shape) for shape in given)
        self._found = tuple(np.zeros(shape) for shape in results)
        buffer, self._evaluate = function.buffer()
        for i, a in enumerate((self._values, self._rates)):
            buffer.set_arg(i, memoryview(a))
        for i, a in enumerate(self._found):
            buffer.set_res(i, memoryview(a))
        self._buffer = buffer  # holds what `_evaluate` works on

    def __call__(self, values: Vector, free_rates: Vector | None) -> tuple[Vector, Vector, Vector]:
        self._values[:] = values
        self._rates[:] = 0.0 if free_rates is None else free_rates
        self._evaluate()
        P, x0, S0 = self._found
        return P.copy(), x0.copy(), S0.copy()


def find_constant(equations: Equations, name: str) -> Constant:
    """The run constant that a user's name means: a parameter, or the start value of a variable."""
    system = equations.system
    if name in equations.constants:
        return Constant(name)
    variable = name[6:-1] if name.startswith("start(") and name.endswith(")") else name
    sign = 1.0
    alias = system.aliases.get(variable)
    if alias is not None and alias.op == "neg":
        sign, alias = -1.0, alias.operands[0]
    if alias is not None and alias.op == "name":
        variable = alias.target
    if f"start({variable})" in equations.constants:
        return Constant(f"start({variable})", sign)
    flat = system.flat.by_name
    if name in flat and name not in system.parameters:
        states = ", ".join(system.states[:6]) or "none"
        raise ModelError(
            "M003",
            f"'{name}' is neither a parameter nor a state of '{system.flat.name}', so it has no "
            f"start value to set (states: {states})",
        )
    known = [*system.parameters, *system.states]
    raise ModelError(
        "M004",
        f"model '{system.flat.name}' has no parameter or state '{name}'{did_you_mean(name, known)}",
    )


def require_tunable(equations: Equations, name: str, sense: str = "tuned") -> Constant:
    """Like `find_constant`, refusing what cannot change after loading, with the reason."""
    constant = find_constant(equations, name)
    if constant.name in equations.system.parameters:
        reason = why_not_tunable(equations.system, constant.name)
        if reason:
            raise ModelError(
                "M005",
                f"parameter '{name}' cannot be {sense}: {reason}; {_way_out(equations, name)}",
            )
    return constant


def _way_out(equations: Equations, name: str) -> str:
    """What to do instead with a parameter that cannot change after loading."""
    variable = equations.system.flat.by_name[name]
    if not variable.final:
        return f"set it when the model is loaded, with fix={{'{name}': ...}}"
    followed = sources_of(equations.system, variable)
    return f"use '{followed[0]}' instead" if followed else "change the model"


def tune(
    equations: Equations, wrt: Sequence[Constant] = (), overridden: Iterable[str] = ()
) -> Tuning:
    """Choose the tuners; `overridden` are further constants that the user sets to a number."""
    made_free = {c.name for c in wrt} | set(overridden)
    free = equations.system.free_parameters
    independent: list[str] = []
    numbers: list[float] = []
    dependent: list[str] = []
    for name in equations.constants:
        default = equations.defaults.get(name, ca.SX(0))
        if name in made_free or name in free or default.is_constant():
            independent.append(name)
            numbers.append(float(default) if default.is_constant() else np.nan)
        else:
            dependent.append(name)
    position = {n: i for i, n in enumerate(equations.constants)}
    symbols = {n: equations.P[position[n]] for n in equations.constants}
    resolved = _resolve([symbols[n] for n in dependent], [equations.defaults[n] for n in dependent])
    by_name = dict(symbols) | dict(zip(dependent, resolved, strict=True))
    values = ca.vertcat(*(by_name[n] for n in equations.constants)) if by_name else ca.SX(0, 1)
    p = ca.vertcat(*(symbols[n] for n in independent)) if independent else ca.SX(0, 1)
    rates = ca.SX.sym("free_rates", len(wrt), len(free))
    seed = _seed(values, [symbols[c.name] for c in wrt], [symbols[n] for n in free], rates, wrt)
    hybrid, tail = _with_seed(equations, seed)
    carried = ca.vertcat(values, tail)
    first = len(equations.system.parameters)
    dense = ca.densify(seed)
    function = ca.Function(
        "prepare",
        [p, rates],
        [ca.densify(carried), _tail(values, first), _tail(dense, first).T],
        {"cse": True},
    )
    return Tuning(
        equations=equations,
        hybrid=hybrid,
        independent=tuple(independent),
        index={n: i for i, n in enumerate(independent)},
        defaults=np.array(numbers, float),
        wrt=tuple(wrt),
        given=frozenset(made_free),
        n_free=len(free),
        _function=function,
        _values=ca.Function("values", [p], [ca.densify(values)]),
    )


def _resolve(symbols: list[ca.SX], definitions: list[ca.SX]) -> list[ca.SX]:
    """Definitions that use one another in order, written in terms of what is not defined here."""
    if not symbols:
        return []
    if not has_calls(ca.vertcat(*definitions)):
        resolved, _ = ca.substitute_inplace(symbols, definitions, [], False)
        return list(resolved)
    # CasADi does not know calls there
    found: dict[int, ca.SX] = {}
    for symbol, definition in zip(symbols, definitions, strict=True):
        known = [s for s in ca.symvar(definition) if s.element_hash() in found]
        new = [found[s.element_hash()] for s in known]
        found[symbol.element_hash()] = (
            ca.substitute(definition, ca.vertcat(*known), ca.vertcat(*new)) if known else definition
        )
    return [found[s.element_hash()] for s in symbols]


def _seed(
    values: ca.SX,
    tuners: list[ca.SX],
    free: list[ca.SX],
    rates: ca.SX,
    wrt: Sequence[Constant],
) -> ca.SX:
    """dP/dθ, where the free parameters move with θ at the given rates."""
    if not tuners:
        return ca.SX(values.shape[0], 0)
    seed = ca.jacobian(values, ca.vertcat(*tuners))
    if free:
        seed = seed + ca.mtimes(ca.jacobian(values, ca.vertcat(*free)), rates.T)
    return ca.mtimes(seed, ca.diag(ca.DM([c.sign for c in wrt])))


def _with_seed(equations: Equations, seed: ca.SX) -> tuple[HybridSystem, ca.SX]:
    """The hybrid system whose seed is written with numbers and extra run constants."""
    seed = ca.sparsify(seed)
    entries = seed.nonzeros()
    changing = [e for e in entries if not e.is_constant()]
    extra = [ca.SX.sym(f"seed{i}") for i in range(len(changing))]
    replacement = iter(extra)
    written = [e if e.is_constant() else next(replacement) for e in entries]
    symbolic = ca.SX(seed.sparsity(), ca.vertcat(*written)) if written else ca.SX(*seed.shape)
    # the extra run constants are not unknowns of anything: their own rates are never used
    symbolic = ca.vertcat(symbolic, ca.SX(len(extra), seed.shape[1]))
    P = ca.vertcat(equations.P, *extra)
    e = equations
    actual = _actual(e)
    low, high = _ranges(e)
    hybrid = HybridSystem(
        t=e.t,
        x=e.x,
        z=e.z,
        w=e.w,
        P=P,
        u=e.u,
        d=e.d,
        x_pre=e.x_pre,
        d_pre=e.d_pre,
        flags=e.flags,
        strict=e.strict,
        until=e.until,
        messages=e.messages,
        n_memory=len(e.system.memories),
        seed=symbolic,
        x0=_tail(e.P, len(e.system.parameters)),
        z0=np.zeros(e.z.shape[0]),
        z_low=low,
        z_high=high,
        d0=np.zeros(e.d.shape[0]),
        **actual,
    )
    return hybrid, ca.vertcat(*changing) if changing else ca.SX(0, 1)


def _ranges(e: Equations) -> tuple[Vector, Vector]:
    """Min and max of the algebraic unknowns."""
    known = e.system.flat.by_name
    found = [known[n].range if n in known else (-np.inf, np.inf) for n in e.torn]
    low, high = np.array(found).reshape(-1, 2).T
    return low, high


def _tail(matrix: ca.SX, first: int) -> ca.SX:
    """Rows from `first` on; plain slicing of CasADi has its own idea of an empty slice."""
    n = matrix.shape[0]
    return ca.densify(matrix[first:, :]) if first < n else ca.SX(0, matrix.shape[1])


#: the expressions that a run uses with homotopy at its end, 1
_EXPRESSIONS = [
    "f",
    "g",
    "zero",
    "instants",
    "event_x",
    "reinit_fired",
    "event_l",
    "constraints",
    "delayed",
    "delays",
    "checks",
    "endings",
]


def _actual(equations: Equations) -> dict[str, ca.SX]:
    expressions = [getattr(equations, n) for n in _EXPRESSIONS]
    written = ca.substitute(expressions, [equations.homotopy], [ca.SX(1)])
    return dict(zip(_EXPRESSIONS, written, strict=True))
