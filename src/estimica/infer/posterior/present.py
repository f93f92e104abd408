"""How a posterior shows itself: a table, pictures, a page, JSON, the draws in ArviZ's form."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base.errors import InferError
from estimica.base.files.write import atomic_replacement
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.base.text import percent, rounded, short
from estimica.base.view import (
    Curve,
    Curves,
    Page,
    Panel,
    Ribbon,
    Rounded,
    Section,
    Table,
    name_with_unit,
    status_line,
    without_empty,
)
from estimica.estimate.fit.frequency_pictures import across
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.posterior.diagnosis import DOUBTFUL, DrawSummary
from estimica.infer.posterior.libraries import arviz
from estimica.infer.posterior.predictive import PredictedOutput
from estimica.infer.posterior.result import Posterior
from estimica.infer.posterior.verdict import outcome, troubles
from estimica.infer.scatter import GREY, STRONG, bars, clouds, pairs_to_draw

PICTURES = ("pairs", "distribution", "chains", "predictive")
BARS = 40
#: draws of a chain, and of a cloud, that are drawn: more make no other picture
DRAWN = 1000


def tables(found: Posterior) -> tuple[Table, ...]:
    """All there is to read."""
    return (estimates(found),)


def estimates(found: Posterior) -> Table:
    """A row for each unknown and each noise variance."""
    columns = (
        "unknown",
        "mean",
        "std. dev.",
        "median",
        "95 % from",
        "to",
        "R-hat",
        "eff. draws",
        "estimate",
        "unit",
    )
    rows = []
    if found.chains:
        for k, (u, s) in enumerate(zip(found.fit.unknowns.items, found.spreads, strict=True)):
            value = rounded(float(found.fit.values[k]), s.stderr)
            rows.append((*_row(u.label, s), value, "" if u.unit == "1" else u.unit))
        for name, s in found.noise_spreads.items():
            value = rounded(found.fit.noise[name].variance, s.stderr)
            rows.append((*_row(f"variance of {name}", s), value, ""))
    title = f"{found.fit.study.name}: posterior, {found.method}, seed {found.seed}"
    return without_empty(Table(columns, tuple(rows), title, status_line(*outcome(found))), "unit")


def _row(label: str, s: DrawSummary) -> tuple[object, ...]:
    numbers = (rounded(x, s.stderr) for x in (s.mean, s.stderr, s.median, *s.interval))
    rhat = Rounded(s.rhat, 3) if math.isfinite(s.rhat) else None
    fewest = min(s.ess_bulk, s.ess_tail)
    return label, *numbers, rhat, Rounded(fewest, 0) if math.isfinite(fewest) else None


# --- pictures ------------------------------------------------------------------------------------


def picture(found: Posterior, kind: str, names: Sequence[str] = ()) -> Curves:
    """The curves of one kind, for all unknowns or those named."""
    if kind not in PICTURES:
        hint = did_you_mean(kind, PICTURES) or f" ({', '.join(PICTURES)})"
        raise InferError("I718", f"there is no plot '{kind}'{hint}")
    if not found.chains:
        raise InferError("I719", "there is no finished chain to draw")
    if kind == "predictive":
        return _predictive(found)
    chosen = [_place(found, n) for n in names] or list(range(found.fit.n_free))
    if kind == "pairs":
        return _pairs(found, chosen, bool(names))
    return _bars(found, chosen) if kind == "distribution" else _chains(found, chosen)


def _place(found: Posterior, name: str) -> int:
    labels = [u.label for u in found.fit.unknowns.items]
    if name not in labels:
        hint = did_you_mean(name, labels) or f" (there are {', '.join(labels)})"
        raise InferError("I720", f"the posterior has no unknown '{name}'{hint}")
    return labels.index(name)


def _pairs(found: Posterior, chosen: Sequence[int], named: bool) -> Curves:
    flat = found.values.reshape(-1, found.fit.n_free)
    with np.errstate(invalid="ignore"):
        correlation = np.atleast_2d(np.corrcoef(flat, rowvar=False))
    pairs = pairs_to_draw(chosen, correlation, all_of_them=named)
    some = flat[:: max(1, len(flat) // DRAWN)]
    panels = clouds(found.fit, some, correlation, pairs, what="draws")
    return Curves(tuple(panels), f"{found.fit.study.name}: draws of pairs", "", 260)


def _bars(found: Posterior, chosen: Sequence[int]) -> Curves:
    panels = [
        bars(
            found.fit,
            k,
            np.histogram(found.values[:, :, k].ravel(), bins=BARS, density=True),
            found.spreads[k].interval,
            what="draws",
            label="density",
            listed=place == 0,
        )
        for place, k in enumerate(chosen)
    ]
    return Curves(tuple(panels), f"{found.fit.study.name}: draws", "", 170)


def _chains(found: Posterior, chosen: Sequence[int]) -> Curves:
    step = max(1, found.draws // DRAWN)
    number = np.arange(0, found.draws, step, dtype=float)
    panels: list[Panel] = []
    for k in chosen:
        u = found.fit.unknowns.items[k]
        curves = tuple(
            Curve(
                f"chain {c + 1}",
                number,
                found.values[place, ::step, k],
                u.unit,
                strength=0.6,
                colour=place,
                listed=not panels,
            )
            for place, c in enumerate(found.numbers)
        )
        panels.append(Panel(name_with_unit(u.label, u.unit), curves))
    return Curves(tuple(panels), f"{found.fit.study.name}: chains", "draw", 150, whole=True)


def _predictive(found: Posterior) -> Curves:
    assert found.predictive is not None
    several = len({o.case for o in found.predictive.outputs}) > 1
    panels: list[Panel] = []
    for o in found.predictive.outputs:
        unit = found.fit.unit_of(found.fit.case(o.case)[o.name])
        for label, part in _parts(o):
            panels.append(_panel(part, name_with_unit(label, unit), unit, several, not panels))
    label = "time [s]" if found.fit.study.model.has_time else "point"
    title = f"{found.fit.study.name}: outputs by the posterior"
    return Curves(tuple(panels), title, label, 240)


def _parts(o: PredictedOutput) -> Iterator[tuple[str, PredictedOutput]]:
    """The output itself; of a frequency response its real and its imaginary part."""
    if o.transfer is None:
        yield o.name, o
        return
    size, f = o.transfer.amplitude, o.transfer.frequency
    for k, part in enumerate(("Re", "Im")):
        mean, prediction = ((a[k::2] / size, b[k::2] / size) for a, b in (o.mean, o.prediction))
        own = replace(o, time=f, measured=o.measured[k::2] / size, middle=o.middle[k::2] / size)
        yield f"{part} {o.name}", replace(own, mean=mean, prediction=prediction)


def _panel(o: PredictedOutput, label: str, unit: str, several: bool, first: bool) -> Panel:
    ribbons = (
        Ribbon("95 % of measurements", o.time, *o.prediction, listed=first),
        Ribbon("95 % band of the output", o.time, *o.mean, 1, 0.45, listed=first),
    )
    curves = (
        Curve("measured", o.time, o.measured, unit, dotted=True, colour=GREY, listed=first),
        Curve("median", o.time, o.middle, unit, colour=STRONG, listed=first),
    )
    axis = across(o.transfer) if o.transfer else None
    return Panel(label, curves, group=o.case if several else "", ribbons=ribbons, across=axis)


# --- page ----------------------------------------------------------------------------------------


def page(found: Posterior) -> Page:
    """Everything about a posterior on one page."""
    lead = (
        f"{found.requested} chains of {found.draws} draws after a warm-up of {found.warmup}, "
        f"method {found.method}, seed {found.seed}; {found.seconds:.3g} s."
    )
    study = found.fit.study
    said = status_line(*outcome(found))
    told = Page(f"Posterior: {study.name}", tuple(_sections(found)), lead)
    first = (study_summary(study, "sample"), Section(ANSWER, f"{said[:1].upper()}{said[1:]}."))
    return with_reproduction(told, "sample", study, first=first, seed=found.seed, run=found.run)


def _sections(found: Posterior) -> Iterator[Section]:
    yield Section("Unknowns", _WORDS, (replace(estimates(found), title="", note=""),))
    if not found.chains:
        return
    if found.fit.n_free > 1:
        yield Section("Pairs", _PAIRS, (replace(picture(found, "pairs"), title=""),))
    shown = (replace(picture(found, "distribution"), title=""),)
    yield Section("Single unknowns", "", shown)
    yield Section("Outputs", _BANDS, (_coverage(found), replace(_predictive(found), title="")))
    yield Section("Data left out", _LOO, (_comparison(found),))
    yield Section("Chains", _CHAINS, (replace(picture(found, "chains"), title=""),))


def _coverage(found: Posterior) -> Table:
    assert found.predictive is not None
    rows = tuple((o.case, o.name, percent(100 * o.inside)) for o in found.predictive.outputs)
    return Table(("case", "output", "% inside"), rows)


def _comparison(found: Posterior) -> Table:
    c = found.comparison
    assert c is not None
    note = (
        f"Pareto shapes above {DOUBTFUL}: {c.doubtful} of {c.samples} samples; LOO cannot be "
        "trusted there; cross-validate instead"
        if c.doubtful
        else ""
    )
    rows = (
        ("LOO", *map(short, (c.loo, c.loo_error, c.loo_parameters))),
        ("WAIC", *map(short, (c.waic, c.waic_error, c.waic_parameters))),
    )
    columns = ("", "expected log likelihood", "std. error", "effective unknowns")
    return Table(columns, rows, "", note)


_WORDS = (
    "Mean, standard deviation and the middle 95 % of the draws. R-hat compares the chains with "
    "each other and is 1 where they agree; so many independent draws would say as much as the "
    "effective draws do. Noise variances that were not known have Jeffreys' prior; unknowns "
    "without a prior are flat between their bounds, on the logarithm where that is their scale."
)
_PAIRS = (
    "A cloud that is a thin line says that the data determine a combination of the two better "
    "than either of them."
)
_BANDS = (
    "The inner band holds 95 % of the simulated outputs of the draws, the outer one 95 % of "
    "further measurements, at each stamp by itself."
)
_LOO = (
    "How probable each sample is for a model that has not seen it, on average over the posterior; "
    "of two models of the same data the one with the larger number predicts better, if they "
    "differ by several standard errors."
)
_CHAINS = "Chains that agree look like one band without steps or drifts."


# --- as JSON -------------------------------------------------------------------------------------


def as_object(found: Posterior) -> dict[str, object]:
    """Everything about a posterior but the single draws; what is not finite is None."""
    status, message = found.outcome
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
            "predictive": _predictive_object(found),
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def _spread(s: DrawSummary) -> dict[str, object]:
    told = asdict(s)
    return {"ci95": list(told.pop("interval")), **told}


def _predictive_object(found: Posterior) -> list[dict[str, object]]:
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


# --- inference data ------------------------------------------------------------------------------
# The draws in ArviZ's form, with which its plots and comparisons work.


def inference_data(found: Posterior) -> Any:
    """Groups posterior, sample_stats, posterior_predictive, log_likelihood and observed_data.

    Outputs are named "case: output"; predictive and likelihood hold some of the draws only.
    """
    if found.predictive is None:
        raise InferError("I717", "sample: there is no finished chain to hand on")
    posterior = {u.label: found.values[:, :, k] for k, u in enumerate(found.fit.unknowns.items)}
    posterior |= {f"variance of {n}": v for n, v in found.noise.items()}
    names = [f"{o.case}: {o.name}" for o in found.predictive.outputs]
    ends = np.cumsum([len(o.measured) for o in found.predictive.outputs])[:-1]
    likely = np.split(found.predictive.log_likelihood, ends, axis=2)
    return arviz().from_dict(
        posterior=posterior,
        sample_stats={"lp": np.stack([c.log_density for c in found.chains])},
        posterior_predictive=dict(zip(names, found.predictive.replicated, strict=True)),
        log_likelihood=dict(zip(names, likely, strict=True)),
        observed_data={n: o.measured for n, o in zip(names, found.predictive.outputs, strict=True)},
        attrs={"study": found.fit.study.name, "seed": found.seed, "method": found.method},
    )


def write(found: Posterior, path: str | PathLike[str]) -> Path:
    """Write the draws as netCDF."""
    data = inference_data(found)
    with atomic_replacement(path) as draft:
        data.to_netcdf(str(draft))
    return Path(path)
