"""What must hold at the start of a run besides fixed start values, and what that determines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.compiled.equations import Equations, translate
from estimica.compiled.tuning import Tuning
from estimica.flat import expression as ex
from estimica.flat.system import Equation, StateSelect
from estimica.simulate.roots.rank import balanced, independent, rank
from estimica.structure.sorted_system import Block


@dataclass(frozen=True, eq=False)
class InitialConditions:
    """A system for the unknowns of the start: states that are open, free parameters, z."""

    residuals: ca.SX
    labels: list[str]  # of the residuals, in the user's words
    open: list[int]  # places in x of the states that they determine


def initial_conditions(tuning: Tuning, guess: Callable[[Vector], Vector]) -> InitialConditions:
    """The conditions for one choice of tuners; `guess` gives z at values of the constants."""
    choice = _Choice(tuning, guess)
    conditions, labels = _conditions(tuning.equations)
    found = choice.with_preferred_starts(conditions, labels)
    residuals, labels = choice.without_released(*found)
    return InitialConditions(residuals, labels, choice.open_states(residuals))


class _Choice:
    """Which conditions count and which states they determine, by ranks at generic points."""

    def __init__(self, tuning: Tuning, guess: Callable[[Vector], Vector]) -> None:
        self.tuning, self.equations, self.guess = tuning, tuning.equations, guess

    def with_preferred_starts(
        self, conditions: list[ca.SX], labels: list[str]
    ) -> tuple[ca.SX, list[str]]:
        """States without a start value of their own begin where preferred states say.

        A medium's mass and energy, say, follow from the start values of level and temperature,
        which the model declares with stateSelect = prefer.
        """
        e, system = self.equations, self.equations.system
        bare = [n for n in system.states if n not in system.fixed and n not in system.starts]
        bare = [n for n in bare if f"start({n})" not in self.tuning.given]
        preferred = [n for n in sorted(system.starts) if bare and _is_preferred_start(e, n)]
        if not preferred:
            return column_of(conditions), labels
        offered = [e.value(n) - written(e, system.starts[n]) for n in preferred]
        candidates = self._not_fixed()
        matrix = self._generic_jacobian(candidates, column_of([*conditions, *offered]))
        own = independent(matrix, range(matrix.shape[0]))
        chosen = [r - len(conditions) for r in own if r >= len(conditions)][: len(bare)]
        added = [f"the start value of '{preferred[k]}'" for k in chosen]
        return column_of([*conditions, *(offered[k] for k in chosen)]), labels + added

    def without_released(self, residuals: ca.SX, labels: list[str]) -> tuple[ca.SX, list[str]]:
        """Drops initial equations in whose place the user gives a start value.

        A state that starts at rest, say, starts from a number instead once its start value is set
        or tuned. Of the equations that could give way, one that speaks of the state does.
        """
        system = self.equations.system
        names = system.states + system.memories
        candidates = self._not_fixed()
        given = [i for i in candidates if f"start({names[i]})" in self.tuning.given]
        count = len(system.initial_equations)
        if not given or not count:
            return residuals, labels
        matrix = self._generic_jacobian(candidates, residuals)
        held = [k for k, i in enumerate(candidates) if i not in given]
        columns = held + list(range(len(candidates), matrix.shape[1]))
        matrix = matrix[:, columns]
        stated = {names[i] for i in given}
        others = range(count, matrix.shape[0])
        order = sorted(range(count), key=lambda r: _speaks_of(system.initial_equations[r], stated))
        kept = sorted({*others, *independent(matrix, [*others, *order])})
        if len(kept) == matrix.shape[0]:
            return residuals, labels
        return column_of([residuals[r] for r in kept]), [labels[r] for r in kept]

    def open_states(self, residuals: ca.SX) -> list[int]:
        """States that the conditions determine; all others are held at their start values.

        Which ones is decided by the numerical rank at a generic point: a state is held if the
        conditions can still be met by the remaining unknowns; states with a start value of their
        own are tried first.
        """
        e = self.equations
        names = e.system.states + e.system.memories
        candidates = self._not_fixed()
        implicit = residuals.shape[0] > e.z.shape[0] or e.system.free_parameters
        if not implicit or not candidates:
            return []
        matrix = self._generic_jacobian(candidates, residuals)
        given = {i for i in candidates if f"start({names[i]})" in self.tuning.given}
        last = sorted(
            range(len(candidates)),
            key=lambda k: (candidates[k] in given, names[candidates[k]] in e.system.starts, -k),
        )
        # what is not held should determine as much as it can before another state is let go
        first = range(len(candidates), matrix.shape[1])
        chosen = set(independent(matrix.T, [*first, *last]))
        remaining = [i for k, i in enumerate(candidates) if k in chosen]
        for i in given & set(remaining):
            raise ModelError(
                "M044",
                f"the start value of '{names[i]}' cannot be set: the initial equations of "
                f"'{e.system.flat.name}' determine it",
            )
        return remaining

    def _not_fixed(self) -> list[int]:
        """Places in x of states and memories whose start value the model does not insist on."""
        system = self.equations.system
        by_name = system.flat.by_name
        fixed = set(system.fixed) | {
            n for n in system.memories if n in by_name and by_name[n].fixed
        }
        carried = system.states + system.memories
        return [i for i, n in enumerate(carried) if n not in fixed]

    def _generic_jacobian(self, candidates: Sequence[int], residuals: ca.SX) -> Vector:
        """d residuals / d [states, free parameters, z] at the point where it has most rank, in
        units that do not matter."""
        e = self.equations
        free = [e.P[e.constants.index(n)] for n in e.system.free_parameters]
        unknowns = ca.vertcat(*(e.x[i] for i in candidates), *free, e.z)
        J = ca.jacobian(residuals, unknowns, {"allow_reverse": False})
        symbols = [e.x, e.x_pre, e.z, e.w, e.P, e.u, e.d, e.t, e.homotopy]
        function = ca.Function("J", symbols, [J], {"cse": True})
        best, most = np.zeros(J.shape), 0
        for point in self._generic_points():
            found = np.array(function(*point))
            if not np.isfinite(found).all():
                continue
            found = balanced(found)
            found_rank = rank(found)
            if found_rank > most:
                best, most = found, found_rank
            if most == min(J.shape):
                break
        return best

    def _generic_points(self) -> Iterator[list[Vector]]:
        """Points near the start values first, then anywhere, as arguments of the Jacobian."""
        e, rng = self.equations, np.random.default_rng(0)
        sizes = [s.shape[0] for s in (e.x, e.x, e.z, e.w)]
        defaults = np.where(np.isnan(self.tuning.defaults), 1.0, self.tuning.defaults)
        P, x, _ = self.tuning.prepare(defaults)
        z = self.guess(defaults)
        x, z = (np.where(np.isfinite(a), a, 0.0) for a in (x, z))
        P = np.where(np.abs(P) < 1e300, P, 1.0)[: e.P.shape[0]]  # NaN too
        # near the start the equations are those that matter; far off they are less degenerate
        for spread in (1e-3, 1e-2, 0.1, 1.0, 1.0):
            near = [spread * rng.uniform(0.3, 1.7, n) for n in sizes]
            base = [x, x, z, np.zeros(sizes[3])]
            u = spread * rng.uniform(0.3, 1.7, e.u.shape[0])
            mixed = np.round(rng.uniform(0, 1, e.d.shape[0]))
            moved = P * (1 + spread * rng.uniform(-0.3, 0.3, P.size))
            values = [*(a + b * _sizes(a) for a, b in zip(base, near, strict=True)), moved, u]
            # friction that sticks determines nothing; all of it slides where no relation is true
            for d in (mixed, 0.0 * mixed):
                yield [*values, d, np.ones(1), np.ones(1)]


def _conditions(e: Equations) -> tuple[list[ca.SX], list[str]]:
    """What must vanish at the initial time besides the fixed states, with its words."""
    system = e.system
    parts: list[ca.SX] = []
    labels: list[str] = []
    for equation in system.initial_equations:
        parts.append(written(e, ex.sub(equation.lhs, equation.rhs)))
        labels.append(str(equation.origin))
    states = set(system.states) | set(system.memories)
    for name in sorted(system.fixed - states):
        parts.append(e.value(name) - written(e, system.starts[name]))
        labels.append(f"the fixed start value of '{name}'")
    for k in range(e.constraints.shape[0]):
        parts.append(e.constraints[k])
        labels.append(f"the constraint {system.constraints[k].origin}")
    blocks = [b for b in system.blocks if isinstance(b, Block)]
    places = {n: o for b in blocks for n, o in zip(b.torn, b.origins, strict=False)}
    for k, name in enumerate(e.torn):
        parts.append(e.g[k])
        place = f", {places[name]}," if name in places else ""
        labels.append(f"the equation for '{name}'{place}")
    return parts, labels


def _is_preferred_start(e: Equations, name: str) -> bool:
    """Whether `name` is computed from states, but the model would rather have it as one."""
    variable = e.system.flat.by_name.get(name)
    if variable is None or name in e.system.states or name not in e.environment:
        return False
    return variable.state_select in (StateSelect.PREFER, StateSelect.ALWAYS)


def _speaks_of(equation: Equation, names: set[str]) -> bool:
    """Whether a variable of `names`, or its derivative, stands in the equation."""
    leaves = [*ex.walk(equation.lhs), *ex.walk(equation.rhs)]
    return any(leaf.op in ("name", "der") and leaf.target in names for leaf in leaves)


def _sizes(values: Vector) -> Vector:
    """How large numbers are; nothing is known of those that are zero."""
    return np.where(values == 0.0, 1.0, np.abs(values))


def written(e: Equations, expression: ex.Expression) -> ca.SX:
    """An expression of the model in the symbols of its equations."""
    modes = {index: e.d[k] for k, index in enumerate(e.state_modes + e.time_modes)}
    return translate([expression], e.leaf_with(modes), None, e.homotopy)[0]


def column_of(parts: list[ca.SX]) -> ca.SX:
    """Single conditions as one dense column."""
    return ca.densify(ca.vertcat(*parts)) if parts else ca.SX(0, 1)


def mode_function(tuning: Tuning) -> ca.Function:
    """One sweep of the modes and logicals at the initial event."""
    h = tuning.hybrid
    state = [(h.zero[i] > 0) if strict else (h.zero[i] >= 0) for i, strict in enumerate(h.strict)]
    timed = [
        ca.logic_not(h.t >= h.instants[i]) if until else (h.t >= h.instants[i])
        for i, until in enumerate(h.until)
    ]
    new = ca.vertcat(*state, *timed, h.event_l)
    new = ca.substitute(ca.densify(new), h.flags, ca.DM([1, 0]))
    if h.nh:
        new = ca.substitute(new, h.w, h.delayed)
    return ca.Function("modes", [h.t, h.x, h.z, h.P, h.u, h.d, h.x_pre, h.d_pre], [new])


def guess_function(tuning: Tuning) -> ca.Function:
    """Guesses of the torn unknowns and of the logicals from their start attributes, as functions of
    the independent constants."""
    e, system = tuning.equations, tuning.equations.system
    p = ca.SX.sym("p", len(tuning.independent))

    def starts(names: Sequence[str]) -> ca.SX:
        column = column_of(
            [written(e, system.starts[n]) if n in system.starts else ca.SX(0) for n in names]
        )
        return ca.substitute(column, e.P, tuning.values_of(p))

    return ca.Function("guess", [p], [starts(e.torn), starts(system.logicals)])
