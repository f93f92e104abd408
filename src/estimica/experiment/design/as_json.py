"""An input design as plain values: the JSON of `estimica design-input --json`."""

from __future__ import annotations

from estimica.base.result import finite
from estimica.experiment.design.information import mean_variance
from estimica.experiment.design.result import Candidate, InputDesign


def as_object(found: InputDesign) -> dict[str, object]:
    """All candidates and the best; what is not finite is None."""
    status, message = found.outcome()
    bench, best = found.bench, found.chosen
    place = found.tried.index(best) if best is not None and best in found.tried else None
    plain = finite(
        {
            "command": "design-input",
            "run": found.run,
            "study": bench.name,
            "outcome": {"status": status, "message": message},
            "kind": found.settings.kind,
            "criterion": found.settings.criterion,
            "input": list(bench.designed),
            "outputs": list(bench.outputs),
            "n_samples": len(bench.times),
            "step": bench.step,
            "values": {
                u.label: float(v) for u, v in zip(bench.unknowns, bench.values, strict=True)
            },
            "candidates": [candidate(found, c) for c in found.tried],
            "best": None if best is None else {"index": place, **candidate(found, best)},
            "about": found.about,
            "notes": list(found.notes),
            "failed": sum(bool(c.error) for c in found.tried),
            **_spectrum_object(found),
            **found.told,
            "samples": {
                "time": bench.times.tolist(),
                **{n: s.at(bench.times).tolist() for n, s in found.inputs.items()},
            },
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def candidate(found: InputDesign, one: Candidate) -> dict[str, object]:
    """One candidate with its measures."""
    told: dict[str, object] = {"label": one.label, "settings": dict(one.settings)}
    if one.judgement is None:
        return {**told, "error": one.error}
    m, names = one.judgement.measures, found.bench.names
    told |= {
        "S_min": m.S_min,
        "S_i_min": dict(zip(names, map(float, m.S_i_min), strict=True)),
        "R": m.R,
        "R_i": dict(zip(names, map(float, m.R_i), strict=True)),
        "D": m.D,
        "A": one.judgement.A,
        "value": one.judgement.value(found.settings.criterion),
    }
    if one.judgement.stderr is not None:
        known = one.judgement.known
        told |= {"D_sigma": known.D, "A_sigma": mean_variance(known)}
        told["stderr"] = dict(zip(names, map(float, one.judgement.stderr), strict=True))
    return told


def _spectrum_object(found: InputDesign) -> dict[str, object]:
    s = found.spectrum
    if s is None:
        return {}
    return {
        "spectrum": {
            "frequency": s.frequencies.tolist(),
            "power": s.power.tolist(),
            "gain": s.gain.tolist(),
            "efficiency": s.efficiency,
            "crest_factor": s.crest_factor,
        }
    }
