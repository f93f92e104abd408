"""Program: a collocated fit as a nonlinear program, solved by IPOPT."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.sparse import csc_array

from estimica.base.arrays import Indices, Vector
from estimica.estimate.collocation.case import CollocatedCase, Entries
from estimica.estimate.collocation.ipopt_watch import Watch, interruptible
from estimica.estimate.criteria.scoring import Criterion
from estimica.estimate.objective.predictor import Prediction
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.run import Limits
from estimica.estimate.shooting import continuity

Told = Callable[[Vector, float], None]
#: of a coordinate that IPOPT leaves beside a bound that it presses against: the interior point
#: stays inside by its barrier parameter over the multiplier
NEAR_BOUND = 1e-5
#: share of the largest multiplier of a bound below which an unknown does not press against its own:
#: an interior point has small ones for all
PRESSED = 1e-3
#: what a prior is about, of a symbol
_SEEN = {"value": lambda v: v, "log": ca.log, "log10": ca.log10}


@dataclass(frozen=True, eq=False)
class IpoptResult:
    """Where IPOPT ended and why, in its words."""

    w: Vector
    q: Vector
    cost: float
    gradient: Vector  # half of that by the unknowns, everything else following them
    ended: str


class Damping:
    """Curvature added for the unknowns, so that first steps are not too long; it fades.

    It is a share of the curvature that a relative change of all outputs has. The optimum does not
    depend on it.
    """

    def __init__(self, share: float = 0.0, fading: float = 0.5) -> None:
        self._share = share
        self._fading = fading

    def at(self, y: Vector, weight: Vector) -> float:
        """For these outputs and their weights."""
        return self._share * float(weight @ y**2)

    def fade(self) -> None:
        """After an iteration."""
        self._share *= self._fading


class Program:
    """min cost(y(w)) with the conditions of all cases = 0, w = [q; the cases' own unknowns]."""

    def __init__(
        self, whole: ResidualFunction, cases: Sequence[CollocatedCase], tolerance: float
    ) -> None:
        self.whole = whole
        self.cases = tuple(cases)
        self.tolerance = tolerance
        self.n = len(whole.unknowns)
        self.size = self.n + sum(c.size for c in cases)
        self.n_conditions = sum(c.n_conditions for c in cases)
        self._score = _Score(whole, cases)
        self._w = ca.MX.sym("w", self.size)
        self._q = self._w[: self.n]
        self._write()

    # -- the functions ---------------------------------------------------------------------------

    def _write(self) -> None:
        w, q = self._w, self._q
        none = ca.MX(0, 1)
        y = ca.vertcat(*(ca.vec(c.outputs(w, q)) for c in self.cases))
        cost, slope, weight, damping = self._score.function(y)
        prior, prior_slope, prior_bend = self._priors(q)
        f = cost + prior
        g = ca.vertcat(*(c.conditions(w, q) for c in self.cases))
        self._outputs = ca.Function("outputs", [w], [y])
        jacobian = self._assembled(self._jacobian(), (self.n_conditions, self.size))
        results = list(self._at_stamps(slope, weight))
        gradient = self._gradient(results, prior_slope)
        factor, multipliers = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", self.n_conditions)
        hessian = factor * self._hessian(results, prior_bend + damping)
        names = ["x", "p"]
        self._jacobian_of_conditions = ca.Function("jac_g", [w, none], [g, jacobian], names,
                                                   ["g", "jac_g_x"])  # fmt: skip
        self._options = {
            "grad_f": ca.Function("grad_f", [w, none], [f, gradient], names, ["f", "grad_f_x"]),
            "jac_g": self._jacobian_of_conditions,
            "hess_lag": ca.Function(
                "hess_lag", [w, none, factor, multipliers], [hessian],
                [*names, "lam_f", "lam_g"], ["hess_gamma_x_x"],
            ),
        }  # fmt: skip
        self._problem = {"x": w, "f": f, "g": g}

    def _at_stamps(self, slope: ca.MX, weight: ca.MX) -> Iterator[list[ca.MX]]:
        first = 0
        for case in self.cases:
            shape = case.ny, len(case.grid.stamps)
            own = slice(first, first + shape[0] * shape[1])
            parts = [ca.reshape(v[own], *shape) for v in (slope, weight)]
            yield case.mapped_stamps(self._w, self._q, *parts)
            first += shape[0] * shape[1]

    def _jacobian(self) -> list[Entries]:
        row, entries = 0, []
        for case in self.cases:
            entries += case.jacobian(self._w, self._q, row)
            row += case.n_conditions
        return entries

    def _assembled(self, entries: Sequence[Entries], shape: tuple[int, int]) -> ca.MX:
        """The sparse matrix of entries, each place given once."""
        rows = np.concatenate([e.rows for e in entries])
        columns = np.concatenate([e.columns for e in entries])
        values = ca.vertcat(*(e.values for e in entries))
        order = np.lexsort((rows, columns))
        begins = np.searchsorted(columns[order], np.arange(shape[1] + 1))
        sparsity = ca.Sparsity(*shape, [int(k) for k in begins], [int(k) for k in rows[order]])
        return ca.MX(sparsity, values[[int(k) for k in order]])

    def _gradient(self, results: Sequence[list[ca.MX]], prior: ca.MX) -> ca.MX:
        """By all unknowns, dense."""
        total, places, parts = prior, [], []
        for case, found in zip(self.cases, results, strict=True):
            own, values, by_q = case.gradient(found)
            total = total + by_q
            places.append(own)
            parts.append(values)
        every = np.concatenate([np.arange(self.n), *places])
        columns = np.zeros(len(every), np.int64)
        entries = Entries(every, columns, ca.vertcat(ca.densify(total), *parts))
        return ca.densify(self._assembled([entries], (self.size, 1)))

    def _hessian(self, results: Sequence[list[ca.MX]], prior: ca.MX) -> ca.MX:
        """The upper triangle of 2 JᵀWJ."""
        square, entries = ca.diag(prior), []
        for case, found in zip(self.cases, results, strict=True):
            square = square + case.hessian_of_unknowns(found)
            entries += case.hessian(found)
        rows, columns = np.triu_indices(self.n)
        places = [int(k) for k in rows + self.n * columns]
        values = ca.vec(ca.densify(square))[places] if places else ca.MX(0, 1)
        entries.append(Entries(rows, columns, values))
        return self._assembled(entries, (self.size, self.size))

    def _priors(self, q: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        """Cost, gradient and curvature of what is known beforehand, by q."""
        terms, s = [], ca.SX.sym("q", self.n)
        for k, u in enumerate(self.whole.unknowns.items):
            if u.prior is not None:
                value = ca.exp(s[k]) if u.log else u.scale * s[k]
                terms.append((_SEEN[u.prior.on](value) - u.prior.mean) / u.prior.sigma)
        v = ca.vertcat(*terms) if terms else ca.SX(0, 1)
        J = ca.jacobian(v, s)
        bend = 2 * ca.sum1(J**2).T if terms else ca.SX.zeros(self.n)
        function = ca.Function(
            "priors", [s], [ca.sumsqr(v), ca.densify(2 * J.T @ v), ca.densify(bend)]
        )
        return tuple(function(q))

    # -- solving ---------------------------------------------------------------------------------

    def solve(
        self, w: Vector, criterion: Criterion, limits: Limits, on_iteration: Told, damping: Damping
    ) -> IpoptResult:
        """Let IPOPT search from `w`; `told` hears of every iteration."""

        def iterated(q: Vector, cost: float) -> None:
            damping.fade()
            on_iteration(q, cost)

        self._score.minimised = _Minimised(criterion, damping)
        watch = Watch(self.size, self.n_conditions, lambda w, f: iterated(w[: self.n], f))
        options = {
            **self._options,
            "print_time": False,
            "calc_lam_p": False,
            "no_nlp_grad": True,
            "error_on_fail": False,
            "iteration_callback": watch,
            "ipopt.print_level": 0,
            "ipopt.sb": "yes",
            "ipopt.tol": max(self.tolerance, 1e-12),
            # equations are scaled to size one: tighter than any grid that is refined to rtol
            "ipopt.constr_viol_tol": 1e-8,
            "ipopt.max_iter": limits.max_iterations,
            "ipopt.bound_relax_factor": 0.0,  # outside their bounds models may have no value
            "show_eval_warnings": False,
        }
        if math.isfinite(limits.max_seconds):
            options["ipopt.max_wall_time"] = limits.max_seconds
        solver = ca.nlpsol("fit", "ipopt", self._problem, options)
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        low[: self.n], high[: self.n] = self.whole.unknowns.lower, self.whole.unknowns.upper
        with interruptible(watch):
            answer = solver(x0=w, lbx=low, ubx=high, lbg=0.0, ubg=0.0)
        ended = "User_Requested_Stop" if watch.stopped else str(solver.stats()["return_status"])
        return self._solved(answer, ended)

    def _solved(self, answer: dict[str, ca.DM], ended: str) -> IpoptResult:
        w = np.array(answer["x"], float).ravel()
        pressed = np.array(answer["lam_x"], float).ravel()[: self.n]
        q = self.whole.unknowns.clipped(w[: self.n])
        for bound in (self.whole.unknowns.lower, self.whole.unknowns.upper):
            near = np.abs(q - bound) <= NEAR_BOUND * np.maximum(1.0, np.abs(q))
            weight = np.abs(pressed) > PRESSED * np.max(np.abs(pressed), initial=0.0)
            q = np.where(near & weight, bound, q)
        # at the optimum the gradient is what the bounds hold against
        return IpoptResult(
            np.concatenate([q, w[self.n :]]), q, float(answer["f"]), -pressed / 2, ended
        )

    def predictions(self, w: Vector) -> list[Prediction]:
        """The outputs at a point, without derivatives."""
        return self._score.predictions(np.array(self._outputs(w), float).ravel())

    def information(
        self, w: Vector, criterion: Criterion, emphases: Sequence[float | Vector] | None = None
    ) -> Vector:
        """R of the unknowns with all states following them.

        With emphases the outputs of every block count so many times, and priors once.
        """
        y = np.array(self._outputs(w), float).ravel()
        weight = np.sqrt(self._score.of(y, criterion)[2] / 2)
        if emphases is not None:
            weight = weight * self._score.spread(emphases)
        none = ca.MX.zeros(len(y))
        entries, row = [], 0
        for case, results in zip(self.cases, self._at_stamps(none, none), strict=True):
            entries += case.output_jacobian(results, row)
            row += case.ny * len(case.grid.stamps)
        J = ca.Function("J", [self._w], [self._assembled(entries, (row, self.size))])(w)
        C = self._jacobian_of_conditions(w, [])[1]
        scaled = csc_array(csc_array(J.sparse()).multiply(weight[:, None]))
        priors = self._prior_rows(w[: self.n])
        conditions = csc_array(C.sparse())
        return continuity.information(continuity.stacked(scaled, priors, conditions, self.n))

    def _prior_rows(self, q: Vector) -> csc_array:
        """Rows of J of what is known beforehand."""
        unknowns, triplets = self.whole.unknowns, continuity.Triplets()
        count = 0
        for k, u in enumerate(unknowns.items):
            if u.prior is not None:
                slope = unknowns.slopes(q)[k] * u.prior.slope(float(unknowns.values(q)[k]))
                triplets.add(count, np.array([k]), np.array([[slope]]))
                count += 1
        return triplets.matrix((count, self.size))


@dataclass(frozen=True, eq=False)
class _Minimised:
    """What a solution goes by."""

    criterion: Criterion
    damping: Damping


class _Score:
    """A criterion as a function of all outputs at all stamps."""

    def __init__(self, whole: ResidualFunction, cases: Sequence[CollocatedCase]) -> None:
        self._whole = whole
        self._places: list[Indices] = []
        first = 0
        for case in cases:
            stamps = case.grid.stamps
            for k, m in enumerate(case.predictor.record.outputs):
                self._places.append(first + k + case.ny * np.searchsorted(stamps, m.time))
            first += case.ny * len(stamps)
        self.size = first
        self.minimised: _Minimised | None = None  # while a solution is under way
        self.function = _ScoreCallback(self)

    def spread(self, emphases: Sequence[float | Vector]) -> Vector:
        """Emphases of the blocks at the places of their outputs."""
        found = np.zeros(self.size)
        for places, emphasis in zip(self._places, emphases, strict=True):
            found[places] = emphasis
        return found

    def predictions(self, y: Vector) -> list[Prediction]:
        """The outputs of every block."""
        return [Prediction(y[p], np.zeros((len(p), 0))) for p in self._places]

    def of(self, y: Vector, criterion: Criterion) -> tuple[float, Vector, Vector]:
        """(cost, slopes, weights): the derivative by every output and its curvature."""
        predictions = self.predictions(y)
        with np.errstate(all="ignore"):
            scoring = criterion.score(self._whole.residuals(predictions))
        slope, weight = np.zeros(self.size), np.zeros(self.size)
        for k, places in enumerate(self._places):
            factor = scoring.multipliers[k]
            transform = self._whole.blocks[k].measured.transform
            if transform is not None:
                factor = factor * transform.derivative(predictions[k].value)
            slope[places] = 2 * factor * scoring.scored[k]
            weight[places] = 2 * np.square(factor)
        return float(scoring.cost), slope, weight


class _ScoreCallback(ca.Callback):  # type: ignore[misc]
    def __init__(self, score: _Score) -> None:
        ca.Callback.__init__(self)
        self._score = score
        self.construct("score", {})

    def get_n_in(self) -> int:
        return 1

    def get_n_out(self) -> int:
        return 4

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._score.size, 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._score.size if i in (1, 2) else 1, 1)

    def eval(self, arguments: list[ca.DM]) -> list[ca.DM]:
        y = np.array(arguments[0], float).ravel()
        minimised = self._score.minimised
        assert minimised is not None, "evaluated by a solution only"
        cost, slope, weight = self._score.of(y, minimised.criterion)
        return [ca.DM(v) for v in (cost, slope, weight, minimised.damping.at(y, weight))]
