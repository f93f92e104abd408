"""Search: criteria over scenarios as functions of the free numbers, and IPOPT that lowers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.collocation.ipopt_watch import Watch, interruptible
from estimica.experiment.free_input.problem.criterion import ExperimentCriterion
from estimica.experiment.free_input.problem.limits import Limits
from estimica.experiment.free_input.problem.plan import Information, Plan

OnIteration = Callable[[int, float], None]
#: by which limits are kept more strictly than asked: above IPOPT's 1e-8, below KEPT
INSIDE = 1e-7

#: Exact gradients, no Hessian: the criterion has third derivatives of the model in it. The history
#: of L-BFGS is 20 where IPOPT takes 6: pieces of input are many and act alike, and a step of the
#: history costs nothing beside a simulation. The criterion is the logarithm of a relative standard
#: error, so that 1e-5 of it is a thousandth of a per cent; eight iterations that change it by less
#: than 1e-6 are enough. Bounds are those of a device and are not relaxed (IPOPT would, by 1e-8).
_IPOPT = {
    "print_time": False,
    "calc_lam_p": False,
    "no_nlp_grad": True,
    "error_on_fail": False,
    "show_eval_warnings": False,
    "ipopt.print_level": 0,
    "ipopt.sb": "yes",
    "ipopt.hessian_approximation": "limited-memory",
    "ipopt.limited_memory_max_history": 20,
    "ipopt.tol": 1e-5,
    "ipopt.acceptable_tol": 1e-4,
    "ipopt.acceptable_iter": 8,
    "ipopt.acceptable_obj_change_tol": 1e-6,
    "ipopt.constr_viol_tol": 1e-8,
    "ipopt.bound_relax_factor": 0.0,
}


class Transcription(Protocol):
    """A model under pieces of inputs, at one set of values."""

    @property
    def way(self) -> str:
        """How its derivatives are computed, in words."""

    def rows(self, u: Vector) -> Vector | None:
        """(N, ny, p): derivatives of the outputs by θ; None where there are none."""

    def pulled(self, u: Vector, bar: Vector) -> Vector:
        """Σ bar · ∂rows/∂u."""

    def limited(self, u: Vector) -> Vector:
        """(K, limited): variables with limits."""

    def limited_slope(self, u: Vector) -> Vector:
        """(K, limited, n): their derivatives."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """One set of values of the unknowns."""

    values: Vector
    transcription: Transcription
    information: Information
    _last: dict[str, Vector] = field(default_factory=dict, repr=False)

    def _rows(self, u: Vector) -> Vector | None:
        """The rows at `u`, kept for when their derivatives are asked for."""
        if "u" not in self._last or not np.array_equal(self._last["u"], u):
            rows = self.transcription.rows(u)
            if rows is None:
                return None
            self._last.update(u=u.copy(), rows=rows)
        return self._last["rows"]

    def value(self, u: Vector, measure: ExperimentCriterion) -> float:
        """The criterion as the search sees it; NaN where there is none."""
        rows = self._rows(u)
        value_and_slope = None if rows is None else measure.slope(self.information.of(rows))
        return np.nan if value_and_slope is None else value_and_slope[0]

    def slope(self, u: Vector, measure: ExperimentCriterion) -> Vector:
        """Its gradient, exact."""
        rows = self._rows(u)
        value_and_slope = None if rows is None else measure.slope(self.information.of(rows))
        if rows is None or value_and_slope is None:
            return np.full(len(u), np.nan)
        return self.transcription.pulled(u, self.information.pulled(rows, value_and_slope[1]))


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Where a search ended, and why, in IPOPT's words."""

    u: Vector
    value: float
    iterations: int
    ended: str

    @property
    def interrupted(self) -> bool:
        """Whether someone stopped it."""
        return self.ended == "User_Requested_Stop"


@dataclass(frozen=True, eq=False)
class Search:
    """min of the mean or of the worst criterion over all scenarios, within limits."""

    plan: Plan
    measure: ExperimentCriterion
    scenarios: Sequence[Scenario]
    limits: Limits
    worst: bool = False

    def value(self, u: Vector) -> float:
        """The criterion over all scenarios."""
        values = [s.value(u, self.measure) for s in self.scenarios]
        return float(np.max(values) if self.worst else np.mean(values))

    def solve(
        self,
        start: Vector,
        *,
        margin: float,
        iterations: int,
        seconds: float,
        on_iteration: OnIteration,
    ) -> SearchResult:
        """Let IPOPT search from `start`; `on_iteration` hears of every iteration.

        `margin` is the share of its range by which variables stay away from their limits.
        """
        scale = _Scale(self.plan, self.limits)
        n, extra = self.plan.n, int(self.worst)
        w = ca.MX.sym("w", n + extra)  # with the worst criterion as one more variable
        values, slopes = _Criteria(self, scale, False), _Criteria(self, scale, True)
        phi, J = values(w[:n]), slopes(w[:n])
        parts = list(self._conditions(w[:n], scale, margin))
        if self.worst:
            level = np.full(len(self.scenarios), -np.inf)
            parts.append(_Condition(phi - w[n], J, level, np.zeros(len(level)), None))
            f, by_w = w[n], ca.DM(np.append(np.zeros(n), 1.0)).T
        else:
            f, by_w = ca.sum1(phi) / phi.shape[0], ca.sum1(J) / J.shape[0]
        g, jac = self._joined(parts)
        none, names = ca.MX(0, 1), ["x", "p"]
        watch = Watch(n + extra, int(g.shape[0]), lambda _, f: on_iteration(watch.count, f))
        options = {
            **_IPOPT,
            "grad_f": ca.Function("grad_f", [w, none], [f, ca.densify(by_w)], names,
                                  ["f", "grad_f_x"]),
            "jac_g": ca.Function("jac_g", [w, none], [g, jac], names, ["g", "jac_g_x"]),
            "iteration_callback": watch,
            "ipopt.max_iter": iterations,
            "ipopt.max_wall_time": max(seconds, 0.1),
        }  # fmt: skip
        solver = ca.nlpsol("design", "ipopt", {"x": w, "f": f, "g": g}, options)
        begun = scale.inside(start)
        if self.worst:
            begun = np.append(begun, self.value(scale.inputs(begun)) + 0.1)
        low, high = (np.append(b, [s * np.inf] * extra)
                     for b, s in ((scale.lower, -1), (scale.upper, 1)))  # fmt: skip
        bounds = [np.concatenate([getattr(p, side) for p in parts]) if parts else np.zeros(0)
                  for side in ("low", "high")]  # fmt: skip
        keep = [values, slopes, *(p.owner for p in parts)]  # CasADi holds no reference to them
        with interruptible(watch):
            solution = solver(x0=begun, lbx=low, ubx=high, lbg=bounds[0], ubg=bounds[1])
        del keep
        ended = "User_Requested_Stop" if watch.stopped else str(solver.stats()["return_status"])
        u = scale.inputs(np.array(solution["x"], float).ravel()[:n])
        return SearchResult(u, float(solution["f"]), watch.count, ended)

    def _joined(self, parts: Sequence[_Condition]) -> tuple[ca.MX, ca.MX]:
        """All conditions and their Jacobian by all variables; the worst criterion is the last."""
        if not parts:
            return ca.MX(0, 1), ca.MX(0, self.plan.n)
        g, jac = ca.vertcat(*(p.g for p in parts)), ca.vertcat(*(p.jacobian for p in parts))
        if self.worst:
            last = np.zeros(g.shape[0])
            last[-len(self.scenarios) :] = -1.0
            jac = ca.horzcat(jac, ca.DM(last))
        return g, jac

    def _conditions(self, w: ca.MX, scale: _Scale, margin: float) -> Iterator[_Condition]:
        plan, limits = self.plan, self.limits
        pieces = len(plan.stamps)
        for k in range(len(plan.designed)):
            own = slice(k * pieces, (k + 1) * pieces)
            size = scale.size[own][0]
            if np.isfinite(limits.rate[k]) and pieces > 1:
                D = np.zeros((pieces - 1, plan.n))
                rows = np.arange(pieces - 1)
                D[rows, k * pieces + rows], D[rows, k * pieces + rows + 1] = -1.0, 1.0
                most = (1 - INSIDE) * limits.rate[k] * plan.lengths[:-1] / size
                matrix = ca.sparsify(ca.DM(D))
                yield _Condition(matrix @ w, ca.MX(matrix), -most, most, None)
            if np.isfinite(limits.energy[k]):
                share = np.zeros(plan.n)
                share[own] = plan.lengths / plan.lengths.sum() / limits.energy[k]
                away = ca.DM(scale.size) * w + ca.DM(scale.middle - limits.offset[k])
                total = ca.dot(ca.DM(share), away**2)
                slope = (2 * ca.DM(share * scale.size) * away).T
                yield _Condition(total, slope, np.array([-np.inf]), np.array([1 - INSIDE]), None)
        if limits.names:
            for scenario in self.scenarios:
                owner = _Limited(scenario.transcription, scale, limits, margin)
                yield owner.condition(w)


@dataclass(frozen=True, eq=False)
class _Condition:
    """low ≤ g ≤ high, with its Jacobian; `owner` must outlive the search."""

    g: ca.MX
    jacobian: ca.MX
    low: Vector
    high: Vector
    owner: object


class _Scale:
    """u = middle + size·w, w within ±1 for inputs between bounds."""

    def __init__(self, plan: Plan, limits: Limits) -> None:
        pieces = len(plan.stamps)
        self.middle = np.repeat(limits.middle, pieces)
        self.size = np.repeat(limits.reach, pieces)
        self.lower = (np.repeat(limits.lower, pieces) - self.middle) / self.size
        self.upper = (np.repeat(limits.upper, pieces) - self.middle) / self.size

    def inputs(self, w: Vector) -> Vector:
        inputs: Vector = self.middle + self.size * w
        return inputs

    def inside(self, u: Vector) -> Vector:
        return np.clip((u - self.middle) / self.size, self.lower, self.upper)


class _Criteria(ca.Callback):  # type: ignore[misc]
    """Criteria of all scenarios, or their gradients."""

    def __init__(self, search: Search, scale: _Scale, slopes: bool) -> None:
        ca.Callback.__init__(self)
        self._search, self._scale, self._slopes = search, scale, slopes
        self.construct("slopes" if slopes else "criteria", {})

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._search.plan.n, 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        columns = self._search.plan.n if self._slopes else 1
        return ca.Sparsity.dense(len(self._search.scenarios), columns)

    def eval(self, arguments: list[ca.DM]) -> list[ca.DM]:
        u = self._scale.inputs(np.array(arguments[0], float).ravel())
        measure, scenarios = self._search.measure, self._search.scenarios
        with np.errstate(all="ignore"):
            if not self._slopes:
                return [ca.DM([s.value(u, measure) for s in scenarios])]
            return [ca.DM(np.array([s.slope(u, measure) * self._scale.size for s in scenarios]))]


class _Limited:
    """Variables with limits in one scenario, relative to their ranges."""

    def __init__(
        self, transcription: Transcription, scale: _Scale, limits: Limits, margin: float
    ) -> None:
        self.transcription, self.scale, self.limits = transcription, scale, limits
        spans = limits.spans
        self.count = len(transcription.limited(scale.middle))
        self.low = np.tile(limits.low / spans + margin, self.count)
        self.high = np.tile(limits.high / spans - margin, self.count)
        self._values, self._slopes = _Courses(self, False), _Courses(self, True)

    def condition(self, w: ca.MX) -> _Condition:
        return _Condition(self._values(w), self._slopes(w), self.low, self.high, self)


class _Courses(ca.Callback):  # type: ignore[misc]
    def __init__(self, owner: _Limited, slopes: bool) -> None:
        ca.Callback.__init__(self)
        self._owner, self._slopes = owner, slopes
        self.construct("course_slopes" if slopes else "courses", {})

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(len(self._owner.scale.middle), 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        columns = len(self._owner.scale.middle) if self._slopes else 1
        return ca.Sparsity.dense(len(self._owner.low), columns)

    def eval(self, arguments: list[ca.DM]) -> list[ca.DM]:
        o = self._owner
        u = o.scale.inputs(np.array(arguments[0], float).ravel())
        if not self._slopes:
            return [ca.DM((o.transcription.limited(u) / o.limits.spans).ravel())]
        slopes = o.transcription.limited_slope(u) / o.limits.spans[:, None] * o.scale.size
        return [ca.DM(slopes.reshape(-1, len(u)))]
