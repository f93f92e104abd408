"""The bootstrap as plain values: the JSON of `estimica bootstrap --json`."""

from __future__ import annotations

import math

from estimica.estimate.fit.as_json import finite, identifiability
from estimica.infer.bootstrap.intervals import Spread
from estimica.infer.bootstrap.result import Bootstrap


def as_object(found: Bootstrap) -> dict[str, object]:
    """Everything about a bootstrap but the single replicates; what is not finite is None."""
    status, message = found.outcome()
    items = found.fit.unknowns.items
    by_case: dict[str, dict[str, dict[str, object]]] = {"start": {}, "disturbance": {}}
    tuners: dict[str, object] = {}
    for k, (u, s) in enumerate(zip(items, found.spreads, strict=True)):
        told = {
            **_spread(s),
            "identifiable": bool(found.fit.accuracy.identifiable[k]),
            "undetermined_share": s.undetermined,
            "remark": found.remark(k),
            "unit": u.unit,
        }
        if u.kind == "tuner":
            tuners[u.name] = told
        else:
            by_case[u.kind].setdefault(u.case, {})[u.name] = told
    plain = finite(
        {
            "command": "bootstrap",
            "run": found.run,
            "study": found.fit.study.name,
            "outcome": {"status": status, "message": message},
            "kind": found.kind,
            "seed": found.seed,
            "requested": found.requested,
            "replicates": found.replicates,
            "failed": found.failed,
            "failures": [
                {"message": m, "count": n, "replicates": _numbers(found, m)}
                for m, n in found.messages
            ],
            "parameters": tuners,
            "start_values": by_case["start"],
            "disturbances": by_case["disturbance"],
            "noise": {n: _spread(s) for n, s in found.noise_spreads.items()},
            "identifiability": identifiability(found.fit),
            "block_lengths": _by_case(found),
            "criterion": found.fit.criterion,
            "cost": found.fit.cost,
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def _spread(s: Spread) -> dict[str, object]:
    return {
        "value": s.value,
        "mean": s.mean,
        "bias": s.bias,
        "stderr": s.stderr,
        "ci95": _interval(s.percentile),
        "ci95_bca": _interval(s.bca),
        "at_bound_share": s.at_bound,
    }


def _interval(ends: tuple[float, float]) -> list[float] | None:
    return list(ends) if all(map(math.isfinite, ends)) else None


def _numbers(found: Bootstrap, message: str) -> list[int]:
    return [f.number for f in found.failures if f.message == message]


def _by_case(found: Bootstrap) -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = {}
    for (case, output), length in found.block_lengths.items():
        told.setdefault(case, {})[output] = length
    return told
