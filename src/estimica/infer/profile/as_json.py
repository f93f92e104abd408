"""The profiles as plain values: the JSON of `estimica profile --json`."""

from __future__ import annotations

from estimica.base.result import finite
from estimica.infer.profile.result import Profile, ProfileCurve, ProfileEnd


def as_object(found: Profile) -> dict[str, object]:
    """Intervals and curves of all profiles; an open end is None, as all that is not finite."""
    status, message = found.outcome()
    told: dict[str, dict[str, object]] = {"tuner": {}, "start": {}, "disturbance": {}}
    for curve in found.curves:
        u = curve.unknown
        one = _curve(found, curve)
        if u.kind == "tuner":
            told["tuner"][u.name] = one
        else:
            of_case = told[u.kind].setdefault(u.case, {})
            assert isinstance(of_case, dict)
            of_case[u.name] = one
    better = found.better
    plain = finite(
        {
            "command": "profile",
            "run": found.run,
            "study": found.fit.study.name,
            "outcome": {"status": status, "message": message},
            "level": found.level,
            "threshold": found.threshold,
            "criterion": found.fit.criterion,
            "cost": found.cost,
            "parameters": told["tuner"],
            "start_values": told["start"],
            "disturbances": told["disturbance"],
            "better_optimum": None
            if better is None
            else {"cost": better.cost, "values": dict(better.values), "unknown": better.unknown},
            "failed": found.failures,
            "refits": found.refits,
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def _curve(found: Profile, curve: ProfileCurve) -> dict[str, object]:
    labels = [u.label for u in found.fit.unknowns.items]
    name = "ci95" if found.level == 0.95 else "interval"
    return {
        "value": curve.value,
        name: list(curve.interval),
        "low": _end(curve.low),
        "high": _end(curve.high),
        "rise": curve.rise,
        "notes": list(curve.notes),
        "unit": curve.unknown.unit,
        "curve": {
            "value": curve.values.tolist(),
            "cost": curve.costs.tolist(),
            "others": {
                label: curve.refits[:, k].tolist()
                for k, label in enumerate(labels)
                if label != curve.unknown.label
            },
        },
    }


def _end(end: ProfileEnd) -> dict[str, object]:
    return {
        "value": end.value,
        "ending": str(end.ending),
        "message": end.message,
        "failures": [{"at": value, "message": message} for value, message in end.failures],
    }
