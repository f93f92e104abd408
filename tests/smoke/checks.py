"""What must be true of a fit and of every analysis of it, whatever is combined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, replace
from itertools import pairwise
from typing import Any

import numpy as np
from tests.smoke.studies import NOISE, TRUTH, decayed, truth_of

import estimica as es

#: how far an estimate may be off, in standard errors: seen once in 500 million
FAR = 6.0
#: by what factor standard errors may differ from those of least squares without outliers; the
#: least efficient of the criteria, Σ|r|, has 1.25, and 40 samples tell a variance to 20 %
WIDE = 2.5


def errors_of(row: Mapping[str, str]) -> dict[str, float]:
    """The standard errors of k and τ by least squares, from the closed form and the true noise."""
    kind, roles = row["model"], row["roles"]

    def outputs(k: float, tau: float) -> np.ndarray:
        records = (0, 1) if roles == "two" else (0,)
        y = np.concatenate([truth_of(kind, r, k, tau) for r in records])
        return np.concatenate([y.real, y.imag]) if kind == "frequency" else y

    columns = []
    for name, value in TRUTH.items():
        h = 1e-5 * value
        up, down = outputs(**TRUTH | {name: value + h}), outputs(**TRUTH | {name: value - h})
        columns.append((up - down) / (2 * h))
    if roles == "disturbed":
        columns.append(np.ones(columns[0].size))
    if roles == "free start":
        columns.append(decayed(kind, TRUTH["tau"]))
    J = np.stack(columns, axis=1)
    spread = NOISE * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    return dict(zip(TRUTH, spread.tolist(), strict=False))


def check_fit(fit: es.Fit, row: Mapping[str, str]) -> None:
    """It converged, to the truth, with the standard errors that the noise gives."""
    assert fit.outcome.status == "converged", fit.outcome.message
    assert math.isfinite(fit.cost)
    expected = errors_of(row)
    table = fit.parameters
    for name, true in TRUTH.items():
        line = table.loc[name]
        assert abs(line["value"] - true) < FAR * expected[name], f"{name} = {line['value']}"
        assert expected[name] / WIDE < line["stderr"] < expected[name] * WIDE, name
        ordered(line["ci95_low"], line["value"], line["ci95_high"])
    for case in fit.cases:
        assert case.failure == ""
        for output in case.outputs:
            assert np.isfinite(output.simulated).all()
            rms = float(np.sqrt(np.median(np.abs(output.simulated - output.measured) ** 2)))
            assert rms < 4 * NOISE, f"{case.name} is off by {rms}"


def ordered(*numbers: float) -> None:
    """Finite, and each larger than the one before."""
    assert all(map(math.isfinite, numbers)), numbers
    assert all(a < b for a, b in pairwise(numbers)), numbers


def near(spread: float, expected: float, factor: float) -> None:
    """Within a factor."""
    assert expected / factor < spread < expected * factor, (spread, expected)


def usable(result: Any) -> None:
    """Its outcome is a word with a sentence, and it can be used."""
    outcome = result.outcome() if callable(result.outcome) else result.outcome
    status, message = tuple(outcome) if isinstance(outcome, Iterable) else astuple(outcome)[:2]
    assert status
    assert message
    assert status not in ("failed", "interrupted"), message


def nothing(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> None:
    """The fit alone: its table and its page can be written."""
    assert "tau" in repr(fit)
    plain = fit.to_dict()
    assert plain["cost"] == fit.cost


def covariance(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> None:
    """The sandwich is as wide as the usual one, since the noise is white."""
    found = es.covariance(fit, "sandwich")
    for name, expected in errors_of(row).items():
        near(float(found.stderr[list(found.names).index(name)]), expected, WIDE)


def bootstrap(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> dict[str, Any]:
    """Replicates spread as the standard errors say."""
    found = es.bootstrap(fit, 8, **who)
    usable(found)
    assert not found.failures
    assert np.isfinite(found.values).all()
    for name, expected in errors_of(row).items():
        spread = found.values[:, [u.name for u in fit.unknowns.items].index(name)].std()
        near(float(spread), expected, 1.6 * WIDE)
    return {"values": found.values, "costs": found.costs}


def profile(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> dict[str, Any]:
    """The interval holds the estimate and is as wide as ± 2 standard errors."""
    found = es.profile(fit, "tau", points=3, **who)
    usable(found)
    (curve,) = found.curves
    ordered(curve.low.value, fit["tau"], curve.high.value)
    near((curve.high.value - curve.low.value) / 4, errors_of(row)["tau"], WIDE)
    assert np.isfinite(curve.costs).all()
    return {"values": curve.values, "costs": curve.costs}


def crossvalidation(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> dict[str, Any]:
    """What is left out is predicted, and every fold finds the truth."""
    found = es.crossvalidate(fit, None if row["roles"] == "two" else 3, **who)
    usable(found)
    assert not found.failed
    values = np.array([fold.values for fold in found.folds])
    assert np.isfinite(values).all()
    for k, (name, expected) in enumerate(errors_of(row).items()):
        assert np.abs(values[:, k] - TRUTH[name]).max() < 2.5 * FAR * expected
    return {"values": values}


def residuals(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> None:
    """White residuals are called so; outliers are what may be said against them."""
    found = es.residuals(fit, level=1e-3)
    usable(found)
    if row["loss"] == "squared":
        assert not found.coloured, found.verdict


def likelihood_ratio(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> None:
    """A tuner held at its true value is no worse, one held far away is."""
    for factor, rejected in ((1.0, False), (1.25, True)):
        held = tuple(
            replace(t, start=TRUTH["tau"] * factor, active=False) if t.name == "tau" else t
            for t in fit.study.tuners
        )
        found = es.likelihood_ratio(es.fit(fit.study.with_(tuners=held)), fit)
        assert 0 <= found.risk <= 1
        assert found.freedom == 1
        assert found.rejects(1e-4) == rejected, (factor, found.risk)


def release(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> dict[str, Any]:
    """Both tuners are released, since both begin far from the truth, and what else is free."""
    found = es.release(fit.study, order=[[u.label for u in fit.unknowns.items]], **who)
    usable(found)
    assert set(found.released) >= set(TRUTH), found.outcome
    check_fit(found.fit, row)
    return {"values": found.fit.values, "cost": found.fit.cost}


def sample(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> dict[str, Any]:
    """Draws spread around the truth as the standard errors say."""
    found = es.sample(fit, 25, chains=2, warmup=40, **who)
    assert not found.failures
    assert np.isfinite(found.values).all()
    values = found.values.reshape(-1, found.values.shape[-1])
    for k, (name, expected) in enumerate(errors_of(row).items()):
        assert abs(values[:, k].mean() - TRUTH[name]) < FAR * expected
        near(float(values[:, k].std()), expected, 1.6 * WIDE)
    return {"values": values}


def identifiability(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> None:
    """Everything is determined."""
    found = es.identifiability(fit)
    usable(found)
    assert found.rank == found.n == len(fit.values)
    assert np.isfinite(found.correlation).all()


def criterion_map(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> dict[str, Any]:
    """The lowest point of the map is the estimate in its middle."""
    ranges = {n: (fit[n] * 0.9, fit[n] * 1.1) for n in TRUTH}
    found = es.criterion_map(fit, "k", "tau", points=3, ranges=ranges, **who)
    usable(found)
    assert np.isfinite(found.cost).all()
    assert np.unravel_index(np.argmin(found.cost), found.cost.shape) == (1, 1)
    assert np.min(found.cost) >= found.centre_cost - 1e-6 * abs(found.centre_cost)
    return {"cost": found.cost}


def bands(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> None:
    """Measurements lie in the band of predictions, and that of the mean is inside it."""
    for output in es.bands(fit).outputs:
        assert output.bounded
        low, high = output.prediction
        inner, outer = output.mean
        assert (low <= inner).all()
        assert (inner <= outer).all()
        assert (outer <= high).all()
        assert output.inside > 0.75


def region(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> None:
    """A closed line around the estimate."""
    found = es.region(fit, "k", "tau", points=8)
    assert found.closed
    assert np.isfinite(found.contour).all()
    low, high = found.contour.min(axis=0), found.contour.max(axis=0)
    for k, name in enumerate(("k", "tau")):
        ordered(low[k], fit[name], high[k])


def measures(fit: es.Fit, row: Mapping[str, str], who: Mapping[str, Any]) -> None:
    """Both tuners move the output."""
    found = es.measures(fit)
    assert np.isfinite(found.spread).all()
    assert found.measures.rank == len(found.measures.names)


ANALYSES: dict[str, Callable[..., dict[str, Any] | None]] = {
    "none": nothing,
    "covariance": covariance,
    "bootstrap": bootstrap,
    "profile": profile,
    "crossvalidation": crossvalidation,
    "residuals": residuals,
    "likelihood ratio": likelihood_ratio,
    "release": release,
    "sample": sample,
    "identifiability": identifiability,
    "map": criterion_map,
    "bands": bands,
    "region": region,
    "measures": measures,
}
#: those that take an executor whose workers stay for the next call
SHARING = ("bootstrap", "profile", "sample")
