"""How a bootstrap shows itself: words, a table, pictures, a page, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from estimica.base.errors import InferError
from estimica.base.result import Outcome, finite
from estimica.base.suggest import did_you_mean
from estimica.base.text import aligned, listed, percent, rounded
from estimica.base.view import (
    Curves,
    Page,
    Panel,
    Rounded,
    Section,
    Table,
    status_line,
    without_empty,
)
from estimica.estimate.fit.as_json import identifiability
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.estimate.unknowns import Unknown
from estimica.infer.bootstrap.intervals import ReplicateSummary
from estimica.infer.bootstrap.result import Bootstrap
from estimica.infer.refit import doubts
from estimica.infer.scatter import (
    Scattered,
    bars,
    clouds,
    corner_figure,
    correlations,
    pairs_to_draw,
    scattered_unknowns,
)

PICTURES = ("scatter", "distribution")
BARS = 30  # of a histogram, at most; chosen: finer ones show single replicates
DRAWN = {
    "parametric": "Gaussian noise with the variances of the fit",
    "residual": "noise drawn from the residuals of the fit",
    "block": "stretches of the residuals of the fit",
}


def outcome(bootstrap: Bootstrap) -> Outcome:
    """How it went."""
    done = bootstrap.replicates + bootstrap.failed
    said = f"{bootstrap.replicates} of {done} replicates came to an optimum"
    if bootstrap.failed:
        message, count = bootstrap.messages[0]
        said += f"; {bootstrap.failed} failed and are in no number here ({count}: {message})"
    said += lost_in_words(bootstrap) + doubts(bootstrap.fit, coloured=bootstrap.kind != "block")
    if bootstrap.interrupted:
        return Outcome(
            "interrupted",
            f"interrupted after {done} of {bootstrap.requested} replicates; {said}",
            ok=False,
        )
    if bootstrap.replicates >= 2 and not bootstrap.trusted:
        said += "; with so many failures the others say nothing of standard errors and intervals"
    return Outcome("done" if bootstrap.trusted else "failed", said, ok=bootstrap.trusted)


def lost_in_words(bootstrap: Bootstrap) -> str:
    """Which unknowns the data do not determine, so that their replicates say nothing of them."""
    pairs = list(zip(bootstrap.fit.unknowns.items, bootstrap.spreads, strict=True))
    known = bootstrap.fit.accuracy.identifiable
    always = [
        f"'{u.label}'" for k, (u, s) in enumerate(pairs) if not known[k] or s.undetermined == 1
    ]
    said = ""
    if always:
        be, they, them = ("is", "it", "it") if len(always) == 1 else ("are", "they", "them")
        said += (
            f"; {listed(always)} {be} not determined by these data: in the replicates {they} only "
            f"stayed near where {they} began, which says nothing of {them}"
        )
    for u, s in pairs:
        if 0 < s.undetermined < 1:
            said += f"; {100 * s.undetermined:.2g} % of the replicates do not determine '{u.label}'"
    return said


def tables(bootstrap: Bootstrap) -> tuple[Table, ...]:
    """All there is to read."""
    return (estimates(bootstrap),)


def estimates(bootstrap: Bootstrap) -> Table:
    """A row for each unknown and each noise variance."""
    columns = (
        "unknown",
        "value",
        "bias",
        "std. error",
        "95 % from",
        "to",
        "BCa from",
        "to ",
        "at bound %",
        "unit",
        "remark",
    )
    rows = [
        (*_row(u.label, s, "" if u.unit == "1" else u.unit), bootstrap.remark(k))
        for k, (u, s) in enumerate(
            zip(bootstrap.fit.unknowns.items, bootstrap.spreads, strict=True)
        )
    ]
    rows += [(*_row(variance_label(n), s, ""), "") for n, s in bootstrap.noise_spreads.items()]
    title = f"{bootstrap.fit.study.name}: bootstrap, {bootstrap.kind}, seed {bootstrap.seed}"
    status, message = outcome(bootstrap)
    note = status_line(status, message)
    if bootstrap.worked_by.is_worth_a_word:
        note += f"; {bootstrap.worked_by.words}"
    if not bootstrap.trusted:
        return without_empty(Table(columns, tuple(rows), title, note), *columns[2:])
    scattering = [s for k, s in enumerate(bootstrap.spreads) if not bootstrap.remark(k)]
    if bootstrap.replicates and scattering and not any(map(math.isfinite, _ends(scattering))):
        note += "; too few for BCa intervals"
    table = Table(columns, tuple(rows), title, note)
    return without_empty(table, "BCa from", "to ", "at bound %", "unit", "remark")


def relative(bootstrap: Bootstrap) -> tuple[Table, ...]:
    """Bias, standard error and interval in percent of the estimate; none where nothing is told."""
    spreads = [(u.label, s) for u, s in _spread_unknowns(bootstrap)]
    spreads += [(variance_label(n), s) for n, s in bootstrap.noise_spreads.items()]
    rows = tuple((label, *_percents(s)) for label, s in spreads if s.value != 0)
    if not bootstrap.trusted or not rows:
        return ()
    columns = ("unknown", "bias %", "std. error %", "95 % from %", "to %")
    return (Table(columns, rows, "In percent of the estimate"),)


def _percents(s: ReplicateSummary) -> Iterator[object]:
    """Of the size of the estimate, so that an interval goes upwards for a negative one, too."""
    low, high = s.percentile
    for x in (s.bias, s.stderr, low - s.value, high - s.value):
        yield Rounded(100 * x / abs(s.value), 2) if math.isfinite(x) else None


def _ends(spreads: Sequence[ReplicateSummary]) -> list[float]:
    return [x for s in spreads for x in s.bca]


def _row(label: str, s: ReplicateSummary, unit: str) -> tuple[object, ...]:
    value, *others = (
        rounded(float(x), s.stderr) if math.isfinite(x) else None
        for x in (s.value, s.stderr, *s.percentile, *s.bca)
    )
    bias = aligned(s.bias, s.stderr) if math.isfinite(s.bias) else None
    return label, value, bias, *others, percent(100 * s.at_bound) if s.at_bound else None, unit


# --- pictures ------------------------------------------------------------------------------------


def picture(bootstrap: Bootstrap, kind: str, names: Sequence[str] = ()) -> Curves:
    """The curves of one kind, for all unknowns or those named."""
    if kind not in PICTURES:
        hint = did_you_mean(kind, PICTURES) or f" ({', '.join(PICTURES)})"
        raise InferError("I407", f"there is no plot '{kind}'{hint}")
    drawn = _quantities(bootstrap)
    chosen = [_place(drawn, n) for n in names] or list(range(len(drawn)))
    if kind == "scatter":
        return _scatter(bootstrap, drawn, chosen, bool(names))
    return _bars(bootstrap, drawn, chosen)


def corner(bootstrap: Bootstrap, names: Sequence[str] = ()) -> Any:
    """All unknowns, or what is named, against each other."""
    drawn = _quantities(bootstrap)
    places = [_place(drawn, n) for n in names] or list(range(bootstrap.fit.n_free))
    intervals = [s.percentile for s in (*bootstrap.spreads, *bootstrap.noise_spreads.values())]
    title = f"{bootstrap.fit.study.name}: {bootstrap.replicates} replicates"
    return corner_figure(drawn, dict(enumerate(intervals)), places, title)


def _quantities(bootstrap: Bootstrap) -> list[Scattered]:
    """All unknowns, then the noise variances; one that several outputs share is drawn once."""
    drawn = scattered_unknowns(bootstrap.fit, bootstrap.values, bootstrap.remark)
    seen: set[str] = set()
    for name, variances in bootstrap.noise.items():
        noise = bootstrap.fit.noise[name]
        if noise.shared and noise.shared in seen:
            continue
        seen.add(noise.shared)
        drawn.append(Scattered(variance_label(name), "", noise.variance, variances))
    return drawn


def variance_label(output: str) -> str:
    """How the noise variance of an output is called."""
    return f"variance of {output}"


def _place(drawn: Sequence[Scattered], name: str) -> int:
    labels = [q.label for q in drawn]
    if name not in labels:
        hint = did_you_mean(name, labels) or f" (there are {', '.join(labels)})"
        raise InferError("I408", f"the bootstrap has no unknown '{name}'{hint}")
    return labels.index(name)


def _scatter(
    bootstrap: Bootstrap, drawn: Sequence[Scattered], chosen: Sequence[int], named: bool
) -> Curves:
    correlation = correlations(drawn)
    pairs = pairs_to_draw(chosen, correlation, all_of_them=named)
    panels = clouds(drawn, correlation, pairs, what="replicates")
    return Curves(tuple(panels), f"{bootstrap.fit.study.name}: replicates of pairs", "", 260)


def _bars(bootstrap: Bootstrap, drawn: Sequence[Scattered], chosen: Sequence[int]) -> Curves:
    intervals = {
        **{u.label: s.percentile for u, s in _spread_unknowns(bootstrap)},
        **{variance_label(n): s.percentile for n, s in bootstrap.noise_spreads.items()},
    }
    panels: list[Panel] = []
    for quantity in (drawn[k] for k in chosen):
        values = quantity.values
        if len(values):
            panels.append(
                bars(
                    quantity,
                    np.histogram(values, bins=min(BARS, max(5, len(values) // 10))),
                    intervals[quantity.label],
                    what="replicates",
                    label="count",
                    listed=not panels,
                )
            )
    return Curves(tuple(panels), f"{bootstrap.fit.study.name}: replicates", "", 170)


def _spread_unknowns(bootstrap: Bootstrap) -> list[tuple[Unknown, ReplicateSummary]]:
    return list(zip(bootstrap.fit.unknowns.items, bootstrap.spreads, strict=True))


# --- page ----------------------------------------------------------------------------------------


def page(bootstrap: Bootstrap) -> Page:
    """Everything about a bootstrap on one page."""
    lead = (
        f"{bootstrap.requested} replicates with {DRAWN[bootstrap.kind]}, seed {bootstrap.seed}; "
        f"{bootstrap.seconds:.3g} s, {bootstrap.worked_by.words}."
    )
    study = bootstrap.fit.study
    told = Page(f"Bootstrap: {study.name}", tuple(_sections(bootstrap)), lead)
    first = (study_summary(study, "bootstrap"), Section(ANSWER, _answer(bootstrap)))
    return with_reproduction(
        told, "bootstrap", study, first=first, seed=bootstrap.seed, run=bootstrap.run
    )


def _answer(bootstrap: Bootstrap) -> str:
    said = status_line(*outcome(bootstrap))
    words = [f"{said[:1].upper()}{said[1:]}."]
    if bootstrap.replicates > 1:
        told = [
            _told(u.label, s, bootstrap.remark(k))
            for k, (u, s) in enumerate(_spread_unknowns(bootstrap))
        ]
        if not told:
            told = [_told(variance_label(n), s) for n, s in bootstrap.noise_spreads.items()]
        more = f" and {len(told) - MOST_TOLD} more below" if len(told) > MOST_TOLD else ""
        words.append(f"{'; '.join(told[:MOST_TOLD])}{more}.")
    return "\n\n".join(words)


def _told(label: str, s: ReplicateSummary, remark: str = "") -> str:
    low, high = s.percentile
    between = f"95 % between {low:.4g} and {high:.4g}" if math.isfinite(high - low) else ""
    about = "; ".join(t for t in (remark, between) if t) or "too few for an interval"
    return f"{label} = {s.value:.5g} ({about})"


def _sections(bootstrap: Bootstrap) -> Iterator[Section]:
    told = (replace(estimates(bootstrap), title="", note=""), *relative(bootstrap))
    yield Section("Estimates", _WORDS, told)
    if bootstrap.fit.advice:
        said = "\n\n".join(f"{a[:1].upper()}{a[1:]}." for a in bootstrap.fit.advice)
        yield Section("Not determined", said)
    if bootstrap.replicates > 1 and len(_quantities(bootstrap)) > 1:
        shown = (replace(picture(bootstrap, "scatter"), title=""),)
        yield Section("Pairs", _PAIRS, shown)
    if bootstrap.replicates > 1:
        yield Section(
            "Single unknowns and noise variances",
            "",
            (replace(picture(bootstrap, "distribution"), title=""),),
        )
    if bootstrap.block_lengths:
        rows = tuple((c, o, n) for (c, o), n in bootstrap.block_lengths.items())
        yield Section("Blocks", "", (Table(("case", "output", "samples in a block"), rows),))
    if bootstrap.failures:
        why = tuple((n, m) for m, n in bootstrap.messages)
        yield Section("Failed replicates", _FAILED, (Table(("count", "what happened"), why),))


MOST_TOLD = 8  # unknowns whose intervals are told in words
_WORDS = (
    "Each replicate simulates the model at the estimate, adds noise and fits again. The bias is "
    "the mean of the new estimates minus the value that they were simulated with. The first "
    "interval holds the middle 95 % of the new estimates; BCa corrects it for bias and skewness."
)
_PAIRS = (
    "A cloud that is a thin line says that the data determine a combination of the two better than "
    "either of them."
)
_FAILED = "They are counted and left out of all numbers; many of them make the intervals doubtful."


def as_object(bootstrap: Bootstrap) -> dict[str, object]:
    """Everything about a bootstrap but the single replicates; what is not finite is None."""
    status, message = bootstrap.outcome
    items = bootstrap.fit.unknowns.items
    by_case: dict[str, dict[str, dict[str, object]]] = {"start": {}, "disturbance": {}}
    tuners: dict[str, object] = {}
    for k, (u, s) in enumerate(zip(items, bootstrap.spreads, strict=True)):
        told = {
            **_spread(s),
            "identifiable": bool(bootstrap.fit.accuracy.identifiable[k]),
            "undetermined_share": s.undetermined,
            "remark": bootstrap.remark(k),
            "unit": u.unit,
        }
        if u.kind == "tuner":
            tuners[u.name] = told
        else:
            by_case[u.kind].setdefault(u.case, {})[u.name] = told
    plain = finite(
        {
            "command": "bootstrap",
            "run": bootstrap.run,
            "study": bootstrap.fit.study.name,
            "outcome": {"status": status, "message": message},
            "kind": bootstrap.kind,
            "seed": bootstrap.seed,
            "requested": bootstrap.requested,
            "replicates": bootstrap.replicates,
            "failed": bootstrap.failed,
            "failures": [
                {"message": m, "count": n, "replicates": _numbers(bootstrap, m)}
                for m, n in bootstrap.messages
            ],
            "parameters": tuners,
            "start_values": by_case["start"],
            "disturbances": by_case["disturbance"],
            "noise": {n: _spread(s) for n, s in bootstrap.noise_spreads.items()},
            "identifiability": identifiability(bootstrap.fit),
            "block_lengths": _by_case(bootstrap),
            "criterion": bootstrap.fit.criterion,
            "cost": bootstrap.fit.cost,
            "seconds": bootstrap.seconds,
            "worked_by": bootstrap.worked_by.to_dict(),
        }
    )
    assert isinstance(plain, dict)
    return plain


def _spread(s: ReplicateSummary) -> dict[str, object]:
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


def _numbers(bootstrap: Bootstrap, message: str) -> list[int]:
    return [f.number for f in bootstrap.failures if f.message == message]


def _by_case(bootstrap: Bootstrap) -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = {}
    for (case, output), length in bootstrap.block_lengths.items():
        told.setdefault(case, {})[output] = length
    return told
