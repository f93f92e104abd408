"""The posterior as plain values: the JSON of `estimica sample --json`."""

from __future__ import annotations

from dataclasses import asdict

from estimica.base.result import finite
from estimica.infer.posterior.diagnosis import Spread
from estimica.infer.posterior.result import Posterior
from estimica.infer.posterior.verdict import troubles


def as_object(found: Posterior) -> dict[str, object]:
    """Everything about a posterior but the single draws; what is not finite is None."""
    status, message = found.outcome()
    tuners: dict[str, object] = {}
    by_case: dict[str, dict[str, dict[str, object]]] = {"start": {}, "disturbance": {}}
    spreads = found.spreads if found.chains else ()
    for k, s in enumerate(spreads):
        u = found.fit.unknowns.items[k]
        told = {"value": float(found.fit.values[k]), **_spread(s), "unit": u.unit}
        if u.kind == "tuner":
            tuners[u.name] = told
        else:
            by_case[u.kind].setdefault(u.case, {})[u.name] = told
    plain = finite(
        {
            "command": "sample",
            "run": found.run,
            "study": found.fit.study.name,
            "outcome": {"status": status, "message": message},
            "method": found.method,
            "seed": found.seed,
            "requested": found.requested,
            "chains": len(found.chains),
            "draws": found.draws,
            "warmup": found.warmup,
            "divergences": found.divergences,
            "impossible": sum(c.impossible for c in found.chains),
            "evaluations": sum(c.evaluations for c in found.chains),
            "acceptance": [c.acceptance for c in found.chains],
            "troubles": troubles(found) if found.chains else [],
            "failures": [{"chain": f.number, "message": f.message} for f in found.failures],
            "parameters": tuners,
            "start_values": by_case["start"],
            "disturbances": by_case["disturbance"],
            "noise": {n: _spread(s) for n, s in found.noise_spreads.items()},
            "covariance": found.covariance.tolist() if found.chains else None,
            "comparison": asdict(found.comparison) if found.comparison else None,
            "predictive": _predictive(found),
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def _spread(s: Spread) -> dict[str, object]:
    told = asdict(s)
    return {"ci95": list(told.pop("interval")), **told}


def _predictive(found: Posterior) -> list[dict[str, object]]:
    if found.predictive is None:
        return []
    return [
        {
            "case": o.case,
            "output": o.name,
            "time": o.time.tolist(),
            "median": o.middle.tolist(),
            "mean": [end.tolist() for end in o.mean],
            "prediction": [end.tolist() for end in o.prediction],
            "inside": o.inside,
        }
        for o in found.predictive.outputs
    ]
