"""The release as plain values: the JSON of `estimica release --json`."""

from __future__ import annotations

from estimica.base.result import finite
from estimica.infer.release.result import Candidate, Release, SearchEnd, Step


def as_object(release: Release) -> dict[str, object]:
    """Everything about a release but its trajectories; what is not finite is None."""
    found = {
        "command": "release",
        "run": release.run,
        "study": release.study.name,
        "outcome": {"status": str(release.outcome.status), "message": release.outcome.message},
        "criterion": release.criterion,
        "cost": release.fit.cost,
        "risk": release.settings.risk,
        "seed": release.seed,
        "n_samples": release.n_samples,
        "steps": [_step(s) for s in release.steps],
        "released": list(release.released),
        "held": list(release.held),
        "advice": list(release.advice),
        "fit": release.fit.to_dict(),
        "seconds": release.seconds,
    }
    plain = finite(found)
    assert isinstance(plain, dict)
    return plain


def _step(step: Step) -> dict[str, object]:
    return {
        "number": step.number,
        "null": {
            "free": list(step.free),
            "cost": step.cost,
            "aic": step.aic,
            "aicc": step.aicc,
            "bic": step.bic,
            "values": dict(step.values),
            "noise": dict(step.noise),
        },
        "candidates": [_candidate(c) for c in step.candidates],
        "proposed": _name(step, step.proposed),
        "chosen": _name(step, step.chosen),
    }


def _name(step: Step, k: int | None) -> list[str] | None:
    return None if k is None else list(step.candidates[k].released)


def _candidate(c: Candidate) -> dict[str, object]:
    return {
        "released": list(c.released),
        "freedom": c.freedom,
        "cost": c.cost,
        "cost_reduction": c.cost_reduction,
        "risk": c.risk,
        "risk_multiple": c.risk_multiple,
        "aic": c.aic,
        "aicc": c.aicc,
        "bic": c.bic,
        "acceptable": c.acceptable,
        "outcome": {"status": c.outcome.status, "message": c.outcome.message},
        "values": dict(c.values),
        "noise": dict(c.noise),
        "starts": [_start(s) for s in c.starts],
        "advice": list(c.advice),
    }


def _start(s: SearchEnd) -> dict[str, object]:
    return {"cost": s.cost, "status": s.status, "message": s.message}
