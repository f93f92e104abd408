"""Plain 95 % intervals of many experiments that are fitted together: how often they hold the truth.

    python bench/interval_coverage/bulk.py --experiments 10000
    python bench/interval_coverage/bulk.py --only "enzyme,small N"

The experiments, models and intervals are those of run.py, of models that Estimica simulates itself,
fitted by `ml` with noise levels that are estimated. With 10,000 of them a share is known to 0.2 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from experiments import SITUATIONS, Laboratory
from plants import PLANTS
from scipy.special import stdtrit

import estimica as es
from estimica.estimate.batch.fits import BatchFits
from estimica.estimate.batch.intervals import half_widths
from estimica.infer.refit import batch_fits, fit_context_of

#: experiments of a batch: their data and sums are some megabytes
AT_ONCE = 1024
#: the models that the engine simulates, and where all is as plain intervals have it: white noise of
#: unknown level, no bound
MODELS = ("circuit", "enzyme", "growth", "room")
PLAIN = ("balanced", "unbalanced", "small N")


@dataclass(frozen=True, eq=False)
class Intervals:
    """Estimates of all experiments and their 95 % intervals, a column for each unknown."""

    names: tuple[str, ...]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    alone: int  # experiments that were fitted by themselves

    def held(self, truth: dict[str, float]) -> np.ndarray:
        """Whether the truth lies inside."""
        true = np.array([truth[n] for n in self.names])
        return (self.low <= true) & (true <= self.high)


def laboratory(model: str, situation: str) -> Laboratory:
    """A plant in a situation, fitted by `ml`: weights of `oe` would be those of each experiment."""
    return Laboratory(replace(PLANTS[model](), criterion="ml"), SITUATIONS[situation])


def one_by_one(here: Laboratory, seeds: Sequence[int]) -> Intervals:
    """Each experiment as a fit of its own."""
    fits = [es.fit(here.study(seed)) for seed in seeds]
    ends = np.array([f.accuracy.interval for f in fits])
    values = np.array([f.values for f in fits])
    names = tuple(u.name for u in fits[0].unknowns.items)
    return Intervals(names, values, ends[..., 0], ends[..., 1], len(seeds))


def together(
    here: Laboratory, seeds: Sequence[int], backend: str = "vector", threads: int = 1
) -> Intervals:
    """All experiments as members of batches; those that are not proven by themselves."""
    study = here.study(seeds[0])
    first = es.fit(study.with_(execute=es.Execution(backend=backend)))
    place = fit_context_of(first)
    fits, reason = batch_fits(place, threads)
    assert fits is not None, reason
    parts = [_batch(here, fits, seeds[k : k + AT_ONCE]) for k in range(0, len(seeds), AT_ONCE)]
    names = tuple(u.name for u in first.unknowns.items)
    found = [np.concatenate([p[k] for p in parts]) for k in range(4)]
    values, low, high, proven = found
    alone = np.flatnonzero(~proven)
    if len(alone):
        single = one_by_one(here, [seeds[k] for k in alone])
        values[alone], low[alone], high[alone] = single.values, single.low, single.high
    return Intervals(names, values, low, high, len(alone))


def _batch(here: Laboratory, fits: BatchFits, seeds: Sequence[int]) -> tuple[np.ndarray, ...]:
    """(values, lower and upper ends, proven) of some experiments."""
    drawn = [here.samples(seed) for seed in seeds]
    measured = [np.array([d[b.name] for d in drawn]) for b in fits.objective.blocks]
    unknowns = fits.objective.unknowns
    starts = np.tile(unknowns.clipped(unknowns.start), (len(seeds), 1))
    fitted = fits.fit(starts, measured).finished()
    found = fitted.found
    sums = fits.sums(measured)(found.values, np.arange(len(seeds)))
    with np.errstate(all="ignore"):  # members that failed have NaN
        _, width = half_widths(fits.problem, found, sums, lambda freedom: stdtrit(freedom, 0.975))
        at = fits.problem.coordinates
        low, high = at.values(found.q - width), at.values(found.q + width)
    return found.values, low, high, fitted.proven


def main() -> None:
    """A line for each model and situation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=10_000)
    parser.add_argument("--only", default="", help="models and situations; comma between")
    parser.add_argument("--backend", default="vector")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    named = [w.strip() for w in given.only.split(",") if w.strip()]
    for model in [m for m in MODELS if m in named] or MODELS:
        for situation in [s for s in PLAIN if s in named] or PLAIN:
            here = laboratory(model, situation)
            begun = perf_counter()
            found = together(here, range(given.experiments), given.backend, given.threads)
            share = 100 * found.held(dict(here.plant.truth)).mean(axis=0)
            told = ", ".join(f"{n} {s:.2f}" for n, s in zip(found.names, share, strict=True))
            seconds = perf_counter() - begun
            print(f"{model}, {situation}: {told} % ({found.alone} alone, {seconds:.1f} s)")


if __name__ == "__main__":
    main()
