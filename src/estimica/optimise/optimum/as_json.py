"""A design as plain values for JSON: tuners, criteria by case, starts, the way, scenarios."""

from __future__ import annotations

from estimica.base.result import finite
from estimica.optimise.criteria.score import DesignPoint
from estimica.optimise.optimum.result import Optimised


def as_object(optimised: Optimised) -> dict[str, object]:
    """Tuners, criteria by case, the aggregate, and what it cost."""
    plain = finite(
        {
            "command": "optimise",
            "run": optimised.run,
            "study": optimised.study.name,
            "outcome": {"status": optimised.outcome.status, "message": optimised.outcome.message},
            "method": optimised.settings.method,
            "tuners": _tuners(optimised),
            "criteria": _criteria(optimised),
            "aggregate": {
                "kind": optimised.settings.aggregate,
                "value": optimised.aggregate,
                "at_least": optimised.aggregate_at_least,
                "largest": optimised.alpha,
                "largest_at_least": optimised.best.largest_at_least,
                "satisfied": optimised.satisfied,
            },
            "agreement": _agreement(optimised),
            "starts": _starts(optimised),
            "iterations": _iterates(optimised),
            "scenarios": _scenarios(optimised),
            "evaluations": {
                "designs": optimised.evaluations,
                "simulations": optimised.simulations,
                "failed": optimised.failed,
                "iterations": optimised.iterations,
            },
            "failures": [
                {"case": f.case, "message": f.message, "tuners": dict(f.values)}
                for f in optimised.failures[:20]
            ],
            "seconds": optimised.seconds,
            "worked_by": optimised.worked_by.to_dict() if optimised.worked_by else None,
        }
    )
    assert isinstance(plain, dict)
    return plain


def _agreement(optimised: Optimised) -> dict[str, object]:
    """How many starts have ended at the best design."""
    own = optimised.agreement
    return {
        "asked": own.asked,
        "made": own.made,
        "here": own.here,
        "elsewhere": own.elsewhere,
        "worse": own.worse,
        "cut_short": own.cut_short,
        "failed": own.failed,
        "optima": [
            {
                "starts": [end.number for end in one.ends],
                "cost": one.best.cost,
                "violation": one.best.violation,
                "tuners": _named(optimised, one.best.point),
            }
            for one in own.optima
        ],
        "text": own.text,
    }


def _starts(optimised: Optimised) -> list[dict[str, object]]:
    """What each start led to."""
    unknowns = optimised.unknowns
    return [
        {
            "number": end.number,
            "start": unknowns.named(unknowns.values(end.start)),
            "tuners": _named(optimised, end.point),
            "cost": end.cost,
            "violation": end.violation,
            "status": end.status,
            "message": end.message,
            "designs": end.evaluations,
            "drawn_again": end.drawn_again,
            "seconds": end.seconds,
        }
        for end in optimised.starts
    ]


def _named(optimised: Optimised, point: DesignPoint | None) -> dict[str, float]:
    return {} if point is None else optimised.unknowns.named(point.tuners)


def _tuners(optimised: Optimised) -> dict[str, object]:
    return {
        str(name): {
            "value": row["value"],
            "start": row["start"],
            "at_bound": row["at_bound"],
            "unit": row["unit"],
        }
        for name, row in optimised.tuners.iterrows()
    }


def _criteria(optimised: Optimised) -> dict[str, dict[str, object]]:
    """Every criterion by case, before and after."""
    criteria: dict[str, dict[str, object]] = {}
    for before, after in zip(optimised.start.scores, optimised.best.scores, strict=True):
        place = after.place
        criteria.setdefault(place.case or "design", {})[place.criterion.name] = {
            "value": after.value,
            "at_least": after.at_least,
            "demand": place.demand,
            "weight": place.weight,
            "weighted": after.weighted,
            "holds": after.holds(),
            "before": before.value,
            "before_at_least": before.at_least,
            "weighted_before": before.weighted,
            "role": place.role,
            "kind": place.criterion.kind,
            "unit": place.criterion.unit,
            "gradient": "differences" if place.label in optimised.differenced else "exact",
        }
    return criteria


def _iterates(optimised: Optimised) -> list[dict[str, object]]:
    """The designs that were better than all before them."""
    names = [u.name for u in optimised.unknowns.items]
    return [
        {
            "evaluation": i.evaluation,
            "cost": i.cost,
            "violation": i.violation,
            "not_reached": [s.place.label for s in i.point.scores if not s.reached],
            "tuners": dict(zip(names, map(float, i.point.tuners), strict=True)),
        }
        for i in optimised.iterates
    ]


def _scenarios(optimised: Optimised) -> list[dict[str, object]]:
    """The uncertain values of each scenario, and the criteria of the best design there."""
    return [
        {
            "values": dict(values),
            "criteria": {s.place.label: s.value for s in point.scores},
            "at_least": {s.place.label: s.at_least for s in point.scores if not s.reached},
        }
        for values, point in zip(optimised.scenarios, optimised.best.scenarios, strict=True)
    ]
