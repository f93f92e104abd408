"""A back-calculation as plain values: the JSON of `estimica backcalculate --json`."""

from __future__ import annotations

from estimica.base.result import finite
from estimica.infer.backcalculation.result import BackCalculation


def as_object(found: BackCalculation) -> dict[str, object]:
    """The points and the ranked laws; what is not finite is None."""
    status, message = found.outcome()
    names = found.names
    columns = [found.column(n).tolist() for n in names]
    stamps = [s for c in found.cases for s in c.stamps.tolist()]
    cases = [c.case for c in found.cases for _ in c.stamps]
    points = [
        {"case": case, found.stamp: stamp if found.has_time else int(stamp)}
        | dict(zip(names, row, strict=True))
        for case, stamp, *row in zip(cases, stamps, *columns, strict=True)
    ]
    plain = finite(
        {
            "command": "backcalculate",
            "run": found.run,
            "study": found.study,
            "outcome": {"status": status, "message": message},
            "compute": list(found.compute),
            "against": list(found.against),
            "units": found.units,
            "points": points,
            "failed": [
                {"case": f.case, found.stamp: f.point, "message": f.message} for f in found.failed
            ],
            "laws": [
                {"of": target, "rank": k} | law.to_dict()
                for target, laws in found.laws.items()
                for k, law in enumerate(laws.ranked, start=1)
            ],
            "not_tried": [
                {"of": target, "law": label, "reason": why}
                for target, laws in found.laws.items()
                for label, why in laws.excluded
            ]
            + [
                {"of": target, "law": "", "reason": why}
                for target, why in found.without_laws.items()
            ],
            "verdict": {target: laws.verdict for target, laws in found.laws.items()},
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain
