"""NUTS: one chain of the no-U-turn sampler, by nutpie, on the exact gradient of the density.

Hoffman and Gelman, The No-U-Turn Sampler, Journal of Machine Learning Research 15, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.infer.posterior.counting import CountedDensity
from estimica.infer.posterior.density import Density, Impossible

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
