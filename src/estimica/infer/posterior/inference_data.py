"""The draws in ArviZ's form, with which its plots and comparisons work."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base.errors import InferError
from estimica.base.files.write import atomic_replacement
from estimica.infer.posterior.libraries import arviz
from estimica.infer.posterior.result import Posterior


def inference_data(found: Posterior) -> Any:
    """Groups posterior, sample_stats, posterior_predictive, log_likelihood and observed_data.

    Outputs are named "case: output"; predictive and likelihood hold some of the draws only.
    """
    if found.predictive is None:
        raise InferError("I717", "sample: there is no finished chain to hand on")
    posterior = {u.label: found.values[:, :, k] for k, u in enumerate(found.fit.unknowns.items)}
    posterior |= {f"variance of {n}": v for n, v in found.noise.items()}
    names = [f"{o.case}: {o.name}" for o in found.predictive.outputs]
    ends = np.cumsum([len(o.measured) for o in found.predictive.outputs])[:-1]
    likely = np.split(found.predictive.log_likelihood, ends, axis=2)
    return arviz().from_dict(
        posterior=posterior,
        sample_stats={"lp": np.stack([c.log_density for c in found.chains])},
        posterior_predictive=dict(zip(names, found.predictive.replicated, strict=True)),
        log_likelihood=dict(zip(names, likely, strict=True)),
        observed_data={n: o.measured for n, o in zip(names, found.predictive.outputs, strict=True)},
        attrs={"study": found.fit.study.name, "seed": found.seed, "method": found.method},
    )


def write(found: Posterior, path: str | PathLike[str]) -> Path:
    """Write the draws as netCDF."""
    data = inference_data(found)
    with atomic_replacement(path) as draft:
        data.to_netcdf(str(draft))
    return Path(path)
