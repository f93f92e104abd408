"""How a bootstrap shows itself: words, a table, pictures, a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.base.view import (
    Curve,
    Curves,
    Page,
    Panel,
    Section,
    Table,
    name_with_unit,
    status_line,
)
from estimica.estimate.fit.tables import aligned, percent, rounded, without_empty
from estimica.estimate.identify.invariant import listed
from estimica.execute.reproduction import ANSWER, with_reproduction
from estimica.infer.bootstrap.intervals import Spread
from estimica.infer.bootstrap.result import Bootstrap
from estimica.infer.refit import doubts
from estimica.study.summary import study_summary

PICTURES = ("scatter", "distribution")
MOST_PAIRS = 8
BARS = 30
GREY, STRONG = 7, 1  # of the palette
DRAWN = {
    "parametric": "Gaussian noise with the variances of the fit",
    "residual": "noise drawn from the residuals of the fit",
    "block": "stretches of the residuals of the fit",
}


def outcome(found: Bootstrap) -> tuple[str, str]:
    """(status, message): how it went."""
    done = found.replicates + found.failed
    said = f"{found.replicates} of {done} replicates came to an optimum"
    if found.failed:
        message, count = found.messages[0]
        said += f"; {found.failed} failed and are in no number here ({count}: {message})"
    said += lost_in_words(found) + doubts(found.fit, coloured=found.kind != "block")
    if found.interrupted:
        return "interrupted", f"interrupted after {done} of {found.requested} replicates; {said}"
    if found.replicates >= 2 and not found.trusted:
        said += "; with so many failures the others say nothing of standard errors and intervals"
    return "done" if found.trusted else "failed", said


def lost_in_words(found: Bootstrap) -> str:
    """Which unknowns the data do not determine, so that their replicates say nothing of them."""
    pairs = list(zip(found.fit.unknowns.items, found.spreads, strict=True))
    known = found.fit.accuracy.identifiable
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


def estimates(found: Bootstrap) -> Table:
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
        (*_row(u.label, s, "" if u.unit == "1" else u.unit), found.remark(k))
        for k, (u, s) in enumerate(zip(found.fit.unknowns.items, found.spreads, strict=True))
    ]
    rows += [(*_row(f"variance of {n}", s, ""), "") for n, s in found.noise_spreads.items()]
    title = f"{found.fit.study.name}: bootstrap, {found.kind}, seed {found.seed}"
    status, message = outcome(found)
    note = status_line(status, message)
    if not found.trusted:
        return without_empty(Table(columns, tuple(rows), title, note), *columns[2:])
    scattering = [s for k, s in enumerate(found.spreads) if not found.remark(k)]
    if found.replicates and scattering and not any(map(math.isfinite, _ends(scattering))):
        note += "; too few for BCa intervals"
    table = Table(columns, tuple(rows), title, note)
    return without_empty(table, "BCa from", "to ", "at bound %", "unit", "remark")


def _ends(spreads: Sequence[Spread]) -> list[float]:
    return [x for s in spreads for x in s.bca]


def _row(label: str, s: Spread, unit: str) -> tuple[object, ...]:
    value, *others = (
        rounded(float(x), s.stderr) if math.isfinite(x) else None
        for x in (s.value, s.stderr, *s.percentile, *s.bca)
    )
    bias = aligned(s.bias, s.stderr) if math.isfinite(s.bias) else None
    return label, value, bias, *others, percent(100 * s.at_bound) if s.at_bound else None, unit


# --- pictures ------------------------------------------------------------------------------------


def picture(found: Bootstrap, kind: str, names: Sequence[str] = ()) -> Curves:
    """The curves of one kind, for all unknowns or those named."""
    if kind not in PICTURES:
        hint = did_you_mean(kind, PICTURES) or f" ({', '.join(PICTURES)})"
        raise InferError("I407", f"there is no plot '{kind}'{hint}")
    chosen = [_place(found, n) for n in names] or list(range(found.fit.n_free))
    return _scatter(found, chosen, bool(names)) if kind == "scatter" else _bars(found, chosen)


def _place(found: Bootstrap, name: str) -> int:
    labels = [u.label for u in found.fit.unknowns.items]
    if name not in labels:
        hint = did_you_mean(name, labels) or f" (there are {', '.join(labels)})"
        raise InferError("I408", f"the bootstrap has no unknown '{name}'{hint}")
    return labels.index(name)


def _scatter(found: Bootstrap, chosen: Sequence[int], named: bool) -> Curves:
    pairs = list(combinations(chosen, 2))
    correlation = _correlation(found)
    if not named:
        pairs.sort(key=lambda p: -abs(correlation[p]))
        pairs = pairs[:MOST_PAIRS]
    items, fit = found.fit.unknowns.items, found.fit
    panels: list[Panel] = []
    for a, b in pairs:
        cloud = Curve(
            "replicates",
            found.values[:, a],
            found.values[:, b],
            items[b].unit,
            dotted=True,
            colour=0,
            listed=not panels,
        )
        middle = Curve(
            "estimate",
            fit.values[[a]],
            fit.values[[b]],
            items[b].unit,
            dotted=True,
            colour=STRONG,
            listed=not panels,
        )
        lost = [f"{items[k].label} {found.remark(k)}" for k in (a, b) if found.remark(k)]
        heading = (
            f"{name_with_unit(items[b].label, items[b].unit)} over "
            f"{name_with_unit(items[a].label, items[a].unit)}: "
            + ("; ".join(lost) or f"correlation {correlation[a, b]:.2f}")
        )
        panels.append(Panel(items[b].label, (cloud, middle), group=heading))
    return Curves(tuple(panels), f"{fit.study.name}: replicates of pairs", "", 260)


def _correlation(found: Bootstrap) -> dict[tuple[int, int], float]:
    spread = found.values.std(axis=0) if len(found.values) else np.zeros(found.fit.n_free)
    told = {}
    for a, b in combinations(range(found.fit.n_free), 2):
        moving = len(found.values) > 1 and spread[a] > 0 and spread[b] > 0
        both = found.values[:, a], found.values[:, b]
        told[a, b] = told[b, a] = float(np.corrcoef(*both)[0, 1]) if moving else 0.0
    return told


def _bars(found: Bootstrap, chosen: Sequence[int]) -> Curves:
    panels: list[Panel] = []
    for k in chosen:
        u, values = found.fit.unknowns.items[k], found.values[:, k]
        if not len(values):
            continue
        counts, edges = np.histogram(values, bins=min(BARS, max(5, len(values) // 10)))
        top = float(counts.max())
        ends = found.spreads[k].percentile
        curves = [
            Curve(
                "replicates",
                edges,
                np.append(counts, counts[-1]).astype(float),
                stepped=True,
                colour=0,
                listed=not panels,
            ),
            _upright("estimate", float(found.fit.values[k]), top, STRONG, not panels),
        ]
        curves += [
            _upright("95 % interval", x, top, GREY, not panels and j == 0)
            for j, x in enumerate(ends)
            if math.isfinite(x)
        ]
        remark = found.remark(k)
        heading = name_with_unit(u.label, u.unit) + (f": {remark}" if remark else "")
        panels.append(Panel("count", tuple(curves), group=heading))
    return Curves(tuple(panels), f"{found.fit.study.name}: replicates", "", 170)


def _upright(name: str, x: float, top: float, colour: int, listed: bool) -> Curve:
    ends = np.array([0.0, top])
    return Curve(name, np.array([x, x]), ends, dashed=True, colour=colour, listed=listed)


# --- page ----------------------------------------------------------------------------------------


def page(found: Bootstrap) -> Page:
    """Everything about a bootstrap on one page."""
    lead = (
        f"{found.requested} replicates with {DRAWN[found.kind]}, seed {found.seed}; "
        f"{found.seconds:.3g} s."
    )
    study = found.fit.study
    told = Page(f"Bootstrap: {study.name}", tuple(_sections(found)), lead)
    first = (study_summary(study, "bootstrap"), Section(ANSWER, _answer(found)))
    return with_reproduction(told, "bootstrap", study, first=first, seed=found.seed, run=found.run)


def _answer(found: Bootstrap) -> str:
    said = status_line(*outcome(found))
    words = [f"{said[:1].upper()}{said[1:]}."]
    if found.replicates > 1:
        told = [_told(found, k) for k in range(found.fit.n_free)]
        more = f" and {len(told) - MOST_TOLD} more below" if len(told) > MOST_TOLD else ""
        words.append(f"{'; '.join(told[:MOST_TOLD])}{more}.")
    return "\n\n".join(words)


def _told(found: Bootstrap, k: int) -> str:
    s, label = found.spreads[k], found.fit.unknowns.items[k].label
    low, high = s.percentile
    between = f"95 % between {low:.4g} and {high:.4g}" if math.isfinite(high - low) else ""
    about = "; ".join(t for t in (found.remark(k), between) if t) or "too few for an interval"
    return f"{label} = {s.value:.5g} ({about})"


def _sections(found: Bootstrap) -> Iterator[Section]:
    yield Section("Estimates", _WORDS, (replace(estimates(found), title="", note=""),))
    if found.fit.advice:
        said = "\n\n".join(f"{a[:1].upper()}{a[1:]}." for a in found.fit.advice)
        yield Section("Not determined", said)
    if found.replicates > 1 and found.fit.n_free > 1:
        shown = (replace(picture(found, "scatter"), title=""),)
        yield Section("Pairs", _PAIRS, shown)
    if found.replicates > 1:
        yield Section("Single unknowns", "", (replace(picture(found, "distribution"), title=""),))
    if found.block_lengths:
        rows = tuple((c, o, n) for (c, o), n in found.block_lengths.items())
        yield Section("Blocks", "", (Table(("case", "output", "samples in a block"), rows),))
    if found.failures:
        told = tuple((n, m) for m, n in found.messages)
        yield Section("Failed replicates", _FAILED, (Table(("count", "what happened"), told),))


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
