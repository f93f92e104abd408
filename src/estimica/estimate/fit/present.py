"""The page of a fit: what was asked, what came out, and how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from estimica.base.text import percent, rounded, short
from estimica.base.view import (
    Curves,
    Page,
    Section,
    Table,
    added_sections,
    status_line,
    without_empty,
)
from estimica.estimate.fit.as_json import as_object, ranked
from estimica.estimate.fit.gap_section import COLUMNS, gap_section, hidden_note, hidden_starts
from estimica.estimate.fit.noise_levels import (
    noise_levels,
    noise_remark,
    noise_row,
    process_noise_lines,
)
from estimica.estimate.fit.pictures import picture, predicts
from estimica.estimate.fit.point_page import point_sections
from estimica.estimate.fit.point_pictures import chosen_axes, residual_panels
from estimica.estimate.fit.result import Fit
from estimica.estimate.fit.weighting import WORDS, prefilter_weighting
from estimica.estimate.identify.accuracy import Practical, Significance
from estimica.estimate.identify.twins import twin_advice
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.estimate.unknowns import Unknown
from estimica.study.record.axis import input_along

__all__ = ["answer", "as_object", "estimates", "page", "picture", "quality", "tables"]

CORRECTED = "corrected"  # the column of standard errors for coloured residuals
MOST_FAILURES = 10
MOST_TOLD = 8  # unknowns and outputs that are told in words


def tables(fit: Fit) -> tuple[Table, Table]:
    """Tuners, start values and disturbances with their intervals; how well each output is met."""
    return estimates(fit), quality(fit)


def page(fit: Fit, against: str | None = None, by: str | None = None) -> Page:
    """Everything about a fit on one page; `against` what and `by` what the outputs are drawn."""
    more = added_sections("fit", fit) if any(c.outputs for c in fit.cases) else []
    body = Page(f"Fit: {fit.study.name}", tuple(_sections(fit, against, by, more)), _lead(fit))
    first = (study_summary(fit.study, "fit"), Section(ANSWER, answer(fit, more)))
    seed = fit.study.estimation.seed
    return with_reproduction(body, "fit", fit.study, first=first, seed=seed, run=fit.run)


def _sections(
    fit: Fit, against: str | None, by: str | None, more: list[Section]
) -> Iterator[Section]:
    yield Section("Outcome", outcome_in_words(fit))
    table = replace(estimates(fit), title="", note="\n".join(_verdict_lines(fit)))
    yield Section("Estimates", _estimates_in_words(fit), (table,))
    notes = [f"Case '{r.case.name}': {n}." for r in fit.setup.first_records for n in r.notes]
    if notes:
        yield Section("Cells that do not count", "\n\n".join(notes))
    converted = dict.fromkeys(c.text for r in fit.setup.records for c in r.changes)
    if converted:
        yield Section("Units", "\n\n".join(f"{t[:1].upper()}{t[1:]}." for t in converted))
    if fit.study.partition.gaps:
        yield gap_section(fit, _row)
    words = _QUALITY.replace("simulated", "predicted") if predicts(fit) else _QUALITY
    yield Section("Quality", words, tuple(_quality(fit)))
    if any(c.outputs for c in fit.cases):
        curves = replace(picture(fit, "fit", None, against, by), title="")
        if predicts(fit):
            yield Section("Measured and predicted", _PREDICTED, (curves,))
        else:
            yield Section("Measured and simulated", _CURVES, (curves,))
        filtered = any(o.prefilter for c in fit.cases for o in c.outputs)
        words = _RESIDUALS + (_FILTERED if filtered else "")
        words = words.replace("Simulated", "Predicted", 1) if predicts(fit) else words
        yield Section("Residuals", words, tuple(_residuals(fit, against, by)))
        if not fit.study.model.has_time:
            yield from point_sections(fit, against, by)
        if any(o.prefilter for c in fit.cases for o in c.outputs if c.role == "calibrate"):
            weighting = prefilter_weighting(fit)
            curves = replace(weighting.curves(), title="")
            yield Section("Prefilters", WORDS, (replace(weighting.table(), title=""), curves))
        yield from more
    if len(fit.iterations) > 1:
        yield Section("Iterations", _iterations_in_words(fit), tuple(_iterations(fit)))
    if len(fit.starts) > 1:
        words = fit.worked_by.words
        told = f"{_STARTS} They were {words}."
        yield Section("Starts", told, tuple(_starts(fit)))
    if fit.twins:
        yield Section("Twins", _TWINS, (_twins(fit),))
    yield Section("Identifiability", identifiability_in_words(fit), tuple(_directions(fit)))
    if fit.discretisation is not None:
        yield Section("Communication step", fit.discretisation.text)
    if fit.evaluations.failed:
        yield Section("Failed simulations", _failures_in_words(fit), (_failures(fit),))
    yield Section("Settings of the search", "", (_settings(fit),))


_QUALITY = "How close the simulated outputs come to the measured ones, output by output."
_CURVES = (
    "Points are measurements, lines the simulation with the estimates. Drag to zoom into a part, "
    "double-click to see all again."
)
_PREDICTED = (
    "Points are measurements. The line says what is predicted of each from the values before it, "
    "with a band of two standard deviations: it follows the data even where the model lacks "
    "something. The dashed line is the simulation from the start, which sees no data, and shows "
    "what the equations alone explain."
)
_RESIDUALS = (
    "Simulated − measured. Where the model explains the data, residuals look like noise within the "
    "band and have no course of their own."
)
_FILTERED = (
    " Those of filtered outputs are drawn behind the prefilter, which makes neighbours alike; they "
    "are tested before it."
)
_STARTS = (
    "Final costs of all starts in order: a step at the left that several starts share is the best "
    "optimum found; the steps above it are local optima."
)


_TWINS = (
    "Other values of the unknowns that fit the data as well as the estimate. No error or interval "
    "of this page speaks of them: those hold in the neighbourhood of one optimum alone. A bound, a "
    "prior or another output tells which of them is meant."
)


def _lead(fit: Fit) -> str:
    cases = sum(c.role == "calibrate" for c in fit.cases)
    seconds = f"{fit.seconds:.2g}" if fit.seconds < 10 else f"{fit.seconds:.0f}"
    return (
        f"Model {fit.study.model.name}, {_plural(fit.n_free, 'unknown')}, {fit.n_samples} samples "
        f"of {_plural(cases, 'case')}; {seconds} s."
    )


def answer(fit: Fit, more: list[Section]) -> str:
    """What came out, in plain words; `more` is what other rooms say of it."""
    if fit.outcome.status == "failed":
        return f"There is no estimate: {fit.outcome.message}."
    twin = [f"{a[:1].upper()}{a[1:]}." for a in twin_advice(fit)]
    words = [_found(fit), _met(fit), _determined(fit), *twin]
    words += [s.text.split("\n\n")[0] for s in more if s.heading == "Residual verdict"]
    return "\n\n".join(w[:1].upper() + w[1:] for w in words if w)


def _found(fit: Fit) -> str:
    if not fit.outcome.ok:
        return f"The search has not ended well: {fit.outcome.message}. These are the best values."
    values = [
        f"{u.label} = {v:.5g}{f' {u.unit}' if u.unit not in ('', '1') else ''}"
        f"{f' ± {e:.2g}' if math.isfinite(e) else ''}"
        for u, v, e in zip(fit.unknowns.items, fit.values, fit.accuracy.stderr, strict=True)
    ]
    some = f"{', '.join(values[:MOST_TOLD])}{' and more below' if len(values) > MOST_TOLD else ''}"
    return f"The best values were found: {some} (± one standard error)." if values else ""


def _met(fit: Fit) -> str:
    parts = []
    for role, word in (("calibrate", "fitted"), ("validate", "not fitted, only compared")):
        own = [(c, o) for c in fit.cases if c.role == role for o in c.outputs if not o.is_input]
        own = [(c, o) for c, o in own if math.isfinite(o.fit_percent)]
        percent = [f"{o.name} {o.fit_percent:.1f} %" for _, o in own]
        if percent and len(percent) <= MOST_TOLD:
            parts.append(f"{', '.join(percent)} ({word})")
        elif percent:
            worst = min(own, key=lambda co: co[1].fit_percent)
            parts.append(
                f"{worst[1].fit_percent:.1f} % or more in all {len(percent)} outputs ({word})"
            )
    if not parts:
        return ""
    scale = "where 100 % is a perfect match and 0 % no better than a constant"
    what = "Predictions one sample ahead meet" if predicts(fit) else "The simulation meets"
    return f"{what} the measurements with a fit of {'; '.join(parts)}, {scale}."


def _determined(fit: Fit) -> str:
    if not fit.n_free:
        return ""
    i = fit.identifiability
    if i.rank < i.n:
        return (
            f"The data determine only {i.rank} of {_plural(i.n, 'unknown')} or combinations of "
            "them; see “Identifiability” below."
        )
    lost = [u.label for u, p in _practical(fit) if p.standing is Significance.LOST]
    if lost:
        be = "is" if len(lost) == 1 else "are"
        return (
            f"{_listed(lost[:MOST_TOLD])} {be} practically not determined: the errors leave "
            "nothing of the values; see “Identifiability” below."
        )
    sizes = np.abs(fit.values) > 0
    share = np.where(sizes, fit.accuracy.stderr / np.where(sizes, np.abs(fit.values), 1.0), np.nan)
    known = np.where(np.isfinite(share), share, -1.0)
    beginning = f"The data determine all {i.n} unknowns" if i.n > 1 else "The data determine it"
    if known.max() <= 0:
        return f"{beginning}."
    near = [u.label for u, p in _practical(fit) if p.standing is Significance.NEAR_ZERO]
    if near:
        be = "is" if len(near) == 1 else "are"
        return f"{beginning}; {_listed(near[:MOST_TOLD])} {be} not told from zero."
    worst = fit.unknowns.items[int(known.argmax())].label
    return f"{beginning}, the least certain of them {worst} to {100 * known.max():.2g} %."


def _practical(fit: Fit) -> Iterator[tuple[Unknown, Practical]]:
    """Unknowns that the rank calls determined, with what their errors say."""
    pairs = zip(fit.unknowns.items, fit.practical, fit.accuracy.identifiable, strict=True)
    return ((u, p) for u, p, seen in pairs if seen)


def outcome_in_words(fit: Fit) -> str:
    """How it went, in a few sentences."""
    iterations = _plural(max(len(fit.iterations) - 1, 0), "iteration")
    simulations = _plural(fit.evaluations.simulations, "simulation")
    text = (
        f"{str(fit.outcome.status).capitalize()}: {fit.outcome.message}. The {fit.criterion} cost "
        f"is {fit.cost:.8g} after {iterations} with {simulations}"
    )
    few = f", AICc {fit.aicc:.7g}" if math.isfinite(fit.aicc) else ""
    known = f"; log L {fit.log_likelihood:.7g}, AIC {fit.aic:.7g}{few}, BIC {fit.bic:.7g}."
    text += known if math.isfinite(fit.aic) else "."
    for said in fit.remarks:
        text += f"\n\n{said[:1].upper()}{said[1:]}."
    for said in process_noise_lines(fit):
        text += f"\n\n{said[:1].upper()}{said[1:]}."
    bounds = zip(fit.unknowns.items, fit.at_bound, fit.no_noise, strict=True)
    held = [u.label for u, b, none in bounds if b and not none]
    if held:
        text += (
            f"\n\n{_listed(held)} ended at a bound: widen it if that is not a true limit; "
            f"{_held(fit)}."
        )
    return text


def _held(fit: Fit) -> str:
    """What the other intervals say of an unknown at a bound."""
    fixed = dict.fromkeys(n for k in range(fit.n_free) for n in fit.conditions(k))
    if fixed:
        names = _listed(list(fixed))
        return f"the other intervals hold for {names} staying there, and are wider if not"
    return "the other intervals are as wide as if it could move on"


def _estimates_in_words(fit: Fit) -> str:
    if not fit.n_free and not noise_levels(fit):
        return "Nothing was free."
    only = "" if fit.n_free else "Only noise levels were free. "
    return (
        f"{only}The interval holds the true value with 95 % probability if the model is right and "
        "the noise white."
    )


def identifiability_in_words(fit: Fit) -> str:
    """Which unknowns the data determine, and what to do about the others."""
    i = fit.identifiability
    if fit.outcome.status == "failed":
        return "There is no estimate to judge."
    if not i.n:
        return "There are no unknowns to tell apart."
    if i.rank >= i.n:
        s = i.singular_values
        spread = f" (condition number {s[0] / s[-1]:.3g})" if len(s) and s[-1] > 0 else ""
        sentence = f"The data determine all {_plural(i.n, 'unknown')}{spread}."
        if fit.practical_advice:
            sentence = f"The rank is full{spread}, but errors leave nothing of some values."
    else:
        sentence = f"The data determine {i.rank} directions of {_plural(i.n, 'unknown')}."
    return "\n\n".join([sentence, *map(_sentence, fit.advice)])


def _directions(fit: Fit) -> Iterator[Table]:
    if fit.identifiability.null_directions:
        rows = tuple(
            (k, name, short(share))
            for k, direction in enumerate(fit.identifiability.null_directions, start=1)
            for name, share in direction.items()
        )
        note = "Relative changes that leave every output as it is."
        yield Table(("direction", "unknown", "relative change"), rows, "", note)


def _quality(fit: Fit) -> Iterator[Table]:
    yield replace(quality(fit), title="")
    own = [
        (c.name, u.label, float(v), u.unit)
        for c in fit.cases
        for u, v in zip(c.unknowns, c.values, strict=True)
    ]
    if own:
        title = "Found for validation alone, with the tuners as above"
        yield Table(("case", "unknown", "value", "unit"), tuple(own), title)


def _untitled(fit: Fit, kind: str) -> Curves:
    return replace(picture(fit, kind), title="")


def _iterations_in_words(fit: Fit) -> str:
    rejected = sum(i.rejected for i in fit.iterations)
    return (
        f"{_plural(len(fit.iterations) - 1, 'iteration')}, {_plural(rejected, 'rejected step')}. "
        "The simulation goes from faint to strong; the last one is the estimate."
    )


def _residuals(fit: Fit, against: str | None, by: str | None) -> Iterator[Curves]:
    """Against every input where there is no time, or as asked."""
    against, by = chosen_axes(fit, against, by)
    along = residual_panels(fit, by) if not fit.study.model.has_time else None
    if along is None or not along.panels or not _is_input(fit, against):
        yield replace(picture(fit, "residuals", None, against, by), title="")
    if along is not None and along.panels:
        yield replace(along, title="")


def _is_input(fit: Fit, against: str | None) -> bool:
    """Whether residuals against it are drawn anyway."""
    return against is None or any(input_along(r, against) for r in fit.setup.records)


def _iterations(fit: Fit) -> Iterator[Curves]:
    yield _untitled(fit, "iterations")
    if fit.n_free:
        yield replace(picture(fit, "path"), title="Tuners relative to their final values")
    yield replace(picture(fit, "cost"), title="Cost")


def _starts(fit: Fit) -> Iterator[Curves | Table]:
    if any(math.isfinite(s.cost) for s in fit.starts):
        yield _untitled(fit, "starts")
    rows = []
    for rank, s in enumerate(ranked(fit.starts), start=1):
        cost = s.cost if math.isfinite(s.cost) else None
        values = ", ".join(f"{n} = {v:.4g}" for n, v in list(s.values.items())[:6])
        again = f", drawn again {s.drawn_again} ×" if s.drawn_again else ""
        rows.append((rank, s.number, cost, s.status + again, values))
    yield Table(("rank", "start", "cost", "outcome", "values"), tuple(rows[:50]))


def _twins(fit: Fit) -> Table:
    """A column for each optimum, the estimate first."""
    names = [u.label for u in fit.unknowns.items]
    columns = ("unknown", "estimate", *(f"twin {k}" for k in range(1, len(fit.twins) + 1)))
    rows: list[tuple[object, ...]] = [
        (n, short(float(v)), *(short(t.values[n]) for t in fit.twins))
        for n, v in zip(names, fit.values, strict=True)
    ]
    rows.append(("cost", fit.cost, *(t.cost for t in fit.twins)))
    rows.append(("what leads there", "", *(t.text for t in fit.twins)))
    return Table(columns, tuple(rows))


def _failures_in_words(fit: Fit) -> str:
    return (
        f"{_plural(fit.evaluations.failed, 'simulation')} failed on the way. Such a point is "
        "passed over; where there are many, bounds that keep the tuners where the model works help."
    )


def _failures(fit: Fit) -> Table:
    rows = tuple(
        (f.case, f.message, ", ".join(f"{n} = {v:.4g}" for n, v in f.values.items()))
        for f in fit.evaluations.failures[:MOST_FAILURES]
    )
    return Table(("case", "what happened", "at"), rows)


def _settings(fit: Fit) -> Table:
    e, solver = fit.study.estimation, fit.study.solver
    rows: list[tuple[object, ...]] = [
        ("criterion", e.criterion),
        ("loss", e.loss),
        ("method", e.method),
        ("transcription", e.transcription),
        ("starts", e.starts),
        ("tolerance of the search", e.tolerance),
        ("tolerance of the simulation", solver.rtol),
    ]
    if fit.derivatives:
        rows.append(("derivatives", fit.derivatives))
    return Table(("what", "is"), tuple((name, str(value)) for name, value in rows))


def _sentence(advice: str) -> str:
    """With a capital and a full stop; a name at the beginning stays as it is."""
    plain = advice.startswith(("only ", "these "))
    return f"{advice[0].upper() if plain else advice[0]}{advice[1:]}."


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _listed(names: list[str]) -> str:
    quoted = [f"'{n}'" for n in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def estimates(fit: Fit) -> Table:
    """Every unknown with its standard error and interval, rounded as its error allows."""
    hidden = hidden_starts(fit)
    shown = [k for k in range(len(fit.unknowns)) if k not in hidden]
    columns: tuple[str, ...] = COLUMNS
    rows = [_row(fit, k) for k in shown]
    rows += [noise_row(level) for level in noise_levels(fit)]
    if fit.residual_verdict.corrects:
        columns = (*columns[:3], CORRECTED, *columns[3:])
        corrected = [_corrected(fit, k) for k in shown]
        corrected += [None] * (len(rows) - len(corrected))
        rows = [(*row[:3], c, *row[3:]) for row, c in zip(rows, corrected, strict=True)]
    size = f"{fit.n_samples} samples, {fit.n_free} unknown{'' if fit.n_free == 1 else 's'}"
    title = f"{fit.study.name}: {fit.criterion} cost {fit.cost:.7g}, {size}"
    told = [status_line(fit.outcome.status, fit.outcome.message)]
    told += fit.data_remarks
    told += [hidden_note(hidden)] if hidden else []
    note = "\n".join(["; ".join(told), *_verdict_lines(fit), *process_noise_lines(fit)])
    return without_empty(Table(columns, tuple(rows), title, note), "unit", "remark")


def _verdict_lines(fit: Fit) -> Iterator[str]:
    """What residuals say of the standard errors, to stand below them."""
    said = fit.residual_verdict
    if said.text:
        more = f"; {CORRECTED}: standard errors for residuals with that colour"
        yield said.text + (more if said.corrects else "")


def _corrected(fit: Fit, k: int) -> float | None:
    """The standard error for residuals as coloured as they are."""
    plain = float(fit.accuracy.stderr[k])
    error = plain * fit.residual_verdict.factors.get(fit.unknowns.items[k].label, math.nan)
    return rounded(float(f"{error:.3g}"), error) if math.isfinite(error) else None


def quality(fit: Fit) -> Table:
    """A row for each output of each case."""
    columns = ("case", "role", "output", "samples", "fit %", "RMSE", "noise", "remark")
    rows: list[tuple[object, ...]] = []
    for case in fit.cases:
        if case.failure:
            rows.append((case.name, case.role, *[None] * 5, case.failure))
        for o in case.outputs:
            noise = fit.noise.get(o.name)
            sigma = None if noise is None else short(math.sqrt(noise.variance))
            remark = noise_remark(fit, o.name) if case.role == "calibrate" else ""
            if o.is_input:
                remark = "input with errors"
            if (beyond := int(o.censored.sum())) > 0:
                remark = "; ".join(filter(None, [remark, f"{beyond} beyond detection limits"]))
            if o.transform:
                remark = "; ".join(filter(None, [remark, f"fitted as {o.transform}"]))
            if o.prefilter and not o.transform:
                remark = "; ".join(filter(None, [remark, "behind its prefilter"]))
            measures = (percent(o.fit_percent), short(o.rmse))
            rows.append((case.name, case.role, o.name, len(o.time), *measures, sigma, remark))
    note = "fit %: 100 is perfect, 0 no better than the mean" + (
        "; noise: estimated standard deviation" if fit.noise else ""
    )
    table = Table(columns, tuple(rows), "How well the outputs are met", note)
    return without_empty(table, "noise", "remark")


def _row(fit: Fit, k: int) -> tuple[object, ...]:
    u, a = fit.unknowns.items[k], fit.accuracy
    low, high = (float(x) for x in a.interval[k])
    error = float(a.stderr[k])
    shown_error = rounded(float(f"{error:.3g}"), error)
    numbers = [rounded(float(fit.values[k]), error), shown_error]
    numbers += [rounded(low, error), rounded(high, error)]
    shown = [x if math.isfinite(x) else None for x in numbers]
    return u.label, *shown, "" if u.unit == "1" else u.unit, fit.remark(k)
