"""Inference data: draws around a fit as ArviZ wants them, for its plots and tables."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.estimate.fit.result import Fit

CHAINS = 4  # ArviZ compares chains with each other; independent draws may be cut anywhere


def arviz(purpose: str) -> Any:
    """The library, with what to install where it is missing."""
    try:
        with warnings.catch_warnings():
            # ArviZ announces its next version whenever it is imported
            warnings.simplefilter("ignore", FutureWarning)
            return import_module("arviz")
    except ImportError as error:
        raise FitError(
            "F150",
            f"{purpose} needs 'arviz', which cannot be imported ({error}); install it with: "
            "pip install 'estimica[sample]'",
        ) from error


def inference_data(fit: Fit, draws: Mapping[str, Vector], **attributes: object) -> Any:
    """(chains, draws) by name as the group `posterior`, with the measured outputs."""
    observed = {
        f"{case.name}: {o.name}": o.measured
        for case in fit.cases
        if case.role == "calibrate"
        for o in case.outputs
    }
    told = {"study": fit.study.name, "model": fit.study.model.name, **attributes}
    return arviz("to_arviz").from_dict(
        posterior=dict(draws), observed_data=observed or None, attrs=told, posterior_attrs=told
    )


def fit_inference_data(fit: Fit, draws: int, seed: int) -> Any:
    """Draws from the normal distribution that the estimate has with many samples."""
    if draws < CHAINS:
        raise FitError("F151", f"to_arviz: {draws} draws are too few; ask for 4000")
    if not np.isfinite(fit.cost):
        raise FitError("F151", f"to_arviz: the fit found no estimate ({fit.outcome.message})")
    moving = np.array([not bound for bound in fit.at_bound], bool)
    lost = [u.label for k, u in enumerate(fit.unknowns.items)
            if moving[k] and not np.isfinite(fit.accuracy.stderr[k])]  # fmt: skip
    if lost:
        raise FitError(
            "F152",
            f"to_arviz: {', '.join(map(repr, lost))} has no standard error, so there is nothing to "
            "draw from; fix it, or see fit.advice",
        )
    random = np.random.default_rng(seed)
    each = -(-draws // CHAINS)
    values = np.broadcast_to(fit.values, (CHAINS * each, fit.n_free)).copy()
    if moving.any():
        covariance = fit.covariance[np.ix_(moving, moving)]
        values[:, moving] += random.multivariate_normal(
            np.zeros(int(moving.sum())), covariance, CHAINS * each, method="eigh"
        )
    shaped = values.reshape(CHAINS, each, fit.n_free)
    named = {u.label: shaped[:, :, k] for k, u in enumerate(fit.unknowns.items)}
    return inference_data(
        fit,
        named,
        sample="draws from the asymptotic normal distribution of the estimate, "
        "N(estimate, covariance); not a posterior",
        seed=seed,
    )
