"""The fit as plain values: the JSON of `estimica fit --json`."""

from __future__ import annotations

import math
from collections.abc import Iterable

from estimica.base.result import finite
from estimica.estimate.fit.noise_levels import noise_levels
from estimica.estimate.fit.outputs import CaseFit
from estimica.estimate.fit.result import Fit, StartResult
from estimica.estimate.identify.accuracy import Significance
from estimica.estimate.identify.twins import Twin
from estimica.estimate.search.run import Iteration


def as_object(fit: Fit) -> dict[str, object]:
    """Everything about a fit but its trajectories; what is not finite is None."""
    exact = {
        level.output: {"stderr": level.stderr, "ci95": list(level.interval)}
        for level in noise_levels(fit)
    }
    values = {
        "command": "fit",
        "run": fit.run,
        "study": fit.study.name,
        "outcome": {"status": str(fit.outcome.status), "message": fit.outcome.message},
        "criterion": fit.criterion,
        "cost": fit.cost,
        "n_samples": fit.n_samples,
        "n_free": fit.n_free,
        "parameters": {n: _unknown(fit, k) for n, k in _of_kind(fit, "tuner")},
        "covariance": _covariance(fit),
        "start_values": _by_case(fit, "start"),
        "disturbances": _by_case(fit, "disturbance"),
        "noise": {
            name: {
                "variance": n.variance,
                "estimated": n.estimated,
                "at_bound": n.at_bound,
                **({"shared": n.shared} if n.shared else {}),
                **({"formula": n.formula} if n.formula else {}),
                **exact.get(name, {}),
            }
            for name, n in fit.noise.items()
        },
        "quality": {c.name: _quality(c) for c in fit.cases},
        "data_notes": {
            r.case.name: list(r.all_notes) for r in fit.setup.first_records if r.all_notes
        },
        "gaps": {name: _gaps(fit, name) for name in fit.study.partition.gaps},
        "log_likelihood": fit.log_likelihood,
        "aic": fit.aic,
        "aicc": fit.aicc,
        "bic": fit.bic,
        "remarks": list(fit.remarks),
        "residuals": {
            "verdict": fit.residual_verdict.text,
            "coloured": fit.residual_verdict.coloured,
            "stderr_factors": dict(fit.residual_verdict.factors),
        },
        "identifiability": identifiability(fit),
        "iterations": [_iteration(fit, i) for i in fit.iterations],
        "evaluations": {
            "simulations": fit.evaluations.simulations,
            "sensitivities": fit.evaluations.sensitivities,
            "failed": fit.evaluations.failed,
        },
        "failures": [
            {"case": f.case, "message": f.message, "values": dict(f.values)}
            for f in fit.evaluations.failures
        ],
        "starts": [_start(s) for s in ranked(fit.starts)],
        **({"worked_by": fit.worked_by.to_dict()} if fit.starts else {}),
        "twins": [twin_as_object(t) for t in fit.twins],
        "seconds": fit.seconds,
        **_simulated(fit),
    }
    plain = finite(values)
    assert isinstance(plain, dict)
    return plain


def _gaps(fit: Fit, case: str) -> dict[str, object]:
    """Where a case has no data, and the stretches between, none of them where it is bridged."""
    divided = fit.study.partition
    stretches = [
        {"name": name, "begin": s.begin, "end": s.end}
        for name, s in divided.stretches.items()
        if s.case == case
    ]
    gaps = [
        {"begin": g.begin, "end": g.end, "missing": list(g.missing)} for g in divided.gaps[case]
    ]
    return {"gaps": gaps, "stretches": stretches}


def _simulated(fit: Fit) -> dict[str, object]:
    """How derivatives were found and what steps do, where the model has something to tell."""
    facts: dict[str, object] = {"derivatives": fit.derivatives} if fit.derivatives else {}
    if fit.discretisation is not None:
        facts["discretisation"] = fit.discretisation.as_object()
    return facts


def ranked(starts: Iterable[StartResult]) -> list[StartResult]:
    """Starts of a multistart, the best first, those that failed last."""
    return sorted(starts, key=lambda s: (not math.isfinite(s.cost), s.cost, s.number))


def _of_kind(fit: Fit, kind: str) -> list[tuple[str, int]]:
    return [(u.name, k) for k, u in enumerate(fit.unknowns.items) if u.kind == kind]


def _unknown(fit: Fit, k: int) -> dict[str, object]:
    u, a = fit.unknowns.items[k], fit.accuracy
    low, high = (float(x) for x in a.interval[k])
    return {
        "value": float(fit.values[k]),
        "stderr": float(a.stderr[k]),
        "ci95": [low, high] if math.isfinite(low) and math.isfinite(high) else None,
        "ci95_clipped": [bool(c) for c in a.clipped[k]],
        "freedom": float(a.freedom[k]),
        "conditional_on": list(fit.conditions(k)),
        "at_bound": bool(fit.at_bound[k]),
        "identifiable": bool(a.identifiable[k]),
        "practical": str(fit.practical[k].standing),
        "unit": u.unit,
        "start": u.start,
    }


def _covariance(fit: Fit) -> list[list[float]]:
    """Of the tuners, in the order of `parameters`."""
    chosen = [k for _, k in _of_kind(fit, "tuner")]
    found: list[list[float]] = fit.accuracy.covariance[chosen][:, chosen].tolist()
    return found


def _by_case(fit: Fit, kind: str) -> dict[str, dict[str, object]]:
    """Unknowns of each case; those of a validating case come without intervals."""
    by_case: dict[str, dict[str, object]] = {}
    for name, k in _of_kind(fit, kind):
        by_case.setdefault(fit.unknowns.items[k].case, {})[name] = _unknown(fit, k)
    for case in fit.cases:
        for u, value in zip(case.unknowns, case.values, strict=True):
            if u.kind == kind:
                own = {"value": float(value), "stderr": None, "ci95": None, "unit": u.unit}
                by_case.setdefault(u.case or case.name, {})[u.name] = own | {"start": u.start}
    return by_case


def _quality(case: CaseFit) -> dict[str, object]:
    quality: dict[str, object] = {"role": case.role}
    if case.failure:
        quality["failure"] = case.failure
    for output in case.outputs:
        quality[output.name] = {
            "rmse": output.rmse,
            "fit_percent": output.fit_percent,
            "errn_percent": output.errn_percent,
            **({"fitted_as": output.transform} if output.transform else {}),
            **({"censored": int(output.censored.sum())} if output.beyond is not None else {}),
        }
    return quality


def identifiability(fit: Fit) -> dict[str, object]:
    """Which combinations of the unknowns the data determine."""
    i = fit.identifiability
    return {
        "rank": i.rank,
        "n": i.n,
        "null_directions": [dict(d) for d in i.null_directions],
        "advice": list(fit.advice),
        "practically_lost": [
            u.label
            for u, p in zip(fit.unknowns.items, fit.practical, strict=True)
            if p.standing is Significance.LOST
        ],
        "singular_values": [float(s) for s in i.singular_values],
    }


def _iteration(fit: Fit, iteration: Iteration) -> dict[str, object]:
    return {
        "cost": float(iteration.cost),
        "parameters": fit.unknowns.named(iteration.values),
        "step": float(iteration.step),
        "rejected": iteration.rejected,
        "seconds": iteration.seconds,
    }


def twin_as_object(twin: Twin) -> dict[str, object]:
    """Other values that fit as well."""
    return {
        "values": dict(twin.values),
        "cost": twin.cost,
        "starts": twin.starts,
        "symmetry": twin.symmetry,
    }


def _start(one: StartResult) -> dict[str, object]:
    return {
        "number": one.number,
        "cost": one.cost,
        "status": one.status,
        "message": one.message,
        "drawn_again": one.drawn_again,
        "start": dict(one.start),
        "values": dict(one.values),
    }
