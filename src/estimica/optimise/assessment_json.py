"""An assessment as plain values: the JSON of `estimica sweep` and `estimica montecarlo`."""

from __future__ import annotations

from estimica.estimate.fit_json import finite
from estimica.optimise.assessment import Assessment


def as_object(found: Assessment) -> dict[str, object]:
    """Samples, criteria by case, and of a Monte Carlo the quantiles and the probability."""
    status, message = found.outcome()
    criteria: dict[str, dict[str, object]] = {}
    for k, place in enumerate(found.places):
        criteria.setdefault(place.case or "design", {})[place.criterion.name] = {
            "values": found.values[:, k].tolist(),
            "demand": place.demand,
            "role": place.role,
            "unit": place.criterion.unit,
        }
    names = found.samples.names
    told: dict[str, object] = {
        "command": found.command,
        "run": found.run,
        "study": found.study.name,
        "outcome": {"status": status, "message": message},
        "design": found.design,
        "samples": {n: found.samples.values[:, k].tolist() for k, n in enumerate(names)},
        "axes": {n: a.tolist() for n, a in zip(names, found.samples.axes, strict=False)},
        "criteria": criteria,
        "largest": found.largest.tolist(),
        "satisfied": found.satisfied.tolist(),
        "failed": [
            {"sample": f.number, "case": f.case, "message": f.message} for f in found.failures
        ],
        "seconds": found.seconds,
    }
    if found.command == "montecarlo":
        share, interval = found.probability_satisfied
        told["probability_satisfied"] = {"value": share, "ci95": list(interval)}
        told["quantiles"] = _quantiles(found)
    plain = finite(told)
    assert isinstance(plain, dict)
    return plain


def _quantiles(found: Assessment) -> dict[str, dict[str, dict[str, float]]]:
    if not found.good.any():
        return {}
    table = found.quantiles(found.levels)
    told: dict[str, dict[str, dict[str, float]]] = {}
    for place in found.places:
        row = table.loc[place.label]
        own = {f"{level:g}": float(row[level]) for level in found.levels}
        told.setdefault(place.case or "design", {})[place.criterion.name] = own
    return told
