"""A front as plain values: the JSON of `estimica optimise --pareto --json`."""

from __future__ import annotations

from estimica.base.result import finite
from estimica.optimise.pareto.result import Front


def as_object(found: Front) -> dict[str, object]:
    """The designs of the front, its knee, and what it cost."""
    assert found.settings.pareto is not None
    names = [u.name for u in found.unknowns.items]
    designs = [
        {
            "tuners": dict(zip(names, map(float, d.point.tuners), strict=True)),
            "criteria": dict(zip(found.criteria, map(float, found.values[k]), strict=True)),
            "weighted": dict(zip(found.criteria, map(float, d.weighted), strict=True)),
            "by_case": {s.place.label: s.value for s in d.point.scores},
            "at_least": {s.place.label: s.at_least for s in d.point.scores if not s.reached},
            "satisfied": d.point.satisfied(),
        }
        for k, d in enumerate(found.designs)
    ]
    plain = finite(
        {
            "command": "optimise",
            "pareto": True,
            "run": found.run,
            "study": found.study.name,
            "outcome": {"status": found.outcome.status, "message": found.outcome.message},
            "method": found.settings.pareto.method,
            "criteria": list(found.criteria),
            "front": designs,
            "knee": found.knee,
            "not_reached": found.left_out,
            "evaluations": {
                "designs": found.evaluations,
                "simulations": found.simulations,
                "failed": len(found.failures),
            },
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain
