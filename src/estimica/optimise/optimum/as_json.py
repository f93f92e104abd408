"""A design as plain values: the JSON of `estimica optimise --json`."""

from __future__ import annotations

from estimica.base.result import finite
from estimica.optimise.optimum.result import Optimised


def as_object(found: Optimised) -> dict[str, object]:
    """Tuners, criteria by case, the aggregate, and what it cost."""
    criteria: dict[str, dict[str, object]] = {}
    for before, after in zip(found.start.scores, found.best.scores, strict=True):
        place = after.place
        criteria.setdefault(place.case or "design", {})[place.criterion.name] = {
            "value": after.value,
            "at_least": after.at_least,
            "demand": place.demand,
            "weighted": after.weighted,
            "holds": after.holds(),
            "before": before.value,
            "before_at_least": before.at_least,
            "weighted_before": before.weighted,
            "role": place.role,
            "kind": place.criterion.kind,
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
                "at_least": found.aggregate_at_least,
                "largest": found.alpha,
                "largest_at_least": found.best.largest_at_least,
                "satisfied": found.satisfied,
            },
            "iterations": [
                {
                    "evaluation": i.evaluation,
                    "cost": i.cost,
                    "violation": i.violation,
                    "not_reached": [s.place.label for s in i.point.scores if not s.reached],
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
            "criteria": {s.place.label: s.value for s in point.scores},
            "at_least": {s.place.label: s.at_least for s in point.scores if not s.reached},
        }
        for values, point in zip(found.scenarios, found.best.scenarios, strict=True)
    ]
