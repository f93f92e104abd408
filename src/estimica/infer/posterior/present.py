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
    TIME_LABEL,
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
from estimica.infer.scatter import (
    GREY,
    STRONG,
    bars,
    clouds,
    corner_figure,
    pairs_to_draw,
    scattered_unknowns,
)

PICTURES = ("pairs", "distribution", "chains", "predictive")
BARS = 40  # of a histogram; chosen: thousands of draws fill them evenly
#: draws of a chain, and of a cloud, that are drawn: more make no other picture
DRAWN = 1000


def tables(posterior: Posterior) -> tuple[Table, ...]:
    """All there is to read."""
    return (estimates(posterior),)


def estimates(posterior: Posterior) -> Table:
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
    if posterior.chains:
        for k, (u, s) in enumerate(
            zip(posterior.fit.unknowns.items, posterior.spreads, strict=True)
        ):
            value = rounded(float(posterior.fit.values[k]), s.stderr)
            rows.append((*_row(u.label, s), value, "" if u.unit == "1" else u.unit))
        for name, s in posterior.noise_spreads.items():
            value = rounded(posterior.fit.noise[name].variance, s.stderr)
            rows.append((*_row(f"variance of {name}", s), value, ""))
    title = f"{posterior.fit.study.name}: posterior, {posterior.method}, seed {posterior.seed}"
    return without_empty(
        Table(columns, tuple(rows), title, status_line(*outcome(posterior))), "unit"
    )


def _row(label: str, s: DrawSummary) -> tuple[object, ...]:
    numbers = (rounded(x, s.stderr) for x in (s.mean, s.stderr, s.median, *s.interval))
    rhat = Rounded(s.rhat, 3) if math.isfinite(s.rhat) else None
    fewest = min(s.ess_bulk, s.ess_tail)
    return label, *numbers, rhat, Rounded(fewest, 0) if math.isfinite(fewest) else None


# --- pictures ------------------------------------------------------------------------------------


def picture(posterior: Posterior, kind: str, names: Sequence[str] = ()) -> Curves:
    """The curves of one kind, for all unknowns or those named."""
    if kind not in PICTURES:
        hint = did_you_mean(kind, PICTURES) or f" ({', '.join(PICTURES)})"
        raise InferError("I718", f"there is no plot '{kind}'{hint}")
    if not posterior.chains:
        raise InferError("I719", "there is no finished chain to draw")
    if kind == "predictive":
        return _predictive(posterior)
    chosen = [_place(posterior, n) for n in names] or list(range(posterior.fit.n_free))
    if kind == "pairs":
        return _pairs(posterior, chosen, bool(names))
    return _bars(posterior, chosen) if kind == "distribution" else _chains(posterior, chosen)


def _place(posterior: Posterior, name: str) -> int:
    labels = [u.label for u in posterior.fit.unknowns.items]
    if name not in labels:
        hint = did_you_mean(name, labels) or f" (there are {', '.join(labels)})"
        raise InferError("I720", f"the posterior has no unknown '{name}'{hint}")
    return labels.index(name)


def corner(posterior: Posterior, names: Sequence[str] = ()) -> Any:
    """All unknowns, or those named, against each other."""
    if not posterior.chains:
        raise InferError("I719", "there is no finished chain to draw")
    places = [_place(posterior, n) for n in names] or list(range(posterior.fit.n_free))
    flat = posterior.values.reshape(-1, posterior.fit.n_free)
    intervals = {k: s.interval for k, s in enumerate(posterior.spreads)}
    title = f"{posterior.fit.study.name}: {len(flat)} draws"
    return corner_figure(scattered_unknowns(posterior.fit, flat), intervals, places, title)


def _pairs(posterior: Posterior, chosen: Sequence[int], named: bool) -> Curves:
    flat = posterior.values.reshape(-1, posterior.fit.n_free)
    with np.errstate(invalid="ignore"):
        correlation = np.atleast_2d(np.corrcoef(flat, rowvar=False))
    pairs = pairs_to_draw(chosen, correlation, all_of_them=named)
    some = flat[:: max(1, len(flat) // DRAWN)]
    drawn = scattered_unknowns(posterior.fit, some)
    panels = clouds(drawn, correlation, pairs, what="draws")
    return Curves(tuple(panels), f"{posterior.fit.study.name}: draws of pairs", "", 260)


def _bars(posterior: Posterior, chosen: Sequence[int]) -> Curves:
    drawn = scattered_unknowns(posterior.fit, posterior.values.reshape(-1, posterior.fit.n_free))
    panels = [
        bars(
            drawn[k],
            np.histogram(drawn[k].values, bins=BARS, density=True),
            posterior.spreads[k].interval,
            what="draws",
            label="density",
            listed=place == 0,
        )
        for place, k in enumerate(chosen)
    ]
    return Curves(tuple(panels), f"{posterior.fit.study.name}: draws", "", 170)


def _chains(posterior: Posterior, chosen: Sequence[int]) -> Curves:
    step = max(1, posterior.draws // DRAWN)
    number = np.arange(0, posterior.draws, step, dtype=float)
    panels: list[Panel] = []
    for k in chosen:
        u = posterior.fit.unknowns.items[k]
        curves = tuple(
            Curve(
                f"chain {c + 1}",
                number,
                posterior.values[place, ::step, k],
                u.unit,
                strength=0.6,
                colour=place,
                listed=not panels,
            )
            for place, c in enumerate(posterior.numbers)
        )
        panels.append(Panel(name_with_unit(u.label, u.unit), curves))
    return Curves(tuple(panels), f"{posterior.fit.study.name}: chains", "draw", 150, whole=True)


def _predictive(posterior: Posterior) -> Curves:
    assert posterior.predictive is not None
    several = len({o.case for o in posterior.predictive.outputs}) > 1
    panels: list[Panel] = []
    for o in posterior.predictive.outputs:
        unit = posterior.fit.unit_of(posterior.fit.case(o.case)[o.name])
        for label, part in _parts(o):
            panel = _panel(part, name_with_unit(label, unit), unit, several, not panels)
            if o.transfer is None:
                panel = replace(panel, origin=posterior.fit.setup.origin_of(o.case))
            panels.append(panel)
    label = TIME_LABEL if posterior.fit.study.model.has_time else "point"
    title = f"{posterior.fit.study.name}: outputs by the posterior"
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


def page(posterior: Posterior) -> Page:
    """Everything about a posterior on one page."""
    lead = (
        f"{posterior.requested} chains of {posterior.draws} draws after a warm-up of "
        f"{posterior.warmup}, method {posterior.method}, seed {posterior.seed}; "
        f"{posterior.seconds:.3g} s."
    )
    study = posterior.fit.study
    said = status_line(*outcome(posterior))
    told = Page(f"Posterior: {study.name}", tuple(_sections(posterior)), lead)
    first = (study_summary(study, "sample"), Section(ANSWER, f"{said[:1].upper()}{said[1:]}."))
    return with_reproduction(
        told, "sample", study, first=first, seed=posterior.seed, run=posterior.run
    )


def _sections(posterior: Posterior) -> Iterator[Section]:
    yield Section("Unknowns", _WORDS, (replace(estimates(posterior), title="", note=""),))
    if not posterior.chains:
        return
    if posterior.fit.n_free > 1:
        yield Section("Pairs", _PAIRS, (replace(picture(posterior, "pairs"), title=""),))
    shown = (replace(picture(posterior, "distribution"), title=""),)
    yield Section("Single unknowns", "", shown)
    yield Section(
        "Outputs", _BANDS, (_coverage(posterior), replace(_predictive(posterior), title=""))
    )
    yield Section("Data left out", _LOO, (_comparison(posterior),))
    yield Section("Chains", _CHAINS, (replace(picture(posterior, "chains"), title=""),))


def _coverage(posterior: Posterior) -> Table:
    assert posterior.predictive is not None
    rows = tuple((o.case, o.name, percent(100 * o.inside)) for o in posterior.predictive.outputs)
    return Table(("case", "output", "% inside"), rows)


def _comparison(posterior: Posterior) -> Table:
    c = posterior.comparison
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


def as_object(posterior: Posterior) -> dict[str, object]:
    """Everything about a posterior but the single draws; what is not finite is None."""
    status, message = posterior.outcome
    tuners: dict[str, object] = {}
    by_case: dict[str, dict[str, dict[str, object]]] = {"start": {}, "disturbance": {}}
    spreads = posterior.spreads if posterior.chains else ()
    for k, s in enumerate(spreads):
        u = posterior.fit.unknowns.items[k]
        told = {"value": float(posterior.fit.values[k]), **_spread(s), "unit": u.unit}
        if u.kind == "tuner":
            tuners[u.name] = told
        else:
            by_case[u.kind].setdefault(u.case, {})[u.name] = told
    plain = finite(
        {
            "command": "sample",
            "run": posterior.run,
            "study": posterior.fit.study.name,
            "outcome": {"status": status, "message": message},
            "method": posterior.method,
            "seed": posterior.seed,
            "requested": posterior.requested,
            "chains": len(posterior.chains),
            "draws": posterior.draws,
            "warmup": posterior.warmup,
            "divergences": posterior.divergences,
            "impossible": sum(c.impossible for c in posterior.chains),
            "evaluations": sum(c.evaluations for c in posterior.chains),
            "acceptance": [c.acceptance for c in posterior.chains],
            "troubles": troubles(posterior) if posterior.chains else [],
            "failures": [{"chain": f.number, "message": f.message} for f in posterior.failures],
            "parameters": tuners,
            "start_values": by_case["start"],
            "disturbances": by_case["disturbance"],
            "noise": {n: _spread(s) for n, s in posterior.noise_spreads.items()},
            "covariance": posterior.covariance.tolist() if posterior.chains else None,
            "comparison": asdict(posterior.comparison) if posterior.comparison else None,
            "predictive": _predictive_object(posterior),
            "seconds": posterior.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def _spread(s: DrawSummary) -> dict[str, object]:
    told = asdict(s)
    return {"ci95": list(told.pop("interval")), **told}


def _predictive_object(posterior: Posterior) -> list[dict[str, object]]:
    if posterior.predictive is None:
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
        for o in posterior.predictive.outputs
    ]


# --- inference data ------------------------------------------------------------------------------
# The draws in ArviZ's form, with which its plots and comparisons work.


def inference_data(posterior: Posterior) -> Any:
    """Groups posterior, sample_stats, posterior_predictive, log_likelihood and observed_data.

    Outputs are named "case: output"; predictive and likelihood hold some of the draws only.
    """
    if posterior.predictive is None:
        raise InferError("I717", "sample: there is no finished chain to hand on")
    values = {
        u.label: posterior.values[:, :, k] for k, u in enumerate(posterior.fit.unknowns.items)
    }
    values |= {f"variance of {n}": v for n, v in posterior.noise.items()}
    names = [f"{o.case}: {o.name}" for o in posterior.predictive.outputs]
    ends = np.cumsum([len(o.measured) for o in posterior.predictive.outputs])[:-1]
    likely = np.split(posterior.predictive.log_likelihood, ends, axis=2)
    return arviz().from_dict(
        posterior=values,
        sample_stats={"lp": np.stack([c.log_density for c in posterior.chains])},
        posterior_predictive=dict(zip(names, posterior.predictive.replicated, strict=True)),
        log_likelihood=dict(zip(names, likely, strict=True)),
        observed_data={
            n: o.measured for n, o in zip(names, posterior.predictive.outputs, strict=True)
        },
        attrs={
            "study": posterior.fit.study.name,
            "seed": posterior.seed,
            "method": posterior.method,
        },
    )


def write(posterior: Posterior, path: str | PathLike[str]) -> Path:
    """Write the draws as netCDF."""
    data = inference_data(posterior)
    with atomic_replacement(path) as draft:
        data.to_netcdf(str(draft))
    return Path(path)
