"""An assessment as plain values: what its JSON holds."""

from __future__ import annotations

import numpy as np

from estimica.base.result import finite
from estimica.optimise.assess.effects import effects
from estimica.optimise.assess.family_pictures import families_object
from estimica.optimise.assess.result import Assessment, share_of

#: by case, criterion and level
Quantiles = dict[str, dict[str, dict[str, float | None]]]


def as_object(assessment: Assessment) -> dict[str, object]:
    """Samples, criteria by case, and of a Monte Carlo the quantiles and the probability."""
    status, message = assessment.outcome()
    criteria: dict[str, dict[str, object]] = {}
    for k, place in enumerate(assessment.places):
        criteria.setdefault(place.case or "design", {})[place.criterion.name] = {
            "values": assessment.values[:, k],
            **_open(assessment, k),
            "demand": place.demand,
            "role": place.role,
            "kind": place.criterion.kind,
            "unit": place.criterion.unit,
            **(_moments(assessment, k) if assessment.command == "montecarlo" else {}),
        }
    names = assessment.samples.names
    told: dict[str, object] = {
        "command": assessment.command,
        "run": assessment.run,
        "study": assessment.study.name,
        "outcome": {"status": status, "message": message},
        "design": assessment.design,
        "samples": {n: assessment.samples.values[:, k] for k, n in enumerate(names)},
        "axes": {n: a.tolist() for n, a in zip(names, assessment.samples.axes, strict=False)},
        "criteria": criteria,
        "largest": assessment.largest,
        "largest_at_least": assessment.largest_at_least if assessment.open.any() else None,
        "satisfied": assessment.satisfied.tolist(),
        "failed": [
            {"sample": f.number, "case": f.case, "message": f.message} for f in assessment.failures
        ],
        "ended": {str(k): dict(texts) for k, texts in assessment.ended.items()},
        "curves": families_object(assessment),
        "effects": _effects(assessment),
        "local_sensitivity": _local(assessment),
        "seconds": assessment.seconds,
        "worked_by": assessment.worked_by.to_dict() if assessment.worked_by else None,
    }
    if assessment.command == "montecarlo":
        share, interval = assessment.probability_satisfied
        told["probability_satisfied"] = {"value": share, "ci95": list(interval)}
        told["quantiles"], told["quantiles_at_least"] = _quantiles(assessment)
        told["draws"] = assessment.samples.draws
        told["sensitivity"] = _sensitivity(assessment)
    plain = finite(told)
    assert isinstance(plain, dict)
    return plain


def _open(assessment: Assessment, k: int) -> dict[str, object]:
    """In how many samples a criterion was not reached, and what it is at least in each."""
    count = int(assessment.open[:, k].sum())
    return {"not_reached": count, "at_least": assessment.at_least[:, k] if count else None}


def _moments(assessment: Assessment, k: int) -> dict[str, object]:
    """Mean and standard deviation of a criterion, and how often its demand holds.

    Where it was not reached in a sample that counts, both are not known.
    """
    own = assessment.column(k)
    share, interval = share_of(assessment.held[assessment.drawn, k])
    spread: dict[str, object] = {}
    if len(own):
        sigma = None if own.open else float(own.values.std())
        spread = {"mean": own.mean.value, "mean_at_least": own.mean.at_least, "sigma": sigma}
    return {**spread, "probability_held": {"value": share, "ci95": list(interval)}}


def _quantiles(assessment: Assessment) -> tuple[Quantiles, Quantiles]:
    """Quantiles by case, criterion and level; and what those are at least that are not known."""
    values: Quantiles = {}
    at_least: Quantiles = {}
    if not (assessment.good & assessment.drawn).any():
        return values, at_least
    for k, place in enumerate(assessment.places):
        case, name = place.case or "design", place.criterion.name
        own = {f"{level:g}": assessment.column(k).quantile(level) for level in assessment.levels}
        values.setdefault(case, {})[name] = {level: q.value for level, q in own.items()}
        open_ = {level: q.at_least for level, q in own.items() if not q.reached}
        if open_:
            at_least.setdefault(case, {})[name] = open_
    return values, at_least


def _by_parameter(
    assessment: Assessment, matrix: np.ndarray
) -> dict[str, dict[str, dict[str, float]]]:
    """A matrix (criteria, parameters) by case, criterion and parameter."""
    plain: dict[str, dict[str, dict[str, float]]] = {}
    for k, place in enumerate(assessment.places):
        row = dict(zip(assessment.samples.names, map(float, matrix[k]), strict=True))
        plain.setdefault(place.case or "design", {})[place.criterion.name] = row
    return plain


def _effects(assessment: Assessment) -> dict[str, object] | None:
    own = effects(assessment)
    if own is None:
        return None
    plain: dict[str, object] = {"kind": own.kind}
    for column in own.columns:
        plain[column.key] = _by_parameter(assessment, column.values)
        if column.at_least is not None and np.isfinite(column.at_least).any():
            plain[f"{column.key}_at_least"] = _by_parameter(assessment, column.at_least)
    return plain


def _local(assessment: Assessment) -> dict[str, object] | None:
    local = assessment.local
    if local is None:
        return None
    return {
        "at": dict(zip(local.names, map(float, local.point), strict=True)),
        "derivative": _by_parameter(assessment, local.derivatives),
        "relative": _by_parameter(assessment, local.relative),
        "differenced": list(local.differenced),
    }


def _sensitivity(assessment: Assessment) -> dict[str, object] | None:
    own = assessment.sensitivity
    if own is None:
        return None
    plain: dict[str, object] = {
        "kind": own.kind,
        "blocks": own.blocks,
        "lost": own.lost,
        "not_reached": dict(zip(own.labels, own.open, strict=True)),
    }
    for index in own.indices:
        plain[index.key] = _by_parameter(assessment, index.value)
        if index.half is not None:
            plain[f"{index.key}_ci95_half"] = _by_parameter(assessment, index.half)
    return plain
