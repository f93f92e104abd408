"""How an assessment shows itself: tables and the page; `plain` is its JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from estimica.base.view import Page, Rounded, Section, Table, name_with_unit, status_line
from estimica.data.writers import write_table
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.optimise.assess.effects import effects, effects_table, tornado
from estimica.optimise.assess.family_pictures import ABOUT, family_curves
from estimica.optimise.assess.pictures import (
    curves,
    distributions,
    is_map,
    local_bars,
    maps,
    natural,
    parallel,
    parameter_labels,
    scatter,
    sensitivity_bars,
)
from estimica.optimise.assess.pictures import picture as picture
from estimica.optimise.assess.plain import as_object as as_object
from estimica.optimise.assess.result import AT_LEAST, Assessment, share_of
from estimica.optimise.criteria.score import CriterionInCase

MOST_MAPS = 9
MOST_CLOUDS = 4  # criteria that have a cloud of their own
MOST_FAILED = 20
_ALONG = (
    "Each criterion over its demand, along each parameter; up to 1 the demand holds. Where a "
    "criterion was not reached there are only points: the end of its window, above which it lies."
)
_MAPS = (
    "Criteria over their demands: up to 1 the demand holds. White is where no sample could be "
    "simulated, or where the criterion was not reached."
)
_DISTRIBUTIONS = (
    "How often each value of a criterion came up, and which share of all samples stays below it; "
    "samples in which it was not reached are counted above the picture."
)
_SAMPLES = (
    "Each line is a sample, through its parameters and criteria; drag along an axis to pick some. "
    "Points show the same, parameter by parameter. A criterion that was not reached is drawn where "
    "its window ends: it lies above."
)
_EFFECTS = "By how much each parameter moves the criteria over its range: the longer, the more."
GLOBAL = {
    "sobol": "A first-order index is the share of a criterion's variance that the parameter makes "
    "alone; a total index counts what it makes together with others too. Bars show total indices "
    "with 95 % intervals.",
    "morris": "μ* is the mean size of the change of a criterion, in its own unit, for a move of a "
    "parameter through its range; a σ as large as μ* tells that the effect is not linear or "
    "depends on the other parameters. Bars show μ* with 95 % intervals.",
}
LOCAL = (
    "How a criterion changes with each parameter near the centre: the derivative, and per cent of "
    "the criterion for one per cent of the parameter."
)


def tables(assessment: Assessment) -> tuple[Table, ...]:
    """All there is to read."""
    return (criteria_table(assessment),)


def criteria_table(assessment: Assessment) -> Table:
    """Every criterion: demand, how it scatters, how often the demand holds."""
    return (
        _quantile_table(assessment)
        if assessment.command == "montecarlo"
        else _range_table(assessment)
    )


def _range_table(assessment: Assessment) -> Table:
    rows = []
    for k, p in enumerate(assessment.places):
        own = assessment.column(k, assessment.good)
        cells = [own.quantile(v).cell for v in (0.0, 0.5, 1.0)] if len(own) else [None] * 3
        held = int(assessment.held[:, k].sum())
        share = "" if p.role == "watch" else f"{held} of {int(assessment.done.sum())}"
        rows.append((p.case or "design", _named(p), p.demand, *cells, share))
    columns = ("case", "criterion", "demand", "smallest", "median", "largest", "demand holds")
    return Table(columns, tuple(rows), f"Sweep of {assessment.study.name}", verdict(assessment))


def _quantile_table(assessment: Assessment) -> Table:
    rows = []
    for k, p in enumerate(assessment.places):
        own = assessment.column(k)
        share, (low, high) = share_of(assessment.held[assessment.drawn, k])
        held = "" if p.role == "watch" else f"{share:.3g} ({low:.2g} … {high:.2g})"
        spread = [own.quantile(v) for v in assessment.levels] if len(own) else []
        cells: list[object] = [q.cell if q.value is None else _short(q.value) for q in spread] or [
            ""
        ] * len(assessment.levels)
        rows.append((p.case or "design", _named(p), p.demand, *cells, held))
    levels = tuple(f"{100 * v:g} %" for v in assessment.levels)
    columns = ("case", "criterion", "demand", *levels, "demand holds with")
    return Table(
        columns, tuple(rows), f"Monte Carlo of {assessment.study.name}", verdict(assessment)
    )


def _short(value: float) -> Rounded | float:
    """Four digits, so that a row fits into a terminal."""
    if not value or not 1e-4 < abs(value) < 1e4:
        return float(f"{value:.4g}")
    return Rounded(value, max(0, 3 - math.floor(math.log10(abs(value)))))


def _named(place: CriterionInCase) -> str:
    criterion = place.criterion
    return name_with_unit(criterion.name, criterion.unit)


def verdict(assessment: Assessment) -> str:
    """How it ended, and what it says of all demands together."""
    sentences = [f"{status_line(*assessment.outcome())}."]
    if not assessment.done.any():
        return sentences[0]
    sentences += [f"{note}." for note in (*open_notes(assessment), *ended_notes(assessment))]
    if assessment.command == "montecarlo":
        share, (low, high) = assessment.probability_satisfied
        sentences.append(
            f"All demands hold with probability {share:.4g} (95 % interval {low:.4g} … {high:.4g})."
        )
    else:
        held = int(assessment.satisfied.sum())
        sentences.append(f"All demands hold in {held} of {int(assessment.done.sum())} samples.")
    k = assessment.best
    if k is not None and assessment.command == "sweep":
        values = zip(assessment.samples.names, assessment.samples.values[k], strict=True)
        at = ", ".join(f"{n} = {v:.6g}" for n, v in values)
        sentences.append(f"Best: {at} (largest criterion/demand {assessment.largest[k]:.4g}).")
    fixed = [
        n
        for n in assessment.samples.names
        if any(n in c.fix for c in assessment.study.active_cases)
    ]
    if fixed:
        sentences.append(
            f"In every case {', '.join(fixed)} stands in place of what the case fixes."
        )
    if assessment.worked_by is not None and assessment.worked_by.is_worth_a_word:
        sentences.append(f"Samples were {assessment.worked_by.words}.")
    return " ".join(sentences)


def open_notes(assessment: Assessment) -> list[str]:
    """Which criteria were not reached in how many of the samples that count."""
    notes = [assessment.column(k).note() for k in range(len(assessment.places))]
    return [note for note in notes if note]


def ended_notes(assessment: Assessment) -> list[str]:
    """In how many samples the model has ended runs by itself, and how in the first of them."""
    if not assessment.ended:
        return []
    first = min(assessment.ended)
    case, text = next(iter(assessment.ended[first].items()))
    where = f" in {case}" if case else ""
    count = f"{len(assessment.ended)} of {len(assessment.samples)} samples"
    return [f"The model ended runs in {count}, the first (sample {first}{where}) was {text}"]


def sensitivity_table(assessment: Assessment) -> Table:
    """Sobol's or Morris' indices, with the half-widths of their 95 % intervals."""
    own = assessment.sensitivity
    assert own is not None
    columns = ["criterion", "parameter"]
    for index in own.indices:
        columns += [index.name] + (["±"] if index.half is not None else [])
    rows = []
    for k, label in enumerate(own.labels):
        for j, name in enumerate(own.names):
            cells: list[object] = [label, name]
            for index in own.indices:
                cells.append(float(index.value[k, j]))
                if index.half is not None:
                    cells.append(Rounded(float(index.half[k, j]), 4))
            rows.append(tuple(cells))
    what = "base samples" if own.kind == "sobol" else "trajectories"
    lost = f"; {own.lost} were left out because a sample in them failed" if own.lost else ""
    notes = [f"{own.blocks} {what}{lost}."]
    for k, (place, count) in enumerate(zip(assessment.places, own.open, strict=True)):
        if own.too_few(k):
            notes.append(f"{place.label} is {place.open_word} too often to have indices.")
        elif count:
            word = place.open_word
            notes.append(
                f"{place.label} is {word} in a sample of {count} of them, which are left out: its "
                "indices speak of the others."
            )
    return Table(tuple(columns), tuple(rows), "Sensitivity", " ".join(notes))


def local_table(assessment: Assessment) -> Table:
    """Derivatives at the centre."""
    own = assessment.local
    assert own is not None
    rows = tuple(
        (label, name, float(own.values[k]), float(own.derivatives[k, j]),
         float(own.relative[k, j]))
        for k, label in enumerate(own.labels)
        for j, name in enumerate(own.names)
    )  # fmt: skip
    at = ", ".join(f"{n} = {v:.6g}" for n, v in zip(own.names, own.point, strict=True))
    rough = f" By differences, not exact: {', '.join(own.differenced)}." if own.differenced else ""
    open_ = [
        f" {p.label} is {p.open_word} there."
        for p, v in zip(assessment.places, own.values, strict=True)
        if np.isnan(v)
    ]
    columns = ("criterion", "parameter", "value", "derivative", "% for 1 %")
    return Table(columns, rows, "Local sensitivity", f"At {at}.{rough}{''.join(open_)}")


def failure_table(assessment: Assessment) -> Table:
    """Samples that could not be simulated, with their parameters and reasons."""
    failures = assessment.failures[:MOST_FAILED]
    rows = tuple(
        (f.number, *map(float, assessment.samples.values[f.number]), f.case, f.message)
        for f in failures
    )
    columns = ("sample", *parameter_labels(assessment), "case", "what happened")
    more = len(assessment.failures) - len(failures)
    return Table(columns, rows, "", f"and {more} more" if more else "")


def page(assessment: Assessment) -> Page:
    """The page of `estimica sweep --report` and `estimica montecarlo --report`."""
    what = "Monte Carlo" if assessment.command == "montecarlo" else "Sweep"
    page = Page(f"{what} of {assessment.study.name}", tuple(_sections(assessment)))
    status = verdict(assessment)
    first = (
        study_summary(assessment.study, assessment.command, _varied(assessment)),
        Section(ANSWER, status[:1].upper() + status[1:]),
    )
    seed = assessment.seed
    return with_reproduction(
        page, assessment.command, assessment.study, first=first, seed=seed, run=assessment.run
    )


def _varied(assessment: Assessment) -> str:
    """What was varied and how far."""
    values = assessment.samples.values
    ends = [
        f"{n} from {values[:, k].min():.5g} to {values[:, k].max():.5g}"
        for k, n in enumerate(assessment.samples.names)
    ]
    return f"Varied in {len(values)} samples ({assessment.design}): {', '.join(ends)}."


def _sections(assessment: Assessment) -> Iterator[Section]:
    told = "A demand is the value that satisfies; criterion/demand up to 1 is good."
    yield Section("Criteria", told, (replace(criteria_table(assessment), title="", note=""),))
    if (assessment.good & assessment.drawn).sum() > 1:
        yield from _pictures(assessment)
    if assessment.sensitivity is not None:
        yield Section(
            "Which parameters matter",
            GLOBAL[assessment.sensitivity.kind],
            (sensitivity_bars(assessment), sensitivity_table(assessment)),
        )
    if assessment.local is not None:
        yield Section("Local sensitivity", LOCAL, (local_bars(assessment), local_table(assessment)))
    if assessment.failures:
        counts = Counter(f.message for f in assessment.failures).most_common(5)
        why = "; ".join(f"{n} × {m}" for m, n in counts)
        head = f"{len(assessment.failures)} samples could not be simulated: {why}."
        yield Section("Samples that failed", head, (failure_table(assessment),))


def _pictures(assessment: Assessment) -> Iterator[Section]:
    kind = natural(assessment)
    if assessment.families:
        yield Section("Families of curves", ABOUT, (family_curves(assessment),))
    if kind == "curves":
        yield Section("Criteria along the parameters", _ALONG, (curves(assessment),))
    if is_map(assessment):
        shown = tuple(maps(assessment)[:MOST_MAPS])
        yield Section("Maps", _MAPS, shown)
    if assessment.command == "montecarlo":
        pictures = (distributions(assessment), distributions(assessment, cumulative=True))
        yield Section("Distributions", _DISTRIBUTIONS, pictures)
    if kind != "curves":
        criteria = list(
            dict.fromkeys(p.criterion.name for p in assessment.places if p.role != "watch")
        )
        clouds = [scatter(assessment)]
        if 1 < len(criteria) <= MOST_CLOUDS and not is_map(assessment):
            clouds += [scatter(assessment, (name,)) for name in criteria]
        yield Section("Samples", _SAMPLES, (parallel(assessment), *clouds))
    if effects(assessment) is not None:
        yield Section(
            "Effects of the parameters", _EFFECTS, (tornado(assessment), effects_table(assessment))
        )


def write_samples(assessment: Assessment, path: Path) -> Path:
    """A row for each sample: parameters, criteria, 1 where all demands hold; why it failed."""
    frame = assessment.table_of_samples
    columns = {str(n): frame[n].to_numpy(float) for n in frame.columns}
    units = {p.label: p.criterion.unit for p in assessment.places if p.criterion.unit}
    units |= {f"{label}{AT_LEAST}": unit for label, unit in units.items()}
    known = {q.name: q.unit for q in assessment.study.model.quantities()}
    units |= {n: known[n] for n in assessment.samples.names if known.get(n)}
    reasons = {
        f.number: f"{f.case}: {f.message}" if f.case else f.message for f in assessment.failures
    }
    words = [reasons.get(k, "" if assessment.done[k] else "not reached") for k in range(len(frame))]
    return write_table(path, columns, units=units, texts={"failed": words})
