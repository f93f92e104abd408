"""Samplers: one chain of NUTS where there are gradients, of an ensemble where there are none.

The no-U-turn sampler is nutpie's, on the exact gradient of the density: Hoffman and Gelman, The
No-U-Turn Sampler, Journal of Machine Learning Research 15, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.infer.posterior.density import CountedDensity, Density, Impossible

#: draws around the estimate that are tried as the beginning of a chain; a model that cannot be
#: simulated at one of twenty is refused
TRIES = 20


@dataclass(frozen=True, eq=False)
class SamplerDraws:
    """What a sampler has drawn: coordinates and what is to be told of the way."""

    u: Vector  # (draws, unknowns)
    log_density: Vector  # (draws,)
    diverging: int = 0
    deepest: int = 0
    acceptance: float = float("nan")


def chain_start(counting: CountedDensity, random: np.random.Generator) -> Vector:
    """Where a chain may begin: a draw of the normal distribution around the estimate."""
    for attempt in range(TRIES):
        # nearer from one attempt to the next: at the estimate itself it can be simulated
        u = random.normal(size=counting.density.size) * 0.8**attempt
        try:
            value, gradient = counting.at(u)
        except Impossible:
            continue
        if np.isfinite(value) and np.isfinite(gradient).all():
            return np.asarray(u)
    raise Impossible(counting.reason)


def nuts(
    density: Density,
    counting: CountedDensity,
    seed: int,
    *,
    warmup: int,
    draws: int,
    acceptance: float,
) -> SamplerDraws:
    """One chain of `draws` after a warm-up, in which step size and metric are found."""
    from estimica.infer.posterior.libraries import nutpie

    random = np.random.default_rng(seed)
    first = chain_start(counting, random)
    library = nutpie()
    size = density.size
    model = library.compiled_pyfunc.from_pyfunc(
        size,
        lambda: counting.at,
        lambda *_: lambda u: {"u": u},
        [np.dtype("float64")],
        [(size,)],
        ["u"],
        make_initial_point_fn=lambda _: first,
    )
    sampler = library.sample(
        model,
        draws=draws,
        tune=warmup,
        chains=1,
        cores=1,
        seed=int(random.integers(2**62)),
        progress_bar=False,
        save_warmup=False,
        blocking=False,
        target_accept=acceptance,
    )
    return _drawn(_waited(sampler, counting))


def _waited(sampler: Any, counting: CountedDensity) -> Any:
    """The trace of a chain once it is done; Ctrl-C ends it."""
    try:
        return sampler.wait()
    except BaseException:
        sampler.cancel()
        if counting.fault is not None:
            raise counting.fault from None
        raise


def _drawn(trace: Any) -> SamplerDraws:
    told = trace.sample_stats
    return SamplerDraws(
        trace.posterior["u"].values[0],
        told["logp"].values[0],
        int(told["diverging"].values.sum()),
        int(told["maxdepth_reached"].values.sum()),
        float(told["mean_tree_accept"].values.mean()),
    )


# --- ensemble ------------------------------------------------------------------------------------
# Ensemble: walkers that stretch towards each other, by emcee, where there are no gradients.
#
# Goodman and Weare, Ensemble samplers with affine invariance, Communications in Applied Mathematics
# and Computational Science 5, 2010.


#: walkers an unknown, and at least: emcee's authors advise many more than twice the unknowns
WALKERS, LEAST = 4, 16
#: steps of which one is kept: a walker remembers some 30 to 100 steps, so that nothing is lost
THIN = 10


def walkers_of(unknowns: int) -> int:
    """How many walkers there are; an even number, since they move by halves."""
    return max(WALKERS * unknowns, LEAST)


def ensemble(
    density: Density, counting: CountedDensity, seed: int, *, warmup: int, draws: int
) -> SamplerDraws:
    """One ensemble: `draws` of all walkers together, those of one after those of another.

    So a stretch of the chain is a stretch of one walker, whose memory can be seen in it, and the
    halves of a chain are halves of the ensemble, which must agree.
    """
    from estimica.infer.posterior.libraries import emcee

    library = emcee()
    random = np.random.default_rng(seed)
    count = walkers_of(density.size)
    first = np.array([chain_start(counting, random) for _ in range(count)])
    sampler = library.EnsembleSampler(count, density.size, counting.value)
    state = np.random.RandomState(random.integers(2**32 - 1)).get_state()
    beginning = library.State(first, random_state=state)
    warm = sampler.run_mcmc(beginning, THIN * -(-warmup // count), store=False)
    sampler.reset()
    sampler.run_mcmc(warm, -(-draws // count), thin_by=THIN)
    u = np.swapaxes(sampler.get_chain(), 0, 1).reshape(-1, density.size)
    log_density = sampler.get_log_prob().T.reshape(-1)
    share = float(np.mean(sampler.acceptance_fraction))
    return SamplerDraws(u[:draws], log_density[:draws], acceptance=share)
