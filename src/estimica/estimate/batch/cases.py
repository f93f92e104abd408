"""Cases of a study as a batch evaluates them: sums over the samples of every output, by members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.estimate.batch.search import Sums
from estimica.estimate.criteria.block import Block
from estimica.estimate.objective.predictor import CasePredictor
from estimica.simulate.ensemble.backends import Ensemble
from estimica.simulate.ensemble.members import EnsembleRun, Measured, normal_equations
from estimica.simulate.response import Response

#: numbers of outputs and derivatives that are held at a time where sums need them: 64 MB
HELD = 8_000_000


class CaseSums:
    """One case: its ensemble, the weights of its samples, and where its unknowns stand."""

    def __init__(
        self,
        predictor: CasePredictor,
        blocks: Sequence[Block],
        unknowns: int,
        backend: str,
        threads: int,
    ) -> None:
        response = predictor.response
        assert isinstance(response, Response), "batches are of simulations only"
        self.predictor, self.blocks = predictor, tuple(blocks)
        self.ensemble = Ensemble(response, backend, threads)
        self._tuners = np.array(predictor.places.tuners, int)
        self._starts = np.array(list(predictor.places.starts.values()), int)
        self._columns = np.array(predictor.columns, int)
        self._unknowns = unknowns
        shape = len(predictor.times), len(self.blocks)
        self._weight = np.zeros(shape)
        for k, block in enumerate(self.blocks):
            self._weight[predictor.rows(k), k] = block.scaling
        self._transforms = [b.measured.transform for b in self.blocks]
        self._extras = predictor.extras
        self._plain = not any(self._transforms) and all(e is None for e in self._extras)

    @property
    def is_direct(self) -> bool:
        """Whether the unknowns are the tuners of its ensemble, and nothing else is compared."""
        own = list(self._columns) == list(range(self._unknowns))
        return self._plain and own and self.predictor.links.is_one_to_one

    @property
    def weight(self) -> Vector:
        """What residuals are multiplied by, (N, ny); zero where nothing was measured."""
        return self._weight

    def measured(self, values: Sequence[Vector]) -> Vector:
        """Samples (L, N_k) of every output as (L, N, ny), transformed where they are compared so.

        What was not measured is zero, and has no weight.
        """
        many = len(values[0])
        table = np.zeros((many, *self._weight.shape))
        for k, (own, transform) in enumerate(zip(values, self._transforms, strict=True)):
            table[:, self.predictor.rows(k), k] = own if transform is None else transform.value(own)
        return table

    def weights(self, counted: Sequence[Flags]) -> Vector:
        """Weights (L, N, ny) of members of which samples (L, N_k) of every output count or not."""
        weight = np.zeros((len(counted[0]), *self._weight.shape))
        for k, own in enumerate(counted):
            rows = self.predictor.rows(k)
            weight[:, rows, k] = np.where(own, self._weight[rows, k], 0.0)
        return weight

    def at(self, values: Vector, measured: Measured) -> Sums:
        """The sums at physical values (L, n)."""
        thetas, chain = self._thetas(values)
        if self._plain:
            normal = self.ensemble.normal(thetas, measured)
            found = Sums(normal.square, normal.gradient, normal.information, normal.ok)
        else:
            found = self._through_outputs(thetas, values, measured)
        return self._of_unknowns(found, chain)

    def outputs(self, values: Vector) -> tuple[list[Vector], Flags]:
        """(every output (L, N_k) at its own samples, which members have them)."""
        thetas, _ = self._thetas(values)
        found: list[list[Vector]] = [[] for _ in self.blocks]
        ok = list[Flags]()
        for chosen in self._parts(thetas):
            run = self.ensemble.at(thetas[chosen])
            ok.append(run.ok & np.isfinite(run.Y).all(axis=(1, 2)))
            for k, extra in enumerate(self._extras):
                own = run.Y[:, self.predictor.rows(k), k]
                found[k].append(own if extra is None else own + values[chosen, extra, None])
        return [np.concatenate(parts) for parts in found], np.concatenate(ok)

    def _thetas(self, values: Vector) -> tuple[Vector, Vector]:
        """(tuners of the ensemble, parameters by the tuners of the study) of every member."""
        parameters, chain = self.predictor.links.at_many(values[:, self._tuners])
        return np.column_stack([parameters, values[:, self._starts]]), chain

    def _parts(self, thetas: Vector) -> Iterator[slice]:
        """Members whose outputs and derivatives are held at a time."""
        each = self._weight.size * (1 + thetas.shape[1] + len(self.blocks))
        at_once = max(1, HELD // max(each, 1))
        for begin in range(0, len(thetas), at_once):
            yield slice(begin, begin + at_once)

    def _through_outputs(self, thetas: Vector, values: Vector, measured: Measured) -> Sums:
        """The same where outputs are transformed or disturbed; a part of the members at a time."""
        parts = []
        for chosen in self._parts(thetas):
            run = self._compared(self.ensemble.at(thetas[chosen]), values[chosen])
            parts.append(normal_equations(run, measured.of(chosen)))
        return Sums(
            np.concatenate([p.square for p in parts]),
            np.concatenate([p.gradient for p in parts]),
            np.concatenate([p.information for p in parts]),
            np.concatenate([p.ok for p in parts]),
        )

    def _compared(self, run: EnsembleRun, values: Vector) -> EnsembleRun:
        """Outputs as they are compared; a column of the derivatives for every disturbance."""
        Y = run.Y.copy()
        extra = np.zeros((*Y.shape, len(self._disturbed)))
        for j, (k, unknown) in enumerate(self._disturbed):
            Y[:, :, k] += values[:, unknown, None]
            extra[:, :, k, j] = 1.0
        YS = np.concatenate([run.YS, extra], axis=3)
        for k, transform in enumerate(self._transforms):
            if transform is not None:
                with np.errstate(all="ignore"):  # what is not defined fails the member
                    YS[:, :, k] *= transform.derivative(Y[:, :, k])[..., None]
                    Y[:, :, k] = transform.value(Y[:, :, k])
        return EnsembleRun(Y, YS, run.status, run.failures, run.alone)

    @property
    def _disturbed(self) -> list[tuple[int, int]]:
        """(output, unknown) of every disturbance."""
        return [(k, e) for k, e in enumerate(self._extras) if e is not None]

    def _of_unknowns(self, sums: Sums, chain: Vector) -> Sums:
        """By all unknowns instead of by the parameters, start values and disturbances."""
        g, H = sums.gradient, sums.information
        p, tuners = chain.shape[1:]
        own = [*self._columns, *(e for _, e in self._disturbed)]
        rest = g.shape[2] - p
        if not self.predictor.links.is_one_to_one:
            wide = np.zeros((len(chain), p + rest, tuners + rest))
            wide[:, :p, :tuners] = chain
            wide[:, p:, tuners:] = np.eye(rest)
            g = np.einsum("lbi,lij->lbj", g, wide)
            H = np.swapaxes(wide, 1, 2)[:, None] @ H @ wide[:, None]
        n = self._unknowns
        if own == list(range(n)):
            return Sums(sums.square, g, H, sums.ok)
        gradient = np.zeros((*g.shape[:2], n))
        information = np.zeros((*g.shape[:2], n, n))
        gradient[:, :, own] = g
        information[:, :, np.array(own)[:, None], np.array(own)] = H
        return Sums(sums.square, gradient, information, sums.ok)


class AllSums:
    """All cases with the data of every member: what a batch search evaluates."""

    def __init__(self, cases: Sequence[CaseSums], data: Sequence[Measured]) -> None:
        self.cases, self.data = cases, data

    def __call__(self, values: Vector, members: Indices) -> Sums:
        """The sums at physical values of the members with these numbers."""
        pairs = zip(self.cases, self.data, strict=True)
        parts = [case.at(values, own.of(members)) for case, own in pairs]
        if len(parts) == 1:
            return parts[0]
        return Sums(
            np.concatenate([p.square for p in parts], axis=1),
            np.concatenate([p.gradient for p in parts], axis=1),
            np.concatenate([p.information for p in parts], axis=1),
            np.logical_and.reduce([p.ok for p in parts]),
        )
