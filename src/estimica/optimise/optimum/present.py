"""How a design shows itself: tables, how the criteria came down, the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.view import (
    Band,
    Curve,
    Curves,
    Page,
    Panel,
    Section,
    Table,
    added_sections,
    name_with_unit,
    status_line,
)
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.optimise.criteria.score import CensoredColumn, DesignPoint, Score
from estimica.optimise.optimum.as_json import as_object as as_object
from estimica.optimise.optimum.one_start import LIMIT
from estimica.optimise.optimum.result import Optimised, at_bound

MOST_OPTIMA = 12  # in a table; chosen: a screen
ROLES = {
    "minimise": "made small",
    "at-most": "at most the demand",
    "equal": "equal to the demand",
    "watch": "only watched",
}
SIGNALS = (
    "What the criteria look at. Dashed: before. Solid: after. Lines called demand are what it "
    "allows, bands where a signal must be from the demanded settling time on; integrals and rise "
    "times have neither."
)
_SEARCH = (
    "Criteria over their demands and the tuners, for every design that was better than all before "
    "it. In the shaded band demands are met. Where a criterion was not reached there are only "
    "points: the end of its window, above which it lies."
)


def tables(optimised: Optimised) -> tuple[Table, ...]:
    """The tuners, then the criteria."""
    return tuner_table(optimised), criteria_table(optimised)


def tuner_table(optimised: Optimised) -> Table:
    """The tuners, before and after."""
    rows = []
    for u, v in zip(optimised.unknowns.items, optimised.best.tuners, strict=True):
        note = {-1: "at its lower bound", 1: "at its upper bound"}.get(at_bound(u, float(v)), "")
        rows.append((name_with_unit(u.name, u.unit), u.start, float(v), note))
    o = optimised.outcome
    text = (
        f"{status_line(o.status, o.message)}. {_verdict(optimised)} {_starts_text(optimised)}"
        f"{optimised.evaluations} designs were simulated with method {optimised.settings.method}."
    )
    return Table(
        ("tuner", "start", "best", ""), tuple(rows), f"Design of {optimised.study.name}", text
    )


def _starts_text(optimised: Optimised) -> str:
    """How many starts agree; a population has no starts to speak of."""
    asked, status = optimised.searched.asked, optimised.outcome.status
    alone = optimised.settings.method == "genetic" and asked == 1
    if alone or status == "unbounded":
        return ""
    return f"{optimised.agreement.text} "


def _verdict(optimised: Optimised) -> str:
    if optimised.outcome.status == "unbounded":
        return "There is no best design."
    if optimised.satisfied:
        return f"All demands are satisfied: the largest criterion/demand is {optimised.alpha:.4g}."
    missed = [_missed(s) for s in optimised.best.scores if not s.holds()]
    shown = ", ".join(missed[:4]) + (", …" if len(missed) > 4 else "")
    return f"Not satisfied: {shown}."


def _missed(score: Score) -> str:
    """A demand that does not hold."""
    if score.weighted is None:
        unit = score.place.criterion.unit
        told = f" {score.at_least:.4g} {unit}".rstrip() if score.at_least else " its window"
        return f"{score.place.label} ({score.place.open_word} within{told})"
    return f"{score.place.label} (criterion/demand {score.weighted:.4g})"


def criteria_table(optimised: Optimised) -> Table:
    """The criteria, before and after; weighted is value/demand."""
    rows = [
        (
            p.case or "design",
            name_with_unit(p.criterion.name, p.criterion.unit),
            ROLES[p.role],
            p.demand,
            before.cell,
            after.cell,
            before.weighted_cell,
            after.weighted_cell,
        )
        for p, before, after in zip(
            optimised.best.places, optimised.start.scores, optimised.best.scores, strict=True
        )
    ]
    columns = (
        "case", "criterion", "", "demand", "before", "after", "before/demand", "after/demand",
    )  # fmt: skip
    worked = optimised.worked_by
    by_whom = f"Designs were {worked.words}." if worked and worked.is_worth_a_word else ""
    notes = [_measured(optimised), _gradients(optimised), ended_text(optimised.best), by_whom]
    return Table(columns, tuple(rows), "Criteria", " ".join(t for t in notes if t))


def ended_text(design: DesignPoint) -> str:
    """Which cases the model has ended by itself, and how; criteria look no further."""
    told = [f"{case or 'The run'} was {text}." for case, text in design.ended.items()]
    return " ".join(told)


def _gradients(optimised: Optimised) -> str:
    if not optimised.differenced:
        return ""
    return f"Gradients by differences, not exact: {', '.join(optimised.differenced)}."


def _measured(optimised: Optimised) -> str:
    robust = optimised.settings.robust
    if robust is None or not optimised.scenarios:
        return ""
    what = {
        "worst": "the worst",
        "mean": "the mean",
        "quantile": f"the mean beyond the {100 * robust.quantile:g} % quantile",
    }[robust.measure]
    return f"Of {len(optimised.scenarios)} scenarios {what} counts."


def scenario_table(optimised: Optimised) -> Table:
    """How the criteria scatter over the scenarios of a robust design."""
    rows = []
    for k, p in enumerate(optimised.best.places):
        before, after = (scenario_column(d, k) for d in (optimised.start, optimised.best))
        held = [point.scores[k].holds() for point in optimised.best.scenarios]
        rows.append(
            (
                p.case or "design",
                name_with_unit(p.criterion.name, p.criterion.unit),
                p.demand,
                before.mean.cell,
                before.quantile(1.0).cell,
                after.mean.cell,
                after.quantile(1.0).cell,
                float(np.mean(held)),
            )
        )
    columns = (
        "case",
        "criterion",
        "demand",
        "mean before",
        "worst before",
        "mean after",
        "worst after",
        "share satisfied",
    )
    notes = [
        scenario_column(optimised.best, k).note("scenarios")
        for k in range(len(optimised.best.places))
    ]
    text = " ".join(f"{note} after the search." for note in notes if note)
    return Table(columns, tuple(rows), "Scenarios", text)


def scenario_column(design: DesignPoint, k: int) -> CensoredColumn:
    """One criterion of a design in all its scenarios."""
    points = design.scenarios
    values = np.array([p.values[k] for p in points])
    least = np.array([p.least[k] for p in points])
    return CensoredColumn(design.places[k], values, np.where(np.isnan(values), least, np.nan))


def _scenarios_text(optimised: Optimised) -> str:
    ends = {}
    for name in optimised.scenarios[0]:
        values = [s[name] for s in optimised.scenarios]
        ends[name] = f"{name} from {min(values):.4g} to {max(values):.4g}"
    return f"{len(optimised.scenarios)} scenarios: {', '.join(ends.values())}."


def picture(optimised: Optimised, kind: str = "", names: Sequence[str] = ()) -> Curves:
    """How the weighted criteria came down."""
    return progress_curves(optimised)


def progress_curves(optimised: Optimised) -> Curves:
    """The weighted criteria of each design that was better than all before it."""
    if not optimised.iterates:
        return Curves((), "No design was better than the start")
    counts = np.array([i.evaluation for i in optimised.iterates], float)
    points = [i.point for i in optimised.iterates]
    least = np.array([p.weighted_least for p in points])
    open_ = ~np.array([p.reached for p in points])
    curves = []
    for k, p in enumerate(optimised.best.places):
        if p.role != "watch":
            known = np.where(open_[:, k], np.nan, least[:, k])
            curves.append(Curve(p.label, counts, known, marked=True, stepped=True, colour=k))
            if open_[:, k].any():
                x, y = counts[open_[:, k]], least[open_[:, k], k]
                name = f"{p.label}: {p.open_word}, above"
                curves.append(Curve(name, x, y, dotted=True, colour=k))
    satisfied = Band("satisfied", 0.0, 1.0)
    panel = Panel("criterion/demand", tuple(curves), (satisfied,))
    return Curves((panel,), "How the criteria came down", "design", panel_height=320, whole=True)


def tuner_curves(optimised: Optimised) -> Curves:
    """The tuners of the same designs."""
    counts = np.array([i.evaluation for i in optimised.iterates], float)
    values = np.array([i.point.tuners for i in optimised.iterates])
    panels = tuple(
        Panel(name_with_unit(u.name, u.unit), (Curve(u.name, counts, values[:, k], marked=True),))
        for k, u in enumerate(optimised.unknowns.items)
    )
    return Curves(panels, "The tuners on the way", "design", whole=True)


def page(optimised: Optimised) -> Page:
    """The page of `estimica optimise --report`."""
    sections = [
        Section("Tuners", "", (tuner_table(optimised),)),
        Section(
            "Criteria",
            "Each criterion is divided by its demand, the value that satisfies; at most 1 is good.",
            (criteria_table(optimised),),
        ),
    ]
    signals = optimised.signals()
    if signals is not None:
        sections.append(Section("Signals", SIGNALS, (signals,)))
    if len(optimised.starts) > 1:
        text = optimised.agreement.text
        sections.append(Section("Starts", text, (starts_table(optimised),)))
    if optimised.iterates:
        curves = (progress_curves(optimised), tuner_curves(optimised))
        sections.append(Section("The search", _SEARCH, curves))
    if optimised.scenarios:
        sections.append(
            Section("Scenarios", _scenarios_text(optimised), (scenario_table(optimised),))
        )
    drawn = optimised.indicators() if optimised.study.indicators else []
    if drawn:
        text = "Dashed: before. Solid: after."
        sections.append(Section("Indicators", text, tuple(drawn)))
    sections += added_sections("optimise", optimised)
    if optimised.failures:
        rows = tuple(
            (f.case, f.message, ", ".join(f"{n} = {v:.6g}" for n, v in f.values.items()))
            for f in optimised.failures[:20]
        )
        failed = Table(("case", "what happened", "tuners"), rows)
        text = f"{optimised.failed} designs could not be simulated; the search stepped back."
        sections.append(Section("Designs that failed", text, (failed,)))
    made = Page(f"Design of {optimised.study.name}", tuple(sections))
    first = (study_summary(optimised.study, "optimise"), Section(ANSWER, _answer(optimised)))
    seed = optimised.settings.seed
    return with_reproduction(
        made, "optimise", optimised.study, first=first, seed=seed, run=optimised.run
    )


def _answer(optimised: Optimised) -> str:
    status = status_line(optimised.outcome.status, optimised.outcome.message)
    words = [f"{status[:1].upper()}{status[1:]}."]
    met = optimised.satisfied and optimised.outcome.status != "unbounded"
    words.append("All demands are met." if met else _verdict(optimised))
    if np.isfinite(optimised.alpha):
        first = f"it was {optimised.start.largest:.4g}"
        if np.isnan(optimised.start.largest):
            open_ = [
                s for s in optimised.start.scores if not s.reached and s.place.role == "minimise"
            ]
            first = ", ".join(f"{s.place.label} was {s.place.open_word}" for s in open_)
        words.append(
            f"The largest criterion is {optimised.alpha:.4g} of its demand; at the start {first}."
        )
    words.append(_starts_text(optimised).strip())
    rows = zip(optimised.unknowns.items, optimised.best.tuners, strict=True)
    words.append("Tuners: " + ", ".join(f"{u.name} = {v:.5g}" for u, v in rows) + ".")
    return " ".join(word for word in words if word)


def starts_table(optimised: Optimised) -> Table:
    """The optima that the starts have ended at, the best first, those that are the same merged."""
    names = [name_with_unit(u.name, u.unit) for u in optimised.unknowns.items]
    limited = any(p.role in ("at-most", "equal") for p in optimised.best.places)
    rows = []
    for optimum in optimised.agreement.optima[:MOST_OPTIMA]:
        assert optimum.best.point is not None
        missed = optimum.best.violation
        row = [
            len(optimum.ends),
            ", ".join(str(end.number) for end in optimum.ends),
            optimum.best.cost,
            *([missed if missed > LIMIT else "met"] if limited else []),
            *map(float, optimum.best.point.tuners),
            optimum.best.status,
        ]
        rows.append(tuple(row))
    columns = (
        "starts",
        "which",
        "criteria (weighted)",
        *(["limits, missed by"] if limited else []),
        *names,
        "ended",
    )
    more = len(optimised.agreement.optima) - MOST_OPTIMA
    note = f"{more} further ones are not shown." if more > 0 else ""
    return Table(columns, tuple(rows), "Optima", note)
