"""A design as plain values: the JSON of `estimica optimise --json`."""

from __future__ import annotations

from estimica.estimate.fit_json import finite
from estimica.optimise.optimised import Optimised


def as_object(found: Optimised) -> dict[str, object]:
    """Tuners, criteria by case, the aggregate, and what it cost."""
    criteria: dict[str, dict[str, object]] = {}
    for k, place in enumerate(found.best.places):
        criteria.setdefault(place.case or "design", {})[place.criterion.name] = {
            "value": float(found.best.values[k]),
            "demand": place.demand,
            "weighted": float(found.best.weighted[k]),
            "before": float(found.start.values[k]),
            "weighted_before": float(found.start.weighted[k]),
            "role": place.role,
            "unit": place.criterion.unit,
            "gradient": "differences" if place.label in found.differenced else "exact",
        }
    tuners = {
        str(name): {
            "value": row["value"],
            "start": row["start"],
            "at_bound": row["at_bound"],
            "unit": row["unit"],
        }
        for name, row in found.tuners.iterrows()
    }
    names = [u.name for u in found.unknowns.items]
    plain = finite(
        {
            "command": "optimise",
            "run": found.run,
            "study": found.study.name,
            "outcome": {"status": found.outcome.status, "message": found.outcome.message},
            "method": found.settings.method,
            "tuners": tuners,
            "criteria": criteria,
            "aggregate": {
                "kind": found.settings.aggregate,
                "value": found.aggregate,
                "largest": found.alpha,
                "satisfied": found.satisfied,
            },
            "iterations": [
                {
                    "evaluation": i.evaluation,
                    "cost": i.cost,
                    "violation": i.violation,
                    "tuners": dict(zip(names, map(float, i.point.tuners), strict=True)),
                }
                for i in found.iterates
            ],
            "scenarios": _scenarios(found),
            "evaluations": {
                "designs": found.evaluations,
                "simulations": found.simulations,
                "failed": len(found.failures),
                "iterations": found.iterations,
            },
            "failures": [
                {"case": f.case, "message": f.message, "tuners": dict(f.values)}
                for f in found.failures[:20]
            ],
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def _scenarios(found: Optimised) -> list[dict[str, object]]:
    """The uncertain values of each scenario, and the criteria of the best design there."""
    return [
        {
            "values": dict(values),
            "criteria": {
                place.label: float(v) for place, v in zip(point.places, point.values, strict=True)
            },
        }
        for values, point in zip(found.scenarios, found.best.scenarios, strict=True)
    ]
