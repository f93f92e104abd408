"""An assessment as plain values: the JSON of `estimica sweep` and `estimica montecarlo`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from estimica.base.result import finite
from estimica.data.writers import write_table
from estimica.optimise.assess.effects import effects
from estimica.optimise.assess.result import AT_LEAST, Assessment, share_of


def as_object(found: Assessment) -> dict[str, object]:
    """Samples, criteria by case, and of a Monte Carlo the quantiles and the probability."""
    status, message = found.outcome()
    criteria: dict[str, dict[str, object]] = {}
    for k, place in enumerate(found.places):
        criteria.setdefault(place.case or "design", {})[place.criterion.name] = {
            "values": found.values[:, k],
            **_open(found, k),
            "demand": place.demand,
            "role": place.role,
            "kind": place.criterion.kind,
            "unit": place.criterion.unit,
            **(_moments(found, k) if found.command == "montecarlo" else {}),
        }
    names = found.samples.names
    told: dict[str, object] = {
        "command": found.command,
        "run": found.run,
        "study": found.study.name,
        "outcome": {"status": status, "message": message},
        "design": found.design,
        "samples": {n: found.samples.values[:, k] for k, n in enumerate(names)},
        "axes": {n: a.tolist() for n, a in zip(names, found.samples.axes, strict=False)},
        "criteria": criteria,
        "largest": found.largest,
        "largest_at_least": found.largest_at_least if found.open.any() else None,
        "satisfied": found.satisfied.tolist(),
        "failed": [
            {"sample": f.number, "case": f.case, "message": f.message} for f in found.failures
        ],
        "effects": _effects(found),
        "local_sensitivity": _local(found),
        "seconds": found.seconds,
    }
    if found.command == "montecarlo":
        share, interval = found.probability_satisfied
        told["probability_satisfied"] = {"value": share, "ci95": list(interval)}
        told["quantiles"], told["quantiles_at_least"] = _quantiles(found)
        told["draws"] = found.samples.draws
        told["sensitivity"] = _sensitivity(found)
    plain = finite(told)
    assert isinstance(plain, dict)
    return plain


def _open(found: Assessment, k: int) -> dict[str, object]:
    """In how many samples a criterion was not reached, and what it is at least in each."""
    count = int(found.open[:, k].sum())
    return {"not_reached": count, "at_least": found.at_least[:, k] if count else None}


def _moments(found: Assessment, k: int) -> dict[str, object]:
    """Mean and standard deviation of a criterion, and how often its demand holds.

    Where it was not reached in a sample that counts, both are not known.
    """
    own = found.column(k)
    share, interval = share_of(found.held[found.drawn, k])
    spread: dict[str, object] = {}
    if len(own):
        sigma = None if own.open else float(own.values.std())
        spread = {"mean": own.mean.value, "mean_at_least": own.mean.at_least, "sigma": sigma}
    return {**spread, "probability_held": {"value": share, "ci95": list(interval)}}


Quantiles = dict[str, dict[str, dict[str, float | None]]]


def _quantiles(found: Assessment) -> tuple[Quantiles, Quantiles]:
    """Quantiles by case, criterion and level; and what those are at least that are not known."""
    told: Quantiles = {}
    at_least: Quantiles = {}
    if not (found.good & found.drawn).any():
        return told, at_least
    for k, place in enumerate(found.places):
        case, name = place.case or "design", place.criterion.name
        own = {f"{level:g}": found.column(k).quantile(level) for level in found.levels}
        told.setdefault(case, {})[name] = {level: q.value for level, q in own.items()}
        open_ = {level: q.at_least for level, q in own.items() if not q.reached}
        if open_:
            at_least.setdefault(case, {})[name] = open_
    return told, at_least


def _by_parameter(found: Assessment, matrix: np.ndarray) -> dict[str, dict[str, dict[str, float]]]:
    """A matrix (criteria, parameters) by case, criterion and parameter."""
    told: dict[str, dict[str, dict[str, float]]] = {}
    for k, place in enumerate(found.places):
        row = dict(zip(found.samples.names, map(float, matrix[k]), strict=True))
        told.setdefault(place.case or "design", {})[place.criterion.name] = row
    return told


def _effects(found: Assessment) -> dict[str, object] | None:
    own = effects(found)
    if own is None:
        return None
    told: dict[str, object] = {"kind": own.kind}
    for column in own.columns:
        told[column.key] = _by_parameter(found, column.values)
        if column.at_least is not None and np.isfinite(column.at_least).any():
            told[f"{column.key}_at_least"] = _by_parameter(found, column.at_least)
    return told


def _local(found: Assessment) -> dict[str, object] | None:
    local = found.local
    if local is None:
        return None
    return {
        "at": dict(zip(local.names, map(float, local.point), strict=True)),
        "derivative": _by_parameter(found, local.derivatives),
        "relative": _by_parameter(found, local.relative),
        "differenced": list(local.differenced),
    }


def _sensitivity(found: Assessment) -> dict[str, object] | None:
    own = found.sensitivity
    if own is None:
        return None
    told: dict[str, object] = {
        "kind": own.kind,
        "blocks": own.blocks,
        "lost": own.lost,
        "not_reached": dict(zip(own.labels, own.open, strict=True)),
    }
    for index in own.indices:
        told[index.key] = _by_parameter(found, index.value)
        if index.half is not None:
            told[f"{index.key}_ci95_half"] = _by_parameter(found, index.half)
    return told


def write_samples(found: Assessment, path: Path) -> Path:
    """A row for each sample: parameters, criteria, 1 where all demands hold; why it failed."""
    frame = found.table_of_samples
    columns = {str(n): frame[n].to_numpy(float) for n in frame.columns}
    units = {p.label: p.criterion.unit for p in found.places if p.criterion.unit}
    units |= {f"{label}{AT_LEAST}": unit for label, unit in units.items()}
    known = {q.name: q.unit for q in found.study.model.quantities()}
    units |= {n: known[n] for n in found.samples.names if known.get(n)}
    reasons = {f.number: f"{f.case}: {f.message}" if f.case else f.message for f in found.failures}
    words = [reasons.get(k, "" if found.done[k] else "not reached") for k in range(len(frame))]
    return write_table(path, columns, units=units, texts={"failed": words})
