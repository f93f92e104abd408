"""SegmentedStudy: the cases of a study piece by piece, scored together, with their gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.estimate.criteria.scoring import Scoring
from estimica.estimate.objective.cost import Objective
from estimica.estimate.objective.predictor import Prediction
from estimica.estimate.objective.residuals import Evaluations, ResidualFunction
from estimica.estimate.shooting.continuity import Linearised, Triplets, compressed
from estimica.estimate.shooting.segments import SegmentedCase, SegmentResults


@dataclass(frozen=True, eq=False)
class AllSegments:
    """All pieces of all cases at one point of the unknowns and the states at the nodes."""

    q: Vector
    values: Vector
    nodes: tuple[Vector, ...]  # (K − 1, nx) of each case
    flown: tuple[SegmentResults, ...]
    predictions: tuple[Prediction, ...]
    residuals: tuple[Vector, ...]
    gaps: Vector  # in sizes of the states


@dataclass(frozen=True, eq=False)
class ScoredSegments(AllSegments):
    """The pieces with their score."""

    scoring: Scoring
    cost: float  # priors included

    @property
    def square(self) -> float:
        """Σρ²."""
        return sum(float(r @ r) for r in self.scoring.scored)


class SegmentedStudy:
    """Evaluates and linearises the pieces of all cases."""

    def __init__(self, whole: ResidualFunction, cases: Sequence[SegmentedCase]) -> None:
        self.whole = whole
        self.cases = tuple(cases)
        self._rows = [
            [np.searchsorted(c.predictor.times, m.time) for m in c.predictor.record.outputs]
            for c in cases
        ]

    def fly(self, q: Vector, nodes: Sequence[Vector] | None) -> AllSegments | str:
        """All pieces from the given nodes, or from those that the measurements suggest."""
        values = self.whole.unknowns.values(q)
        flown = []
        for k, case in enumerate(self.cases):
            self.whole.runs.count(Evaluations(simulations=1, sensitivities=1))
            one = case.fly(values, None if nodes is None else nodes[k])
            if isinstance(one, str):
                return f"case '{case.predictor.record.case.name}': {one}"
            flown.append(one)
        predictions = self._predictions(flown, values)
        residuals = self.whole.residuals(predictions)
        if not all(np.isfinite(r).all() for r in residuals):
            return "an output is not finite"
        gaps = [f.gaps / c.scales for f, c in zip(flown, self.cases, strict=True)]
        return AllSegments(
            q,
            values,
            tuple(f.nodes[1:] for f in flown),
            tuple(flown),
            tuple(predictions),
            tuple(residuals),
            np.concatenate([g.ravel() for g in gaps]),
        )

    def scored(self, pieces: AllSegments, objective: Objective) -> ScoredSegments | str:
        """The pieces with the score that the objective's criterion gives them."""
        with np.errstate(over="ignore", invalid="ignore"):
            scoring = objective.criterion.score(pieces.residuals)
        cost = scoring.cost + sum(float(p @ p) for p in self._priors(pieces.values))
        if not np.isfinite(cost):
            return "the cost is not finite"
        own = {f.name: getattr(pieces, f.name) for f in fields(AllSegments)}
        return ScoredSegments(**own, scoring=scoring, cost=float(cost))

    def at(
        self, q: Vector, nodes: Sequence[Vector] | None, objective: Objective
    ) -> ScoredSegments | str:
        """`fly` and `scored` in one."""
        pieces = self.fly(q, nodes)
        return pieces if isinstance(pieces, str) else self.scored(pieces, objective)

    def moved(self, at: ScoredSegments, d: Vector) -> tuple[Vector, tuple[Vector, ...]]:
        """Unknowns and nodes after a step."""
        n = len(at.q)
        first, nodes = n, []
        for case, old in zip(self.cases, at.nodes, strict=True):
            size = old.size
            nodes.append(old + d[first : first + size].reshape(old.shape) * case.scales)
            first += size
        return self.whole.unknowns.clipped(at.q + d[:n]), tuple(nodes)

    def linearised(
        self, at: ScoredSegments, emphases: Sequence[float | Vector] | None = None
    ) -> Linearised:
        """J, ρ, C and h in coordinates, nodes in sizes of the states.

        With emphases the rows of every block count so many times, and priors once.
        """
        n = len(at.q)
        slopes = self.whole.unknowns.slopes(at.q)
        total = n + sum(nodes.size for nodes in at.nodes)
        jacobian, continuity = Triplets(), Triplets()
        rho: list[Vector] = []
        count = gap = 0
        first = n
        block = 0
        unknowns = np.arange(n)
        for c, (case, flown) in enumerate(zip(self.cases, at.flown, strict=True)):
            columns = np.array(case.columns, int)
            nx = case.nx
            begin = _wide(flown.begin_by_unknowns, columns, slopes, n)
            weighed = self._weighed(at, c, block, slopes, n, emphases)
            for k in range(len(case.segments)):
                rows, by_state, scored = weighed[k]
                end = _wide(flown.end_by_unknowns[k], columns, slopes, n)
                growth = flown.end_by_state[k]
                own = first + (k - 1) * nx + np.arange(nx)
                if k == 0:
                    rows, end = rows + by_state @ begin, end + growth @ begin
                    both, places = rows, unknowns
                else:
                    both = np.hstack([rows, by_state * case.scales])
                    places = np.concatenate([unknowns, own])
                small = compressed(np.column_stack([both, scored]))
                jacobian.add(count, places, small[:, :-1])
                rho.append(small[:, -1])
                count += len(small)
                if k + 1 < len(case.segments):
                    continuity.add(gap, unknowns, end / case.scales[:, None])
                    if k:
                        continuity.add(gap, own, growth * case.scales / case.scales[:, None])
                    continuity.add(gap, own + nx, -np.eye(nx))
                    gap += nx
            first += at.nodes[c].size
            block += len(case.predictor.record.outputs)
        for prior in self._prior_rows(at.values, slopes):
            jacobian.add(count, unknowns, prior[None, :-1])
            rho.append(prior[-1:])
            count += 1
        return Linearised(
            jacobian.matrix((count, total)),
            np.concatenate(rho),
            continuity.matrix((gap, total)),
            at.gaps,
            n,
        )

    def _weighed(
        self,
        at: ScoredSegments,
        c: int,
        block: int,
        slopes: Vector,
        n: int,
        emphases: Sequence[float | Vector] | None,
    ) -> list[tuple[Vector, Vector, Vector]]:
        """For each piece of a case: (J by the unknowns, J by its node, ρ)."""
        case, flown = self.cases[c], at.flown[c]
        columns = np.array(case.columns, int)
        parts: list[list[tuple[Vector, Vector, Vector]]] = [[] for _ in case.segments]
        for j, rows in enumerate(self._rows[c]):
            measured = self.whole.blocks[block + j].measured
            emphasis = 1.0 if emphases is None else emphases[block + j]
            m = np.broadcast_to(at.scoring.multipliers[block + j] * emphasis, len(rows))
            if measured.transform is not None:
                m = m * measured.transform.derivative(at.predictions[block + j].value)
            extra = case.predictor.extras[j]
            for k, one in enumerate(case.segments):
                a, b = np.searchsorted(rows, [one.first, one.first + one.count])
                here = rows[a:b]
                by_unknowns = _wide(flown.by_unknowns[here, j], columns, slopes, n)
                if extra is not None:
                    by_unknowns[:, extra] = slopes[extra]
                factor = m[a:b, None]
                scored = at.scoring.scored[block + j][a:b]
                parts[k].append((factor * by_unknowns, factor * flown.by_state[here, j], scored))
        return [
            (
                np.vstack([p[0] for p in own]),
                np.vstack([p[1] for p in own]),
                np.concatenate([p[2] for p in own]),
            )
            for own in parts
        ]

    def _predictions(self, flown: Sequence[SegmentResults], values: Vector) -> list[Prediction]:
        predictions = []
        for case, rows, one in zip(self.cases, self._rows, flown, strict=True):
            for j, own in enumerate(rows):
                extra = case.predictor.extras[j]
                offset = 0.0 if extra is None else values[extra]
                predictions.append(Prediction(one.Y[own, j] + offset, one.by_unknowns[own, j]))
        return predictions

    def _priors(self, values: Vector) -> list[Vector]:
        return [row[-1:] for row in self._prior_rows(values, np.ones(len(values)))]

    def _prior_rows(self, values: Vector, slopes: Vector) -> list[Vector]:
        rows = []
        for k, unknown in enumerate(self.whole.unknowns.items):
            if unknown.prior is not None:
                row = np.zeros(len(values) + 1)
                row[k] = slopes[k] * unknown.prior.slope(float(values[k]))
                row[-1] = unknown.prior.distance(float(values[k]))
                rows.append(row)
        return rows


def _wide(by_unknowns: Vector, columns: Indices, slopes: Vector, n: int) -> Vector:
    """Derivatives by the case's unknowns as derivatives by the coordinates of all."""
    wide = np.zeros((len(by_unknowns), n))
    wide[:, columns] = by_unknowns * slopes[columns]
    return wide
