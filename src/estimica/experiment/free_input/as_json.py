"""A free-form input as plain values: the JSON of `estimica design-input --json`."""

from __future__ import annotations

from estimica.base.result import finite
from estimica.experiment.free_input.result import Expected, FreeInput


def as_object(found: FreeInput) -> dict[str, object]:
    """The design, its reference and all attempts; what is not finite is None."""
    status, message = found.outcome()
    counted = [found.names[k] for k in found.counted]
    plain = finite(
        {
            "command": "design-input",
            "run": found.run,
            "study": found.study,
            "outcome": {"status": status, "message": message},
            "kind": "free",
            "criterion": found.criterion,
            "over": "worst" if found.worst else "mean",
            "input": list(found.designed),
            "tuners": counted,
            "values": dict(zip(found.names, map(float, found.values), strict=True)),
            "best": _expected(found, found.design),
            "reference": _expected(found, found.reference),
            "gain_percent": dict(zip(counted, map(float, 100 * found.gain), strict=True)),
            "scenarios": [dict(s) for s in found.scenarios],
            "candidates": [
                {
                    "label": a.start,
                    "value": a.criterion,
                    "iterations": a.iterations,
                    "ended": a.ended,
                }
                for a in found.attempts
            ],
            "derivatives": found.way,
            "difference_percent": 100 * found.difference,
            "limit_passed_percent": 100 * found.passed,
            "pieces": {
                "time": found.stamps.tolist(),
                **{n: s.at(found.stamps).tolist() for n, s in found.design.signals.items()},
            },
            "samples": {
                "time": found.times.tolist(),
                **{n: v.tolist() for n, v in found.inputs.items()},
            },
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def _expected(found: FreeInput, one: Expected) -> dict[str, object]:
    return {
        "about": one.text,
        "value": one.criterion,
        "stderr": dict(zip(found.names, map(float, one.stderr), strict=True)),
        "energy": dict(zip(found.designed, map(float, one.energy), strict=True)),
    }
