"""Ensemble: walkers that stretch towards each other, by emcee, where there are no gradients.

Goodman and Weare, Ensemble samplers with affine invariance, Communications in Applied Mathematics
and Computational Science 5, 2010.
"""

from __future__ import annotations

import numpy as np

from estimica.infer.posterior.counting import CountedDensity
from estimica.infer.posterior.density import Density
from estimica.infer.posterior.samplers import SamplerDraws, chain_start

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
